package optim

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gokiln/kiln/nn/optim/kernels"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

var (
	sumsKernel  = ops.NewGeneric("sums", kernels.Sums[ops.O, ops.C])
	normKernel  = ops.NewGeneric("norm", kernels.Norm[ops.C])
	scaleKernel = ops.NewGeneric("scale", kernels.Scale[ops.O, ops.C])

	squareFn    = ops.NewGenericFunc(kernels.Square[ops.C])
	notFiniteFn = ops.NewGenericFunc(kernels.NotFinite[ops.C])
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
	dev := vars[0].Tensor().Device()
	parts, blocks, err := sums(squareFn, dev, list)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", op, err)
	}
	dt := parts.DType()
	out := tensor.Empty(dev, dt, 2)
	k, err := normKernel.Of(ops.TypeArgs{C: dt})
	if err == nil {
		err = tensor.Launch(k, runtime.Blocks(1, kernels.SumThreads), out, parts, blocks, number(dt, most), number(dt, by))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", op, err)
	}
	return out.Get(0), out.Narrow(0, 1, 1), nil
}

// sums returns partial sums of f of the elements of gradients on a device, of type F64 if one of them
// is and else F32, and how many there are. Gradients of one type are added up by a launch for each
// [kernels.Together] of them.
func sums(f *ops.GenericFunc, dev *tensor.Device, list []*tensor.Tensor) (parts *tensor.Tensor, blocks int, err error) {
	dt := tensor.F32
	var types []tensor.DType
	for _, g := range list {
		if g == nil {
			continue
		}
		blocks += sumBlocks(g.Count())
		if g.DType() == tensor.F64 {
			dt = tensor.F64
		}
		if !slices.Contains(types, g.DType()) {
			types = append(types, g.DType())
		}
	}
	parts = tensor.Empty(dev, dt, max(blocks, 1))
	for _, in := range types {
		s := summed{f: f, parts: parts, none: tensor.Empty(dev, in, 0)}
		at := 0
		for i, g := range list {
			if g == nil {
				continue
			}
			if g.DType() == in {
				s.add(i, g, at)
			}
			at += sumBlocks(g.Count())
			if s.n == kernels.Together {
				err = cmp.Or(err, s.launch())
			}
		}
		if s.n > 0 {
			err = cmp.Or(err, s.launch())
		}
	}
	return parts, blocks, err
}

// summed is the gradients of one type that a launch adds up.
type summed struct {
	f           *ops.GenericFunc
	parts, none *tensor.Tensor // none has no elements

	gs          [kernels.Together]*tensor.Tensor
	at          kernels.SumParts
	n           int
	first, last int // the variables' indices, for errors
}

// add adds a gradient with sums from at on.
func (s *summed) add(i int, g *tensor.Tensor, at int) {
	end := int32(sumBlocks(g.Count()))
	if s.n == 0 {
		s.first = i
	} else {
		end += s.at.End[s.n-1]
	}
	s.gs[s.n], s.at.End[s.n], s.at.At[s.n], s.at.N[s.n] = g, end, int32(at), g.Count()
	s.n, s.last = s.n+1, i
}

// launch runs the kernel, and begins anew.
func (s *summed) launch() error {
	end := s.at.End[s.n-1]
	for i := s.n; i < len(s.gs); i++ {
		s.gs[i], s.at.End[i] = s.none, end
	}
	s.n = 0
	dt := s.parts.DType()
	k, err := sumsKernel.Of(ops.TypeArgs{O: s.gs[0].DType(), C: dt})
	if err == nil {
		err = tensor.Launch(k, runtime.Blocks(int(end), kernels.SumThreads), s.parts, s.gs[:], s.at, s.f.In(dt))
	}
	if err != nil {
		return fmt.Errorf("parameters %d to %d: %w", s.first, s.last, err)
	}
	return nil
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
