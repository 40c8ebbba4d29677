package ops

import (
	"reflect"
	"sync/atomic"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/runtime"
)

// family is a kernel for pairs of element types.
type family struct {
	name   string
	kernel *jit.Kernel
	params func(a, b reflect.Type) []reflect.Type

	made [32][32]atomic.Pointer[jit.Kernel]
}

// of returns the kernel for a pair of types that compute.
func (f *family) of(a, b dtype.DType) (*jit.Kernel, error) {
	if k := f.made[a&31][b&31].Load(); k != nil {
		return k, nil
	}
	for _, d := range []dtype.DType{a, b} {
		if !d.Computes() {
			return nil, unsupported(f.name, d, numbers.String())
		}
	}
	k := f.kernel.As(kernelType(f.params(a.Type(), b.Type())...))
	f.made[a][b].Store(k)
	return k, nil
}

var (
	cast = family{name: "cast", kernel: jit.Of(kernels.Cast[float32, float32]), params: func(d, s reflect.Type) []reflect.Type {
		return []reflect.Type{reflect.SliceOf(d), reflect.SliceOf(s), walkType}
	}}
	where = family{name: "where", kernel: jit.Of(kernels.Where[uint8, float32]), params: func(m, t reflect.Type) []reflect.Type {
		return []reflect.Type{reflect.SliceOf(t), reflect.SliceOf(m), reflect.SliceOf(t), reflect.SliceOf(t), walkType}
	}}
	fill = family{name: "fill", kernel: jit.Of(kernels.Fill[float32]), params: func(t, _ reflect.Type) []reflect.Type {
		return []reflect.Type{reflect.SliceOf(t), walkType, t}
	}}
	count = family{name: "arange", kernel: jit.Of(kernels.Count[float32, float32]), params: func(t, c reflect.Type) []reflect.Type {
		return []reflect.Type{reflect.SliceOf(t), walkType, c, c}
	}}
)

// Copy stores the elements of x, of the same shape, in out, by value if their types
// differ. Types that are only stored can be copied if the types are the same.
func Copy(s *runtime.Stream, out, x View) error {
	if out.DType == x.DType {
		// Bits are bits: types of one size share a kernel, and NaN stays what it is.
		out.DType = carrier(x.DType)
		x.DType = out.DType
		if !out.Layout.IsContiguous() || !x.Layout.IsContiguous() {
			if w, ok := tiles(out.Layout, x.Layout); ok {
				info := infoOf(s.Device())
				if g, ok := inTiles(&w, &info, out, x); ok {
					return transposed(s, out, x, &w, g)
				}
			}
		}
	}
	k, err := cast.of(out.DType, x.DType)
	if err != nil {
		return err
	}
	return run(s, k, out, x)
}

// carrier is the integer type that moves elements of a type.
func carrier(d dtype.DType) dtype.DType {
	switch d.Size() {
	case 1:
		return dtype.U8
	case 2:
		return dtype.I16
	case 4:
		return dtype.U32
	case 8:
		return dtype.I64
	}
	return d
}

// Where stores the elements of x where those of cond, integers, are not 0, and else
// those of y. All have the shape of out, and x and y its type.
func Where(s *runtime.Stream, out, cond, x, y View) error {
	if !cond.DType.IsInt() {
		return unsupported("where with a condition", cond.DType, ints.String())
	}
	t := carrier(out.DType)
	k, err := where.of(cond.DType, t)
	if err != nil {
		return err
	}
	out.DType, x.DType, y.DType = t, t, t
	return run(s, k, out, cond, x, y)
}

// Fill stores v, of the type of out, everywhere in out.
func Fill(s *runtime.Stream, out View, v dtype.Scalar) error {
	t := carrier(out.DType)
	k, err := fill.of(t, t)
	if err != nil {
		return err
	}
	out.DType = t
	return run(s, k, out, dtype.FromBits(t, v.Bits()))
}

// Arange stores from + i·step in element i of out, which is contiguous. The numbers
// are of the type that is computed in.
func Arange(s *runtime.Stream, out View, from, step dtype.Scalar) error {
	c := out.DType.Compute()
	k, err := count.of(out.DType, c)
	if err != nil {
		return err
	}
	return run(s, k, out, from.Convert(c), step.Convert(c))
}

// run launches a kernel that walks over its operands, Views, and takes the numbers,
// Scalars.
func run(s *runtime.Stream, k *jit.Kernel, args ...any) error {
	var l launch
	for _, a := range args {
		switch a := a.(type) {
		case View:
			l.view(a)
		case dtype.Scalar:
			l.number(a)
		}
	}
	if ok, err := l.plan(s); !ok {
		return err
	}
	return l.run(s, k, nil)
}
