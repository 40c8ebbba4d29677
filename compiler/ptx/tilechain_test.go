package ptx_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ptx"
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/internal/tooltest"
)

// tileChains are pairs of a product and of one with its sums as factor A.
type tileChain struct {
	arch      string
	types     []string
	cfg, then map[string]int64
}

func (c *tileChain) String() string {
	return fmt.Sprintf("%s/%v/%dx%d/%dx%d/%d", c.arch, c.types, c.cfg["M"], c.cfg["N"], c.cfg["Down"], c.cfg["Across"], c.then["N"])
}

// tileChains have sums that stay where they are, that meet rows of B in another order, and that go
// through shared memory, by mma.sync and by warpgroup instructions.
func tileChains() []tileChain {
	config := func(m, n, k, down, across, stages, b int64) map[string]int64 {
		return map[string]int64{"M": m, "N": n, "K": k, "Down": down, "Across": across, "Stages": stages, "B": b}
	}
	bf16, f16, f64 := []string{"dsl.BF16", "float32"}, []string{"dsl.F16", "float32"}, []string{"float64", "float64"}
	tf32, e4m3, i8 := []string{"dsl.TF32", "float32"}, []string{"dsl.F8E4M3", "float32"}, []string{"int8", "int32"}
	list := []tileChain{
		{"sm_80", bf16, config(32, 64, 64, 2, 1, 2, 0), config(32, 64, 64, 2, 1, 2, 1)},
		{"sm_80", f16, config(32, 128, 64, 1, 1, 2, 0), config(32, 32, 64, 1, 1, 3, 0)},
		{"sm_80", bf16, config(16, 128, 64, 1, 4, 2, 0), config(16, 64, 64, 1, 4, 2, 1)},
		{"sm_80", tf32, config(16, 32, 32, 1, 1, 2, 0), config(16, 32, 32, 1, 1, 2, 0)},
		{"sm_80", f64, config(16, 32, 16, 2, 1, 2, 0), config(16, 16, 16, 2, 1, 2, 1)},
		{"sm_90", f64, config(32, 16, 16, 2, 1, 2, 0), config(32, 32, 16, 2, 1, 3, 0)},
		{"sm_80", i8, config(16, 128, 128, 1, 1, 2, 0), config(16, 32, 128, 1, 1, 2, 0)},
		{"sm_89", e4m3, config(32, 128, 128, 2, 1, 2, 0), config(32, 32, 128, 2, 1, 2, 0)},
		{"sm_90a", bf16, config(64, 64, 64, 4, 1, 3, 0), config(64, 64, 64, 4, 1, 3, 1)},
		{"sm_90a", f16, config(64, 128, 64, 4, 1, 3, 0), config(64, 32, 64, 4, 1, 4, 0)},
		{"sm_90a", tf32, config(64, 32, 32, 4, 1, 3, 0), config(64, 32, 32, 4, 1, 3, 0)},
	}
	for _, c := range list {
		chunk := map[string]int64{"float64": 2, "dsl.TF32": 4, "int8": 16, "dsl.F8E4M3": 16}[c.types[0]]
		c.cfg["Chunk"], c.then["Chunk"] = max(chunk, 0), chunk
		if chunk == 0 {
			c.cfg["Chunk"], c.then["Chunk"] = 8, 8
		}
	}
	return list
}

// numbers are values and their bytes in a type.
type numbers struct {
	values []float64
	bytes  []byte
}

// drawn draws numbers of a type by a function.
func drawn(typ string, n int, draw func() float64) (d numbers) {
	for range n {
		v := draw()
		d.values = append(d.values, v)
		switch typ {
		case "int8":
			d.bytes = append(d.bytes, byte(int8(v)))
		case "dsl.F8E4M3":
			d.bytes = append(d.bytes, dsl.To[dsl.F8E4M3](float32(v)).Bits())
		case "dsl.BF16":
			d.bytes = binary.LittleEndian.AppendUint16(d.bytes, dsl.To[dsl.BF16](float32(v)).Bits())
		case "dsl.F16":
			d.bytes = binary.LittleEndian.AppendUint16(d.bytes, dsl.To[dsl.F16](float32(v)).Bits())
		case "dsl.TF32", "float32":
			d.bytes = binary.LittleEndian.AppendUint32(d.bytes, math.Float32bits(float32(v)))
		default:
			d.bytes = binary.LittleEndian.AppendUint64(d.bytes, math.Float64bits(v))
		}
	}
	d.bytes = append(d.bytes, make([]byte, 16)...)
	return d
}

// result is number i of a buffer of sums.
func result(typ string, buffer []byte, i int) float64 {
	switch typ {
	case "float64":
		return math.Float64frombits(binary.LittleEndian.Uint64(buffer[8*i:]))
	case "int32":
		return float64(int32(binary.LittleEndian.Uint32(buffer[4*i:])))
	}
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(buffer[4*i:])))
}

// TestTileChains runs products of sums in the simulator. Numbers are small integers, so that sums are
// exact, and exact in the type of the factors.
func TestTileChains(t *testing.T) {
	for _, c := range tileChains() {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			text := tileText(t, "TileChain", c.arch, c.types, c.cfg, c.then)
			if c.arch == "sm_90a" && c.then["K"] == 64 {
				require.Regexp(t, `wgmma\.mma_async\S+ \{[^}]+\}, \{%r\d+, %r\d+, %r\d+, %r\d+\}, %rd`, text)
			}
			c.check(t, text, false)
			c.check(t, text, true)
		})
	}
}

// check runs TileChain over two blocks.
func (c *tileChain) check(t *testing.T, text string, early bool) {
	rng, k := rand.New(rand.NewPCG(1, 2)), 13
	m, n, d := int(2*c.cfg["M"])-5, int(2*c.cfg["N"])-11, int(c.then["N"])-3
	one, few := func() float64 { return float64(rng.IntN(3) - 1) }, func() float64 { return float64(rng.IntN(9) - 4) }
	x, y, z := drawn(c.types[0], m*k, one), drawn(c.types[0], n*k, one), drawn(c.types[0], n*d, few)
	var a simArgs
	a.slice(make([]byte, 8*m*d), m*d)
	a.slice(x.bytes, m*k)
	a.slice(y.bytes, n*k)
	a.slice(z.bytes, n*d)
	a.ints(m, n, k, d)
	a.bytes = append(a.bytes, make([]byte, 2*8*17)...) // configurations, of which nothing is read
	require.NoError(t, ptx.Simulate(text, early, [3]int{2, 1, 1}, [3]int{int(c.cfg["Down"]*c.cfg["Across"]) * 32, 1, 1}, a.bytes, a.buffers), text)
	for row := range m {
		want := make([]float64, d)
		for i := range n {
			p := 0.0
			for j := range k {
				p += x.values[row*k+j] * y.values[i*k+j]
			}
			for col := range d {
				at := i*d + col
				if c.then["B"] == 0 {
					at = col*n + i
				}
				want[col] += 2 * p * z.values[at]
			}
		}
		for col := range d {
			require.Equal(t, want[col], result(c.types[1], a.buffers[0], row*d+col), "row %d, column %d", row, col)
		}
	}
}

// TestAttend runs attention in the simulator: several tiles of keys and of queries, with edges.
func TestAttend(t *testing.T) {
	for _, c := range tileChains() {
		if typ := c.types[0]; typ == "int8" || typ == "dsl.F8E4M3" || c.then["B"] == 0 && typ != "dsl.TF32" {
			continue
		}
		c.then["B"] = 1
		if c.types[0] == "dsl.TF32" && c.arch == "sm_90a" {
			continue // whose instruction wants the other order, in both products
		}
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			text := tileText(t, "Attend", c.arch, c.types, c.cfg, c.then)
			c.attend(t, text, 45, 2*int(c.cfg["N"])+9)
			c.attend(t, text, int(c.cfg["M"]), 7)
		})
	}
}

// attend runs Attend and compares with softmax in float64.
func (c *tileChain) attend(t *testing.T, text string, n, keys int) {
	rng, d, dv, scale := rand.New(rand.NewPCG(1, 2)), 24, int(c.then["N"])-3, 0.5
	draw := func() float64 { return float64(rng.IntN(17)-8) / 4 }
	q, k, v := drawn(c.types[0], n*d, draw), drawn(c.types[0], keys*d, draw), drawn(c.types[0], keys*dv, draw)
	var a simArgs
	a.slice(make([]byte, 8*n*dv), n*dv)
	a.slice(make([]byte, 8*n), n)
	a.slice(q.bytes, n*d)
	a.slice(k.bytes, keys*d)
	a.slice(v.bytes, keys*dv)
	a.ints(n, keys, d, dv)
	near := map[string]float64{"dsl.BF16": 0x1p-8, "dsl.F16": 0x1p-11, "dsl.TF32": 0x1p-10, "float64": 0x1p-18}[c.types[0]]
	if c.types[1] == "float64" {
		a.ints(int(math.Float64bits(scale)), int(math.Float64bits(math.Inf(-1))))
	} else {
		a.ints(int(math.Float32bits(float32(scale))) | int(math.Float32bits(float32(math.Inf(-1))))<<32)
	}
	a.bytes = append(a.bytes, make([]byte, 2*8*17)...) // configurations, of which nothing is read
	blocks := (n + int(c.cfg["M"]) - 1) / int(c.cfg["M"])
	require.NoError(t, ptx.Simulate(text, false, [3]int{blocks, 1, 1}, [3]int{int(c.cfg["Down"]*c.cfg["Across"]) * 32, 1, 1}, a.bytes, a.buffers), text)
	for row := range n {
		want, total := make([]float64, dv), 0.0
		for i := range min(keys, row+keys-n+1) {
			s := 0.0
			for j := range d {
				s += q.values[row*d+j] * k.values[i*d+j]
			}
			p := math.Exp(scale * s)
			total += p
			for col := range dv {
				want[col] += p * v.values[i*dv+col]
			}
		}
		log := result(c.types[1], a.buffers[1], row)
		if total == 0 {
			require.Equal(t, math.Inf(-1), log, "row %d", row)
		} else {
			require.InDelta(t, math.Log(total), log, 1e-5, "row %d", row)
		}
		for col := range dv {
			if total > 0 {
				want[col] /= total
			}
			require.InDelta(t, want[col], result(c.types[1], a.buffers[0], row*dv+col), 2*near, "row %d, column %d", row, col)
		}
	}
}

// TestTileChainsAssemble gives products of sums and attention to the vendor's assembler: nothing is
// spilled, and products of warpgroups are not serialised.
func TestTileChainsAssemble(t *testing.T) {
	ptxas := tooltest.Find(t, "KILN_PTXAS", "ptxas")
	config := func(m, n, down, stages, b int64) map[string]int64 {
		return map[string]int64{"M": m, "N": n, "K": 64, "Down": down, "Across": 1, "Stages": stages, "Chunk": 8, "AVec": 1, "BVec": 1, "B": b}
	}
	for _, c := range []tileChain{
		{"sm_90a", []string{"dsl.BF16", "float32"}, config(64, 64, 4, 3, 0), config(64, 128, 4, 3, 1)},
		{"sm_90a", []string{"dsl.F16", "float32"}, config(128, 64, 8, 3, 0), config(128, 64, 8, 4, 1)},
		{"sm_80", []string{"dsl.BF16", "float32"}, config(64, 64, 4, 2, 0), config(64, 128, 4, 2, 1)},
	} {
		for _, kernel := range []string{"TileChain", "Attend"} {
			t.Run(kernel+"/"+c.String(), func(t *testing.T) {
				t.Parallel()
				file := filepath.Join(t.TempDir(), "chain.ptx")
				require.NoError(t, os.WriteFile(file, []byte(tileText(t, kernel, c.arch, c.types, c.cfg, c.then)), 0o600))
				for _, how := range []string{"-v", "-c"} {
					out, err := exec.Command(ptxas, how, "-v", "-arch="+c.arch, "-o", file+".cubin", file).CombinedOutput()
					require.NoError(t, err, "%s", out)
					require.Regexp(t, regexp.MustCompile("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"), string(out))
					require.NotContains(t, string(out), "serialized")
					t.Logf("%s", regexp.MustCompile(`Used \d+ registers`).Find(out))
				}
			})
		}
	}
}
