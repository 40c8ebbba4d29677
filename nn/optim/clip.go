package optim

import (
	"fmt"

	"github.com/gokiln/kiln/nn/optim/kernels"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

var (
	squaresKernel = ops.NewGeneric("squares", kernels.Squares[ops.O, ops.C])
	normKernel    = ops.NewGeneric("norm", kernels.Norm[ops.C])
	scaleKernel   = ops.NewGeneric("scale", kernels.Scale[ops.O, ops.C])
)

// ClipNorm scales gradients so that the norm of all of them together, as one vector, is at most
// most: by most / (norm + 1e-6) if that is below 1, as torch.nn.utils.clip_grad_norm_ does. Those
// of params are replaced in grads, others are neither counted nor changed. It returns the norm
// before that, without dimensions, of type F64 if one gradient is and else F32, and does not wait.
// The gradients are on one device, or it is an error of kind [tensor.ErrDevice].
//
// [Optimizer.StepClipped] clips without a pass of its own over memory.
func ClipNorm[P Parameters](grads *tensor.Gradients, params P, most float64) (*tensor.Tensor, error) {
	const op = "clip norm"
	vars := varsOf(params)
	list, err := gradientsOf(op, grads, vars)
	if err != nil {
		return nil, err
	}
	norm, scale, err := normOf(op, vars, list, most, 1)
	if err != nil {
		return nil, err
	}
	for i, g := range list {
		if g == nil {
			continue
		}
		out := scaled(g, scale)
		if err := out.Err(); err != nil {
			return nil, err
		}
		grads.Set(vars[i].Tensor(), out)
	}
	return norm, nil
}

// ClipValue replaces the gradients of params by ones with every element between -most and most.
func ClipValue[P Parameters](grads *tensor.Gradients, params P, most float64) error {
	const op = "clip value"
	vars := varsOf(params)
	list, err := gradientsOf(op, grads, vars)
	if err != nil {
		return err
	}
	if !(most >= 0) {
		return fmt.Errorf("%s: %w: at most %v", op, tensor.ErrArgument, most)
	}
	for i, g := range list {
		if g == nil {
			continue
		}
		out := g.Clamp(-most, most)
		if err := out.Err(); err != nil {
			return err
		}
		grads.Set(vars[i].Tensor(), out)
	}
	return nil
}

// Norm returns the norm of the gradients of params as one vector: see [ClipNorm].
func Norm[P Parameters](grads *tensor.Gradients, params P) (*tensor.Tensor, error) {
	const op = "gradient norm"
	vars := varsOf(params)
	list, err := gradientsOf(op, grads, vars)
	if err != nil {
		return nil, err
	}
	norm, _, err := normOf(op, vars, list, 1, 1)
	return norm, err
}

// StepClipped is [ClipNorm] and [Optimizer.Step] at once: updates read gradients and multiply them
// by the factor, which stays on the device. The gradients themselves are as before. It returns
// their norm.
func (o *Optimizer) StepClipped(grads *tensor.Gradients, most float64) (*tensor.Tensor, error) {
	if o.err != nil {
		return nil, o.err
	}
	vars := o.Params()
	list, err := gradientsOf(o.name, grads, vars)
	if err != nil {
		return nil, err
	}
	norm, scale, err := normOf(o.name, vars, list, most, 1)
	if err != nil {
		return nil, err
	}
	return norm, o.stepScaled(grads, scale)
}

// gradientsOf returns the gradients of variables, contiguous, nil where there is none.
func gradientsOf(op string, grads *tensor.Gradients, vars []*tensor.Var) ([]*tensor.Tensor, error) {
	list := make([]*tensor.Tensor, len(vars))
	for i, v := range vars {
		if v == nil {
			return nil, fmt.Errorf("%s: %w: a nil variable", op, tensor.ErrArgument)
		}
		if err := v.Err(); err != nil {
			return nil, fmt.Errorf("%s: parameter %d: %w", op, i, err)
		}
		g := grads.Of(v.Tensor())
		if g == nil {
			continue
		}
		g = g.Detach().Contiguous()
		if err := g.Err(); err != nil {
			return nil, fmt.Errorf("%s: parameter %d: %w", op, i, err)
		}
		if g.Count() > 0 {
			list[i] = g
		}
	}
	return list, nil
}

// normOf returns the norm of gradients times by, and the factor that brings them to a norm of at
// most most, which has by in it.
func normOf(op string, vars []*tensor.Var, list []*tensor.Tensor, most, by float64) (norm, scale *tensor.Tensor, err error) {
	if len(vars) == 0 {
		return nil, nil, fmt.Errorf("%s: %w: no parameters", op, tensor.ErrArgument)
	}
	if !(most > 0) {
		return nil, nil, fmt.Errorf("%s: %w: a norm of at most %v", op, tensor.ErrArgument, most)
	}
	dt, blocks := tensor.F32, 0
	for _, g := range list {
		if g != nil {
			blocks += sumBlocks(g.Count())
			if g.DType() == tensor.F64 {
				dt = tensor.F64
			}
		}
	}
	dev := vars[0].Tensor().Device()
	parts, out := tensor.Empty(dev, dt, max(blocks, 1)), tensor.Empty(dev, dt, 2)
	at := 0
	for i, g := range list {
		if g == nil {
			continue
		}
		if err := launchSquares(dt, parts, g, at); err != nil {
			return nil, nil, fmt.Errorf("%s: parameter %d: %w", op, i, err)
		}
		at += sumBlocks(g.Count())
	}
	k, err := normKernel.Of(ops.TypeArgs{C: dt})
	if err == nil {
		err = tensor.Launch(k, runtime.Blocks(1, kernels.SumThreads), out, parts, blocks, number(dt, most), number(dt, by))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", op, err)
	}
	return out.Get(0), out.Narrow(0, 1, 1), nil
}

// launchSquares stores the partial sums of squares of a gradient.
func launchSquares(dt tensor.DType, parts, g *tensor.Tensor, at int) error {
	k, err := squaresKernel.Of(ops.TypeArgs{O: g.DType(), C: dt})
	if err != nil {
		return err
	}
	return tensor.Launch(k, runtime.Blocks(sumBlocks(g.Count()), kernels.SumThreads), parts, g, g.Count(), at)
}

// sumBlocks is how many blocks add up n elements: a function of n alone, so that all devices have
// the same sums.
func sumBlocks(n int) int {
	const each, most = 8 * kernels.SumThreads, 1024
	return min((n+each-1)/each, most)
}

// scaled returns a gradient times an element of a tensor.
func scaled(g, scale *tensor.Tensor) *tensor.Tensor {
	dt := g.DType().Compute()
	k, err := scaleKernel.Of(ops.TypeArgs{O: g.DType(), C: dt})
	if err != nil {
		return tensor.Fail("scale", err)
	}
	out := tensor.Empty(g.Device(), g.DType(), g.Shape()...)
	return tensor.LaunchInto(out, k, runtime.Cover(g.Count(), 256), g, scale.Cast(dt), g.Count())
}

// number is a number of the type that is computed in, as an argument of a launch.
func number(d tensor.DType, x float64) any {
	if d == tensor.F64 {
		return x
	}
	return float32(x)
}
