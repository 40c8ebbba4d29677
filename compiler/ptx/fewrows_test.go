package ptx_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/ptx"
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/quantized/kernels"
)

// fewRows is a product of few rows of activations, which blocks round, with n rows of blocks, which they
// copy to shared memory if a lane has some parts of them in a step.
type fewRows struct {
	of           format.Type
	m, n, k      int
	warps, teams int64 // of a team; of a block
	blocks       int
	deep         int64
}

// stages is how many steps warps have in shared memory.
const stages = 3

func (c *fewRows) String() string {
	return fmt.Sprintf("%v/%dx%dx%d/%dx%d/%d", c.of, c.m, c.n, c.k, c.teams, c.warps, c.deep)
}

func fewRowsCases() []fewRows {
	return []fewRows{
		{format.Q4_0, 1, 37, 1120, 1, 8, 2, 0},
		{format.Q8_0, 3, 9, 96, 2, 2, 2, 0},
		{format.Q6_K, 2, 21, 1280, 2, 2, 2, 0},
		{format.Q4_K, 1, 2, 256, 1, 4, 1, 0},
		{format.MXFP4, 8, 9, 96, 1, 1, 2, 0},
		// Copied: rows that begin in the middle of 16 bytes and end in that of a step, an odd number of them,
		// one step of a row or more than there are stages.
		{format.Q4_0, 1, 40, 2080, 1, 2, 2, 1},
		{format.MXFP4, 2, 11, 1536, 1, 2, 2, 2},
		{format.Q6_K, 1, 16, 1280, 1, 2, 2, 2},
		{format.IQ4_XS, 1, 8, 768, 1, 1, 2, 4},
		{format.Q3_K, 3, 8, 512, 1, 2, 1, 1},
		{format.Q8_0, 1, 16, 4128, 1, 2, 1, 1},
	}
}

// TestFewRows multiplies in the simulator: blocks come around several times, the last time with rows for
// some of their teams.
func TestFewRows(t *testing.T) {
	for _, c := range fewRowsCases() {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			c.check(t)
		})
	}
}

func (c *fewRows) text(t *testing.T, arch, out string) string {
	r := front.Request{
		Pkg: "github.com/gokiln/kiln/quantized/kernels", Func: "RoundingDots",
		TypeArgs: []string{"format.Block" + c.of.String(), out},
		Consts:   map[string]int64{"c.Rows": int64(c.m), "c.Each": 2, "c.Warps": c.warps, "c.Teams": c.teams, "c.Lanes": 1},
	}
	if c.deep > 0 {
		r.Func, r.Consts["deep"], r.Consts["stages"], r.Consts["room"] = "CopyingDots", c.deep, stages, 1
	}
	return emitted(t, r, arch)
}

// check compares with products in float64 of the activations as they are rounded.
func (c *fewRows) check(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	blocks, w := normalBlocks(t, rng, c.of, c.n, c.k)
	x := drawn("float32", c.m*c.k, func() float64 { return float64(float32(rng.NormFloat64())) })
	rounded := make([]float64, len(x.values))
	for i := 0; i < len(rounded); i += format.PartLen {
		most := 0.0
		for _, v := range x.values[i : i+format.PartLen] {
			most = max(most, math.Abs(v))
		}
		for j := i; j < i+format.PartLen; j++ {
			rounded[j] = math.RoundToEven(x.values[j]*127/most) * most / 127
		}
	}
	f, err := c.of.Block()
	require.NoError(t, err)
	blocks = append(blocks, make([]byte, 16)...)
	var a simArgs
	a.slice(make([]byte, 4*c.m*c.n), c.m*c.n)
	a.slice(x.bytes, c.m*c.k)
	a.slice(blocks, len(blocks))
	a.slice(blocks, len(blocks)/2)
	a.slice(blocks, len(blocks)/4)
	words := kernels.RoundingWords(c.m, c.k/format.PartLen, kernels.Numbers(f))
	if c.deep > 0 {
		few := kernels.Few{Rows: dsl.ConstInt(c.m), Each: 2, Warps: 1, Teams: dsl.ConstInt(c.teams), Lanes: 1}
		words = kernels.CopyingWords(f, c.k, 32, &few, int(c.deep), stages)
	}
	a.ints(c.n, c.k, words)
	a.bytes = append(a.bytes, make([]byte, 8*8)...) // what nothing is read of
	text := c.text(t, "sm_80", "float32")
	require.NoError(t, ptx.Simulate(text, false, [3]int{c.blocks, 1, 1}, [3]int{int(c.teams*c.warps) * 32, 1, 1}, a.bytes, a.buffers), text)
	for i := range c.m {
		for j := range c.n {
			want, most := 0.0, 0.0
			for k := range c.k {
				p := rounded[i*c.k+k] * float64(w[j*c.k+k])
				want, most = want+p, most+math.Abs(p)
			}
			require.InDelta(t, want, result("float32", a.buffers[0], i*c.n+j), 1e-5*most, "row %d, column %d", i, j)
		}
	}
}

// TestFewRowsAssemble gives these kernels to the vendor's assembler, for blocks that are read in every way:
// nothing is spilled.
func TestFewRowsAssemble(t *testing.T) {
	ptxas := tooltest.Find(t, "KILN_PTXAS", "ptxas")
	for _, of := range []format.Type{format.Q8_0, format.Q4_0, format.Q4_K, format.Q6_K, format.MXFP4, format.IQ3_S} {
		for _, c := range []fewRows{
			{m: 1, warps: 1, teams: 32}, {m: 2, warps: 2, teams: 16}, {m: 1, warps: 1, teams: 16, deep: 4},
		} {
			c.of = of
			t.Run(c.String(), func(t *testing.T) {
				t.Parallel()
				assembles(t, ptxas, "sm_90a", c.text(t, "sm_90a", "dsl.BF16"))
			})
		}
	}
}
