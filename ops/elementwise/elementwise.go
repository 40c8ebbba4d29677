package elementwise

import (
	"fmt"
	"sync/atomic"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/elementwise/kernels"
	core "github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/runtime"
)

// Elementwise is an operation that computes every element of its result from the
// elements of its operands at the same index.
type Elementwise struct {
	name   string
	kernel *ops.Generic
	line   *ops.Generic // the kernel for operands that are contiguous
	fns    [2]*jit.Fn   // an instance of the function for floating-point types, and of that for integers
	short  *jit.Fn      // the function for types of 16 bits and less that are computed in F32, if it is another
	takes  ops.Types
	args   int  // operands
	params int  // numbers that all elements share
	truth  bool // the result is 0 or 1, of type U8
	swaps  bool // the kernel takes the second of two operands first

	affine *affine // how the row is one of Affine, nil if it is not

	made [32]atomic.Pointer[instance] // by element type
}

// instance is an operation for one element type.
type instance struct {
	kernel, line *jit.Kernel
	fn           *jit.Fn
	affine       *affine // fn is that of Affine
	other        dtype.Scalar
}

// affine says for which numbers Affine, x·a + b, has the bits of an operation with one number.
type affine struct {
	other   float64
	second  bool // the operation's number is b and the other one is a
	negated bool
}

var elementwises []*Elementwise

func row(e *Elementwise, name string, kernel, line, fn any, t ops.Types) *Elementwise {
	e.name, e.kernel, e.line, e.takes = name, ops.NewGeneric(name, kernel), ops.NewGeneric(name, line), t
	if fn != nil {
		e.fns = [2]*jit.Fn{jit.Func(fn), jit.Func(fn)}
	}
	elementwises = append(elementwises, e)
	return e
}

// ints gives the row another function for integers.
func (e *Elementwise) ints(fn any) *Elementwise {
	e.fns[1], e.takes = jit.Func(fn), e.takes|ops.Ints
	return e
}

// rounded gives the row another function for types of 16 bits and less, which need not be
// as exact.
func (e *Elementwise) rounded(fn any) *Elementwise {
	e.short = jit.Func(fn)
	return e
}

func unary(name string, fn any, t ops.Types) *Elementwise {
	return row(&Elementwise{args: 1}, name, kernels.Unary[ops.T, ops.C], kernels.UnaryLine[ops.T, ops.C], fn, t)
}

func test(name string, fn any, t ops.Types) *Elementwise {
	return row(&Elementwise{args: 1, truth: true}, name, kernels.Test[ops.T, ops.C], kernels.TestLine[ops.T, ops.C], fn, t)
}

func binary(name string, fn any, t ops.Types) *Elementwise {
	return row(&Elementwise{args: 2}, name, kernels.Binary[ops.T, ops.C], kernels.BinaryLine[ops.T, ops.C], fn, t)
}

func compare(name string, fn any) *Elementwise {
	return row(&Elementwise{args: 2, truth: true}, name, kernels.Compare[ops.T, ops.C], kernels.CompareLine[ops.T, ops.C], fn, ops.Numbers)
}

func scaled(name string, fn any, t ops.Types) *Elementwise {
	return row(&Elementwise{args: 1, params: 2}, name, kernels.Scaled[ops.T, ops.C], kernels.ScaledLine[ops.T, ops.C], fn, t)
}

// swapped has the row's function take its two operands in swapped order, so that it
// shares the kernels of another row.
func (e *Elementwise) swapped() *Elementwise {
	e.swaps = true
	return e
}

// as has the row share the kernels of Affine where that costs nothing: for types that are computed
// in themselves. Halves would take longer, integers lack fast products.
func (e *Elementwise) as(f affine) *Elementwise {
	e.affine = &f
	return e
}

func scaledTest(name string, fn any) *Elementwise {
	return row(&Elementwise{args: 1, params: 1, truth: true}, name, kernels.ScaledTest[ops.T, ops.C], kernels.ScaledTestLine[ops.T, ops.C], fn, ops.Numbers)
}

// Name is the operation's name.
func (e *Elementwise) Name() string { return e.name }

// Operands is how many operands the operation has.
func (e *Elementwise) Operands() int { return e.args }

// Params is how many numbers the operation has besides its operands.
func (e *Elementwise) Params() int { return e.params }

// Takes reports whether the operation is for elements of a type.
func (e *Elementwise) Takes(d dtype.DType) bool { return e.takes.Has(d) }

// Check reports why the operation does not take elements of a type, nil if it does.
func (e *Elementwise) Check(d dtype.DType) error {
	if !e.takes.Has(d) {
		return ops.Unsupported(e.name, d, e.takes.String())
	}
	return nil
}

// Result is the element type of the result for operands of a type.
func (e *Elementwise) Result(d dtype.DType) dtype.DType {
	if e.truth {
		return dtype.U8
	}
	return d
}

// instance returns the operation for an element type.
func (e *Elementwise) instance(d dtype.DType) (*instance, error) {
	if in := e.made[d&31].Load(); in != nil {
		return in, nil
	}
	if err := e.Check(d); err != nil {
		return nil, err
	}
	args := ops.TypeArgs{T: d}
	in := new(instance)
	var err error
	if in.kernel, err = e.kernel.Of(args); err != nil {
		return nil, err
	}
	if in.line, err = e.line.Of(args); err != nil {
		return nil, err
	}
	fn := e.kernel.LastParam(args)
	switch {
	case e.affine != nil && d.IsFloat() && d == d.Compute():
		in.fn, in.affine, in.other = Affine.fns[0].As(fn), e.affine, dtype.FromFloat(d, e.affine.other)
	case e.short != nil && d.IsFloat() && d.Bits() < 32:
		in.fn = e.short
	case d.IsInt():
		in.fn = e.fns[1].As(fn)
	default:
		in.fn = e.fns[0].As(fn)
	}
	e.made[d].Store(in)
	return in, nil
}

// Function is the function of the operation for elements of a type, of numbers of the type that is
// computed in: for kernels that apply it to what they compute.
func (e *Elementwise) Function(d dtype.DType) (*jit.Fn, error) {
	in, err := e.instance(d)
	if err != nil {
		return nil, err
	}
	return in.fn, nil
}

// Run stores the operation of x in out. The operands have one element type and the
// shape of out; memory of out may be that of an operand where the layouts are the same.
// The numbers are converted to the type that is computed in.
func (e *Elementwise) Run(s *runtime.Stream, out ops.View, x []ops.View, numbers ...dtype.Scalar) error {
	if len(x) != e.args || len(numbers) != e.params {
		return fmt.Errorf("%s of %d operands and %d numbers, want %d and %d", e.name, len(x), len(numbers), e.args, e.params)
	}
	in, err := e.instance(x[0].DType)
	if err != nil {
		return err
	}
	var l ops.WalkLaunch
	l.Operand(out)
	for i := range x {
		if e.swaps {
			i = len(x) - 1 - i
		}
		l.Operand(x[i])
	}
	if ok, err := l.Plan(s); !ok {
		return err
	}
	for i := range numbers {
		l.Number(numbers[i].Convert(x[0].DType.Compute()))
	}
	if in.affine != nil {
		l.Words = in.words(l.Words[0])
	}
	if l.Walk.Mode == core.Flat {
		l.Dense = true
		return l.Run(s, in.line, in.fn)
	}
	return l.Run(s, in.kernel, in.fn)
}

// words are the numbers of Affine for the number n of the operation.
func (in *instance) words(n uint64) [2]uint64 {
	if in.affine.negated {
		n ^= 1 << (in.other.DType().Bits() - 1)
	}
	if in.affine.second {
		return [2]uint64{in.other.Bits(), n}
	}
	return [2]uint64{n, in.other.Bits()}
}
