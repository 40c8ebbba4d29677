package tensor

import (
	"fmt"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/elementwise"
	"github.com/gokiln/kiln/ops/layout"
)

// Value is what functions of [Map] give: a number, or a bool.
type Value interface{ Element | bool }

// Map computes each element by a function, which is compiled for the device: one kernel
// for all the function does, wherever the elements of x are in memory.
//
//	y := tensor.Map(func(x float32) float32 { return x / (1 + dsl.Exp(-x)) }, x)
//
// The function is a literal or a function of a package. It may use what kernels may:
// arithmetic, control flow, package dsl, functions and constants of its package; but no
// variables around it. Its package registers its source with dsl.Source once, as
// packages of kernels do.
//
// The tensor has the element type that the function takes. A function of float32 takes
// all floating-point types of fewer bits as well: what it gives is then rounded to the
// type of the tensor. Otherwise the element type of the result is what the function
// gives; a bool gives 0 or 1, of type U8. There is no gradient: see [MapGrad].
func Map[R Value, A Element](f func(A) R, x *Tensor) *Tensor { return mapped(f, nil, x) }

// Map2 computes each element by a function of those of two tensors, whose shapes are
// broadcast to each other: see [Map].
//
//	z := tensor.Map2(func(a, b float32) float32 { return a*b + 1 }, x, y)
//
// A result of float32 is rounded to a type of fewer bits if all tensors that the function
// takes as float32 have that type.
func Map2[R Value, A, B Element](f func(A, B) R, x, y *Tensor) *Tensor { return mapped(f, nil, x, y) }

// Map3 is [Map2] of three tensors.
func Map3[R Value, A, B, C Element](f func(A, B, C) R, x, y, z *Tensor) *Tensor {
	return mapped(f, nil, x, y, z)
}

// Map4 is [Map2] of four tensors.
func Map4[R Value, A, B, C, D Element](f func(A, B, C, D) R, x, y, z, u *Tensor) *Tensor {
	return mapped(f, nil, x, y, z, u)
}

// MapGrad is [Map] with a gradient: df is the derivative of f, compiled in the same way.
//
//	square := func(x float32) float32 { return x * x }
//	y := tensor.MapGrad(square, func(x float32) float32 { return 2 * x }, x)
//
// Two literals of one type stand on lines of their own: a program cannot tell those of
// one line apart.
func MapGrad[R dsl.Real, A Element](f, df func(A) R, x *Tensor) *Tensor { return mapped(f, df, x) }

// Map2Grad is [Map2] with a gradient: df gives the derivatives of f for each argument.
func Map2Grad[R dsl.Real, A, B Element](f func(A, B) R, df func(A, B) (R, R), x, y *Tensor) *Tensor {
	return mapped(f, df, x, y)
}

// Map3Grad is [Map3] with a gradient: see [Map2Grad].
func Map3Grad[R dsl.Real, A, B, C Element](f func(A, B, C) R, df func(A, B, C) (R, R, R), x, y, z *Tensor) *Tensor {
	return mapped(f, df, x, y, z)
}

// Map4Grad is [Map4] with a gradient: see [Map2Grad].
func Map4Grad[R dsl.Real, A, B, C, D Element](f func(A, B, C, D) R, df func(A, B, C, D) (R, R, R, R), x, y, z, u *Tensor) *Tensor {
	return mapped(f, df, x, y, z, u)
}

// mapped runs a function over tensors; df is nil if it has no derivative.
func mapped(f, df any, in ...*Tensor) *Tensor {
	const op = "map"
	if bad := first(op, in...); bad != nil {
		return bad
	}
	var types [elementwise.MapArgs]DType
	for i, t := range in {
		types[i] = t.dtype
		if t.dev != in[0].dev {
			return failed(op, fmt.Errorf("%w: %s and %s: To brings a tensor to another device", ErrDevice, in[0].dev, t.dev))
		}
	}
	m := elementwise.MapOf(f)
	dt, err := m.Result(types[:len(in)]...)
	if err != nil {
		return failed(op, err)
	}
	var room [elementwise.MapArgs]ops.View
	views, shape, err := broadcastAll(&room, in)
	if err != nil {
		return failed(op, err)
	}
	out, err := empty(in[0].dev, dt, shape)
	if err == nil {
		err = m.Run(out.dev.stream, out.view(), views)
	}
	if err != nil {
		return out.dropped(op, err)
	}
	return out.from(op, gradMap(df), in...)
}

// broadcastAll returns views of operands in the shape that they are broadcast to.
func broadcastAll(room *[elementwise.MapArgs]ops.View, in []*Tensor) ([]ops.View, Shape, error) {
	shape := in[0].layout.Shape()
	alike := true
	for _, t := range in[1:] {
		if shape.Equal(t.layout.Shape()) {
			continue
		}
		var err error
		if shape, err = layout.Broadcast(shape, t.layout.Shape()); err != nil {
			return nil, nil, err
		}
		alike = false
	}
	views := room[:len(in)]
	for i, t := range in {
		views[i] = t.view()
		if alike {
			continue
		}
		var err error
		if views[i].Layout, err = t.layout.BroadcastTo(shape); err != nil {
			return nil, nil, err
		}
	}
	return views, shape, nil
}

// gradMap is the gradient of a function with derivatives, which are nil if there are
// none.
func gradMap(df any) backward {
	return func(g, out *Tensor, in []*Tensor) []*Tensor {
		grads := make([]*Tensor, len(in))
		for i, x := range in {
			switch {
			case stops(x.dtype):
			case df == nil:
				grads[i] = failf("map", ErrNoGradient, "the function has no derivative: MapGrad and those after it take one")
			default:
				grads[i] = slope(df, g, in, i)
			}
		}
		return grads
	}
}

// slope is the gradient for operand i, in the shape of g.
func slope(df any, g *Tensor, in []*Tensor, i int) *Tensor {
	const op = "gradient of map"
	if g.err != nil {
		return g
	}
	var room [elementwise.MapArgs]ops.View
	views, shape, err := broadcastAll(&room, in)
	if err != nil {
		return failed(op, err)
	}
	out, err := empty(g.dev, in[i].dtype, shape)
	if err == nil {
		err = elementwise.MapOf(df).Slope(g.dev.stream, out.view(), g.view(), views, i)
	}
	if err != nil {
		return out.dropped(op, err)
	}
	return out.once(op, append([]*Tensor{g}, in...)...)
}
