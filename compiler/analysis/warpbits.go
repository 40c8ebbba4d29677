package analysis

import (
	"math"
	"math/bits"

	"github.com/gokiln/kiln/compiler/ir"
)

// unknownBits stands for a number of low bits that says nothing: more than any
// value has.
const unknownBits = 64

// warpBits is the known bits of an integer: which of them differ between lanes of a warp.
//
// A thread's index along x, in a block whose x size is a multiple of the warp
// size, differs between the threads of a warp in its low bits only, so its
// quotient by the warp size is uniform. That holds of sums with multiples of the
// warp size too, such as the first index of a grid-stride loop, and of all bitwise
// operations.
type warpBits struct {
	// vary is how many low bits may differ between the threads of a warp; those above
	// are uniform.
	vary uint8
	// zeros is how many low bits are 0 in all threads.
	zeros uint8
}

// join returns what holds of a value that is one of two.
func (x warpBits) join(y warpBits) warpBits {
	return warpBits{max(x.vary, y.vary), min(x.zeros, y.zeros)}
}

// worsen records what is known of v: less with each iteration.
func (u *uniformity) worsen(v *ir.Value, to warpBits) {
	if to = u.bits[v.ID].join(to); to != u.bits[v.ID] {
		u.bits[v.ID], u.changed = to, true
	}
}

// bitsOf returns what is known of v for a user in block b.
func (u *uniformity) bitsOf(v *ir.Value, b *ir.Block) warpBits {
	x := u.bits[v.ID]
	switch {
	case u.seen(v, b) <= ir.UniformWarp:
		x.vary = 0
	case u.leaving(v, b) > ir.UniformWarp:
		x.vary = unknownBits
	}
	return x
}

// constBits is bitsOf for a number that all threads have.
func constBits(n uint64) warpBits { return warpBits{zeros: uint8(bits.TrailingZeros64(n))} }

// integer returns what is known of v, an operation in block b, and reports whether
// that makes it uniform in a warp.
func (u *uniformity) integer(b *ir.Block, v *ir.Value) (warpBits, bool) {
	none := warpBits{vary: unknownBits}
	if !v.Type.IsInt() {
		_, compares := Inverse[v.Op]
		return none, compares && v.Args[0].Type.IsInt() && u.compares(b, v)
	}
	switch v.Op {
	case ir.OpConst:
		return constBits(v.Imm), true
	case ir.OpThread, ir.OpLane, ir.OpBlockDim, ir.OpWarpSize:
		return u.geometry(v)
	case ir.OpConvert:
		return u.converted(b, v)
	}
	if len(v.Args) < 2 {
		return none, false
	}
	x, y := u.bitsOf(v.Args[0], b), u.bitsOf(v.Args[1], b)
	switch v.Op {
	case ir.OpOr, ir.OpXor, ir.OpMin, ir.OpMax:
		return x.join(y), false
	case ir.OpAnd:
		return masked(x, y)
	case ir.OpAdd, ir.OpSub:
		return sum(v.Op, x, y), false
	case ir.OpMul:
		return product(v, x, y), false
	case ir.OpShl, ir.OpShr:
		return shifted(v, x)
	case ir.OpDiv, ir.OpRem:
		return u.divided(b, v, x, y)
	case ir.OpSelect:
		if u.seen(v.Args[0], b) <= ir.UniformWarp {
			return y.join(u.bitsOf(v.Args[2], b)), false
		}
	}
	return none, false
}

// geometry is integer for the operations of thread geometry: thread and block indices and sizes.
func (u *uniformity) geometry(v *ir.Value) (warpBits, bool) {
	log := uint8(bits.TrailingZeros64(uint64(max(u.warp, 1))))
	along := u.warp > 0 && v.Imm == 0
	switch v.Op {
	case ir.OpThread:
		if u.warp > 0 && v.Imm > 0 {
			return warpBits{}, true // a warp lies in one row
		}
		if along {
			return warpBits{vary: log}, false
		}
	case ir.OpLane:
		if u.warp > 0 {
			return warpBits{vary: log}, false
		}
	case ir.OpBlockDim:
		if along {
			return warpBits{zeros: log}, true
		}
		return warpBits{}, true
	case ir.OpWarpSize:
		return warpBits{zeros: log}, true
	}
	return warpBits{vary: unknownBits}, false
}

// converted is integer for conversions between integers: all but those that copy
// a sign bit which differs keep what is known.
func (u *uniformity) converted(b *ir.Block, v *ir.Value) (warpBits, bool) {
	from := v.Args[0].Type
	if !from.IsInt() {
		return warpBits{vary: unknownBits}, false
	}
	x := u.bitsOf(v.Args[0], b)
	if from.IsSigned() && v.Type.Bits() > from.Bits() && int(x.vary) >= from.Bits() {
		x.vary = unknownBits
	}
	return x, false
}

// masked is what is known of x & y. A mask that clears all bits that differ
// leaves a uniform value.
func masked(x, y warpBits) (warpBits, bool) {
	z := warpBits{max(x.vary, y.vary), max(x.zeros, y.zeros)}
	return z, z.zeros >= z.vary
}

// sum is what is known of x + y or x - y: no carry comes out of the bits that
// differ in x if y has none there.
func sum(op ir.Op, x, y warpBits) warpBits {
	z := warpBits{unknownBits, min(x.zeros, y.zeros)}
	switch {
	case y.vary == 0 && y.zeros >= x.vary:
		z.vary = x.vary
	case op == ir.OpAdd && x.vary == 0 && x.zeros >= y.vary:
		z.vary = y.vary
	}
	return z
}

// product is what is known of x * y; a factor that is a power of two shifts.
func product(v *ir.Value, x, y warpBits) warpBits {
	z := warpBits{unknownBits, min(unknownBits, x.zeros+y.zeros)}
	for i, k := range v.Args {
		if n := k.Imm; k.IsConst() && n != 0 && n&(n-1) == 0 {
			other := [2]warpBits{y, x}[i]
			z.vary = min(unknownBits, other.vary+uint8(bits.TrailingZeros64(n)))
		}
	}
	return z
}

// shifted is integer for a shift of x by a constant.
func shifted(v *ir.Value, x warpBits) (warpBits, bool) {
	k := v.Args[1]
	if !k.IsConst() || k.Imm >= uint64(v.Type.Bits()) {
		return warpBits{vary: unknownBits}, false
	}
	n := uint8(k.Imm)
	if v.Op == ir.OpShl {
		return warpBits{min(unknownBits, x.vary+n), min(unknownBits, x.zeros+n)}, false
	}
	if int(x.vary) >= v.Type.Bits() { // copies of the sign bit may differ
		return warpBits{vary: unknownBits}, false
	}
	return warpBits{x.vary - min(x.vary, n), x.zeros - min(x.zeros, n)}, x.vary <= n
}

// divided is integer for quotients and remainders by a uniform y that is a multiple
// of what differs in x. Go rounds towards zero, so x must not be negative.
func (u *uniformity) divided(b *ir.Block, v *ir.Value, x, y warpBits) (warpBits, bool) {
	none := warpBits{vary: unknownBits}
	if y.vary > 0 || y.zeros < x.vary || x.vary == unknownBits || !u.notNegative(b, v.Args[0]) || !u.notNegative(b, v.Args[1]) {
		return none, false
	}
	if v.Op == ir.OpDiv {
		return warpBits{}, true
	}
	return warpBits{vary: x.vary}, false
}

func (u *uniformity) notNegative(b *ir.Block, v *ir.Value) bool {
	if !v.Type.IsSigned() {
		return true
	}
	if u.ranges == nil {
		u.ranges = NewRanges(u.f, false)
	}
	return u.ranges.At(v, b).NonNegative()
}

// compares reports whether all threads of a warp agree on the comparison v: that of
// x, which differs in low bits, with a uniform multiple of what these can be.
func (u *uniformity) compares(b *ir.Block, v *ir.Value) bool {
	x, y := v.Args[0], v.Args[1]
	switch v.Op {
	case ir.OpLt, ir.OpGe:
		return u.below(b, x, y, 0)
	case ir.OpGt, ir.OpLe:
		return u.below(b, y, x, 0) || u.below(b, x, y, 1)
	}
	return false
}

// below reports whether all threads of a warp agree on x < y + more.
func (u *uniformity) below(b *ir.Block, x, y *ir.Value, more uint64) bool {
	a, c := u.bitsOf(x, b), u.bitsOf(y, b)
	if more > 0 {
		if !y.IsConst() || y.Imm == math.MaxUint64 {
			return false
		}
		c = constBits(y.Imm + more)
	}
	return c.vary == 0 && c.zeros >= a.vary
}
