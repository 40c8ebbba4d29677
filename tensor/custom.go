package tensor

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/runtime"
)

// CustomOp1 is an operation of a program, of one operand. [Apply1] applies it:
//
//	type SoftCap struct{ Limit float32 }
//
//	func (SoftCap) Name() string { return "softcap" }
//
//	func (op SoftCap) Forward(x *tensor.Tensor) *tensor.Tensor {
//		out := tensor.Empty(x.Device(), x.DType(), x.Shape()...)
//		return tensor.LaunchInto(out, kernel, runtime.Cover(x.Count(), 256), x, x.Layout(), op.Limit)
//	}
//
//	func (op SoftCap) Backward(g, x, out *tensor.Tensor) *tensor.Tensor { … }
//
// Forward makes the result, most often by launching one kernel, which is the same for all
// devices, or of other operations. Its operand holds no error and has any layout. An
// error is a result, too: see [Fail]. Memory of the result belongs to the operand's [Scope].
//
// An operation with the method of [Backward1] has a gradient.
//
// On one kind of device another method than Forward can make the result, as one that
// launches text in the language of a vendor's compiler: see [Device.Code]. These methods
// have the parameters and the result of Forward and are called ForwardCPU, ForwardCUDA,
// ForwardROCm and ForwardMetal. An operation has those that it needs.
type CustomOp1 interface {
	Name() string // for errors
	Forward(x *Tensor) *Tensor
}

// CustomOp2 is an operation of two operands: see [CustomOp1].
type CustomOp2 interface {
	Name() string
	Forward(x, y *Tensor) *Tensor
}

// CustomOp3 is an operation of three operands: see [CustomOp1].
type CustomOp3 interface {
	Name() string
	Forward(x, y, z *Tensor) *Tensor
}

// CustomOpN is an operation of any number of operands, at least one: see [CustomOp1].
type CustomOpN interface {
	Name() string
	Forward(in ...*Tensor) *Tensor
}

// Backward1 is what a [CustomOp1] with a gradient has: g is the gradient of the result,
// out; the gradient of x is returned. It is nil if there is none, and may have a shape
// that x is broadcast to. Where gradients are to have gradients themselves, see
// [BackwardOptions], one that a kernel has computed has none, which is an error, and one
// made by operations of this package has.
type Backward1 interface {
	Backward(g, x, out *Tensor) *Tensor
}

// Backward2 is what a [CustomOp2] with a gradient has: see [Backward1].
type Backward2 interface {
	Backward(g, x, y, out *Tensor) (dx, dy *Tensor)
}

// Backward3 is what a [CustomOp3] with a gradient has: see [Backward1].
type Backward3 interface {
	Backward(g, x, y, z, out *Tensor) (dx, dy, dz *Tensor)
}

// BackwardN is what a [CustomOpN] with a gradient has: it returns one for each operand, as
// [Backward1] says.
type BackwardN interface {
	Backward(g *Tensor, in []*Tensor, out *Tensor) []*Tensor
}

// Apply1 applies an operation of a program. Asking for a gradient that it does not have
// is an error of kind [ErrNoGradient].
func Apply1(op CustomOp1, x *Tensor) *Tensor {
	return custom(op, misfit(op, forwards1), func() *Tensor { return on(x.dev, op, forwards1, op.Forward)(x.Detach()) }, func(g, out *Tensor, in []*Tensor) ([]*Tensor, bool) {
		if b, ok := op.(Backward1); ok {
			return []*Tensor{b.Backward(g, in[0], out)}, true
		}
		return nil, false
	}, x)
}

// Apply2 applies an operation of two operands: see [Apply1].
func Apply2(op CustomOp2, x, y *Tensor) *Tensor {
	return custom(op, misfit(op, forwards2), func() *Tensor { return on(x.dev, op, forwards2, op.Forward)(x.Detach(), y.Detach()) }, func(g, out *Tensor, in []*Tensor) ([]*Tensor, bool) {
		if b, ok := op.(Backward2); ok {
			dx, dy := b.Backward(g, in[0], in[1], out)
			return []*Tensor{dx, dy}, true
		}
		return nil, false
	}, x, y)
}

// Apply3 applies an operation of three operands: see [Apply1].
func Apply3(op CustomOp3, x, y, z *Tensor) *Tensor {
	return custom(op, misfit(op, forwards3), func() *Tensor { return on(x.dev, op, forwards3, op.Forward)(x.Detach(), y.Detach(), z.Detach()) }, func(g, out *Tensor, in []*Tensor) ([]*Tensor, bool) {
		if b, ok := op.(Backward3); ok {
			dx, dy, dz := b.Backward(g, in[0], in[1], in[2], out)
			return []*Tensor{dx, dy, dz}, true
		}
		return nil, false
	}, x, y, z)
}

// ApplyN applies an operation of several operands: see [Apply1].
func ApplyN(op CustomOpN, in ...*Tensor) *Tensor {
	if len(in) == 0 {
		return failf(op.Name(), ErrArgument, "%T has no operands", op)
	}
	forward := func() *Tensor {
		list := make([]*Tensor, len(in))
		for i, x := range in {
			list[i] = x.Detach()
		}
		return on(in[0].dev, op, forwardsN, op.Forward)(list...)
	}
	return custom(op, misfit(op, forwardsN), forward, func(g, out *Tensor, in []*Tensor) ([]*Tensor, bool) {
		b, ok := op.(BackwardN)
		if !ok {
			return nil, false
		}
		grads := b.Backward(g, in, out)
		if len(grads) != len(in) {
			bad := failf(op.Name(), ErrArgument, "%T returned %d gradients of %d operands", op, len(grads), len(in))
			grads = slices.Repeat([]*Tensor{bad}, len(in))
		}
		return grads, true
	}, in...)
}

// custom makes the result of an operation of a program.
func custom(op interface{ Name() string }, misfit error, forward func() *Tensor, back func(g, out *Tensor, in []*Tensor) ([]*Tensor, bool), in ...*Tensor) *Tensor {
	name := op.Name()
	if bad := first(name, in...); bad != nil {
		return bad
	}
	if misfit != nil {
		return failed(name, misfit)
	}
	out := forward()
	if bad := first(name, out); bad != nil {
		if out == nil {
			return failf(name, ErrArgument, "%T returned no tensor", op)
		}
		return bad
	}
	spread := backward(func(g, out *Tensor, in []*Tensor) []*Tensor {
		grads, ok := back(g, out, in)
		if !ok {
			none := failf(name, ErrNoGradient, "%T has no method Backward", op)
			grads = make([]*Tensor, len(in))
			for i, x := range in {
				if !stops(x.dtype) {
					grads[i] = none
				}
			}
		}
		for i := range grads {
			grads[i] = grads[i].once("gradient of "+name, append([]*Tensor{g}, in...)...)
		}
		return grads
	})
	return out.with(out.layout).from(name, spread, in...)
}

// InplaceOp1 is an operation of a program that changes its operand: see [CustomOp1] for
// how it is written, and which methods it may have on one kind of device. It has no
// gradient.
type InplaceOp1 interface {
	Name() string
	Forward(x *Tensor) error
}

// InplaceOp2 is an operation that changes the first one of two operands: see
// [InplaceOp1].
type InplaceOp2 interface {
	Name() string
	Forward(x, y *Tensor) error
}

// InplaceOp3 is an operation that changes the first one of three operands: see
// [InplaceOp1].
type InplaceOp3 interface {
	Name() string
	Forward(x, y, z *Tensor) error
}

// InPlace1 applies an operation that changes the elements of x, as [Tensor.Assign] does.
func InPlace1(op InplaceOp1, x *Tensor) error {
	if err := x.changeable(op.Name()); err != nil {
		return err
	}
	if err := misfit(op, inplace1); err != nil {
		return wrap(op.Name(), err)
	}
	return x.changed(op.Name(), on(x.dev, op, inplace1, op.Forward)(x.Detach()))
}

// InPlace2 applies an operation that changes the elements of x: see [InPlace1].
func InPlace2(op InplaceOp2, x, y *Tensor) error {
	if err := x.changeable(op.Name(), y); err != nil {
		return err
	}
	if err := misfit(op, inplace2); err != nil {
		return wrap(op.Name(), err)
	}
	return x.changed(op.Name(), on(x.dev, op, inplace2, op.Forward)(x.Detach(), y.Detach()))
}

// InPlace3 applies an operation that changes the elements of x: see [InPlace1].
func InPlace3(op InplaceOp3, x, y, z *Tensor) error {
	if err := x.changeable(op.Name(), y, z); err != nil {
		return err
	}
	if err := misfit(op, inplace3); err != nil {
		return wrap(op.Name(), err)
	}
	return x.changed(op.Name(), on(x.dev, op, inplace3, op.Forward)(x.Detach(), y.Detach(), z.Detach()))
}

// changeable reports why an operation cannot change t, with other operands.
func (t *Tensor) changeable(op string, others ...*Tensor) error {
	if err := t.inPlace(op); err != nil {
		return err
	}
	if bad := first(op, append(others, t)...); bad != nil {
		return bad.err
	}
	return nil
}

// Fail returns a tensor that holds an error, for operations of programs. The error names
// the operation and the line outside of this module's libraries that it comes from.
func Fail(op string, err error) *Tensor {
	if err == nil {
		return failf(op, ErrArgument, "Fail without an error")
	}
	return failed(op, err)
}

// Launch runs a kernel of a program on the device of the tensors among its arguments,
// behind the work so far. A *Tensor is passed as the slice of its memory that begins at
// the first element, a [Layout] as kernels.Strided of package ops/kernels, with which a
// kernel finds the elements of a tensor that is not contiguous, and all others as
// [jit.Kernel.Launch] takes them:
//
//	//kiln:kernel
//	func softCap(t dsl.Thread, out, x []float32, at kernels.Strided, limit float32) {
//		if i := t.Global(); i < at.Count {
//			out[i] = limit * dsl.Tanh(x[at.At(i)]/limit)
//		}
//	}
//
//	var kernel = jit.Of(softCap)
//
//	err := tensor.Launch(kernel, runtime.Cover(x.Count(), 256), out, x, x.Layout(), float32(30))
//
// A []*Tensor, of one element type, is passed for a parameter that is a struct of as many slices
// with the names S0, S1, S2 and so on: so one launch does the work of many small ones.
//
// What the kernel writes to counts as changed in place: see [Tensor.Assign]; of a []*Tensor all of
// them do.
//
// Kernels of more than one element type are generic; [jit.Kernel.As] and a switch over
// [Tensor.DType] choose the instance.
func Launch(k *jit.Kernel, g runtime.Grid, args ...any) error {
	const op = "launch"
	l := operands{views: make([]ops.View, 0, tensorsIn(args))}
	list := make([]any, len(args))
	for i, arg := range args {
		from := len(l.views)
		var err error
		switch a := arg.(type) {
		case *Tensor:
			if err = l.add(op, a); err == nil {
				list[i] = &l.views[from]
			}
		case []*Tensor:
			err = l.addAll(op, a)
			list[i] = l.views[from:]
		default:
			list[i] = arg
		}
		if err != nil {
			return err
		}
	}
	if l.dev == nil {
		return wrap(op, fmt.Errorf("%w: no argument is a tensor", ErrArgument))
	}
	written, err := ops.Launch(l.dev.stream, k, g, list...)
	var by any // the same change of all
	note := func(t *Tensor) {
		if t.buf == nil {
			return
		}
		if by == nil {
			by = change{op, position()}
		}
		t.buf.NoteChange(by)
		t.dev.graph.writes(t.buf)
	}
	for i, w := range written {
		if !w {
			continue
		}
		switch a := args[i].(type) {
		case *Tensor:
			note(a)
		case []*Tensor:
			for _, t := range a {
				note(t)
			}
		}
	}
	return wrap(op, err)
}

// operands are the tensors of a launch.
type operands struct {
	views []ops.View
	dev   *Device
}

// tensorsIn is how many tensors there are among the arguments.
func tensorsIn(args []any) (n int) {
	for _, arg := range args {
		switch a := arg.(type) {
		case *Tensor:
			n++
		case []*Tensor:
			n += len(a)
		}
	}
	return n
}

// add adds an operand, for which there is room.
func (l *operands) add(op string, t *Tensor) error {
	if bad := first(op, t); bad != nil {
		return bad.err
	}
	if l.dev == nil {
		l.dev = t.dev
	}
	if t.dev != l.dev {
		return wrap(op, fmt.Errorf("%w: %s and %s: To brings a tensor to another device", ErrDevice, l.dev, t.dev))
	}
	l.views = append(l.views, t.view())
	return nil
}

// addAll adds operands of one element type.
func (l *operands) addAll(op string, list []*Tensor) error {
	for _, t := range list {
		if err := l.add(op, t); err != nil {
			return err
		}
		if t.dtype != list[0].dtype {
			return wrap(op, fmt.Errorf("%w: %s and %s in one struct", ErrDTypeMismatch, list[0].dtype, t.dtype))
		}
	}
	return nil
}

// LaunchInto is [Launch] with out as the first argument. It returns out, or what went
// wrong.
func LaunchInto(out *Tensor, k *jit.Kernel, g runtime.Grid, args ...any) *Tensor {
	if bad := first("launch", out); bad != nil {
		return bad
	}
	if err := Launch(k, g, append([]any{out}, args...)...); err != nil {
		return failed("launch", err)
	}
	return out
}
