package ptx_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/ptx"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/tooltest"
	_ "github.com/gokiln/kiln/quantized/kernels" // their source
)

// tileFill is a product with a factor that threads make in shared memory.
type tileFill struct {
	arch    string
	types   []string
	m, n, k int
	half    int // of k is a product of its own
	cfg     map[string]int64
}

func (c *tileFill) String() string {
	return fmt.Sprintf("%s/%v/%dx%dx%d/%dx%d", c.arch, c.types, c.m, c.n, c.k, c.cfg["M"], c.cfg["N"])
}

func tileFills() []tileFill {
	config := func(m, n, down, across, stages, chunk, bulk int64) map[string]int64 {
		return map[string]int64{"M": m, "N": n, "K": 8 * chunk, "Down": down, "Across": across, "Stages": stages, "Chunk": chunk, "AVec": bulk, "BVec": 1, "Bulk": bulk, "A": 0, "B": 0, "Cluster": 1, "OutSize": 0, "Promote": 0}
	}
	bf16, f16 := []string{"dsl.BF16", "float32"}, []string{"dsl.F16", "float32"}
	return []tileFill{
		{"sm_80", bf16, 40, 70, 330, 192, config(32, 64, 2, 1, 3, 8, 0)},
		{"sm_80", f16, 19, 64, 64, 64, config(32, 32, 1, 1, 2, 8, 0)},
		{"sm_80", []string{"int8", "int32"}, 40, 72, 208, 128, config(32, 64, 2, 2, 3, 16, 0)},
		{"sm_80", []string{"float64", "float64"}, 15, 31, 40, 32, config(16, 32, 1, 1, 2, 2, 0)},
		{"sm_90a", bf16, 70, 70, 328, 192, config(64, 64, 4, 1, 3, 8, 1)},
		{"sm_90a", f16, 130, 40, 448, 256, config(128, 32, 8, 1, 4, 8, 1)},
		{"sm_90a", bf16, 200, 130, 136, 64, config(192, 128, 12, 1, 5, 8, 1)},
		{"sm_90a", []string{"dsl.TF32", "float32"}, 70, 72, 100, 64, config(64, 64, 4, 1, 3, 4, 1)},
	}
}

// TestTileFills runs products with a factor that is made in shared memory in the simulator. Numbers are
// small integers, so that sums are exact.
func TestTileFills(t *testing.T) {
	for _, c := range tileFills() {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			text := c.text(t)
			if c.cfg["Bulk"] == 1 {
				require.Contains(t, text, "wgmma.mma_async")
				require.Contains(t, text, "fence.proxy.async")
			}
			c.check(t, text, false)
			c.check(t, text, true)
		})
	}
}

func (c *tileFill) text(t *testing.T) string {
	req := front.Request{Pkg: "github.com/gokiln/kiln/tests/conformance/kernels", Func: "TileFill", TypeArgs: c.types, Consts: map[string]int64{}}
	for field, v := range c.cfg {
		req.Consts["cfg."+field] = v
	}
	return emitted(t, req, c.arch)
}

// emitted is a kernel as PTX.
func emitted(t *testing.T, req front.Request, arch string) string {
	t.Helper()
	prog, err := compiler.Front(req, compiler.Registered)
	require.NoError(t, err)
	tgt, err := target.Parse("ptx:" + arch)
	require.NoError(t, err)
	art, err := prog.Emit(tgt, compiler.Options{Assume: compiler.Small | compiler.Aligned | compiler.Disjoint})
	require.NoError(t, err)
	return string(art.Code)
}

// check runs the kernel in two blocks and compares with sums in float64.
func (c *tileFill) check(t *testing.T, text string, early bool) {
	rng := rand.New(rand.NewPCG(1, 2))
	few := func() float64 { return float64(rng.IntN(9) - 4) }
	x, y := drawn(c.types[0], c.m*c.k, few), drawn("int8", c.n*c.k, few)
	size := 128 / int(c.cfg["K"])
	parts := 2
	var a simArgs
	a.bytes = ptx.SimMap(2<<32, size, [3]int{c.k, c.m, 1}, [2]int{c.k * size, 0}, [3]int{int(c.cfg["K"]), int(c.cfg["M"]), 1})
	a.slice(make([]byte, 8*parts*c.m*c.n), parts*c.m*c.n)
	a.slice(x.bytes, c.m*c.k)
	a.slice(y.bytes, c.n*c.k)
	a.ints(c.m, c.n, c.k, c.half)
	a.bytes = append(a.bytes, make([]byte, 8*17)...) // the configuration, of which nothing is read
	threads := int(c.cfg["Down"]*c.cfg["Across"])*32 + int(c.cfg["Bulk"])*128
	require.NoError(t, ptx.Simulate(text, early, [3]int{2, 1, 1}, [3]int{threads, 1, 1}, a.bytes, a.buffers), text)
	for part := range parts {
		for row := range c.m {
			for col := range c.n {
				want := 0.0
				for k := part * c.half; k < min(c.k, (part+1)*c.half); k++ {
					want += x.values[row*c.k+k] * (y.values[col*c.k+k] + 1)
				}
				require.Equal(t, want, result(c.types[1], a.buffers[0], (part*c.m+row)*c.n+col), "part %d, row %d, column %d", part, row, col)
			}
		}
	}
}

// TestTileFillsAssemble gives these kernels, and those of quantized weights, to the vendor's
// assembler: nothing is spilled, and products of warpgroups are not serialised.
func TestTileFillsAssemble(t *testing.T) {
	ptxas := tooltest.Find(t, "KILN_PTXAS", "ptxas")
	for _, c := range tileFills() {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			assembles(t, ptxas, c.arch, c.text(t))
		})
	}
}

// assembles says how many registers a kernel takes.
func assembles(t *testing.T, ptxas, arch, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "fill.ptx")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	out, err := exec.Command(ptxas, "-v", "-arch="+arch, "-o", file+".cubin", file).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads")
	require.NotContains(t, string(out), "serialized")
	t.Logf("%s", out)
}
