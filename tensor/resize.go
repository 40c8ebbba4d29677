package tensor

import (
	"math"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/conv"
	"github.com/gokiln/kiln/runtime"
)

// resizing is a way to give the last two dimensions other sizes.
type resizing struct {
	op  string
	run func(s *runtime.Stream, out, x ops.View, b conv.Bilinear) error

	// weights returns the matrix by which n elements along a dimension are computed from m.
	weights func(m, n int, align bool, scale float64) []float64
}

var (
	bilinear = &resizing{"upsample_bilinear", conv.UpsampleBilinear, bilinearWeights}
	bicubic  = &resizing{"upsample_bicubic", conv.UpsampleBicubic, bicubicWeights}
)

// UpsampleBilinear gives the last two dimensions other sizes: each element is the mean of
// the four around its position, weighted by how near they are. With align the first and last
// elements have the positions of those of t; without it the edges do. It is for
// floating-point types.
func (t *Tensor) UpsampleBilinear(height, width int, align bool) *Tensor {
	return t.resize(bilinear, height, width, conv.Bilinear{AlignCorners: align})
}

// UpsampleBilinearBy is [Tensor.UpsampleBilinear] to sizes that are larger by factors,
// rounded down: the positions follow from the factors, also where the sizes have been
// rounded. A factor that is not above 0 is an error of kind [ErrArgument].
func (t *Tensor) UpsampleBilinearBy(height, width float64, align bool) *Tensor {
	return t.resizeBy(bilinear, height, width, align)
}

// UpsampleBicubic is [Tensor.UpsampleBilinear] with the sixteen elements around each position,
// by cubic convolution with the parameter -3/4. It may go beyond the smallest and the
// largest element.
func (t *Tensor) UpsampleBicubic(height, width int, align bool) *Tensor {
	return t.resize(bicubic, height, width, conv.Bilinear{AlignCorners: align})
}

// UpsampleBicubicBy is [Tensor.UpsampleBicubic] to sizes that are larger by factors: see
// [Tensor.UpsampleBilinearBy].
func (t *Tensor) UpsampleBicubicBy(height, width float64, align bool) *Tensor {
	return t.resizeBy(bicubic, height, width, align)
}

func (t *Tensor) resizeBy(r *resizing, height, width float64, align bool) *Tensor {
	if bad := first(r.op, t); bad != nil {
		return bad
	}
	if !(height > 0 && width > 0) || math.IsInf(height, 1) || math.IsInf(width, 1) {
		return failf(r.op, ErrArgument, "factors %v and %v", height, width)
	}
	h, w := math.Floor(float64(t.Size(-2))*height), math.Floor(float64(t.Size(-1))*width)
	if h > 1<<53 || w > 1<<53 {
		return failf(r.op, ErrTooLarge, "%v times %v and %v", t.layout.Shape(), height, width)
	}
	return t.resize(r, int(h), int(w), conv.Bilinear{AlignCorners: align, Scale: [2]float64{height, width}})
}

func (t *Tensor) resize(r *resizing, height, width int, b conv.Bilinear) *Tensor {
	if bad := first(r.op, t); bad != nil {
		return bad
	}
	lead := t.Rank() - 2
	if lead < 0 {
		return failf(r.op, ErrRank, "%v has fewer than 2 dimensions", t.layout.Shape())
	}
	if !t.dtype.IsFloat() {
		return failf(r.op, ErrDType, "%s: it is for floating-point types", t.dtype)
	}
	out := t.produce(r.op, append(t.Shape()[:lead], height, width), func(out ops.View) error {
		return r.run(t.dev.stream, out, t.view(), b)
	})
	return out.from(r.op, grad1(func(g, x, out *Tensor) *Tensor {
		rows := r.matrix(x, x.Size(-2), height, b.AlignCorners, b.Scale[0])
		cols := r.matrix(x, x.Size(-1), width, b.AlignCorners, b.Scale[1])
		return rows.T().product(g).product(cols)
	}), t)
}

// matrix is the one of the weights, in the type and on the device of x. A scale of 0 stands
// for n/m.
func (r *resizing) matrix(x *Tensor, m, n int, align bool, scale float64) *Tensor {
	if scale == 0 {
		scale = float64(n) / float64(m)
	}
	return matrixLike(x, r.weights(m, n, align, scale), n, m)
}

func bilinearWeights(m, n int, align bool, scale float64) []float64 {
	w := make([]float64, n*m)
	for i := range n {
		at := max(0, placeOf(i, m, n, align, scale))
		below := min(int(math.Floor(at)), m-1)
		part := at - float64(below)
		w[i*m+below] += 1 - part
		w[i*m+min(below+1, m-1)] += part
	}
	return w
}

func bicubicWeights(m, n int, align bool, scale float64) []float64 {
	w := make([]float64, n*m)
	for i := range n {
		at := placeOf(i, m, n, align, scale)
		first := math.Floor(at)
		for k := range 4 {
			to := min(max(int(first)+k-1, 0), m-1)
			w[i*m+to] += cubic(math.Abs(at - first + 1 - float64(k)))
		}
	}
	return w
}

// placeOf is the position of element i of n among m.
func placeOf(i, m, n int, align bool, scale float64) float64 {
	if align {
		return float64(i) * float64(m-1) / float64(max(n-1, 1))
	}
	return (float64(i)+0.5)/scale - 0.5
}

// cubic is the weight of an element at a distance of up to 2.
func cubic(x float64) float64 {
	const a = -0.75
	if x <= 1 {
		return ((a+2)*x-(a+3))*x*x + 1
	}
	return ((a*x-5*a)*x+8*a)*x - 4*a
}
