package pass

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/stretchr/testify/require"
)

// TestShortDiv divides numbers of all magnitudes, the slow way and as the pass writes
// it, where it knows of both operands that they fit 32 bits, of one, or of none.
func TestShortDiv(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	any := func() uint64 { return rng.Uint64() >> rng.IntN(64) }
	edges := []uint64{0, 1, 2, 7, 1<<31 - 1, 1 << 31, 1<<31 + 1, 1<<32 - 1, 1 << 32, 1<<32 + 1, 1<<63 - 1, 1 << 63, 1<<63 + 1}
	for _, v := range edges[1:] {
		edges = append(edges, -v)
	}
	for _, typ := range []*ir.Type{ir.I64, ir.U64} {
		for _, ops := range [][]ir.Op{{ir.OpDiv}, {ir.OpRem}, {ir.OpDiv, ir.OpRem}, {ir.OpRem, ir.OpDiv, ir.OpRem}} {
			for _, in := range [][2]*ir.Type{{typ, typ}, {ir.U32, typ}, {typ, ir.U32}, {ir.U32, ir.U32}} {
				for _, loop := range []bool{false, true} {
					m, f := divisions(typ, in, ops)
					s := newShortener(f, false)
					s.loop = loop
					s.run()
					require.NoError(t, ir.Verify(m))
					blocks := 4
					switch {
					case in[0] == in[1] && in[0] == ir.U32:
						blocks = 1
					case loop:
						blocks += 2
						require.False(t, slices.ContainsFunc(f.Blocks, func(b *ir.Block) bool { return slices.ContainsFunc(b.Instrs, longDivision) }), "%s", m)
					}
					require.Len(t, f.Blocks, blocks, "one test for all, or none:\n%s", m)
					check := func(x, y uint64) {
						x, y = ir.Normalize(in[0], x), ir.Normalize(in[1], y)
						got := newMachine(m).call(f, []uint64{x, y})
						for i, op := range ops {
							want, ok := ir.Eval(op, typ, 0, []uint64{x, y}, []*ir.Type{typ, typ})
							require.True(t, ok)
							require.Equal(t, want, got[i], "%s %s: %d by %d", op, typ, int64(x), int64(y))
						}
					}
					for _, x := range edges {
						for _, y := range edges {
							check(x, y)
						}
						check(x, any())
						check(any(), x)
					}
					for range 300 {
						check(any(), any())
					}
				}
			}
		}
	}
}

// divisions builds a function of two parameters that divides one by the other, with
// all of ops.
func divisions(typ *ir.Type, in [2]*ir.Type, ops []ir.Op) (*ir.Module, *ir.Func) {
	m := &ir.Module{}
	f := m.NewFunc("f")
	b := f.NewBlock()
	var args [2]*ir.Value
	for i, from := range in {
		if args[i] = f.NewParam(from); from != typ {
			args[i] = b.Emit(f, ir.OpConvert, typ, args[i])
		}
	}
	var results []*ir.Value
	for _, op := range ops {
		f.Results = append(f.Results, typ)
		results = append(results, b.Emit(f, op, typ, args[0], args[1]))
	}
	b.Return(results...)
	return m, f
}

// TestShortDivUniform: a barrier stands behind divisions as it did before, and
// where threads agree on a quotient that is still known.
func TestShortDivUniform(t *testing.T) {
	m := parse(t, `
kernel @k(%0: ptr<global,i64>, %1: i64, %2: i64) args(x slice i64 "[]int", n scalar i64 "int") {
b0:
  %3 = thread 0 : i64
  %4 = offset %0, %3 : ptr<global,i64>
  %5 = load %4 : i64
  %6 = div %5, %2 : i64
  %7 = div %1, %2 : i64
  barrier
  %8 = gt %7, %2 : bool
  br %8, b1, b2
b1:
  barrier
  store %4, %6
  jump b2
b2:
  ret
}`)
	require.NoError(t, shortdiv(m, &Options{SlowDiv: true}))
	require.NoError(t, ir.Verify(m))
	require.Empty(t, analysis.CheckConvergence(m))
	u, f := analysis.Uniformity(m), m.Kernel()
	var branches []ir.Uniformity
	for _, b := range analysis.LoopOrder(f) {
		if b.Term.Kind == ir.TermBranch {
			branches = append(branches, u.Branch(f, b))
		}
	}
	require.Equal(t, []ir.Uniformity{ir.Varying, ir.UniformGrid, ir.UniformGrid}, branches)
}
