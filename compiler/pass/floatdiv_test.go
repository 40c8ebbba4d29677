package pass

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
)

// TestDivideFloats divides numbers of all magnitudes, and those whose quotients are in the middle between
// two others, with a reciprocal that is off by its last bits.
func TestDivideFloats(t *testing.T) {
	m := &ir.Module{}
	f := m.NewFunc("f")
	b := f.NewBlock()
	x, y := f.NewParam(ir.F32), f.NewParam(ir.F32)
	f.Results = []*ir.Type{ir.F32}
	b.Return(b.Emit(f, ir.OpDiv, ir.F32, x, y))
	divideFloats(f)
	require.NoError(t, ir.Verify(m))
	require.False(t, slices.ContainsFunc(f.Blocks[0].Instrs, func(v *ir.Value) bool { return v.Op == ir.OpDiv }))
	// A reciprocal that is off by 2⁻²¹, more than a target's is.
	i := slices.IndexFunc(f.Blocks[0].Instrs, func(v *ir.Value) bool { return v.Op == ir.OpApproxRecip })
	require.Positive(t, i)
	after := slices.Clone(f.Blocks[0].Instrs[i+1:])
	f.Blocks[0].Instrs = f.Blocks[0].Instrs[:i+1]
	require.Same(t, f.Blocks[0].Instrs[i], after[0].Args[0])
	after[0].Args[0] = b.Emit(f, ir.OpMul, ir.F32, after[0].Args[0], b.EmitConst(f, ir.F32, uint64(math.Float32bits(1+0x1p-21))))
	f.Blocks[0].Instrs = append(f.Blocks[0].Instrs, after...)
	check := func(x, y float32) {
		got := math.Float32frombits(uint32(newMachine(m).call(f, []uint64{uint64(math.Float32bits(x)), uint64(math.Float32bits(y))})[0]))
		want := x / y
		require.True(t, math.Float32bits(got) == math.Float32bits(want) || got != got && want != want, "%v by %v is %v, and not %v", x, y, got, want)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	edges := []uint32{0, 1, 2, 3, 0x7fffff, 0x800000, 0x800001, 0x3f7fffff, 0x3f800000, 0x3f800001, 0x40400000, 0x7f000000, 0x7f7fffff, 0x7f800000, 0x7fc00000}
	for _, x := range edges {
		for _, y := range edges {
			for _, signs := range []uint32{0, 1, 2, 3} {
				check(math.Float32frombits(x|signs<<31), math.Float32frombits(y|signs>>1<<31))
			}
		}
	}
	any := func() float32 { return math.Float32frombits(rng.Uint32()) }
	for range 20000 {
		check(any(), any())
		// A middle between subnormal numbers, and next to one: (2n+1)·2⁻¹⁵⁰ times a small odd divisor.
		n, by := float64(2*rng.IntN(1<<18)+1), float64(rng.IntN(32)*2+1)
		check(float32(math.Ldexp(n*by, -126)), float32(math.Ldexp(by, 24)))
		check(math.Nextafter32(float32(math.Ldexp(n*by, -126)), 0), float32(math.Ldexp(by, 24)))
	}
}
