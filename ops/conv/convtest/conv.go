package convtest

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/conv"
	"github.com/gokiln/kiln/ops/dtype"
	indexops "github.com/gokiln/kiln/ops/index"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/matmul"
	"github.com/gokiln/kiln/ops/matmul/matmultest"
	"github.com/gokiln/kiln/ops/opstest"
)

// convolutions are shapes of inputs and weights, and how one moves over the other.
var convolutions = []struct {
	x, weights layout.Shape
	conv       conv.Convolution
	transposed bool
}{
	{x: layout.Shape{1, 4, 5}, weights: layout.Shape{2, 4, 3}},
	{x: layout.Shape{2, 3, 50}, weights: layout.Shape{5, 3, 4}, conv: conv.Convolution{Stride: []int{2}, Padding: []int{3}, Dilation: []int{2}}},
	{x: layout.Shape{2, 6, 40}, weights: layout.Shape{6, 1, 3}, conv: conv.Convolution{Padding: []int{1}, Groups: 6}},
	{x: layout.Shape{2, 3, 7, 9}, weights: layout.Shape{20, 3, 3, 2}, conv: conv.Convolution{Stride: []int{2, 1}, Padding: []int{1, 2}, Dilation: []int{1, 3}}},
	{x: layout.Shape{1, 4, 6, 36}, weights: layout.Shape{18, 2, 3, 3}, conv: conv.Convolution{Padding: []int{1, 1}, Groups: 2}},
	{x: layout.Shape{2, 17, 5, 4}, weights: layout.Shape{33, 17, 1, 1}},
	{x: layout.Shape{1, 2, 3, 4, 5}, weights: layout.Shape{3, 2, 2, 3, 2}, conv: conv.Convolution{Padding: []int{1, 0, 1}}},
	{x: layout.Shape{2, 16, 6, 7}, weights: layout.Shape{20, 16, 3, 3}, conv: conv.Convolution{Padding: []int{1, 1}}},
	{x: layout.Shape{1, 32, 11}, weights: layout.Shape{10, 16, 4}, conv: conv.Convolution{Stride: []int{2}, Padding: []int{2}, Dilation: []int{2}, Groups: 2}},
	{x: layout.Shape{2, 32, 3, 3}, weights: layout.Shape{5, 32, 3, 3}, conv: conv.Convolution{Padding: []int{1, 1}}},
	{x: layout.Shape{2, 6, 9, 12}, weights: layout.Shape{6, 1, 3, 3}, conv: conv.Convolution{Padding: []int{1, 1}, Groups: 6}},
	{x: layout.Shape{2, 4, 9, 11}, weights: layout.Shape{4, 1, 3, 3}, conv: conv.Convolution{Padding: []int{1, 1}, Stride: []int{2, 2}, Groups: 4}},
	{x: layout.Shape{1, 3, 9, 11}, weights: layout.Shape{6, 1, 3, 2}, conv: conv.Convolution{Padding: []int{2, 1}, Stride: []int{2, 1}, Dilation: []int{1, 2}, Groups: 3}},
	{x: layout.Shape{1, 2, 90, 70}, weights: layout.Shape{2, 1, 5, 5}, conv: conv.Convolution{Padding: []int{2, 6}, Groups: 2}},
	{x: layout.Shape{1, 2, 9, 8}, weights: layout.Shape{2, 1, 4, 3}, conv: conv.Convolution{Padding: []int{4, 3}, Groups: 2}, transposed: true},
	{x: layout.Shape{1, 6, 7, 8}, weights: layout.Shape{3, 2, 5, 4}, conv: conv.Convolution{Padding: []int{2, 3}, Groups: 3}},
	{x: layout.Shape{2, 128, 5, 6}, weights: layout.Shape{72, 64, 3, 2}, conv: conv.Convolution{Padding: []int{1, 0}, Stride: []int{1, 2}, Groups: 2}},
	{x: layout.Shape{0, 2, 5}, weights: layout.Shape{3, 2, 2}},
	{x: layout.Shape{2, 0, 5}, weights: layout.Shape{3, 0, 2}},
	{x: layout.Shape{2, 4, 5}, weights: layout.Shape{4, 3, 3}, transposed: true},
	{x: layout.Shape{1, 4, 20}, weights: layout.Shape{4, 2, 4}, conv: conv.Convolution{Stride: []int{3}, Padding: []int{1}, OutputPadding: []int{2}, Dilation: []int{2}, Groups: 2}, transposed: true},
	{x: layout.Shape{2, 3, 4, 5}, weights: layout.Shape{3, 2, 3, 2}, conv: conv.Convolution{Stride: []int{2, 3}, Padding: []int{1, 0}, OutputPadding: []int{1, 0}}, transposed: true},
	{x: layout.Shape{1, 16, 5, 4}, weights: layout.Shape{16, 9, 3, 2}, conv: conv.Convolution{Stride: []int{2, 1}, Padding: []int{1, 1}}, transposed: true},
	{x: layout.Shape{2, 128, 4, 5}, weights: layout.Shape{128, 24, 2, 3}, conv: conv.Convolution{Padding: []int{1, 2}, Dilation: []int{1, 2}, Groups: 2}, transposed: true},
	{x: layout.Shape{1, 16, 3, 3}, weights: layout.Shape{16, 1, 3, 3}, conv: conv.Convolution{Padding: []int{1, 1}, Groups: 16}, transposed: true},
}

// Conv tests convolutions, pooling and resizing.
func Conv(t *testing.T, b *opstest.Bench) {
	for _, d := range dtype.All() {
		if !b.Has(d) {
			continue
		}
		for n, c := range convolutions {
			if d == dtype.F32 || opstest.Choice(4, d, c) == 0 {
				b.Part(t, func(t *testing.T, b *opstest.Bench) {
					for _, way := range append([]string{""}, conv.Strategies()...) {
						convolve(t, b, d, n, b.Kind(), way)
					}
				}, "%v/%v", d, c)
			}
		}
		b.Part(t, func(t *testing.T, b *opstest.Bench) { pool(t, b, d, b.Kind()) }, "Pool/%v", d)
		b.Part(t, func(t *testing.T, b *opstest.Bench) { adaptive(t, b, d, b.Kind()) }, "Adaptive/%v", d)
		b.Part(t, func(t *testing.T, b *opstest.Bench) { upsample(t, b, d, b.Kind()) }, "Upsample/%v", d)
		b.Part(t, func(t *testing.T, b *opstest.Bench) { window(t, b, d, b.Kind()) }, "Windows/%v", d)
		if d.IsFloat() {
			b.Part(t, func(t *testing.T, b *opstest.Bench) { bicubic(t, b, d, b.Kind()) }, "Bicubic/%v", d)
			for n := range 9 {
				if d != dtype.F32 && opstest.Choice(3, d, n) != 0 {
					continue
				}
				p := conv.Sampling{Mode: conv.SampleMode(n % 3), Padding: indexops.PadMode(n / 3), AlignCorners: opstest.Choice(2, d, n, "corners") == 1}
				b.Part(t, func(t *testing.T, b *opstest.Bench) { sampled(t, b, d, b.Kind(), p) }, "Sample/%v/%d", d, n)
			}
		}
	}
	for n, c := range convolutions {
		b.Part(t, func(t *testing.T, b *opstest.Bench) {
			for _, way := range append([]string{""}, conv.Strategies()...) {
				convolve(t, b, []dtype.DType{dtype.BF16, dtype.F16, dtype.F32}[n%3], n, -100, way)
			}
		}, "Channels last/%v", c)
	}
	for n, c := range convolutions {
		for _, d := range []dtype.DType{dtype.F32, dtype.BF16, dtype.F16, dtype.I32}[n%2:][:2+n%2] {
			if !c.transposed && b.Has(d) {
				b.Part(t, func(t *testing.T, b *opstest.Bench) {
					for _, way := range append([]string{""}, conv.WeightStrategies()...) {
						weightGradient(t, b, d, n, b.Kind(), way)
						weightGradient(t, b, d, n, -100, way)
					}
				}, "Weights/%v/%v", d, c)
			}
		}
	}
	for kind := range 25 {
		b.Part(t, func(t *testing.T, b *opstest.Bench) {
			convolve(t, b, dtype.F32, 3, kind, "")
			convolve(t, b, dtype.F32, 4, kind, "direct")
		}, "Layouts/%d", kind)
	}
	b.Part(t, func(t *testing.T, b *opstest.Bench) { convCases(t, b); poolCases(t, b); resizeCases(t, b) }, "Cases")
	t.Run("Errors", func(t *testing.T) { convErrors(t, b); adaptiveErrors(t, b); windowErrors(t, b); samplingErrors(t, b) })
}

// Windows tests pooling and resizing alone.
func Windows(t *testing.T, b *opstest.Bench) {
	for i, d := range dtype.All() {
		if !b.Has(d) {
			continue
		}
		for kind := range 2 {
			b.Part(t, func(t *testing.T, b *opstest.Bench) { pool(t, b, d, i+3*kind) }, "Pool/%v/%d", d, kind)
			b.Part(t, func(t *testing.T, b *opstest.Bench) { upsample(t, b, d, i+3*kind) }, "Upsample/%v/%d", d, kind)
		}
	}
	b.Part(t, func(t *testing.T, b *opstest.Bench) { poolCases(t, b); resizeCases(t, b) }, "Cases")
}

func axisOf(list []int, d, usual int) int {
	if len(list) == 0 {
		return usual
	}
	return list[d]
}

// channelsLast is a layout in which the second dimension is innermost.
func channelsLast(t *testing.T, s layout.Shape) layout.Layout {
	t.Helper()
	order := []int{0, len(s) - 1}
	inside := layout.Shape{s[0]}
	for d := 2; d < len(s); d++ {
		order, inside = append(order, d-1), append(inside, s[d])
	}
	l, err := layout.Contiguous(append(inside, s[1])).Permute(order...)
	require.NoError(t, err)
	return l
}

// convolve tests one convolution, by a strategy, with operands that lie as kind says, or channels last
// if it is negative.
func convolve(t *testing.T, b *opstest.Bench, d dtype.DType, n, kind int, strategy string) {
	t.Helper()
	c := convolutions[n]
	c.conv.Strategy = strategy
	if kind < 0 {
		c.conv.Precision = matmul.High // all bits that numbers have are of TF32
	}
	draw := func() dtype.Scalar { return dtype.FromFloat(d, float64(b.Rand.IntN(33)-16)/8) }
	if d.IsInt() {
		draw = func() dtype.Scalar { return b.Number(d) }
	}
	layoutOf := func(kind int, s layout.Shape) layout.Layout {
		if kind < 0 {
			return channelsLast(t, s)
		}
		return opstest.LayoutOf(t, opstest.Kinds[kind%len(opstest.Kinds)], s)
	}
	x := b.Value(t, d, layoutOf(kind, c.x), draw)
	w := b.Value(t, d, layoutOf(kind/len(opstest.Kinds), c.weights), draw)
	shape, run := c.conv.Shape, conv.Conv
	if c.transposed {
		shape, run = c.conv.TransposedShape, conv.ConvTranspose
	}
	s, err := shape(c.x, c.weights)
	require.NoError(t, err)
	out := b.Result(t, d, layoutOf(min(kind/2, kind)%4, s))
	err = run(b.Stream, out.View, x.View, w.View, c.conv)
	if strategy != "" && strategy != "direct" && err != nil {
		if !errors.Is(err, jit.ErrUnsupported) {
			require.ErrorContains(t, err, "does not go by ")
		}
		return
	}
	require.NoError(t, err)
	got, i := b.Read(t, out), 0
	opstest.EachIndex(s, func(at []int) {
		pairs := meets(c.conv, c.transposed, c.x, c.weights, at)
		want, size := matmultest.SumOfProducts(d, len(pairs), func(i int) (dtype.Scalar, dtype.Scalar) { return x.Want[pairs[i][0]], w.Want[pairs[i][1]] })
		require.NoError(t, matmultest.Within(got[i], want, size), "%v with %v, %+v, of %v, element %v", x.Layout, w.Layout, c.conv, d, at)
		i++
	})
}

// weightGradient tests the gradient of the weights of a convolution.
func weightGradient(t *testing.T, b *opstest.Bench, d dtype.DType, n, kind int, strategy string) {
	t.Helper()
	c := convolutions[n]
	c.conv.Strategy = strategy
	layoutOf := func(kind int, s layout.Shape) layout.Layout {
		if kind < 0 {
			return channelsLast(t, s)
		}
		return opstest.LayoutOf(t, opstest.Kinds[kind%len(opstest.Kinds)], s)
	}
	draw := func() dtype.Scalar { return dtype.FromFloat(d, float64(b.Rand.IntN(33)-16)/8) }
	shape, err := c.conv.Shape(c.x, c.weights)
	require.NoError(t, err)
	x, g := b.Value(t, d, layoutOf(kind, c.x), draw), b.Value(t, d, layoutOf(kind/len(opstest.Kinds), shape), draw)
	out := b.Result(t, d, layoutOf(min(kind/2, kind)%4, c.weights))
	err = conv.WeightGradient(b.Stream, out.View, x.View, g.View, c.conv)
	if strategy != "" && err != nil {
		if !errors.Is(err, jit.ErrUnsupported) {
			require.ErrorContains(t, err, "does not go by ")
		}
		return
	}
	require.NoError(t, err)
	pairs, i := make([][][2]int, c.weights.Count()), 0
	opstest.EachIndex(shape, func(at []int) {
		for _, p := range meets(c.conv, false, c.x, c.weights, at) {
			pairs[p[1]] = append(pairs[p[1]], [2]int{p[0], i})
		}
		i++
	})
	for i, got := range b.Read(t, out) {
		want, size := matmultest.SumOfProducts(d, len(pairs[i]), func(k int) (dtype.Scalar, dtype.Scalar) { return x.Want[pairs[i][k][0]], g.Want[pairs[i][k][1]] })
		require.NoError(t, matmultest.Within(got, want, size), "%v of %v, %+v, of %v by %q, element %d", x.Layout, g.Layout, c.conv, d, strategy, i)
	}
}

// meets returns which elements of the input and the weights are multiplied for an
// element of a convolution.
func meets(c conv.Convolution, transposed bool, x, w layout.Shape, at []int) (pairs [][2]int) {
	groups, in, outer := max(c.Groups, 1), 1, 0
	if transposed {
		in, outer = 0, 1
	}
	perGroup := w[outer]
	if !transposed {
		perGroup /= groups
	}
	group := at[1] / perGroup
	channels := x[1] / groups
	kernel := append(layout.Shape{channels}, w[2:]...)
	opstest.EachIndex(kernel, func(k []int) {
		from, weight := []int{at[0], group*channels + k[0]}, make([]int, 2, len(w))
		weight[in], weight[outer] = k[0], at[1]
		if transposed {
			weight[0], weight[1] = group*channels+k[0], at[1]%perGroup
		}
		for d := range x[2:] {
			stride, pad, dilation := axisOf(c.Stride, d, 1), axisOf(c.Padding, d, 0), axisOf(c.Dilation, d, 1)
			i := at[d+2]*stride - pad + k[d+1]*dilation
			if transposed {
				i = at[d+2] + pad - k[d+1]*dilation
				if i%stride != 0 {
					return
				}
				i /= stride
			}
			if i < 0 || i >= x[d+2] {
				return
			}
			from, weight = append(from, i), append(weight, k[d+1])
		}
		pairs = append(pairs, [2]int{opstest.FlatIndex(x, from), opstest.FlatIndex(w, weight)})
	})
	return pairs
}

// pools are windows over inputs.
var pools = []struct {
	x    layout.Shape
	pool conv.Pooling
}{
	{layout.Shape{2, 3, 9}, conv.Pooling{Kernel: []int{3}}},
	{layout.Shape{1, 2, 90}, conv.Pooling{Kernel: []int{4}, Stride: []int{2}, Padding: []int{2}}},
	{layout.Shape{2, 2, 7, 8}, conv.Pooling{Kernel: []int{3, 2}, Stride: []int{1, 2}, Padding: []int{1, 0}, Dilation: []int{2, 1}}},
	{layout.Shape{1, 3, 5, 40}, conv.Pooling{Kernel: []int{2, 3}, Padding: []int{1, 1}, Stride: []int{1, 1}, Inside: true}},
	{layout.Shape{0, 4, 4}, conv.Pooling{Kernel: []int{2, 2}}},
	{layout.Shape{2, 3, 6}, conv.Pooling{Kernel: []int{2, 3}, Stride: []int{2, 4}, Ceil: true}},
	{layout.Shape{2, 8, 10}, conv.Pooling{Kernel: []int{3, 3}, Stride: []int{2, 2}, Padding: []int{1, 1}, Ceil: true}},
	{layout.Shape{2, 41}, conv.Pooling{Kernel: []int{5}, Stride: []int{3}, Padding: []int{2}, Dilation: []int{2}, Inside: true, Ceil: true}},
	{layout.Shape{2, 3, 12, 16}, conv.Pooling{Kernel: []int{2, 2}}},
	{layout.Shape{2, 3, 11, 16}, conv.Pooling{Kernel: []int{3, 3}, Stride: []int{2, 2}, Padding: []int{1, 1}, Inside: true}},
	{layout.Shape{1, 5, 9, 20}, conv.Pooling{Kernel: []int{3, 3}, Stride: []int{1, 1}, Padding: []int{1, 1}}},
	{layout.Shape{3, 90}, conv.Pooling{Kernel: []int{3}, Stride: []int{3}}},
}

func pool(t *testing.T, b *opstest.Bench, d dtype.DType, kind int) {
	t.Helper()
	for n, c := range pools {
		x := b.Value(t, d, opstest.LayoutOf(t, opstest.Kinds[(kind+n)%len(opstest.Kinds)], c.x), func() dtype.Scalar { return dtype.FromInt(d, int64(b.Rand.IntN(100))-20) })
		s, err := c.pool.Shape(c.x)
		require.NoError(t, err)
		mean, most, which := b.Output(t, d, s, kind), b.Output(t, d, s, kind+1), b.Output(t, dtype.I64, s, kind+n)
		require.NoError(t, conv.AvgPool(b.Stream, mean.View, x.View, c.pool))
		require.NoError(t, conv.MaxPool(b.Stream, most.View, which.View, x.View, c.pool))
		means, mosts, places, i := b.Read(t, mean), b.Read(t, most), b.Read(t, which), 0
		opstest.EachIndex(s, func(at []int) {
			list, where := windowOf(c.pool, c.x, at)
			sum, best := 0.0, 0
			for k, from := range list {
				v := x.Want[from].Float()
				sum += v
				if v > x.Want[list[best]].Float() {
					best = k
				}
			}
			count := len(list)
			if !c.pool.Inside {
				count = 1
				for k, n := range c.pool.Kernel {
					axis := len(at) - len(c.pool.Kernel) + k
					from, has := at[axis]*axisOf(c.pool.Stride, k, n)-axisOf(c.pool.Padding, k, 0), 0
					for i := range n { // what is not behind the padding
						if from+i*axisOf(c.pool.Dilation, k, 1) < c.x[axis]+axisOf(c.pool.Padding, k, 0) {
							has++
						}
					}
					count *= has
				}
			}
			want := dtype.FromFloat(d, sum/float64(count))
			if d.IsInt() && d.Size() == 1 { // the sum wraps
				want = dtype.FromInt(d, dtype.FromBits(d, uint64(int64(sum))).Int()/int64(count))
			}
			require.NoError(t, opstest.Near(means[i], want, 1), "%+v of %v: mean %v", c.pool, x.Layout, at)
			require.Equal(t, x.Want[list[best]], mosts[i], "%+v of %v: %v", c.pool, x.Layout, at)
			require.Equal(t, int64(where[best]), places[i].Int())
			i++
		})
	}
}

// windowOf returns the elements of an input in a window, and where they are in the
// dimensions of the window.
func windowOf(p conv.Pooling, x layout.Shape, at []int) (list, where []int) {
	lead := len(x) - len(p.Kernel)
	opstest.EachIndex(p.Kernel, func(k []int) {
		from := append([]int{}, at[:lead]...)
		for d := range k {
			i := at[lead+d]*axisOf(p.Stride, d, p.Kernel[d]) - axisOf(p.Padding, d, 0) + k[d]*axisOf(p.Dilation, d, 1)
			if i < 0 || i >= x[lead+d] {
				return
			}
			from = append(from, i)
		}
		list, where = append(list, opstest.FlatIndex(x, from)), append(where, opstest.FlatIndex(x[lead:], from[lead:]))
	})
	return list, where
}

func upsample(t *testing.T, b *opstest.Bench, d dtype.DType, kind int) {
	t.Helper()
	for n, c := range []struct {
		from, to layout.Shape
		dims     int
	}{{layout.Shape{2, 3, 5}, layout.Shape{2, 3, 60}, 1}, {layout.Shape{2, 1, 4, 6}, layout.Shape{2, 1, 9, 4}, 2}, {layout.Shape{1, 2, 3, 7}, layout.Shape{1, 2, 6, 40}, 2}} {
		x := b.Value(t, d, opstest.LayoutOf(t, opstest.Kinds[(kind+n)%len(opstest.Kinds)], c.from), func() dtype.Scalar { return dtype.FromInt(d, int64(b.Rand.IntN(30))) })
		out := b.Output(t, d, c.to, kind)
		require.NoError(t, conv.UpsampleNearest(b.Stream, out.View, x.View, c.dims))
		got, i, lead := b.Read(t, out), 0, len(c.to)-c.dims
		opstest.EachIndex(c.to, func(at []int) {
			from := append([]int{}, at...)
			for k := lead; k < len(at); k++ {
				from[k] = at[k] * c.from[k] / c.to[k]
			}
			require.Equal(t, x.Want[opstest.FlatIndex(c.from, from)], got[i])
			i++
		})
		if c.dims == 2 && d.IsFloat() {
			for _, aligned := range []bool{false, true} {
				bilinear(t, b, x, c.from, c.to, aligned, kind)
			}
		}
	}
}

func bilinear(t *testing.T, b *opstest.Bench, x *opstest.Value, from, to layout.Shape, aligned bool, kind int) {
	t.Helper()
	d := x.DType
	out := b.Output(t, d, to, kind)
	require.NoError(t, conv.UpsampleBilinear(b.Stream, out.View, x.View, conv.Bilinear{AlignCorners: aligned}))
	got, i := b.Read(t, out), 0
	opstest.EachIndex(to, func(at []int) {
		sum := 0.0
		y, z := corners(at[2], from[2], to[2], aligned), corners(at[3], from[3], to[3], aligned)
		for _, p := range y {
			for _, q := range z {
				sum += p.weight * q.weight * x.Want[opstest.FlatIndex(from, []int{at[0], at[1], p.at, q.at})].Float()
			}
		}
		tolerance := 1e-4
		if d.Bits() < 32 {
			tolerance += opstest.ULP(d, sum)
		}
		require.InDelta(t, sum, got[i].Float(), tolerance, "%v to %v: %v", from, to, at)
		i++
	})
}

type corner struct {
	at     int
	weight float64
}

func corners(i, n, m int, aligned bool) [2]corner {
	at := max((float64(i)+0.5)*float64(n)/float64(m)-0.5, 0)
	if aligned {
		at = float64(i) * float64(n-1) / float64(max(m-1, 1))
	}
	first := min(int(at), n-1)
	far := at - float64(first)
	return [2]corner{{first, 1 - far}, {min(first+1, n-1), far}}
}

// wantNear compares a result with numbers that are rounded to four digits.
func wantNear(t *testing.T, b *opstest.Bench, out *opstest.Value, numbers ...float64) {
	t.Helper()
	got := b.Read(t, out)
	require.Len(t, got, len(numbers))
	for i := range got {
		require.InDelta(t, numbers[i], got[i].Float(), 1e-4, "element %d", i)
	}
}

// convCases are examples with known results.
func convCases(t *testing.T, b *opstest.Bench) {
	f := dtype.F32
	x := b.Of(t, f, layout.Shape{1, 4, 5}, .4056, -.8689, -.0773, -1.5630, 1.2279, -.9287, -1.7030, .1370, .1866, .4145, 1.8025, -.1536, 2.2013, -.6836, .2477, 1.3127, -.6957, .3278, -1.0124, .5599)
	w := b.Of(t, f, layout.Shape{2, 4, 3}, -.8404, -.3490, .0130, 1.3123, .1763, -1.9249, 1.4270, .9421, .8670, -.7181, -1.1111, .8869, -1.2429, 1.8357, 1.6052, -1.3844, .3951, -1.2036, .6686, 1.6261, -.6451, -.0840, -1.4247, .5512)
	out := b.Output(t, f, layout.Shape{1, 2, 3}, 0)
	require.NoError(t, conv.Conv(b.Stream, out.View, x.View, w.View, conv.Convolution{}))
	wantNear(t, b, out, 2.6357, -1.3336, 4.1393, -1.1784, 3.5675, .5069)
	out = b.Output(t, f, layout.Shape{1, 2, 5}, 0)
	require.NoError(t, conv.Conv(b.Stream, out.View, x.View, w.View, conv.Convolution{Padding: []int{1}}))
	wantNear(t, b, out, 2.4509, 2.6357, -1.3336, 4.1393, .5657, 1.8091, -1.1784, 3.5675, .5069, 3.3352)
	back := w.View
	var err error
	back.Layout, err = w.Layout.Transpose(0, 1)
	require.NoError(t, err)
	out = b.Output(t, f, layout.Shape{1, 2, 7}, 0)
	require.NoError(t, conv.ConvTranspose(b.Stream, out.View, x.View, back, conv.Convolution{}))
	wantNear(t, b, out, .0699, -1.2899, 8.3018, 5.5873, 2.4572, -2.6143, -.0706, 1.8765, 4.8318, 1.1538, 4.7076, -5.9745, -.8276, 1.621)
	grouped := b.Output(t, f, layout.Shape{1, 4, 7}, 0)
	require.NoError(t, conv.ConvTranspose(b.Stream, grouped.View, x.View, back, conv.Convolution{Groups: 2}))
	for i, want := range []float64{-1.5596, -1.8099, 2.0407, 4.8764, -.1743, -.735, -.7819} {
		require.InDelta(t, want, b.Read(t, grouped)[i].Float(), 1e-4)
	}
	two := b.Of(t, f, layout.Shape{1, 2, 3, 3}, .4056, -.8689, .6843, .2395, 1.2279, -.9287, -1.7030, .1370, .1866, .4145, -.6266, .3529, 2.2013, -.6836, .2477, 1.3127, -.6957, .3278)
	out = b.Output(t, f, layout.Shape{1, 1, 3, 3}, 0)
	require.NoError(t, conv.Conv(b.Stream, out.View, two.View, b.Of(t, f, layout.Shape{1, 2, 1, 1}, -.9259, 1.3017).View, conv.Convolution{}))
	wantNear(t, b, out, .164, -.0111, -.1742, 2.6437, -2.0268, 1.1823, 3.2855, -1.0324, .2539)
}

func poolCases(t *testing.T, b *opstest.Bench) {
	f := dtype.F32
	two := conv.Pooling{Kernel: []int{2, 2}}
	out := b.Output(t, f, layout.Shape{1, 1, 2, 2}, 0)
	require.NoError(t, conv.AvgPool(b.Stream, out.View, b.Of(t, f, layout.Shape{1, 1, 4, 4}, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1).View, two))
	b.WantNumbers(t, out, .5, 1, 1, 1)
	list := []float64{1, 2, 1, 3, 0, 0, 1, 1, 1, 1, 1, 1, 5, 1, 1, 1}
	require.NoError(t, conv.MaxPool(b.Stream, out.View, ops.View{}, b.Of(t, f, layout.Shape{1, 1, 4, 4}, list...).View, two))
	b.WantNumbers(t, out, 2, 3, 5, 1)
	out = b.Output(t, f, layout.Shape{1, 1, 1, 4}, 0)
	require.NoError(t, conv.MaxPool(b.Stream, out.View, ops.View{}, b.Of(t, f, layout.Shape{1, 1, 2, 8}, list...).View, two))
	b.WantNumbers(t, out, 2, 3, 5, 1)
	nan := math.NaN()
	which := b.Output(t, dtype.I64, layout.Shape{2}, 0)
	out = b.Output(t, f, layout.Shape{2}, 0)
	require.NoError(t, conv.MaxPool(b.Stream, out.View, which.View, b.Of(t, f, layout.Shape{6}, 1, nan, nan, -5, -3, -3).View, conv.Pooling{Kernel: []int{3}}))
	require.True(t, math.IsNaN(b.Read(t, out)[0].Float()))
	b.WantNumbers(t, which, 1, 4)
}

func resizeCases(t *testing.T, b *opstest.Bench) {
	f := dtype.F32
	out := b.Output(t, f, layout.Shape{1, 1, 4, 6}, 0)
	require.NoError(t, conv.UpsampleNearest(b.Stream, out.View, b.Of(t, f, layout.Shape{1, 1, 2, 3}, opstest.Sequence(0, 6)...).View, 2))
	b.WantNumbers(t, out, 0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 3, 3, 4, 4, 5, 5)
	for _, c := range []struct {
		n, m    int
		from    []float64
		aligned bool
		scale   [2]float64
		row     []float64
	}{
		{4, 8, opstest.Sequence(0, 16), false, [2]float64{}, []float64{0, .25, .75, 1.25, 1.75, 2.25, 2.75, 3}},
		{8, 4, opstest.Sequence(0, 64), false, [2]float64{}, []float64{4.5, 6.5, 8.5, 10.5}},
		{2, 4, opstest.Sequence(1, 4), true, [2]float64{}, []float64{1, 1.3333, 1.6667, 2}},
		{4, 8, opstest.Sequence(0, 16), false, [2]float64{2, 2}, []float64{0, .25, .75, 1.25, 1.75, 2.25, 2.75, 3}},
	} {
		out := b.Output(t, f, layout.Shape{1, 1, c.m, c.m}, 0)
		require.NoError(t, conv.UpsampleBilinear(b.Stream, out.View, b.Of(t, f, layout.Shape{1, 1, c.n, c.n}, c.from...).View, conv.Bilinear{AlignCorners: c.aligned, Scale: c.scale}))
		for i, want := range c.row {
			require.InDelta(t, want, b.Read(t, out)[i].Float(), 1e-4, fmt.Sprint(c.n, " to ", c.m))
		}
	}
}

// convErrors are operands that do not fit.
func convErrors(t *testing.T, b *opstest.Bench) {
	view := func(d dtype.DType, s ...int) ops.View { return b.RandomValue(t, d, s, 0).View }
	f := dtype.F32
	x, w, out := view(f, 1, 4, 8), view(f, 2, 4, 3), view(f, 1, 2, 6)
	require.ErrorIs(t, conv.Conv(b.Stream, out, x, view(f, 2, 3, 3), conv.Convolution{}), layout.ErrShape)
	require.ErrorIs(t, conv.Conv(b.Stream, out, x, w, conv.Convolution{Groups: 3}), layout.ErrShape)
	require.ErrorIs(t, conv.Conv(b.Stream, out, x, w, conv.Convolution{Stride: []int{0}}), layout.ErrShape)
	require.ErrorIs(t, conv.Conv(b.Stream, out, x, w, conv.Convolution{Stride: []int{1, 1}}), layout.ErrRank)
	require.ErrorIs(t, conv.Conv(b.Stream, out, x, view(f, 2, 4, 9), conv.Convolution{}), layout.ErrShape)
	require.ErrorIs(t, conv.Conv(b.Stream, out, x, view(dtype.F16, 2, 4, 3), conv.Convolution{}), ops.ErrDType)
	require.ErrorIs(t, conv.Conv(b.Stream, view(f, 1, 2, 7), x, w, conv.Convolution{}), layout.ErrShape)
	require.ErrorIs(t, conv.AvgPool(b.Stream, out, x, conv.Pooling{Kernel: []int{9}}), layout.ErrShape)
	require.ErrorIs(t, conv.AvgPool(b.Stream, out, x, conv.Pooling{Kernel: []int{2}, Padding: []int{2}}), layout.ErrShape)
	large := view(f, 1, 1, 1)
	large.Layout, _ = large.Layout.BroadcastTo(layout.Shape{1, 4, 1<<40 + 1})
	for _, c := range []conv.Convolution{ // numbers whose sums or products wrap to small ones
		{Padding: []int{1<<63 - 1}}, {Dilation: []int{1 << 62}}, {Dilation: []int{1 << 61}, Padding: []int{1 << 62}},
	} {
		require.ErrorIs(t, conv.Conv(b.Stream, out, x, w, c), layout.ErrTooLarge, "%v", c)
		require.ErrorIs(t, conv.ConvTranspose(b.Stream, out, x, view(f, 4, 2, 3), c), layout.ErrTooLarge, "%v", c)
	}
	require.ErrorIs(t, conv.Conv(b.Stream, out, x, large, conv.Convolution{Dilation: []int{1 << 24}}), layout.ErrTooLarge)
	require.ErrorIs(t, conv.ConvTranspose(b.Stream, out, large, view(f, 4, 2, 3), conv.Convolution{Stride: []int{1 << 24}}), layout.ErrTooLarge)
	require.ErrorIs(t, conv.MaxPool(b.Stream, view(f, 1, 4, 4), view(dtype.I32, 1, 4, 4), x, conv.Pooling{Kernel: []int{2}}), ops.ErrDType)
	require.ErrorIs(t, conv.UpsampleNearest(b.Stream, out, x, 3), layout.ErrRank)
	require.ErrorIs(t, conv.UpsampleBilinear(b.Stream, view(dtype.I32, 1, 1, 4, 4), view(dtype.I32, 1, 1, 2, 2), conv.Bilinear{}), ops.ErrDType)
}
