package optim

import (
	"cmp"
	"fmt"
	"math"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/nn/optim/kernels"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

var momentumKernel = ops.NewGeneric("muon", kernels.Momentum[ops.O, ops.C])

// Muon configures the optimiser of Jordan et al., "Muon: An optimizer for hidden layers in neural
// networks", 2024, as torch.optim.Muon has it: the momentum of a matrix is replaced by the
// orthogonal matrix next to it, which five steps of a Newton-Schulz iteration come near to. A
// variable of more than two dimensions is a matrix of its first dimension by all others.
//
// Scalars, vectors, and matrices in groups with [Group.Fallback], are updated by AdamW.
type Muon struct {
	LR          float64 // 0 stands for 1e-3
	Momentum    float64 // 0 stands for 0.95
	Plain       bool    // without Nesterov's momentum
	WeightDecay float64 // is not part of the gradient; PyTorch begins with 0.1
	Steps       int     // of the iteration; 0 stands for 5
	Eps         float64 // of the norm that the matrix is divided by; 0 stands for 1e-7

	// MatchAdamW has the root mean square of updates be about that of AdamW, 0.2 (Liu et al.,
	// "Muon is Scalable for LLM Training", 2025, section 2.2): the learning rate is multiplied
	// by 0.2·√max(rows, columns), and else by √max(1, rows/columns).
	MatchAdamW bool

	// In is the element type of the iteration; the zero value stands for BF16, which is
	// enough.
	In tensor.DType

	// AdamW updates what is no matrix. A learning rate of 0 stands for LR; [Optimizer.SetLR]
	// changes both by the same factor. The weight decay is that of the group or of Muon.
	AdamW AdamW
}

// NewMuon returns an optimiser as [Muon] says.
func NewMuon[P Parameters](params P, c Muon) *Optimizer {
	lr := or(c.LR, 1e-3)
	m := &muon{c: c, momentum: or(c.Momentum, 0.95), eps: or(c.Eps, 1e-7), steps: cmp.Or(c.Steps, 5), in: cmp.Or(c.In, tensor.BF16), ones: ones{}, ratio: or(c.AdamW.LR, lr) / lr}
	m.rest = stored(adamRule(Adam(c.AdamW), true), c.AdamW.Bits8)
	return newOptimizer("muon", params, m, lr, c.WeightDecay)
}

// muon is the algorithm.
type muon struct {
	c             Muon
	momentum, eps float64
	steps         int
	in            tensor.DType
	rest          algorithm
	ratio         float64 // the learning rate of the rest to that of matrices
	ones          ones
}

// The coefficients of the iteration, which have the largest slope at 0 (Jordan et al.).
const muonA, muonB, muonC = 3.4445, -4.7750, 2.0315

// takes reports whether a variable is a matrix to the algorithm.
func (m *muon) takes(p *param) bool { return p.v.Tensor().Rank() >= 2 && !p.group.Fallback }

func (m *muon) check(p *param) error {
	if !m.in.IsFloat() || !m.in.Computes() {
		return fmt.Errorf("%w: an iteration in %s", tensor.ErrDType, m.in)
	}
	if !m.takes(p) {
		return m.rest.check(p)
	}
	return nil
}

func (m *muon) prepare(p *param) error {
	if !m.takes(p) {
		return m.rest.prepare(p)
	}
	if p.state("momentum") == nil {
		p.zeros("momentum")
	}
	return m.ones.of(p.v.Tensor().Device(), p.compute).Err()
}

func (m *muon) update(p *param, u updating) error {
	if !m.takes(p) {
		return m.rest.update(p, u)
	}
	x := p.v.Tensor()
	k, err := momentumKernel.Of(ops.TypeArgs{O: u.grad.DType(), C: p.compute})
	if err != nil {
		return err
	}
	rows := x.Size(0)
	cols := x.Count() / rows
	next := tensor.Empty(x.Device(), p.compute, rows, cols)
	keep, take := number(p.compute, m.momentum), number(p.compute, 1-m.momentum)
	if err := tensor.Launch(k, runtime.Cover(x.Count(), 256), next, p.state("momentum"), u.grad, u.scale, keep, take, x.Count(), dsl.ConstBool(!m.c.Plain)); err != nil {
		return err
	}
	next = tensor.InScope(m.orthogonal, next)
	if err := next.Err(); err != nil {
		return err
	}
	u.grad, u.scale = next, m.ones.of(x.Device(), p.compute)
	return descent.update(p, u)
}

// descent is the last part of the update of a matrix.
var descent = &elementwise{fn: sgdFn, rule: kernels.Rule[float64]{Decoupled: true}}

func (m *muon) elementwise(p *param) *elementwise {
	if m.takes(p) {
		return nil
	}
	return m.rest.elementwise(p)
}

func (m *muon) numbers(p *param, at stepping) stepNumbers {
	if !m.takes(p) {
		at.lr *= m.ratio
		return m.rest.numbers(p, at)
	}
	x := p.v.Tensor()
	rows := x.Size(0)
	cols := x.Count() / rows
	by := math.Sqrt(max(1, float64(rows)/float64(cols)))
	if m.c.MatchAdamW {
		by = 0.2 * math.Sqrt(float64(max(rows, cols)))
	}
	return stepNumbers{lr: at.lr * by, decay: at.factor()}
}

// orthogonal returns a matrix whose singular values are about 1, with the singular vectors of
// another one.
func (m *muon) orthogonal(in ...*tensor.Tensor) *tensor.Tensor {
	x := in[0]
	x = x.Div(x.SumSqr().Sqrt().MaximumScalar(m.eps)).Cast(m.in)
	tall := x.Size(0) > x.Size(1)
	if tall {
		x = x.T()
	}
	for range m.steps {
		a := x.MatMul(x.T())
		b := a.MatMul(a).MulScalar(muonC).Add(a.MulScalar(muonB))
		x = b.MatMul(x).Add(x.MulScalar(muonA))
	}
	if tall {
		x = x.T()
	}
	return x.Contiguous()
}
