package ptx_test

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ptx"
	"github.com/gokiln/kiln/internal/tooltest"
)

// tileCrosses are pairs of a product and of one with its transpose as factor A: by mma.sync, which
// loads fragments of some types transposed and of others one by one, and by warpgroup instructions.
func tileCrosses() []tileChain {
	config := func(m, n, k, down, across, stages, chunk, a, b int64) map[string]int64 {
		return map[string]int64{"M": m, "N": n, "K": k, "Down": down, "Across": across, "Stages": stages, "Chunk": chunk, "AVec": 1, "BVec": 1, "A": a, "B": b}
	}
	bf16, f16, f64 := []string{"dsl.BF16", "float32"}, []string{"dsl.F16", "float32"}, []string{"float64", "float64"}
	return []tileChain{
		{"sm_80", bf16, config(64, 64, 64, 4, 1, 2, 8, 0, 0), config(64, 64, 64, 4, 1, 2, 8, 1, 1)},
		{"sm_80", f16, config(128, 64, 64, 2, 2, 2, 8, 0, 0), config(64, 32, 64, 4, 1, 3, 8, 1, 0)},
		{"sm_80", []string{"int8", "int32"}, config(128, 128, 128, 4, 2, 2, 16, 0, 0), config(128, 32, 128, 8, 1, 2, 16, 1, 0)},
		{"sm_90", f64, config(32, 32, 16, 2, 1, 2, 2, 0, 0), config(32, 32, 16, 1, 2, 3, 2, 1, 1)},
		{"sm_90a", bf16, config(64, 64, 64, 4, 1, 3, 8, 0, 0), config(64, 128, 64, 4, 1, 3, 8, 1, 1)},
		{"sm_90a", f16, config(128, 128, 64, 8, 1, 3, 8, 0, 0), config(128, 64, 64, 8, 1, 3, 8, 1, 0)},
		{"sm_90a", []string{"dsl.TF32", "float32"}, config(64, 64, 32, 4, 1, 3, 4, 0, 0), config(64, 32, 32, 4, 1, 3, 4, 1, 0)},
	}
}

// TestTileCrosses runs products of transposed sums in the simulator. Numbers are small integers, so
// that sums are exact, and exact in the type of the factors.
func TestTileCrosses(t *testing.T) {
	for _, c := range tileCrosses() {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			c.then["AVec"], c.then["BVec"], c.cfg["AVec"], c.cfg["BVec"] = 0, 0, 0, 0
			text := tileText(t, "TileCross", c.arch, c.types, c.cfg, c.then)
			if c.arch == "sm_90a" && c.then["K"] == 64 { // both factors in shared memory, A transposed
				require.Regexp(t, `wgmma\.mma_async\S+ \{[^}]+\}, %rd\d+, %rd\d+, %p\d+, 1, 1, 1, [01];`, text)
			}
			c.cross(t, text, false)
			c.cross(t, text, true)
		})
	}
}

// cross runs TileCross over two blocks.
func (c *tileChain) cross(t *testing.T, text string, early bool) {
	rng, k := rand.New(rand.NewPCG(1, 2)), 13
	m, n, d := int(2*c.cfg["M"])-11, int(2*c.cfg["N"])-5, int(c.then["N"])-3
	one, few := func() float64 { return float64(rng.IntN(3) - 1) }, func() float64 { return float64(rng.IntN(9) - 4) }
	x, y, z := drawn(c.types[0], m*k, one), drawn(c.types[0], n*k, one), drawn(c.types[0], m*d, few)
	var a simArgs
	a.slice(make([]byte, 8*n*d), n*d)
	a.slice(x.bytes, m*k)
	a.slice(y.bytes, n*k)
	a.slice(z.bytes, m*d)
	a.ints(m, n, k, d)
	a.bytes = append(a.bytes, make([]byte, 2*8*17)...) // configurations, of which nothing is read
	require.NoError(t, ptx.Simulate(text, early, [3]int{2, 1, 1}, [3]int{int(c.cfg["Down"]*c.cfg["Across"]) * 32, 1, 1}, a.bytes, a.buffers), text)
	for row := range n {
		want := make([]float64, d)
		for i := range m {
			p := 0.0
			for j := range k {
				p += x.values[i*k+j] * y.values[row*k+j]
			}
			for col := range d {
				at := i*d + col
				if c.then["B"] == 0 {
					at = col*m + i
				}
				want[col] += p * z.values[at]
			}
		}
		for col := range d {
			require.Equal(t, want[col], result(c.types[1], a.buffers[0], row*d+col), "row %d, column %d", row, col)
		}
	}
}

// TestTileConvert converts sums in the simulator, where they stay in registers.
func TestTileConvert(t *testing.T) {
	config := func(n, k, chunk, b int64) map[string]int64 {
		return map[string]int64{"M": 64, "N": n, "K": k, "Down": 4, "Across": 1, "Stages": 3, "Chunk": chunk, "B": b}
	}
	types := []string{"int8", "int32", "dsl.BF16", "float32"}
	for _, arch := range []string{"sm_80", "sm_90a"} {
		t.Run(arch, func(t *testing.T) {
			t.Parallel()
			cfg := config(64, 128, 16, 0)
			text := tileText(t, "TileConvert", arch, types, cfg, config(64, 64, 8, 1))
			rng, n, k, d := rand.New(rand.NewPCG(1, 2)), 61, 20, 60
			one, few := func() float64 { return float64(rng.IntN(3) - 1) }, func() float64 { return float64(rng.IntN(9) - 4) }
			x, y, z := drawn("int8", n*k, one), drawn("int8", n*k, one), drawn("dsl.BF16", n*d, few)
			var a simArgs
			a.slice(make([]byte, 4*n*d), n*d)
			a.slice(make([]byte, 4*n), n)
			a.slice(x.bytes, n*k)
			a.slice(y.bytes, n*k)
			a.slice(z.bytes, n*d)
			a.ints(n, k, d, 2)
			a.bytes = append(a.bytes, make([]byte, 2*8*17)...) // configurations, of which nothing is read
			require.NoError(t, ptx.Simulate(text, false, [3]int{1, 1, 1}, [3]int{128, 1, 1}, a.bytes, a.buffers), text)
			for row := range n {
				want, total := make([]float64, d), 0.0
				for i := range n {
					p := 0.0
					for j := range k {
						p += 2 * x.values[row*k+j] * y.values[i*k+j]
					}
					total += p
					for col := range d {
						want[col] += p * z.values[i*d+col]
					}
				}
				require.Equal(t, total, result("float32", a.buffers[1], row), "row %d", row)
				for col := range d {
					require.Equal(t, want[col]-total, result("float32", a.buffers[0], row*d+col), "row %d, column %d", row, col)
				}
			}
		})
	}
}

// TestTileCrossesAssemble gives products of transposed sums to the vendor's assembler: nothing is
// spilled, and products of warpgroups are not serialised.
func TestTileCrossesAssemble(t *testing.T) {
	ptxas := tooltest.Find(t, "KILN_PTXAS", "ptxas")
	for _, c := range tileCrosses() {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "cross.ptx")
			require.NoError(t, os.WriteFile(file, []byte(tileText(t, "TileCross", c.arch, c.types, c.cfg, c.then)), 0o600))
			out, err := exec.Command(ptxas, "-v", "-arch="+c.arch, "-o", file+".cubin", file).CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Regexp(t, regexp.MustCompile("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"), string(out))
			require.NotContains(t, string(out), "serialized")
			t.Logf("%s", regexp.MustCompile(`Used \d+ registers`).Find(out))
		})
	}
}
