package elementwise

import (
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/elementwise/kernels"
	"github.com/gokiln/kiln/runtime"
)

var (
	cast  = ops.NewGeneric("cast", kernels.Cast[ops.O, ops.T])
	where = ops.NewGeneric("where", kernels.Where[ops.M, ops.T])
	fill  = ops.NewGeneric("fill", kernels.Fill[ops.T])
	count = ops.NewGeneric("arange", kernels.Count[ops.T, ops.C])
)

// Copy stores the elements of x, of the same shape, in out, by value if their types
// differ. Types that are only stored can be copied if the types are the same.
func Copy(s *runtime.Stream, out, x ops.View) error {
	if out.DType == x.DType {
		// Bits are bits: types of one size share a kernel, and NaN stays what it is.
		out.DType = ops.Carrier(x.DType)
		x.DType = out.DType
		if !out.Layout.IsContiguous() || !x.Layout.IsContiguous() {
			if w, ok := tiles(out.Layout, x.Layout); ok {
				info := ops.DeviceInfo(s.Device())
				if g, ok := inTiles(&w, &info, out, x); ok {
					return transposed(s, out, x, &w, g)
				}
			}
		}
	}
	k, err := cast.Of(ops.TypeArgs{O: out.DType, T: x.DType})
	if err != nil {
		return err
	}
	return ops.RunWalk(s, k, out, x)
}

// Where stores the elements of x where those of cond, integers, are not 0, and else
// those of y. All have the shape of out, and x and y its type.
func Where(s *runtime.Stream, out, cond, x, y ops.View) error {
	if !cond.DType.IsInt() {
		return ops.Unsupported("where with a condition", cond.DType, ops.Ints.String())
	}
	t := ops.Carrier(out.DType)
	k, err := where.Of(ops.TypeArgs{M: cond.DType, T: t})
	if err != nil {
		return err
	}
	out.DType, x.DType, y.DType = t, t, t
	return ops.RunWalk(s, k, out, cond, x, y)
}

// Fill stores v, of the type of out, everywhere in out.
func Fill(s *runtime.Stream, out ops.View, v dtype.Scalar) error {
	t := ops.Carrier(out.DType)
	k, err := fill.Of(ops.TypeArgs{T: t})
	if err != nil {
		return err
	}
	out.DType = t
	return ops.RunWalk(s, k, out, dtype.FromBits(t, v.Bits()))
}

// Arange stores from + i·step in element i of out, which is contiguous. The numbers
// are of the type that is computed in.
func Arange(s *runtime.Stream, out ops.View, from, step dtype.Scalar) error {
	c := out.DType.Compute()
	k, err := count.Of(ops.TypeArgs{T: out.DType})
	if err != nil {
		return err
	}
	return ops.RunWalk(s, k, out, from.Convert(c), step.Convert(c))
}
