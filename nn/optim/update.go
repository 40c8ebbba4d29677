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
	ops.RegisterStructs(kernels.Elem[float32]{}, kernels.Elem[float64]{}, kernels.Rule[float32]{}, kernels.Rule[float64]{})
}

var updateKernel = ops.NewGeneric("update", kernels.Update[ops.T, ops.O, ops.C])

// elementwise is an algorithm that updates each element by itself: by one launch for a variable.
type elementwise struct {
	fn     *ops.GenericFunc
	names  [3]string // of the states, "" for those that the algorithm does not use
	begin  float64   // what the first state begins with
	decide func(u updating) kernels.Rule[float64]
}

func (a *elementwise) check(*param) error { return nil }

func (a *elementwise) prepare(p *param) error {
	for i, name := range a.names {
		if name == "" || p.state(name) != nil {
			continue
		}
		p.zeros(name)
		if s := p.state(name); i == 0 && a.begin != 0 && s.Err() == nil {
			if err := s.ConstSet(dtype.FromFloat(p.compute, a.begin)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *elementwise) update(p *param, u updating) error {
	return a.launch(p, u.grad, u.scale, a.decide(u))
}

// launch runs the kernel.
func (a *elementwise) launch(p *param, g, scale *tensor.Tensor, r kernels.Rule[float64]) error {
	x := p.v.Tensor()
	types := ops.TypeArgs{T: x.DType(), O: g.DType(), C: p.compute}
	k, err := updateKernel.Of(types)
	if err != nil {
		return err
	}
	span := kernels.Span{Vec: vector(x.Device(), g), Master: dsl.ConstBool(p.master != nil), N: x.Count()}
	master := scale // what the kernel does not use
	if p.master != nil {
		master = p.master
	}
	list := [3]*tensor.Tensor{scale, scale, scale}
	for i, name := range a.names {
		if name != "" {
			list[i], span.States = p.state(name), span.States|1<<i
		}
	}
	return tensor.Launch(k, cover(x.Count(), span.Vec), x, master, g, list[0], list[1], list[2], scale, ruleIn(p.compute, r), span, a.fn.In(p.compute))
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
	info := ops.DeviceInfo(d.Runtime())
	at := g.Buffer().Addr() + uint64(g.Layout().Offset()*g.DType().Size())
	if info.ThreadsPerUnit <= info.WarpSize || at%ops.VectorBytes != 0 {
		return 0
	}
	return kernels.Many
}

// ruleIn returns the numbers of a rule in the type that is computed in, as an argument of a launch.
func ruleIn(d tensor.DType, r kernels.Rule[float64]) any {
	if d == tensor.F64 {
		return r
	}
	return kernels.Rule[float32]{
		LR: float32(r.LR), Decay: float32(r.Decay),
		Beta1: float32(r.Beta1), Weight1: float32(r.Weight1),
		Beta2: float32(r.Beta2), Weight2: float32(r.Weight2),
		Eps: float32(r.Eps), Root: float32(r.Root),
		Decoupled: r.Decoupled, Extra: r.Extra, Momentum: r.Momentum, First: r.First,
	}
}
