package ptx_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/ptx"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/dsl/tile"
	"github.com/gokiln/kiln/internal/tooltest"
	_ "github.com/gokiln/kiln/ops/elementwise/kernels" // their source
	core "github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/matmul"
	"github.com/gokiln/kiln/ops/matmul/kernels"
)

// epilogueText is the kernel for products with an epilogue, as PTX.
func epilogueText(t *testing.T, kernel, arch, act string, consts map[string]int64) string {
	req := front.Request{
		Pkg: "github.com/gokiln/kiln/ops/matmul/kernels", Func: kernel, TypeArgs: []string{"dsl.BF16", "dsl.BF16", "float32"}, Consts: consts, Fill: front.FillSmall,
		Funcs: map[string]front.Func{"mad": {Pkg: "github.com/gokiln/kiln/ops/kernels", Name: "MadReal[float32]"}, "act": {Pkg: "github.com/gokiln/kiln/ops/elementwise/kernels", Name: act}},
	}
	prog, err := compiler.Front(req, compiler.Registered)
	require.NoError(t, err)
	tgt, err := target.Parse("ptx:" + arch)
	require.NoError(t, err)
	art, err := prog.Emit(tgt, compiler.Options{Assume: compiler.Small | compiler.Aligned | compiler.Disjoint})
	require.NoError(t, err)
	return string(art.Code)
}

// TestEpilogueAssemble gives products with epilogues to the vendor's assembler: nothing is spilled.
func TestEpilogueAssemble(t *testing.T) {
	ptxas := tooltest.Find(t, "KILN_PTXAS", "ptxas")
	for _, c := range []struct {
		kernel, arch, act string
		consts            map[string]int64
	}{
		{"MultiplyThen", "sm_90a", "GeluErfShort", groupsConfig(128, 256, 8, 4, 0, 2, 2)},
		{"MultiplyThen", "sm_90a", "Silu[float32]", groupsConfig(128, 256, 8, 4, 0, 2, 2)},
		{"MultiplyThen", "sm_90a", "Gelu[float32]", groupsConfig(64, 128, 4, 8, 1, 1, 2)},
		{"MultiplyGated", "sm_90a", "Silu[float32]", groupsConfig(128, 256, 8, 4, 0, 2, 2)},
		{"MultiplyGated", "sm_90a", "GeluErfShort", groupsConfig(128, 256, 8, 4, 1, 1, 2)},
		{"MultiplyThen", "sm_80", "Silu[float32]", map[string]int64{"M": 128, "N": 128, "K": 64, "Down": 2, "Across": 2, "Stages": 3, "Chunk": 8, "A": 0, "B": 1, "AVec": 1, "BVec": 1}},
		{"MultiplyThen", "sm_80", "GeluErfShort", map[string]int64{"M": 128, "N": 256, "K": 64, "Down": 2, "Across": 4, "Stages": 3, "Chunk": 8, "A": 0, "B": 0, "AVec": 1, "BVec": 1}},
	} {
		t.Run(fmt.Sprintf("%s/%s/%s/%dx%d", c.kernel, c.arch, c.act, c.consts["M"], c.consts["N"]), func(t *testing.T) {
			t.Parallel()
			consts := map[string]int64{
				"pairs": 1, "e.Bias.Kind": 1, "e.Bias.Pairs": 1, "e.Residual.Kind": 3, "e.Residual.Pairs": 1, "e.Scaled": 1,
			}
			if c.kernel == "MultiplyGated" {
				consts["e.Factor.Kind"] = 4
			}
			for field, v := range c.consts {
				consts["cfg."+field] = v
			}
			file := filepath.Join(t.TempDir(), "epilogue.ptx")
			require.NoError(t, os.WriteFile(file, []byte(epilogueText(t, c.kernel, c.arch, c.act, consts)), 0o600))
			out, err := exec.Command(ptxas, "-v", "-arch="+c.arch, "-o", file+".cubin", file).CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads")
			require.NotContains(t, string(out), "warning")
			// As the driver's linker compiles it, where a call makes products wait for each other.
			out, err = exec.Command(ptxas, "-c", "-v", "-arch="+c.arch, "-o", file+".cubin", file).CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.NotContains(t, string(out), "serialized")
		})
	}
}

// gatedArgs are the arguments of MultiplyGated as a launch has them: pairs is a compile-time value.
type gatedArgs struct {
	maps                          [4][128]byte
	out, x, y, up, bias, residual simSlice
	w                             core.Walk
	p                             kernels.Product
	order                         kernels.Raster
	cfg                           tile.Config
	scale                         float32
	e                             kernels.Epilogue
}

// simSlice is a slice of n elements in a buffer of the simulator.
type simSlice struct{ addr, n uint64 }

// TestGated runs gated units in the simulator, by bulk copies of both factors, with a bias and a
// residual. Numbers are small integers, of which sums are exact.
func TestGated(t *testing.T) {
	const m, n, k = 200, 136, 200
	for _, c := range []map[string]int64{
		groupsConfig(64, 128, 4, 3, 0, 1, 2), groupsConfig(64, 128, 4, 3, 1, 1, 0), groupsConfig(128, 256, 8, 3, 1, 2, 2), groupsConfig(128, 128, 8, 4, 0, 2, 2),
	} {
		t.Run(fmt.Sprintf("%dx%d by %d, %d", c["M"], c["N"], c["Cluster"], c["B"]), func(t *testing.T) {
			t.Parallel()
			consts := map[string]int64{"pairs": 1, "e.Bias.Kind": 1, "e.Bias.Pairs": 1, "e.Factor.Kind": 4, "e.Residual.Kind": 3, "e.Residual.Pairs": 1, "e.Scaled": 1}
			for field, v := range c {
				consts["cfg."+field] = v
			}
			text := epilogueText(t, "MultiplyGated", "sm_90a", "Relu[float32]", consts)
			for _, early := range []bool{false, true} {
				checkGated(t, text, c, early, m, n, k)
			}
		})
	}
}

func checkGated(t *testing.T, text string, c map[string]int64, early bool, m, n, k int) {
	rng := rand.New(rand.NewPCG(1, 2))
	var buffers [][]byte
	draw := func(n int) (values []float32, s simSlice) {
		var bytes []byte
		for range n {
			v := float32(rng.IntN(3) - 1)
			values = append(values, v)
			bytes = binary.LittleEndian.AppendUint16(bytes, uint16(math.Float32bits(v)>>16))
		}
		buffers = append(buffers, append(bytes, make([]byte, 16)...))
		return values, simSlice{uint64(len(buffers)) << 32, uint64(n)}
	}
	var a gatedArgs
	_, a.out = draw(m * n)
	var x, y, up, bias, residual []float32
	x, a.x = draw(m * k)
	y, a.y = draw(k * n)
	up, a.up = draw(k * n)
	bias, a.bias = draw(n)
	residual, a.residual = draw(m * n)
	yk, yn := n, 1
	if c["B"] == 0 {
		yk, yn = 1, k
	}
	a.p = kernels.Product{M: m, N: n, K: k, OutM: n, OutN: 1, XM: k, XK: 1, YK: yk, YN: yn, Batch: 1, Part: k}
	a.order = matmul.NewRaster(m, n, int(c["M"]*c["Cluster"]), int(c["N"]/2), 1, 1)
	a.scale, a.e.Residual.Row = 2, n
	copy(a.maps[0][:], ptx.SimMap(2<<32, 2, [3]int{k, m, 1}, [2]int{2 * k, 0}, [3]int{64, int(c["M"]), 1}))
	for i := range 2 {
		at := uint64(3+i) << 32
		if box := int(c["N"] / c["Cluster"] / 2); c["B"] == 0 {
			copy(a.maps[1+i][:], ptx.SimMap(at, 2, [3]int{k, n, 1}, [2]int{2 * k, 0}, [3]int{64, box, 1}))
		} else {
			copy(a.maps[1+i][:], ptx.SimMap(at, 2, [3]int{n, k, 1}, [2]int{2 * n, 0}, [3]int{64, 64, 1}))
		}
	}
	copy(a.maps[3][:], ptx.SimMap(1<<32, 2, [3]int{n, m, 1}, [2]int{2 * n, 0}, [3]int{64, 16, 1}))
	args := unsafe.Slice((*byte)(unsafe.Pointer(&a)), unsafe.Sizeof(a))
	blocks, threads := 3*int(c["Cluster"]), int(c["Down"])*32+128
	require.NoError(t, ptx.Simulate(text, early, [3]int{blocks, 1, 1}, [3]int{threads, 1, 1}, args, buffers))
	for row := range m {
		for col := range n {
			v, u := float32(0), float32(0)
			for i := range k {
				v += x[row*k+i] * y[i*yk+col*yn]
				u += x[row*k+i] * up[i*yk+col*yn]
			}
			want := max(2*v+bias[col], 0)*u + residual[row*n+col]
			rounded := math.Float32frombits((math.Float32bits(want) + 0x7fff + math.Float32bits(want)>>16&1) &^ 0xffff)
			got := math.Float32frombits(uint32(binary.LittleEndian.Uint16(buffers[0][2*(row*n+col):])) << 16)
			require.Equal(t, rounded, got, "row %d, column %d", row, col)
		}
	}
}
