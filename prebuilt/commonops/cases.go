package commonops

import (
	"errors"

	"github.com/gokiln/kiln/tensor"
)

// Case is an operation, on several types and shapes.
type Case struct {
	Name string
	Run  func(d *tensor.Device) error
}

// Cases returns the cases, in a fixed order.
func Cases() (list []Case) {
	for _, c := range cases {
		list = append(list, Case{c.name, func(d *tensor.Device) error { return run(d, c.types, c.run) }})
	}
	return list
}

type tensors = []*tensor.Tensor

// definition is a case as the table has it: run returns the results, whose errors are
// looked at.
type definition struct {
	name  string
	types []tensor.DType
	run   func(o operands) tensors
}

var (
	floats  = []tensor.DType{tensor.F32, tensor.F16, tensor.BF16}
	numbers = []tensor.DType{tensor.F32, tensor.F16, tensor.BF16, tensor.I64}
	single  = []tensor.DType{tensor.F32}
	integer = []tensor.DType{tensor.I64}
)

func run(d *tensor.Device, types []tensor.DType, f func(operands) tensors) (err error) {
	for _, dt := range types {
		o := operands{d, dt}
		for _, t := range f(o) {
			err = errors.Join(err, t.Err())
		}
	}
	return err
}

// operands makes the operands of a case.
type operands struct {
	d  *tensor.Device
	dt tensor.DType
}

// of returns a tensor of the case's type that is full of zeros.
func (o operands) of(shape ...int) *tensor.Tensor { return zeros(o.d, o.dt, shape...) }

// ids returns n indices of a dimension that has at least n elements.
func (o operands) ids(n int) *tensor.Tensor {
	list := make([]int64, n)
	for i := range list {
		list[i] = int64(i)
	}
	return tensor.From(o.d, list)
}

// zeros brings the zeros from the host: a kernel that fills is not part of the case.
func zeros(d *tensor.Device, dt tensor.DType, shape ...int) *tensor.Tensor {
	n := dt.Size()
	for _, s := range shape {
		n *= s
	}
	return tensor.FromBytes(d, dt, make([]byte, n), shape...)
}

// unary runs an operation on a whole tensor.
func unary(f func(x *tensor.Tensor) *tensor.Tensor) func(operands) tensors {
	return func(o operands) tensors { return tensors{f(o.of(64, 48))} }
}

// binary runs an operation on tensors of one shape, with a row and with a column.
func binary(f func(x, y *tensor.Tensor) *tensor.Tensor) func(operands) tensors {
	return func(o operands) tensors {
		x := o.of(64, 48)
		row := o.of(48).BroadcastTo(64, 48)
		column := o.of(64, 1).BroadcastTo(64, 48)
		return tensors{f(x, o.of(64, 48)), f(x, row), f(x, column)}
	}
}

// flat runs an operation on tensors of one shape.
func flat(f func(x, y *tensor.Tensor) *tensor.Tensor) func(operands) tensors {
	return func(o operands) tensors { return tensors{f(o.of(64, 48), o.of(64, 48))} }
}

// rows runs an operation along short, middling and long rows.
func rows(f func(x *tensor.Tensor, n int) tensors) func(operands) tensors {
	return func(o operands) (list tensors) {
		for _, n := range []int{10, 256, 4096} {
			list = append(list, f(o.of(8, n), n)...)
		}
		return list
	}
}

// reduction reduces rows, columns and everything.
func reduction(f func(x *tensor.Tensor, dims ...int) *tensor.Tensor) func(operands) tensors {
	return func(o operands) tensors {
		return tensors{f(o.of(64, 10), 1), f(o.of(64, 256), 1), f(o.of(8, 4096), 1), f(o.of(256, 64), 0), f(o.of(256, 256))}
	}
}

func one(t *tensor.Tensor) tensors { return tensors{t} }
