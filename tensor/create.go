package tensor

import (
	"fmt"
	"math"
	"reflect"
	"unsafe"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/elementwise"
	"github.com/gokiln/kiln/runtime"
)

// From returns a tensor with a copy of data in row-major order. Without a shape it has
// one dimension. One size of the shape may be [Inferred].
//
//	x := tensor.From(dev, []float32{1, 2, 3, 4}, 2, 2)
func From[T Element](d *Device, data []T, shape ...int) *Tensor {
	if len(shape) == 0 {
		shape = []int{len(data)}
	}
	return fromBytes("from", d, dtype.Of[T](), asBytes(data), len(data), shape)
}

// Item returns a tensor without dimensions that holds one number.
func Item[T Element](d *Device, x T) *Tensor {
	return fromBytes("item", d, dtype.Of[T](), asBytes([]T{x}), 1, nil)
}

// FromBytes returns a tensor with a copy of elements as memory has them, in row-major
// order and little-endian. Without a shape it has one dimension.
func FromBytes(d *Device, dt DType, data []byte, shape ...int) *Tensor {
	const op = "from bytes"
	if !dt.Valid() {
		return failf(op, ErrDType, "%s", dt)
	}
	n := len(data)
	if dt.Size() > 0 {
		n /= dt.Size()
	} else {
		n = len(data) * 8 / dt.Bits()
	}
	if len(shape) == 0 {
		shape = []int{n}
	}
	if count := Shape(shape).Count(); dt.Size() == 0 && count > 0 && dt.Bytes(count) == len(data) {
		n = count // bits are left over in the last byte
	}
	if dt.Bytes(n) != len(data) {
		return failf(op, ErrShape, "%d bytes are no whole number of elements of %s", len(data), dt)
	}
	return fromBytes(op, d, dt, data, n, shape)
}

func asBytes[T any](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(*new(T))))
}

func fromBytes(op string, d *Device, dt DType, data []byte, n int, shape Shape) *Tensor {
	shape, err := shape.Fill(n)
	if err != nil {
		return failed(op, err)
	}
	return filled(op, d, dt, shape, func(mem runtime.Slice[byte]) error {
		return mem.CopyFromAsync(d.stream, data)
	})
}

// filled is a tensor whose memory a function fills.
func filled(op string, d *Device, dt DType, shape Shape, fill func(mem runtime.Slice[byte]) error) *Tensor {
	t, err := empty(d, dt, append(Shape(nil), shape...))
	if err != nil {
		return t.dropped(op, err)
	}
	if t.buf == nil {
		return t
	}
	mem, err := runtime.View[byte](t.buf)
	if err == nil {
		err = fill(mem)
	}
	if err != nil {
		return t.dropped(op, err)
	}
	return t
}

// New returns a tensor of nested data: a number, or slices or arrays of numbers, or of
// slices, and so on, of which all of one depth have the same length.
//
//	x := tensor.New(dev, [][]float32{{1, 2, 3}, {4, 5, 6}})
func New(d *Device, data any) *Tensor {
	const op = "new"
	v := reflect.ValueOf(data)
	var shape Shape
	for t := v; t.IsValid() && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array); t = t.Index(0) {
		shape = append(shape, t.Len())
		if t.Len() == 0 {
			for e := t.Type().Elem(); e.Kind() == reflect.Slice || e.Kind() == reflect.Array; e = e.Elem() {
				shape = append(shape, 0)
			}
			break
		}
	}
	dt := DType(0)
	if v.IsValid() {
		dt = typeOf(v.Type())
	}
	if dt == dtype.Invalid {
		return failf(op, ErrDType, "%T holds no numbers of an element type", data)
	}
	var bytes []byte
	if err := flatten(v, shape, &bytes); err != nil {
		return failed(op, err)
	}
	return fromBytes(op, d, dt, bytes, shape.Count(), shape)
}

// typeOf returns the element type in nested slices.
func typeOf(t reflect.Type) DType {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	for _, d := range dtype.All() {
		if d.Type() == t {
			return d
		}
	}
	return dtype.Invalid
}

func flatten(v reflect.Value, shape Shape, out *[]byte) error {
	if len(shape) == 0 {
		p := reflect.New(v.Type())
		p.Elem().Set(v)
		*out = append(*out, unsafe.Slice((*byte)(p.UnsafePointer()), int(v.Type().Size()))...)
		return nil
	}
	if v.Len() != shape[0] {
		return fmt.Errorf("%w: a slice of %d beside one of %d", ErrShape, v.Len(), shape[0])
	}
	for i := range v.Len() {
		if err := flatten(v.Index(i), shape[1:], out); err != nil {
			return err
		}
	}
	return nil
}

// Empty returns a tensor whose elements are not set: they are what was in the memory.
func Empty(d *Device, dt DType, shape ...int) *Tensor {
	t, err := empty(d, dt, append(Shape(nil), shape...))
	if err != nil {
		return t.dropped("empty", err)
	}
	return t
}

// Full returns a tensor of which every element is x, in the type of x.
func Full(d *Device, x Scalar, shape ...int) *Tensor { return full("full", d, x, shape) }

func full(op string, d *Device, x Scalar, shape Shape) *Tensor {
	t, err := empty(d, x.DType(), append(Shape(nil), shape...))
	if err == nil {
		err = elementwise.Fill(d.stream, t.view(), x)
	}
	if err != nil {
		return t.dropped(op, err)
	}
	return t
}

// Zeros returns a tensor of zeros.
func Zeros(d *Device, dt DType, shape ...int) *Tensor {
	if !dt.Computes() {
		return failf("zeros", ErrDType, "%s", dt)
	}
	return full("zeros", d, dtype.Zero(dt), shape)
}

// Ones returns a tensor of ones.
func Ones(d *Device, dt DType, shape ...int) *Tensor {
	if !dt.Computes() {
		return failf("ones", ErrDType, "%s", dt)
	}
	return full("ones", d, dtype.One(dt), shape)
}

// ZerosLike returns zeros of the shape, type and device of t.
func (t *Tensor) ZerosLike() *Tensor { return t.like("zeros", 0) }

// OnesLike returns ones of the shape, type and device of t.
func (t *Tensor) OnesLike() *Tensor { return t.like("ones", 1) }

// FullLike returns a tensor of the shape, type and device of t in which every element is
// x.
func (t *Tensor) FullLike(x float64) *Tensor { return t.like("full", x) }

func (t *Tensor) like(op string, x float64) *Tensor {
	if bad := firstOf(op, t); bad != nil {
		return bad
	}
	if err := computes(t.dtype); err != nil {
		return failed(op, err)
	}
	return full(op, t.dev, dtype.FromFloat(t.dtype, x), t.layout.Shape()).scoped(t)
}

func computes(of ...DType) error {
	for _, dt := range of {
		if !dt.Computes() {
			return fmt.Errorf("%w: %s is for storage only", ErrDType, dt)
		}
	}
	return nil
}

// Arange returns the numbers from start up to end, but not end itself, 1 apart.
func Arange[T Element](d *Device, start, end T) *Tensor {
	return arange(d, dtype.New(start), dtype.New(end), dtype.One(dtype.Of[T]()))
}

// ArangeStep returns the numbers from start on, step apart, up to end but not end itself;
// down to it if step is negative.
func ArangeStep[T Element](d *Device, start, end, step T) *Tensor {
	return arange(d, dtype.New(start), dtype.New(end), dtype.New(step))
}

func arange(d *Device, start, end, step Scalar) *Tensor {
	const op = "arange"
	if step.Float() == 0 || math.IsNaN(step.Float()) {
		return failf(op, ErrArgument, "a step of %v", step)
	}
	n := math.Ceil((end.Float() - start.Float()) / step.Float())
	if start.DType().IsInt() {
		n = float64(steps(start.Int(), end.Int(), step.Int()))
	}
	if math.IsNaN(n) || n > 1<<53 {
		return failf(op, ErrTooLarge, "from %v to %v in steps of %v", start, end, step)
	}
	t, err := empty(d, start.DType(), Shape{int(max(n, 0))})
	if err == nil {
		err = elementwise.Arange(d.stream, t.view(), start, step)
	}
	if err != nil {
		return t.dropped(op, err)
	}
	return t
}

// steps counts the numbers from one up or down to another, which may be far apart.
func steps(from, to, step int64) uint64 {
	switch {
	case step > 0 && from < to:
		return (uint64(to)-uint64(from)-1)/uint64(step) + 1
	case step < 0 && from > to:
		return (uint64(from)-uint64(to)-1)/-uint64(step) + 1
	}
	return 0
}

// Linspace returns n numbers from start to end, both included, at equal distances.
func Linspace(d *Device, dt DType, start, end float64, n int) *Tensor {
	const op = "linspace"
	if !dt.IsFloat() {
		return failf(op, ErrDType, "%s: it is for floating-point types", dt)
	}
	t, err := empty(d, dt, Shape{n})
	if err == nil {
		step := 0.0
		if n > 1 {
			step = (end - start) / float64(n-1)
		}
		err = elementwise.Arange(d.stream, t.view(), dtype.FromFloat(F64, start), dtype.FromFloat(F64, step))
	}
	if err != nil {
		return t.dropped(op, err)
	}
	return t
}
