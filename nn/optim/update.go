package optim

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/nn/optim/kernels"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

func init() {
	ops.RegisterStructs(kernels.Elem[float32]{}, kernels.Elem[float64]{}, kernels.Rule[float32]{}, kernels.Rule[float64]{},
		kernels.StepRuns[float32]{}, kernels.StepRuns[float64]{},
		kernels.Slices[dsl.BF16]{}, kernels.Slices[dsl.F16]{}, kernels.Slices[float32]{}, kernels.Slices[float64]{})
}

var updateKernel = ops.NewGeneric("update", kernels.Update[ops.T, ops.O, ops.C])

// elementwise is an algorithm that updates each element by itself: by one launch for a variable, or
// for several small ones.
type elementwise struct {
	fn    *ops.GenericFunc
	names [3]string             // of the states, "" for those that the algorithm does not use
	begin float64               // what the first state begins with
	rule  kernels.Rule[float64] // what is the same in all steps
	step  func(at stepping) stepNumbers

	last stepping // which most variables share, and what step made of it
	made stepNumbers
}

func (a *elementwise) check(*param) error { return nil }

func (a *elementwise) elementwise(*param) *elementwise { return a }

func (a *elementwise) numbers(_ *param, at stepping) stepNumbers {
	if at != a.last {
		a.last, a.made = at, a.step(at)
	}
	return a.made
}

func (a *elementwise) prepare(p *param) error {
	for i, name := range a.names {
		if name == "" || p.state(name) != nil {
			continue
		}
		p.zeros(name)
		if err := a.fill(i, p.state(name)); err != nil {
			return err
		}
	}
	return nil
}

// fill gives the elements of state i, which are 0, what they begin with.
func (a *elementwise) fill(i int, s *tensor.Tensor) error {
	if i != 0 || a.begin == 0 || s.Err() != nil {
		return s.Err()
	}
	return s.ConstSet(dtype.FromFloat(s.DType(), a.begin))
}

func (a *elementwise) update(p *param, u updating) error {
	x := p.v.Tensor()
	k, err := updateKernel.Of(ops.TypeArgs{T: x.DType(), O: u.grad.DType(), C: p.compute})
	if err != nil {
		return err
	}
	span := kernels.Span{Vec: vector(x.Device(), u.grad), Master: dsl.ConstBool(p.master != nil), N: x.Count()}
	master := u.scale // what the kernel does not use
	if p.master != nil {
		master = p.master
	}
	list := [3]*tensor.Tensor{u.scale, u.scale, u.scale}
	for i, name := range a.names {
		if name != "" {
			list[i], span.States = p.state(name), span.States|1<<i
		}
	}
	return tensor.Launch(k, cover(x.Count(), span.Vec), x, master, u.grad, list[0], list[1], list[2], u.scale, u.steps, p.index, ruleIn(p.compute, a.rule), span, a.fn.In(p.compute))
}

// The sizes of blocks of updates: of threads that have several elements, and of those that have one,
// which a processor goes through in the order of memory.
const (
	updateThreads = 256
	singleThreads = 1024
)

// cover is the grid for so many elements, as [vector] says how threads take them.
func cover(n int, vec dsl.ConstInt) runtime.Grid {
	if vec == 0 {
		return runtime.Cover(n, singleThreads)
	}
	part := updateThreads * kernels.Many
	return runtime.Blocks((n+part-1)/part, updateThreads)
}

// vector is how many neighbours a thread takes at once: none where a register holds a warp, whose
// elements are neighbours as they are, and where the gradient does not begin at a whole vector.
func vector(d *tensor.Device, g *tensor.Tensor) dsl.ConstInt {
	at := g.Buffer().Addr() + uint64(g.Layout().Offset()*g.DType().Size())
	if single(d) == 0 || at%ops.VectorBytes != 0 {
		return 0
	}
	return kernels.Many
}

// single is [vector] of elements that begin anywhere: a thread takes several, but no neighbours.
func single(d *tensor.Device) dsl.ConstInt {
	if info := ops.DeviceInfo(d.Runtime()); info.ThreadsPerUnit <= info.WarpSize {
		return 0
	}
	return 1
}

// ruleIn returns the numbers of a rule in the type that is computed in, as an argument of a launch.
func ruleIn(d tensor.DType, r kernels.Rule[float64]) any {
	if d == tensor.F64 {
		return r
	}
	return kernels.Rule[float32]{
		Beta1: float32(r.Beta1), Weight1: float32(r.Weight1),
		Beta2: float32(r.Beta2), Weight2: float32(r.Weight2), Eps: float32(r.Eps),
		Decoupled: r.Decoupled, Momentum: r.Momentum, Nesterov: r.Nesterov, AMSGrad: r.AMSGrad, Centered: r.Centered,
	}
}
