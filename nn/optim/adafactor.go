package optim

import (
	"cmp"
	"math"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/nn/optim/kernels"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

var (
	factoredSquares = ops.NewGeneric("adafactor", kernels.FactoredSquares[ops.O, ops.C])
	factoredRate    = ops.NewGeneric("adafactor", kernels.FactoredRate[ops.C])
	factoredUpdate  = ops.NewGeneric("adafactor", kernels.FactoredUpdate[ops.T, ops.O, ops.C])
)

// Adafactor configures the optimiser of Shazeer and Stern, "Adafactor: Adaptive Learning Rates with
// Sublinear Memory Cost", 2018, as torch.optim.Adafactor has it: of a matrix, which is the last two
// dimensions, it keeps a number for each row and one for each column. The learning rate is relative
// to the size of the variable's elements.
type Adafactor struct {
	LR          float64 // at most, and no more than 1/√step; 0 stands for 1e-2
	Decay       float64 // the decay rate of the second moment is 1 - step^Decay; 0 stands for -0.8
	Eps         float64 // of the root of the second moment; 0 stands for that of the type computed in
	Least       float64 // the least size of elements; 0 stands for 1e-3
	Clip        float64 // the root mean square of an update, at most; 0 stands for 1
	WeightDecay float64 // is not part of the gradient
}

// NewAdafactor returns an optimiser as [Adafactor] says.
func NewAdafactor[P Parameters](params P, c Adafactor) *Optimizer {
	a := &adafactor{decay: cmp.Or(c.Decay, -0.8), eps: c.Eps, least: or(c.Least, 1e-3), clip: or(c.Clip, 1)}
	return newOptimizer("adafactor", params, a, or(c.LR, 1e-2), c.WeightDecay)
}

// adafactor is the algorithm.
type adafactor struct{ decay, eps, least, clip float64 }

func (a *adafactor) elementwise(*param) *elementwise { return nil }

func (a *adafactor) numbers(_ *param, at stepping) stepNumbers {
	step := float64(at.step)
	return stepNumbers{lr: min(at.lr, 1/math.Sqrt(step)), decay: at.factor(), root: math.Pow(step, a.decay)}
}

func (a *adafactor) check(*param) error { return nil }

// prepare makes the factors, or the second moment of a vector.
func (a *adafactor) prepare(p *param) error {
	x := p.v.Tensor()
	if x.Rank() < 2 {
		if p.state("square") == nil {
			p.zeros("square")
		}
		return nil
	}
	for i, name := range []string{"columns", "rows"} {
		if p.state(name) == nil {
			shape := append([]int(nil), x.Shape()...)
			shape[len(shape)-2+i] = 1
			p.states = append(p.states, state{name, tensor.Zeros(x.Device(), p.compute, shape...)})
		}
	}
	return nil
}

// epsilon is the smallest root of a second moment.
func (a *adafactor) epsilon(dt tensor.DType) float64 {
	switch {
	case a.eps != 0:
		return max(a.eps, 0)
	case dt == tensor.F64:
		return math.Exp2(-52)
	}
	return math.Exp2(-23)
}

func (a *adafactor) update(p *param, u updating) error {
	x := p.v.Tensor()
	rows, cols, means, err := a.moments(p, u)
	if err != nil {
		return err
	}
	f := kernels.Factors{Rows: 1, Cols: 1}
	if x.Rank() >= 2 {
		f = kernels.Factors{Matrix: true, Rows: x.Size(-2), Cols: x.Size(-1)}
	}
	rate, err := a.rate(p, u, f, rows, cols, means)
	if err != nil {
		return err
	}
	k, err := factoredUpdate.Of(ops.TypeArgs{T: x.DType(), O: u.grad.DType(), C: p.compute})
	if err != nil {
		return err
	}
	master := u.scale // what the kernel does not use
	if p.master != nil {
		master = p.master
	}
	eps := number(p.compute, a.epsilon(p.compute))
	return tensor.Launch(k, runtime.Cover(x.Count(), 256), x, master, u.grad, rows, cols, means, u.scale, rate, u.steps, p.index, eps, f, x.Count(), dsl.ConstBool(p.master != nil))
}

// moments updates the second moments, and returns them and the means of those of rows.
func (a *adafactor) moments(p *param, u updating) (rows, cols, means *tensor.Tensor, err error) {
	part := u.steps.Get(p.index).Get(kernels.ToRoot)
	g, by := u.grad.Cast(p.compute), u.scale.Sqr()
	if s := p.state("square"); s != nil {
		return s, s, s, toward(s, g.Sqr().Mul(by.Reshape()), part)
	}
	rows, cols = p.state("rows"), p.state("columns")
	byRow := g.SumSqr(-1).Unsqueeze(-1).Mul(by).DivScalar(float64(g.Size(-1)))
	byCol := g.SumSqr(-2).Unsqueeze(-2).Mul(by).DivScalar(float64(g.Size(-2)))
	if err := toward(rows, byRow, part); err != nil {
		return nil, nil, nil, err
	}
	if err := toward(cols, byCol, part); err != nil {
		return nil, nil, nil, err
	}
	means = rows.Mean(-2)
	return rows, cols, means, means.Err()
}

// toward moves a state by a part of the way to a tensor.
func toward(s, to, part *tensor.Tensor) error {
	return s.Assign(s.Add(to.Sub(s).Mul(part)))
}

// rate returns the learning rate of the variable, on the device.
func (a *adafactor) rate(p *param, u updating, f kernels.Factors, rows, cols, means *tensor.Tensor) (*tensor.Tensor, error) {
	dt, n := p.compute, u.grad.Count()
	values := p.v.Tensor()
	if p.master != nil {
		values = p.master
	}
	d, blocks := values.Device(), sumBlocks(n)
	xs, _, err := sums(squareFn, d, []*tensor.Tensor{values})
	if err != nil {
		return nil, err
	}
	us, out := tensor.Empty(d, dt, blocks), tensor.Empty(d, dt, 1)
	k, err := factoredSquares.Of(ops.TypeArgs{O: u.grad.DType(), C: dt})
	if err != nil {
		return nil, err
	}
	if err := tensor.Launch(k, runtime.Blocks(blocks, kernels.SumThreads), us, u.grad, rows, cols, means, u.scale, number(dt, a.epsilon(dt)), f, n); err != nil {
		return nil, err
	}
	if k, err = factoredRate.Of(ops.TypeArgs{C: dt}); err != nil {
		return nil, err
	}
	return out, tensor.Launch(k, runtime.Blocks(1, kernels.SumThreads), out, xs, us, u.steps, p.index, blocks, n, number(dt, a.least), number(dt, a.clip))
}
