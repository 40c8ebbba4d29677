package ptx_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/ptx"
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/quantized/format"
)

// blockProduct is a product with a matrix of blocks, in parts of k.
type blockProduct struct {
	arch          string
	of            format.Type
	m, n, k, part int
	cfg           map[string]int64
}

// blockConfig is a configuration of tiles of BF16.
func blockConfig(m, n, down, across, stages int64) map[string]int64 {
	bulk := int64(0)
	if across == 1 {
		bulk = 1
	}
	return map[string]int64{"M": m, "N": n, "K": 64, "Down": down, "Across": across, "Stages": stages, "Chunk": 8, "AVec": 1, "BVec": 1, "Bulk": bulk, "A": 0, "B": 0, "Cluster": 1, "OutSize": 0, "Promote": 0}
}

// TestBlockProducts multiplies by blocks in the simulator: by warpgroups that one fills stages for, and
// by mma.sync. The matrix ends in a tile, and so do its elements along k in a stage.
func TestBlockProducts(t *testing.T) {
	for _, c := range []blockProduct{
		{"sm_90a", format.Q4_0, 70, 129, 96, 96, blockConfig(64, 128, 4, 1, 8)},
		{"sm_90a", format.Q5_K, 20, 130, 768, 448, blockConfig(64, 128, 4, 1, 3)},
		{"sm_90a", format.MXFP4, 9, 200, 160, 128, blockConfig(128, 128, 8, 1, 6)},
		{"sm_80", format.Q8_0, 70, 129, 96, 64, blockConfig(64, 64, 2, 2, 2)},
		{"sm_80", format.IQ4_XS, 17, 64, 256, 256, blockConfig(64, 64, 2, 2, 3)},
	} {
		t.Run(c.arch+"/"+c.of.String(), func(t *testing.T) {
			t.Parallel()
			text := c.text(t, c.n%2 == 0)
			c.check(t, text, false)
			c.check(t, text, true)
		})
	}
}

func (c *blockProduct) text(t *testing.T, pairs bool) string {
	req := front.Request{Pkg: "github.com/gokiln/kiln/quantized/kernels", Func: "MatMul", TypeArgs: []string{"format.Block" + c.of.String(), "float32", "dsl.BF16"}, Consts: map[string]int64{"pairs": 0}}
	if pairs {
		req.Consts["pairs"] = 1
	}
	for field, v := range c.cfg {
		req.Consts["cfg."+field] = v
	}
	return emitted(t, req, c.arch)
}

// check compares with products of the dequantized weight in float64.
func (c *blockProduct) check(t *testing.T, text string, early bool) {
	rng := rand.New(rand.NewPCG(1, 2))
	blocks, w := normalBlocks(t, rng, c.of, c.n, c.k)
	x := drawn("dsl.BF16", c.m*c.k, func() float64 { return float64(rng.IntN(17)-8) / 4 })
	blocks = append(blocks, make([]byte, 16)...)
	parts := (c.k + c.part - 1) / c.part
	down, across := (c.m+int(c.cfg["M"])-1)/int(c.cfg["M"]), (c.n+int(c.cfg["N"])-1)/int(c.cfg["N"])
	var a simArgs
	a.bytes = ptx.SimMap(2<<32, 2, [3]int{c.k, c.m, 1}, [2]int{2 * c.k, 0}, [3]int{64, int(c.cfg["M"]), 1})
	a.slice(make([]byte, 4*parts*c.m*c.n), parts*c.m*c.n)
	a.slice(x.bytes, c.m*c.k)
	a.slice(blocks, len(blocks))
	a.slice(blocks, len(blocks)/2)
	a.slice(blocks, len(blocks)/4)
	a.ints(c.m, c.n, c.k, c.part, 0, down*across*parts)
	for _, n := range []int{down, across} {
		d := divisor(n)
		for _, w := range []uint32{d.By, d.Mul, d.Shift} {
			a.bytes = binary.LittleEndian.AppendUint32(a.bytes, w)
		}
	}
	a.bytes = append(a.bytes, make([]byte, 8*20)...) // what nothing is read of
	threads := int(c.cfg["Down"]*c.cfg["Across"])*32 + int(c.cfg["Bulk"])*128
	require.NoError(t, ptx.Simulate(text, early, [3]int{2, 1, 1}, [3]int{threads, 1, 1}, a.bytes, a.buffers), text)
	for part := range parts {
		for i := range c.m {
			for j := range c.n {
				want, most := 0.0, 0.0
				for k := part * c.part; k < min(c.k, (part+1)*c.part); k++ {
					p := x.values[i*c.k+k] * float64(dsl.F32(dsl.To[dsl.BF16](w[j*c.k+k])))
					want, most = want+p, most+math.Abs(p)
				}
				require.InDelta(t, want, result("float32", a.buffers[0], (part*c.m+i)*c.n+j), 1e-6*most+1e-30, "part %d, row %d, column %d", part, i, j)
			}
		}
	}
}

// TestBlockProductsAssemble gives the configurations of package quantized to the vendor's assembler, for
// blocks that are read in every way.
func TestBlockProductsAssemble(t *testing.T) {
	ptxas := tooltest.Find(t, "KILN_PTXAS", "ptxas")
	for _, of := range []format.Type{format.Q4_K, format.Q6_K, format.IQ3_S, format.MXFP4} {
		for _, c := range []blockProduct{
			{arch: "sm_90a", cfg: blockConfig(64, 128, 4, 1, 8)},
			{arch: "sm_90a", cfg: blockConfig(128, 128, 8, 1, 6)},
			{arch: "sm_90a", cfg: blockConfig(192, 128, 12, 1, 5)},
			{arch: "sm_80", cfg: blockConfig(64, 128, 2, 4, 3)},
			{arch: "sm_80", cfg: blockConfig(128, 128, 2, 4, 3)},
			{arch: "sm_80", cfg: blockConfig(64, 64, 2, 2, 2)},
		} {
			c.of = of
			t.Run(of.String(), func(t *testing.T) {
				t.Parallel()
				t.Log(c.arch, c.cfg)
				assembles(t, ptxas, c.arch, c.text(t, true))
			})
		}
	}
}

// normalBlocks are n rows of k normal numbers in blocks, and what these hold.
func normalBlocks(t *testing.T, rng *rand.Rand, of format.Type, n, k int) (blocks []byte, w []float32) {
	w = make([]float32, n*k)
	for i := range w {
		w[i] = float32(rng.NormFloat64())
	}
	row, err := of.RowBytes(int64(k))
	require.NoError(t, err)
	blocks = make([]byte, n*int(row))
	require.NoError(t, format.Quantize(blocks, w, k, of, nil))
	require.NoError(t, format.Dequantize(w, blocks, of))
	return blocks, w
}
