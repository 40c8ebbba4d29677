package kernels

import "github.com/gokiln/kiln/dsl"

// decayed applies the weight decay to the value or to the gradient.
func decayed[C dsl.Real](e Elem[C], r Rule[C]) Elem[C] {
	if r.Decoupled {
		e.X *= r.Decay
	} else {
		e.G += r.Decay * e.X
	}
	return e
}

// SGD is stochastic gradient descent. S0 is the momentum, which begins as the gradient; Weight1 is 1
// less the dampening. Nesterov's momentum is that of Sutskever et al., "On the importance of
// initialization and momentum in deep learning", 2013.
func SGD[C dsl.Real](e Elem[C], r Rule[C]) Elem[C] {
	e = decayed(e, r)
	g := e.G
	if r.Momentum {
		if r.First != 0 {
			e.S0 = g
		} else {
			e.S0 = r.Beta1*e.S0 + r.Weight1*g
		}
		if r.Nesterov {
			g += r.Beta1 * e.S0
		} else {
			g = e.S0
		}
	}
	e.X -= r.LR * g
	return e
}

// Adam is the update of Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015,
// algorithm 1, with the decay of Loshchilov and Hutter, "Decoupled Weight Decay Regularization",
// 2019, where it is decoupled. S0 and S1 are the moments; with AMSGrad S2 is the largest second
// moment so far (Reddi, Kale and Kumar, "On the Convergence of Adam and Beyond", 2018).
func Adam[C dsl.Real](e Elem[C], r Rule[C]) Elem[C] {
	e = decayed(e, r)
	e.S0 += r.Weight1 * (e.G - e.S0)
	e.S1 = r.Beta2*e.S1 + r.Weight2*e.G*e.G
	v := e.S1
	if r.AMSGrad {
		e.S2 = max(e.S2, v)
		v = e.S2
	}
	e.X -= r.LR * (e.S0 / (dsl.Sqrt(v)/r.Root + r.Eps))
	return e
}

// Lion is the update of Chen et al., "Symbolic Discovery of Optimization Algorithms", 2023,
// algorithm 2. S0 is the momentum.
func Lion[C dsl.Real](e Elem[C], r Rule[C]) Elem[C] {
	e = decayed(e, r)
	c := r.Beta1*e.S0 + r.Weight1*e.G
	e.S0 = r.Beta2*e.S0 + r.Weight2*e.G
	if c > 0 {
		e.X -= r.LR
	} else if c < 0 {
		e.X += r.LR
	} else {
		e.X -= c // 0, or NaN
	}
	return e
}

// RMSprop is the update of Hinton, "Neural Networks for Machine Learning", lecture 6e, 2012: S0 is
// the mean of squares, S1 the momentum, and where it is centred S2 is the mean, whose square is subtracted
// (Graves, "Generating Sequences With Recurrent Neural Networks", 2013, equations 38 to 45).
func RMSprop[C dsl.Real](e Elem[C], r Rule[C]) Elem[C] {
	e = decayed(e, r)
	e.S0 = r.Beta2*e.S0 + r.Weight2*e.G*e.G
	v := e.S0
	if r.Centered {
		e.S2 += r.Weight2 * (e.G - e.S2)
		v -= e.S2 * e.S2
	}
	d := e.G / (dsl.Sqrt(v) + r.Eps)
	if r.Momentum {
		e.S1 = r.Beta1*e.S1 + d
		d = e.S1
	}
	e.X -= r.LR * d
	return e
}

// Adagrad is the update of Duchi, Hazan and Singer, "Adaptive Subgradient Methods for Online
// Learning and Stochastic Optimization", 2011. S0 is the sum of squares.
func Adagrad[C dsl.Real](e Elem[C], r Rule[C]) Elem[C] {
	e = decayed(e, r)
	e.S0 += e.G * e.G
	e.X -= r.LR * (e.G / (dsl.Sqrt(e.S0) + r.Eps))
	return e
}
