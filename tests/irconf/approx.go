package irconf

import (
	"math"

	"github.com/gokiln/kiln/compiler/ir"
)

// approxBounds says how far the results of approximate operations may be from
// the reference on any target, as a fraction of it and in absolute terms. They
// are what NVIDIA documents for the instructions, and the rounding of the
// reference.
var approxBounds = map[ir.Op]struct{ rel, abs float64 }{
	ir.OpApproxExp2:  {rel: 3 * 0x1p-23, abs: 0x1p-126}, // subnormal results may be zero
	ir.OpApproxLog2:  {rel: 0x1.8p-22, abs: 0x1.8p-22},
	ir.OpApproxSin:   {abs: 0x1.1p-20},
	ir.OpApproxCos:   {abs: 0x1.1p-20},
	ir.OpApproxTanh:  {rel: 0x1.1p-11},
	ir.OpApproxRsqrt: {rel: 0x1.4p-22},
	ir.OpApproxSqrt:  {rel: 0x1.4p-22},
	ir.OpApproxRecip: {rel: 0x1p-22},
	ir.OpApproxDiv:   {rel: 3 * 0x1p-23},
}

// nearOf returns what Case.Near is for op applied to the rows of operands, nil
// if op is exact.
func nearOf(op ir.Op, rows [][]uint64) func(i int, got, want uint64) bool {
	bound, ok := approxBounds[op]
	if !ok {
		return nil
	}
	return func(i int, got, want uint64) bool {
		x := float64(math.Float32frombits(uint32(rows[i][0])))
		g, w := float64(math.Float32frombits(uint32(got))), float64(math.Float32frombits(uint32(want)))
		limit := bound.abs + bound.rel*math.Abs(w)
		switch {
		case g != g || w != w:
			return false
		case op == ir.OpApproxSin || op == ir.OpApproxCos:
			if math.Abs(x) > 100*math.Pi {
				return math.Abs(g) <= 1.0001 // nothing better is promised
			}
			if math.Abs(x) > 2*math.Pi {
				limit = 0x1.1p-14
			}
		case math.Abs(w) > math.MaxFloat32*(1-bound.rel):
			return math.Abs(g) > math.MaxFloat32*(1-2*bound.rel) && (g > 0) == (w > 0)
		}
		return math.Abs(g-w) <= limit+4*math.SmallestNonzeroFloat32
	}
}

// Near reports whether got, what a target has for an approximate operation applied
// to operands, is as near to the reference as any target must come.
func Near(op ir.Op, operands []uint64, got, want uint64) bool {
	near := nearOf(op, [][]uint64{operands})
	return near != nil && near(0, got, want)
}
