package ops_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/internal/detour"
	"github.com/gokiln/kiln/internal/pretend"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/attention"
	"github.com/gokiln/kiln/ops/conv"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/matmul"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/sim"
)

// TestRegisters has clang and ptxas compile the kernels for matrix instructions of products, of those
// with a bias, of convolutions and of gradients of attention, in each configuration that a device has
// shared memory for. Nothing is spilled to memory. A row of the table is the most that a configuration
// needs, whatever the orders of its factors: registers of a thread, scalar registers of a wave, those of
// them that are spilled to lanes of other registers, bytes of shared memory. By default a part is
// compiled; this prints the table of which bench/README.md has a part:
//
//	KILN_SWEEP=all go test ./tests/ops -run TestRegisters -v | grep -o '| .* |$' | sort
func TestRegisters(t *testing.T) {
	for _, c := range []struct {
		tgt, loads string
		open       func(t *testing.T, arch string) *runtime.Device
		measure    func(t *testing.T, arch, text string) needs
	}{
		{"hip:gfx90a", "hip", openROCm, byClang}, {"hip:gfx942", "hip", openROCm, byClang},
		{"hip:gfx1100", "hip", openROCm, byClang}, {"hip:gfx1201", "hip", openROCm, byClang},
		{"ptx:sm_80", compiler.FormatIR, openInterpreter, byPTXAS}, {"ptx:sm_90a", compiler.FormatIR, openInterpreter, byPTXAS},
	} {
		_, arch, _ := strings.Cut(c.tgt, ":")
		t.Run(arch, func(t *testing.T) {
			kernels := tileKernels(t, c.open(t, arch), c.tgt, c.loads)
			for _, name := range slices.Sorted(maps.Keys(kernels)) {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					var most needs
					for _, art := range kernels[name] {
						n := c.measure(t, arch, string(art.Code))
						assert.LessOrEqual(t, n.memory, mostMemory(arch, name), "bytes of local memory, or spilled registers of a thread")
						most = needs{max(most.vector, n.vector), max(most.scalar, n.scalar), max(most.lanes, n.lanes), max(most.shared, art.Shared), 0}
					}
					t.Logf("| %s | %s | %d | %d | %d | %d |", arch, name, most.vector, most.scalar, most.lanes, most.shared)
				})
			}
		})
	}
}

// needs is what a kernel needs of a multiprocessor: registers of a thread and of a wave, of which some are
// spilled to lanes, bytes of shared memory of a block, and what is spilled to memory.
type needs struct{ vector, scalar, lanes, shared, memory int }

// mostMemory is what may be spilled to memory: nothing, but of
//   - convolutions for waves of 64 lanes, in which the condition of each copy is a mask of two scalar
//     registers, of which there are 100;
//   - 8-bit floating point by warps on sm_90, where ptxas converts factors to 16 bits in registers, which
//     warpgroups do not need;
//   - float64 on sm_90, of which sums take half of a thread's registers;
//   - gradients of attention with all options at once: on gfx1201 for heads of 64, and on sm_80, and
//     sm_90 where operands have no tensor maps, for heads of 128; and of keys on gfx1100.
func mostMemory(arch, name string) int {
	switch {
	case strings.HasPrefix(arch, "gfx9") && strings.Contains(name, "convolution"):
		return 36
	case arch == "sm_90a" && strings.HasPrefix(name, "f8"):
		return 160
	case arch == "sm_90a" && strings.HasPrefix(name, "f64"):
		return 56
	case strings.HasPrefix(arch, "sm_") && strings.Contains(name, "gradients of queries, heads of 128, options: true"):
		return 56
	case arch == "gfx1100" && strings.Contains(name, "gradients of keys"):
		return 54
	case arch == "gfx1201" && strings.Contains(name, "gradients of keys, heads of 64, options: true"):
		return 160
	}
	return 0
}

func openROCm(t *testing.T, arch string) *runtime.Device { return sim.OpenROCm(t, arch) }

// openInterpreter stands in for NVIDIA's devices, of which code is read and not run.
func openInterpreter(t *testing.T, _ string) *runtime.Device {
	dev, err := runtime.Open("cpu:interp")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	return dev
}

// errSeen ends a launch whose kernel was seen.
var errSeen = errors.New("the kernel was seen")

// share is one by how many of the kernels are compiled by default, and eachShare with
// KILN_SWEEP=each.
const share, eachShare = 48, 5

// asked is the kernels that a device was asked for, by what asked.
type asked map[string][]*compiler.Artifact

// tileKernels asks a device for products and convolutions by all strategies for matrix instructions.
func tileKernels(t *testing.T, dev *runtime.Device, to, loads string) asked {
	tgt, err := target.Parse(to)
	require.NoError(t, err)
	found, what, seen := asked{}, "", map[string]bool{}
	own := target.CPU // of what is run: copies of factors
	if loads != compiler.FormatIR {
		own = tgt
	}
	defer detour.Take(&detour.Way{
		Loads:  loads,
		Target: func(string) (target.Target, error) { return tgt, nil },
		Emit: func(p *compiler.Program, tgt target.Target, opt compiler.Options) (*compiler.Artifact, error) {
			if !regexp.MustCompile("Multiply|ImplicitGemm|Backward").MatchString(p.Kernel) {
				return p.Emit(own, opt)
			}
			art, err := p.Emit(tgt, opt)
			if err != nil {
				return nil, err
			}
			if text := string(art.Code); !seen[text] {
				found[what], seen[text] = append(found[what], art), true
			}
			return nil, errSeen
		},
	})()
	asks := 0
	ask := func(name string, run func() error) {
		of := uint64(share)
		switch {
		case tooltest.Whole():
			of = 1
		case tooltest.Sweeps():
			of = eachShare
		}
		if asks++; tooltest.Hash(fmt.Sprint(to, name, asks))%of != 0 {
			return
		}
		what = name
		if err := run(); !errors.Is(err, errSeen) && !errors.Is(err, jit.ErrUnsupported) {
			require.ErrorContains(t, err, "bytes of shared memory", name)
		}
	}
	memory, err := runtime.Alloc[float64](dev, 1<<16)
	require.NoError(t, err)
	view := func(d dtype.DType, turned bool, shape ...int) ops.View {
		l := layout.Contiguous(shape)
		if turned {
			l, err = l.Transpose(0, 1)
			require.NoError(t, err)
		}
		return ops.View{Buf: memory.Buffer(), DType: d, Layout: l}
	}
	s := dev.DefaultStream()
	for _, d := range []dtype.DType{dtype.BF16, dtype.F16, dtype.F32, dtype.F64, dtype.I8, dtype.U8, dtype.F8E4M3} {
		if !hasUnit(dev, d) {
			continue
		}
		for _, name := range tiles(matmul.MatmulStrategies()) {
			for orders := range 4 {
				o := matmul.Options{Strategy: name, Precision: matmul.High}
				product := func() error {
					return matmul.MatmulWith(s, o, view(sums(d), false, 64, 64), view(d, orders&1 != 0, 64, 64), view(d, orders&2 == 0, 64, 64))
				}
				ask(fmt.Sprintf("%v product, %s", d, name), product)
				o.Bias = view(sums(d), false, 64)
				ask(fmt.Sprintf("%v product with bias, %s", d, name), product)
			}
		}
	}
	for _, d := range []dtype.DType{dtype.BF16, dtype.F16} {
		for _, name := range tiles(conv.Strategies()) {
			for _, pixels := range []int{64, 63} { // of which vectors of 16 bytes are whole, and not
				ask(fmt.Sprintf("%v convolution, %s", d, name), func() error {
					out := view(d, false, 1, 64, pixels, 8)
					return conv.Conv(s, out, view(d, false, 1, 32, pixels, 8), view(d, false, 64, 32, 3, 3), conv.Convolution{Padding: []int{1, 1}, Strategy: name})
				})
			}
		}
	}
	askGradients(dev, view, ask)
	return found
}

// askGradients asks for the kernels of gradients of attention, with heads of each size that has tiles of
// its own, without options and with all of them.
func askGradients(dev *runtime.Device, view func(d dtype.DType, turned bool, shape ...int) ops.View, ask func(name string, run func() error)) {
	if dev.Info().ThreadsPerUnit <= dev.Info().WarpSize { // an interpreter in place of a GPU
		defer pretend.Be(func(info *runtime.Info) { info.ThreadsPerUnit, info.SharedPerBlock = 2048, 163<<10 })()
	}
	for _, d := range []dtype.DType{dtype.BF16, dtype.F16} {
		for _, size := range []int{64, 128, 256} {
			for _, all := range []bool{false, true} {
				rows := func(n int) ops.View { return view(d, false, 1, 1, n, 64, size) }
				keys, row := view(d, false, 1, 1, 64, size), view(dtype.F32, false, 1, 1, 2, 64)
				p := &attention.Problem{Q: rows(2), K: keys, V: keys, Scale: 1, Left: 64, Right: 64}
				if all {
					p.SoftCap, p.Right = 1, 0
					p.Mask, p.Slopes = view(dtype.U8, false, 1, 1, 2, 64, 64), view(dtype.F32, false, 1, 1, 2, 1, 1)
				}
				name := fmt.Sprintf("%v attention, gradients of %%s, heads of %d, options: %v", d, size, all)
				g := attention.Gradients{Out: rows(2), LSE: row, Delta: row}
				ofQ, ofKV := g, g
				ofQ.Q, ofKV.K, ofKV.V = rows(2), keys, keys
				ask(fmt.Sprintf(name, "queries"), func() error { return attention.Backward(dev.DefaultStream(), &ofQ, p) })
				ask(fmt.Sprintf(name, "keys"), func() error { return attention.Backward(dev.DefaultStream(), &ofKV, p) })
			}
		}
	}
}

// sums is the type of products of a type.
func sums(d dtype.DType) dtype.DType {
	switch d {
	case dtype.I8:
		return dtype.I32
	case dtype.U8:
		return dtype.U32
	}
	return d
}

// hasUnit reports whether a device has a matrix instruction for a type.
func hasUnit(dev *runtime.Device, d dtype.DType) bool {
	elem := d.Type()
	if d == dtype.F32 {
		elem = reflect.TypeFor[dsl.TF32]()
	}
	return jit.MatrixShape(dev, elem, dsl.MatrixM) > 0
}

// tiles are the strategies of a list that are configurations of a kernel for matrix instructions. Those
// of clusters of blocks copy in bulk, which asks the driver for tensor maps: see package ptx for them.
func tiles(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return !regexp.MustCompile(`^matrix tiles of \d`).MatchString(name) || strings.Contains(name, "clusters")
	})
}

// byClang compiles HIP text as hipRTC does.
func byClang(t *testing.T, arch, text string) (n needs) {
	clang := tooltest.Find(t, "KILN_CLANG", "clang-19", "clang")
	file := filepath.Join(t.TempDir(), "tiles.hip")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	out, err := exec.Command(clang, "-x", "hip", "--offload-arch="+arch, "--cuda-device-only", "-nogpulib", "-nogpuinc", "-O3", "-S", "-o", file+".s", file).CombinedOutput()
	require.NoError(t, err, "%.4000s", out)
	code, err := os.ReadFile(file + ".s")
	require.NoError(t, err)
	number := numbers(t, string(code))
	vector := "; NumVgprs"
	if strings.HasPrefix(arch, "gfx9") {
		vector = "; TotalNumVgprs" // with those for sums
	}
	return needs{number(vector), number("; NumSgprs"), number(`\.sgpr_spill_count`), 0, number("; ScratchSize") + number(`\.vgpr_spill_count`)}
}

// numbers returns a function that finds the number behind a word.
func numbers(t *testing.T, text string) func(what string) int {
	return func(what string) int {
		found := regexp.MustCompile(`(?m)` + what + `:? +(\d+)\b`).FindStringSubmatch(text)
		require.NotNil(t, found, what)
		n, err := strconv.Atoi(found[1])
		require.NoError(t, err)
		return n
	}
}

// byPTXAS assembles PTX, of which products of warpgroups are not serialised.
func byPTXAS(t *testing.T, arch, text string) (n needs) {
	ptxas := tooltest.Find(t, "KILN_PTXAS", "ptxas")
	file := filepath.Join(t.TempDir(), "tiles.ptx")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	out, err := exec.Command(ptxas, "-v", "-arch="+arch, "-o", file+".cubin", file).CombinedOutput()
	require.NoError(t, err, "%.4000s", out)
	require.NotContains(t, string(out), "serialized")
	for what, to := range map[string]*int{`Used (\d+) registers`: &n.vector, `(\d+) bytes spill stores`: &n.memory} {
		if found := regexp.MustCompile(what).FindStringSubmatch(string(out)); found != nil {
			*to, err = strconv.Atoi(found[1])
			require.NoError(t, err)
		}
	}
	return n
}
