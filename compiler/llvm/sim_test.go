package llvm

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/tests/irconf"
)

// The code for GPUs is run on the CPU: clang optimises it and makes a library of
// it, with testdata/sim.c in place of what the GPUs have and the CPU has not. An
// operation that LLVM leaves undefined for some operands shows in the results,
// because the optimiser makes use of it.

// onCPU is a dialect as the machine's own processor can run it.
func onCPU(d *dialect) *dialect {
	return &dialect{isa: d.isa, spaces: [3]int{1, 3, 0}, device: d.device, width: d.width}
}

// intrinsics are the functions that sim.c has.
var intrinsics = strings.NewReplacer("@llvm.amdgcn.", "@amd.", "@llvm.nvvm.", "@nv.")

// joined makes one module of several texts: declarations, attributes and
// metadata are the same in all and stay once.
func joined(texts []string) string {
	var out strings.Builder
	seen := map[string]bool{}
	for _, text := range texts {
		for line := range strings.Lines(intrinsics.Replace(text)) {
			if strings.HasPrefix(line, "declare ") || strings.HasPrefix(line, "attributes ") || strings.HasPrefix(line, "!") {
				if seen[line] {
					continue
				}
				seen[line] = true
			}
			out.WriteString(line)
		}
	}
	return out.String()
}

// simulator is a library of kernels and what runs them.
type simulator struct {
	lib   dl.Lib
	run   uintptr
	width int
}

func simulate(t *testing.T, width int, texts []string) simulator {
	t.Helper()
	clang := tooltest.Find(t, "KILN_CLANG", "clang-19", "clang-20", "clang-18")
	dir := t.TempDir()
	in, out := filepath.Join(dir, "k.ll"), filepath.Join(dir, "k.so")
	require.NoError(t, os.WriteFile(in, []byte(joined(texts)), 0o600))
	msg, err := exec.Command(clang, "-O2", "-ffp-contract=off", "-shared", "-fPIC", "-Wl,-Bsymbolic", "-o", out, in, "testdata/sim.c", "-lm").CombinedOutput()
	if err != nil {
		t.Fatalf("clang: %s", msg[:min(len(msg), 4000)])
	}
	lib, err := dl.Open(out)
	if errors.Is(err, dl.ErrNoDL) {
		t.Skip("built without foreign functions")
	}
	require.NoError(t, err)
	run, err := lib.Sym("sim_run")
	require.NoError(t, err)
	return simulator{lib, run, width}
}

// launch runs the function name for every thread of c and returns the buffers.
func (s simulator) launch(t *testing.T, name string, c irconf.Case, together bool) [][]byte {
	fn, err := s.lib.Sym(name)
	require.NoError(t, err)
	var pin runtime.Pinner
	defer pin.Unpin()
	aligned := func(b []byte) []byte {
		memory := make([]uint64, len(b)/8+2)
		pin.Pin(&memory[0])
		out := unsafe.Slice((*byte)(unsafe.Pointer(&memory[0])), len(b))
		copy(out, b)
		return out
	}
	address := func(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
	got := make([][]byte, len(c.Bufs))
	for i, b := range c.Bufs {
		got[i] = aligned(b)
	}
	args := aligned(c.Pack(func(i int) uint64 { return uint64(address(got[i])) }))
	var dims [6]uint32
	for i := range 3 {
		dims[i], dims[i+3] = uint32(c.Grid[i]), uint32(c.Block[i])
	}
	pin.Pin(&dims)
	fibers := uintptr(0)
	if together {
		fibers = 1
	}
	stuck := dl.Call(s.run, []uintptr{fn, address(args), uintptr(unsafe.Pointer(&dims)), uintptr(s.width), fibers})
	require.Zero(t, uint32(stuck), "%s: threads wait for ever", c.Name)
	return got
}

var (
	waiting = regexp.MustCompile(`^(barrier|warpbarrier|shfl\..*|ballot|any|all)$`)
	warps   = regexp.MustCompile(`^(warpbarrier|lane|warp|warpsize|shfl\..*|ballot|any|all)$`)
	// Scalar operations are written the same in all dialects, these aside.
	scalarName = regexp.MustCompile(`^[a-z0-9.]+\(.*\)`)
	ownRows    = regexp.MustCompile(`^(permute|approx)`)
)

// uses reports whether m has an operation whose name matches.
func uses(m *ir.Module, name *regexp.Regexp) bool {
	for _, b := range m.Kernel().Blocks {
		for _, v := range b.Instrs {
			if name.MatchString(v.Op.String()) {
				return true
			}
		}
	}
	return false
}

// TestSimulation runs the programs of irconf, which are written for warps of 32
// threads; with 64, those that do not depend on it and some of its own.
func TestSimulation(t *testing.T) {
	t.Run("wave32", func(t *testing.T) {
		runAll(t, dialectWave32, irconf.Cases(), func(irconf.Case, *ir.Module) bool { return true })
	})
	t.Run("wave64", func(t *testing.T) {
		runAll(t, dialectWave64, append(irconf.Cases(), wideCases()...), func(c irconf.Case, m *ir.Module) bool {
			return !scalarName.MatchString(c.Name) && (!uses(m, warps) || strings.HasPrefix(c.Name, "wide"))
		})
	})
	t.Run("nvptx", func(t *testing.T) {
		runAll(t, dialectNVPTX, irconf.Cases(), func(c irconf.Case, _ *ir.Module) bool {
			return !scalarName.MatchString(c.Name) || ownRows.MatchString(c.Name)
		})
	})
}

func runAll(t *testing.T, d *dialect, all []irconf.Case, wanted func(irconf.Case, *ir.Module) bool) {
	var texts []string
	var cases []irconf.Case
	var together []bool
	for _, c := range all {
		m := parse(t, c.Text)
		if !wanted(c, m) {
			continue
		}
		m.Kernel().Name = fmt.Sprintf("case%d", len(cases))
		text, err := Options{}.emit(m, target.Target{}, onCPU(d))
		require.NoError(t, err, c.Name)
		texts, cases, together = append(texts, text), append(cases, c), append(together, uses(m, waiting))
	}
	s := simulate(t, d.width, texts)
	for i, c := range cases {
		if err := c.Check(s.launch(t, fmt.Sprintf("case%d", i), c, together[i])); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d cases", len(cases))
}
