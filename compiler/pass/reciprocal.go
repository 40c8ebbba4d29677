package pass

import (
	"math/big"
	"math/bits"

	"github.com/gokiln/kiln/compiler/ir"
)

// reciprocal makes divisions by constants, of integers of 32 and 64 bits, products
// with a scaled reciprocal (Granlund and Montgomery, Division by Invariant Integers
// using Multiplication, PLDI 1994). A GPU has no instruction that divides. Powers of
// two are left to the emitters, which have shorter sequences.
func reciprocal(m *ir.Module, opt *Options) error {
	if !opt.SlowDiv {
		return nil
	}
	for _, f := range m.Funcs {
		for _, b := range f.Blocks {
			r := &divider{rewriter{f: f, b: b}}
			for _, v := range b.Instrs {
				if (v.Op == ir.OpDiv || v.Op == ir.OpRem) && v.Type.IsInt() && v.Type.Bits() >= 32 && v.Args[1].IsConst() {
					r.divide(v)
				}
				r.out = append(r.out, v)
			}
			b.Instrs = r.out
		}
	}
	return nil
}

// divider writes the instructions of a block anew.
type divider struct{ rewriter }

func (r *divider) divide(v *ir.Value) {
	x, d := v.Args[0], v.Args[1].Imm
	size := d
	if v.Type.IsSigned() && int64(d) < 0 {
		size = -d
	}
	if size&(size-1) == 0 { // 0 and 1 too
		return
	}
	var q *ir.Value
	if v.Type.IsSigned() {
		q = r.signed(x, int64(d))
	} else {
		q = r.unsigned(x, d)
	}
	last := r.out[len(r.out)-1]
	if v.Op == ir.OpRem {
		last = r.emit(ir.OpMul, v.Type, q, v.Args[1])
		become(v, ir.OpSub, v.Type, x, last)
		return
	}
	r.out = r.out[:len(r.out)-1]
	become(v, last.Op, v.Type, last.Args...)
}

// shift is x >> n.
func (r *divider) shift(x *ir.Value, n int) *ir.Value {
	if n == 0 {
		return x
	}
	return r.emit(ir.OpShr, x.Type, x, r.constant(ir.U32, uint64(n)))
}

// unsigned returns x / d: the high half of a product, shifted. Where the factor
// does not fit, the product is taken with its low part and x added by halves.
func (r *divider) unsigned(x *ir.Value, d uint64) *ir.Value {
	n := x.Type.Bits()
	if factor, shift, ok := shortFactor(n, d); ok {
		high := r.emit(ir.OpMulHi, x.Type, x, r.constant(x.Type, factor))
		return r.shift(high, shift)
	}
	// factor = floor(2^n * (2^l - d) / d) + 1, with l = ceil(log2 d)
	l := bits.Len64(d - 1)
	factor := new(big.Int).Lsh(big.NewInt(1), uint(l))
	factor.Sub(factor, new(big.Int).SetUint64(d)).Lsh(factor, uint(n)).Div(factor, new(big.Int).SetUint64(d)).Add(factor, big.NewInt(1))
	high := r.emit(ir.OpMulHi, x.Type, x, r.constant(x.Type, factor.Uint64()))
	half := r.shift(r.emit(ir.OpSub, x.Type, x, high), 1)
	return r.shift(r.emit(ir.OpAdd, x.Type, half, high), l-1)
}

// shortFactor finds an n-bit factor and a shift that give x / d for all x of n bits:
// factor*d is more than 2^(n+shift), by no more than 2^shift.
func shortFactor(n int, d uint64) (factor uint64, shift int, ok bool) {
	big1, bigD := big.NewInt(1), new(big.Int).SetUint64(d)
	for shift := 0; shift < n; shift++ {
		scale := new(big.Int).Lsh(big1, uint(n+shift))
		m := new(big.Int).Div(scale, bigD)
		m.Add(m, big1)
		if m.BitLen() > n {
			return 0, 0, false
		}
		over := new(big.Int).Mul(m, bigD)
		over.Sub(over, scale)
		if over.Cmp(new(big.Int).Lsh(big1, uint(shift))) <= 0 {
			return m.Uint64(), shift, true
		}
	}
	return 0, 0, false
}

// signed returns x / d, truncated: the high half of a product, shifted, and one
// more where that is negative (Warren, Hacker's Delight, 10-1).
func (r *divider) signed(x *ir.Value, d int64) *ir.Value {
	t, n := x.Type, x.Type.Bits()
	factor, shift := signedFactor(n, d)
	c := r.constant(t, factor)
	q := r.emit(ir.OpMulHi, t, x, c)
	switch {
	case d > 0 && int64(c.Imm) < 0:
		q = r.emit(ir.OpAdd, t, q, x)
	case d < 0 && int64(c.Imm) > 0:
		q = r.emit(ir.OpSub, t, q, x)
	}
	q = r.shift(q, shift)
	u := ir.U32
	if n == 64 {
		u = ir.U64
	}
	sign := r.shift(r.emit(ir.OpBitcast, u, q), n-1)
	return r.emit(ir.OpAdd, t, q, r.emit(ir.OpBitcast, t, sign))
}

// signedFactor returns the factor, of which the low n bits count, and the shift:
// the least p >= n with 2^p > nc*(ad - 2^p mod ad), where ad is the size of d and nc
// the largest dividend whose remainder is ad-1.
func signedFactor(n int, d int64) (factor uint64, shift int) {
	ad := new(big.Int).Abs(big.NewInt(d))
	t := new(big.Int).Lsh(big.NewInt(1), uint(n-1))
	if d < 0 {
		t.Add(t, big.NewInt(1))
	}
	nc := new(big.Int).Mod(t, ad)
	nc.Sub(t, nc).Sub(nc, big.NewInt(1))
	for p := n; ; p++ {
		power := new(big.Int).Lsh(big.NewInt(1), uint(p))
		rest := new(big.Int).Mod(power, ad)
		rest.Sub(ad, rest)
		if power.Cmp(new(big.Int).Mul(nc, rest)) > 0 {
			m := power.Add(power, rest)
			m.Div(m, ad)
			if d < 0 {
				m.Neg(m)
			}
			mask := new(big.Int).Lsh(big.NewInt(1), 64)
			return m.Mod(m, mask).Uint64(), p - n
		}
	}
}
