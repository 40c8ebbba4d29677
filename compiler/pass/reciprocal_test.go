package pass

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/internal/tooltest"
)

// TestReciprocal divides numbers of all magnitudes by many constants, the slow way
// and as the pass writes it.
func TestReciprocal(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	drawn, each := 100, 10 // of divisors and, four times that, of numbers to divide
	if tooltest.Sweeps() {
		drawn, each = 500, 40
	}
	any := func() uint64 { return rng.Uint64() >> rng.IntN(64) }
	for _, typ := range []*ir.Type{ir.I32, ir.U32, ir.I64, ir.U64} {
		divisors := []uint64{0, 1, 2, 1 << 31, 1 << 63, 1<<31 - 1, 1<<32 - 1, 1<<63 - 1, 1<<64 - 1, 1<<31 + 1, 1<<63 + 1, 7, 641, 6700417, 1e9 + 7}
		for d := range uint64(300) {
			divisors = append(divisors, d, -d)
		}
		for range drawn {
			divisors = append(divisors, any(), -any())
		}
		for _, d := range divisors {
			d = ir.Normalize(typ, d)
			values := []uint64{0, 1, 2, d - 1, d, d + 1, -d, 2*d - 1, 2 * d, 1 << 31, 1<<31 - 1, 1<<32 - 1, 1 << 63, 1<<63 - 1, 1<<64 - 1}
			for range each {
				values = append(values, any(), -any(), any()*d, any()*d-1)
			}
			for _, op := range []ir.Op{ir.OpDiv, ir.OpRem} {
				f, result := quotient(op, typ, d)
				m := &ir.Module{Funcs: []*ir.Func{f}}
				require.NoError(t, reciprocal(m, &Options{SlowDiv: true}))
				require.NoError(t, ir.Verify(m))
				if size := max(d, -d); typ.IsSigned() && min(d, -d) > 2 && min(d, -d)&(min(d, -d)-1) != 0 || !typ.IsSigned() && size == d && d&(d-1) != 0 {
					require.NotContains(t, m.String(), op.String()+" ", "the division is still there")
				}
				for _, x := range values {
					x = ir.Normalize(typ, x)
					want, ok := ir.Eval(op, typ, 0, []uint64{x, d}, []*ir.Type{typ, typ})
					require.True(t, ok)
					require.Equal(t, want, evaluate(t, f, result, x), "%s %s: %d by %d", op, typ, int64(x), int64(d))
				}
			}
		}
	}
}

// quotient builds a function of one parameter that divides it by d.
func quotient(op ir.Op, typ *ir.Type, d uint64) (*ir.Func, *ir.Value) {
	f := &ir.Func{Name: "f", Results: []*ir.Type{typ}}
	x := f.NewParam(typ)
	b := f.NewBlock()
	v := b.Emit(f, op, typ, x, b.EmitConst(f, typ, d))
	b.Return(v)
	return f, v
}

// evaluate computes the result of a function of one block.
func evaluate(t *testing.T, f *ir.Func, result *ir.Value, x uint64) uint64 {
	bits := map[*ir.Value]uint64{f.Params[0]: x}
	for _, v := range f.Blocks[0].Instrs {
		if v.IsConst() {
			bits[v] = v.Imm
			continue
		}
		var args []uint64
		var types []*ir.Type
		for _, a := range v.Args {
			args, types = append(args, bits[a]), append(types, a.Type)
		}
		got, ok := ir.Eval(v.Op, v.Type, v.Imm, args, types)
		require.True(t, ok, v.Op)
		bits[v] = got
	}
	return bits[result]
}
