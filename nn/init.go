package nn

import (
	"fmt"
	"math"

	"github.com/gokiln/kiln/tensor"
)

// Initializer makes the first values of a parameter. Random ones come from the device's generator:
// see [tensor.Device.SetSeed].
type Initializer func(d *tensor.Device, dt tensor.DType, shape tensor.Shape) *tensor.Tensor

// Constant is all values x.
func Constant(x float64) Initializer {
	return func(d *tensor.Device, dt tensor.DType, shape tensor.Shape) *tensor.Tensor {
		return tensor.Zeros(d, dt, shape...).FullLike(x)
	}
}

// Zeros and Ones are all values 0 and all values 1.
var (
	Zeros = Constant(0)
	Ones  = Constant(1)
)

// Normal is a normal distribution of a mean and a standard deviation.
func Normal(mean, std float64) Initializer {
	return func(d *tensor.Device, dt tensor.DType, shape tensor.Shape) *tensor.Tensor {
		return tensor.Randn(d, dt, mean, std, shape...)
	}
}

// Uniform is a uniform distribution from low to high.
func Uniform(low, high float64) Initializer {
	return func(d *tensor.Device, dt tensor.DType, shape tensor.Shape) *tensor.Tensor {
		return tensor.Rand(d, dt, low, high, shape...)
	}
}

// TruncatedNormal is a normal distribution without what is beyond low and high: values are the
// inverse of the distribution function at uniform numbers, in float32 or float64.
func TruncatedNormal(mean, std, low, high float64) Initializer {
	return func(d *tensor.Device, dt tensor.DType, shape tensor.Shape) *tensor.Tensor {
		cdf := func(x float64) float64 { return (1 + math.Erf((x-mean)/std/math.Sqrt2)) / 2 }
		wide := tensor.F32
		if dt == tensor.F64 {
			wide = tensor.F64
		}
		p := tensor.Rand(d, wide, cdf(low), cdf(high), shape...)
		return quantile(p).Affine(std, mean).Clamp(low, high).Cast(dt)
	}
}

// quantile is the inverse of the standard normal distribution function: the rational approximation
// of P. J. Acklam (2003), whose relative error is below 1.2e-9.
func quantile(p *tensor.Tensor) *tensor.Tensor {
	a := []float64{-3.969683028665376e+01, 2.209460984245205e+02, -2.759285104469687e+02, 1.383577518672690e+02, -3.066479806614716e+01, 2.506628277459239e+00}
	b := []float64{-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02, 6.680131188771972e+01, -1.328068155288572e+01, 1}
	c := []float64{-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00, -2.549732539343734e+00, 4.374664141464968e+00, 2.938163982698783e+00}
	e := []float64{7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00, 1}
	poly := func(x *tensor.Tensor, cs []float64) *tensor.Tensor {
		y := x.FullLike(cs[0])
		for _, k := range cs[1:] {
			y = y.Mul(x).AddScalar(k)
		}
		return y
	}
	const tail = 0.02425
	q := p.SubScalar(0.5)
	r := q.Sqr()
	middle := poly(r, a).Mul(q).Div(poly(r, b))
	outer := func(p *tensor.Tensor) *tensor.Tensor { // of the lower tail
		s := p.Clamp(1e-30, tail).Log().MulScalar(-2).Sqrt()
		return poly(s, c).Div(poly(s, e))
	}
	x := p.LtScalar(tail).Where(outer(p), middle)
	return p.GtScalar(1-tail).Where(outer(p.SubFrom(1)).Neg(), x)
}

// Fan is what the variance of an initialiser is divided by.
type Fan int

// Fans of a weight of shape (out, in, ...): in or out times the sizes behind them, or the mean of
// both.
const (
	FanIn Fan = iota
	FanOut
	FanMean
)

// of returns the fan of a shape.
func (f Fan) of(shape tensor.Shape) (float64, error) {
	if len(shape) < 2 {
		return 0, fmt.Errorf("%w: a fan needs two dimensions, shape %v has %d", tensor.ErrRank, shape, len(shape))
	}
	in, out := 1.0, 1.0
	for i, n := range shape {
		n := float64(max(n, 1)) // a layer without features has no values to scale
		if i != 0 {
			in *= n
		}
		if i != 1 {
			out *= n
		}
	}
	switch f {
	case FanIn:
		return in, nil
	case FanOut:
		return out, nil
	}
	return (in + out) / 2, nil
}

// Gains of functions that follow a layer, for [Scaled] (He et al., 2015; Glorot and Bengio, 2010).
const (
	GainLinear  = 1.0
	GainSigmoid = 1.0
	GainTanh    = 5.0 / 3
	GainSELU    = 0.75
	GainReLU    = math.Sqrt2
)

// GainLeakyReLU is the gain of a leaky ReLU of a slope.
func GainLeakyReLU(slope float64) float64 { return math.Sqrt(2 / (1 + slope*slope)) }

// Scaled draws values of mean 0 whose standard deviation is gain/√fan: from a normal distribution,
// or a uniform one. FanIn and GainReLU are the initialisation of He (Kaiming), FanMean that of
// Glorot (Xavier).
func Scaled(fan Fan, gain float64, uniform bool) Initializer {
	return func(d *tensor.Device, dt tensor.DType, shape tensor.Shape) *tensor.Tensor {
		n, err := fan.of(shape)
		if err != nil {
			return tensor.Fail("init", err)
		}
		std := gain / math.Sqrt(n)
		if uniform {
			return Uniform(-std*math.Sqrt(3), std*math.Sqrt(3))(d, dt, shape)
		}
		return Normal(0, std)(d, dt, shape)
	}
}

// Orthogonal makes the rows, or else the columns, of a matrix orthonormal, times gain (Saxe,
// McClelland and Ganguli, 2014). Dimensions behind the first are one.
func Orthogonal(gain float64) Initializer {
	return func(d *tensor.Device, dt tensor.DType, shape tensor.Shape) *tensor.Tensor {
		if len(shape) < 2 {
			return tensor.Fail("init", fmt.Errorf("%w: an orthogonal matrix needs two dimensions, shape %v has %d", tensor.ErrRank, shape, len(shape)))
		}
		rows, cols := shape[0], 1
		for _, n := range shape[1:] {
			cols *= n
		}
		q, r := tensor.Randn(d, tensor.F64, 0, 1, max(rows, cols), min(rows, cols)).QR()
		q = q.Narrow(1, 0, min(rows, cols)).Mul(r.Diagonal(0, 0, 1).Sign()) // uniform over all such matrices
		if rows < cols {
			q = q.T()
		}
		return q.MulScalar(gain).Reshape(shape...).Cast(dt)
	}
}
