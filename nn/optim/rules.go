package optim

import (
	"math"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/nn/optim/kernels"
	"github.com/gokiln/kiln/ops"
)

var (
	sgdFn     = ops.NewGenericFunc(kernels.SGD[ops.C])
	adamFn    = ops.NewGenericFunc(kernels.Adam[ops.C])
	lionFn    = ops.NewGenericFunc(kernels.Lion[ops.C])
	rmspropFn = ops.NewGenericFunc(kernels.RMSprop[ops.C])
	adagradFn = ops.NewGenericFunc(kernels.Adagrad[ops.C])
)

// SGD configures stochastic gradient descent, as torch.optim.SGD has it.
type SGD struct {
	LR          float64 // 0 stands for 1e-3
	Momentum    float64 // 0 is none
	Dampening   float64 // of the momentum
	Nesterov    bool    // looks ahead along the momentum
	WeightDecay float64 // is added to the gradient
}

// NewSGD returns an optimiser that descends along the gradient, or its momentum.
func NewSGD[P Parameters](params P, c SGD) *Optimizer {
	a := &elementwise{fn: sgdFn, rule: kernels.Rule[float64]{
		Beta1: c.Momentum, Weight1: 1 - c.Dampening,
		Momentum: c.Momentum > 0, Nesterov: dsl.ConstBool(c.Nesterov),
	}}
	if c.Momentum > 0 {
		a.names[0] = "momentum"
	}
	a.step = func(at stepping) stepNumbers {
		return stepNumbers{lr: at.lr, decay: at.decay, first: at.step == 1}
	}
	return newOptimizer("sgd", params, a, or(c.LR, 1e-3), c.WeightDecay)
}

// Adam configures the optimiser of Kingma and Ba, 2015. Its weight decay is added to the gradient:
// see [AdamW] for one that is not.
type Adam struct {
	LR           float64 // 0 stands for 1e-3
	Beta1, Beta2 float64 // 0 stands for 0.9 and 0.999
	Eps          float64 // 0 stands for 1e-8
	WeightDecay  float64
	AMSGrad      bool // divides by the largest second moment so far (Reddi et al., 2018)
	Bits8        bool // see [AdamW]
}

// NewAdam returns an optimiser as [Adam] says.
func NewAdam[P Parameters](params P, c Adam) *Optimizer {
	return newOptimizer("adam", params, stored(adamRule(c, false), c.Bits8), or(c.LR, 1e-3), c.WeightDecay)
}

// AdamW configures Adam with a weight decay that is not part of the gradient (Loshchilov and
// Hutter, 2019): each step begins with x = x · (1 - LR · WeightDecay).
type AdamW struct {
	LR           float64 // 0 stands for 1e-3
	Beta1, Beta2 float64 // 0 stands for 0.9 and 0.999
	Eps          float64 // 0 stands for 1e-8
	WeightDecay  float64 // 0 is none; PyTorch begins with 0.01
	AMSGrad      bool    // see [Adam]

	// Bits8 has the states of variables with at least 4096 elements stored in 8 bits, with a
	// scale for each 256 elements (Dettmers et al., "8-bit Optimizers via Block-wise
	// Quantization", 2022). It is for variables that are computed in float32, and not with
	// AMSGrad.
	Bits8 bool
}

// NewAdamW returns an optimiser as [AdamW] says.
func NewAdamW[P Parameters](params P, c AdamW) *Optimizer {
	return newOptimizer("adamw", params, stored(adamRule(Adam(c), true), c.Bits8), or(c.LR, 1e-3), c.WeightDecay)
}

// stored is an algorithm with its states in 8 bits, or as it is.
func stored(a *elementwise, bits8 bool) algorithm {
	if bits8 {
		return inCodes(a)
	}
	return a
}

// adamRule is the algorithm of both.
func adamRule(c Adam, decoupled bool) *elementwise {
	b1, b2, eps := or(c.Beta1, 0.9), or(c.Beta2, 0.999), or(c.Eps, 1e-8)
	a := &elementwise{fn: adamFn, names: [3]string{"mean", "square"}, rule: kernels.Rule[float64]{
		Beta1: b1, Weight1: 1 - b1, Beta2: b2, Weight2: 1 - b2, Eps: eps,
		Decoupled: dsl.ConstBool(decoupled), AMSGrad: dsl.ConstBool(c.AMSGrad),
	}}
	if c.AMSGrad {
		a.names[2] = "largest"
	}
	a.step = func(at stepping) stepNumbers {
		n := stepNumbers{
			lr: at.lr / (1 - math.Pow(b1, float64(at.step))), decay: at.decay,
			root: math.Sqrt(1 - math.Pow(b2, float64(at.step))),
		}
		if decoupled {
			n.decay = at.factor()
		}
		return n
	}
	return a
}

// Lion configures the optimiser of Chen et al., "Symbolic Discovery of Optimization Algorithms",
// 2023: steps have the size of the learning rate, in the direction of the sign of a momentum. Its
// weight decay is not part of the gradient.
type Lion struct {
	LR           float64 // 0 stands for 1e-4
	Beta1, Beta2 float64 // 0 stands for 0.9 and 0.99
	WeightDecay  float64
	Bits8        bool // see [AdamW]
}

// NewLion returns an optimiser as [Lion] says.
func NewLion[P Parameters](params P, c Lion) *Optimizer {
	return newOptimizer("lion", params, stored(lionRule(c), c.Bits8), or(c.LR, 1e-4), c.WeightDecay)
}

func lionRule(c Lion) *elementwise {
	b1, b2 := or(c.Beta1, 0.9), or(c.Beta2, 0.99)
	return &elementwise{
		fn: lionFn, names: [3]string{"mean"},
		rule: kernels.Rule[float64]{Beta1: b1, Weight1: 1 - b1, Beta2: b2, Weight2: 1 - b2, Decoupled: true},
		step: func(at stepping) stepNumbers { return stepNumbers{lr: at.lr, decay: at.factor()} },
	}
}

// RMSprop configures the optimiser of Hinton's lecture 6e of 2012, as torch.optim.RMSprop has it.
type RMSprop struct {
	LR          float64 // 0 stands for 1e-2
	Alpha       float64 // the decay rate of the mean of squares; 0 stands for 0.99
	Eps         float64 // 0 stands for 1e-8
	Momentum    float64
	Centered    bool // divides by the standard deviation
	WeightDecay float64
}

// NewRMSprop returns an optimiser as [RMSprop] says.
func NewRMSprop[P Parameters](params P, c RMSprop) *Optimizer {
	alpha, eps := or(c.Alpha, 0.99), or(c.Eps, 1e-8)
	a := &elementwise{fn: rmspropFn, names: [3]string{"square"}, rule: kernels.Rule[float64]{
		Beta1: c.Momentum, Beta2: alpha, Weight2: 1 - alpha, Eps: eps,
		Momentum: c.Momentum > 0, Centered: dsl.ConstBool(c.Centered),
	}}
	if c.Momentum > 0 {
		a.names[1] = "momentum"
	}
	if c.Centered {
		a.names[2] = "mean"
	}
	a.step = func(at stepping) stepNumbers { return stepNumbers{lr: at.lr, decay: at.decay} }
	return newOptimizer("rmsprop", params, a, or(c.LR, 1e-2), c.WeightDecay)
}

// Adagrad configures the optimiser of Duchi, Hazan and Singer, 2011, as torch.optim.Adagrad has it.
type Adagrad struct {
	LR          float64 // 0 stands for 1e-2
	LRDecay     float64 // the learning rate is divided by 1 + (step - 1) · LRDecay
	Eps         float64 // 0 stands for 1e-10
	Begin       float64 // what the sums of squares begin with
	WeightDecay float64
}

// NewAdagrad returns an optimiser as [Adagrad] says.
func NewAdagrad[P Parameters](params P, c Adagrad) *Optimizer {
	eps := or(c.Eps, 1e-10)
	a := &elementwise{fn: adagradFn, names: [3]string{"square"}, begin: c.Begin, rule: kernels.Rule[float64]{Eps: eps}}
	a.step = func(at stepping) stepNumbers {
		return stepNumbers{lr: at.lr / (1 + float64(at.step-1)*c.LRDecay), decay: at.decay}
	}
	return newOptimizer("adagrad", params, a, or(c.LR, 1e-2), c.WeightDecay)
}
