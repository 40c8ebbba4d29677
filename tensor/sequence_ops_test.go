package tensor_test

import (
	"math"
	"slices"

	"github.com/gokiln/kiln/tensor"
)

// operation is one of a random sequence, along dimension d if it has any: the tensor, and
// what its elements are. It reports false if it is not for the operand.
type operation func(s *sequence, t *tensor.Tensor, p plain, d int) (*tensor.Tensor, plain, bool)

// more applies an operation of the table, drawn at random.
func (s *sequence) more(t *tensor.Tensor, p plain) (*tensor.Tensor, plain, string) {
	for {
		c := operations[s.rng.IntN(len(operations))]
		d := -1
		if rank := len(p.shape); rank > 0 {
			d = s.rng.IntN(rank)
		} else if !c.any {
			continue
		}
		if u, q, ok := c.run(s, t, p, d); ok {
			return u, q, c.name
		}
	}
}

var operations []struct {
	name string
	any  bool // for a tensor without dimensions, too
	run  operation
}

func init() {
	add := func(name string, anyRank bool, run operation) {
		operations = append(operations, struct {
			name string
			any  bool
			run  operation
		}{name, anyRank, run})
	}
	each := func(name string, f func(t *tensor.Tensor) *tensor.Tensor, g func(x float64) float64) {
		add(name, true, func(_ *sequence, t *tensor.Tensor, p plain, _ int) (*tensor.Tensor, plain, bool) {
			return f(t), plainOf(p.shape, func(at []int) float64 { return g(p.at(at)) }), true
		})
	}
	// folded are along one dimension: f of the numbers there, and how large their errors may be.
	folded := func(name string, least int, f func(t *tensor.Tensor, d int) *tensor.Tensor, g func(x []float64) (float64, float64)) {
		add(name, false, func(_ *sequence, t *tensor.Tensor, p plain, d int) (*tensor.Tensor, plain, bool) {
			if p.shape[d] < least {
				return nil, p, false
			}
			rest := slices.Delete(slices.Clone(p.shape), d, d+1)
			q := plainOf(rest, func(at []int) float64 { v, _ := g(p.line(at, d)); return v })
			q.size = plainOf(rest, func(at []int) float64 { _, size := g(p.line(at, d)); return size }).v
			return f(t, d-len(p.shape)), q, true
		})
	}
	// lined are along one dimension, too, and give as many numbers.
	lined := func(name string, f func(t *tensor.Tensor, d int) *tensor.Tensor, g func(x []float64) (v, size []float64)) {
		add(name, false, func(_ *sequence, t *tensor.Tensor, p plain, d int) (*tensor.Tensor, plain, bool) {
			pick := func(k int) func(at []int) float64 {
				return func(at []int) float64 {
					v, size := g(p.line(slices.Delete(slices.Clone(at), d, d+1), d))
					return [][]float64{v, size}[k][at[d]]
				}
			}
			if tensor.Shape(p.shape).Count() > 3000 { // each line is computed for each of its elements
				return nil, p, false
			}
			q := plainOf(p.shape, pick(0))
			q.size = plainOf(p.shape, pick(1)).v
			return f(t, d), q, true
		})
	}
	addElementwise(each)
	addFolds(folded)
	addLines(lined)
	add("unfold", false, unfolded)
	add("permute", true, permuted)
	add("expand", true, expanded)
	add("diagonal", false, diagonal)
	add("index", false, subscripted)
	add("repeat", false, repeated)
	add("gather", false, gathered)
	add("scatter add", false, scattered)
	add("masked fill", true, masked)
	add("sum of all", true, summed)
	add("triangle", false, triangle)
}

// line is the numbers along dimension d at an index of the others.
func (p plain) line(rest []int, d int) []float64 {
	out := make([]float64, p.shape[d])
	at := slices.Insert(slices.Clone(rest), d, 0)
	for i := range out {
		at[d] = i
		out[i] = p.at(at)
	}
	return out
}

func addElementwise(each func(string, func(*tensor.Tensor) *tensor.Tensor, func(float64) float64)) {
	sign := func(x float64) float64 {
		switch {
		case x > 0:
			return 1
		case x < 0:
			return -1
		}
		return x
	}
	each("floor", ten.Floor, math.Floor)
	each("ceil", ten.Ceil, math.Ceil)
	each("round even", ten.RoundEven, math.RoundToEven)
	each("sign", ten.Sign, sign)
	each("sigmoid", ten.Sigmoid, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) })
	each("tanh", ten.Tanh, math.Tanh)
	each("sin", ten.Sin, math.Sin)
	each("log1p", func(t ten) ten { return t.Abs().Log1p() }, func(x float64) float64 { return math.Log1p(math.Abs(x)) })
	each("clamp", func(t ten) ten { return t.Clamp(-1.5, 2) }, func(x float64) float64 { return min(max(x, -1.5), 2) })
	each("whole", func(t ten) ten { return t.Cast(tensor.I32).Cast(t.DType()) }, math.Trunc)
	each("quotient", func(t ten) ten { return t.MaximumScalar(1).DivFrom(2) }, func(x float64) float64 { return 2 / max(x, 1) })
}

func addFolds(folded func(string, int, func(*tensor.Tensor, int) *tensor.Tensor, func([]float64) (float64, float64))) {
	folded("mean", 1, func(t ten, d int) ten { return t.Mean(d) }, func(x []float64) (float64, float64) {
		sum, size := totals(x)
		return sum / float64(len(x)), size / float64(len(x))
	})
	folded("min", 1, func(t ten, d int) ten { return t.Min(d) }, func(x []float64) (float64, float64) { return slices.Min(x), 0 })
	folded("argmax", 1, func(t ten, d int) ten { return t.ArgMax(d).Cast(t.DType()) }, func(x []float64) (float64, float64) {
		at := slices.Index(x, slices.Max(x))
		return float64(at), float64(at)
	})
	folded("median", 1, ten.Median, func(x []float64) (float64, float64) {
		x = slices.Sorted(slices.Values(x))
		low, high := x[(len(x)-1)/2], x[len(x)/2]
		return (low + high) / 2, max(math.Abs(low), math.Abs(high))
	})
	folded("variance", 2, func(t ten, d int) ten { return t.Var(d) }, func(x []float64) (float64, float64) {
		sum, _ := totals(x)
		mean, v, size := sum/float64(len(x)), 0.0, 0.0
		for _, e := range x {
			v += (e - mean) * (e - mean)
			size += e * e
		}
		return v / float64(len(x)-1), size / float64(len(x)-1)
	})
	folded("log sum exp", 1, func(t ten, d int) ten { return t.LogSumExp(d) }, func(x []float64) (float64, float64) {
		top, sum := slices.Max(x), 0.0
		for _, e := range x {
			sum += math.Exp(e - top)
		}
		return top + math.Log(sum), math.Abs(top)
	})
}

// totals are that of numbers, and of their magnitudes.
func totals(x []float64) (sum, size float64) {
	for _, e := range x {
		sum += e
		size += math.Abs(e)
	}
	return sum, size
}

func addLines(lined func(string, func(*tensor.Tensor, int) *tensor.Tensor, func([]float64) (v, size []float64))) {
	lined("cumsum", ten.CumSum, func(x []float64) (v, size []float64) {
		for i := range x {
			a, b := totals(x[:i+1])
			v, size = append(v, a), append(size, b)
		}
		return v, size
	})
	lined("cummax", ten.CumMax, func(x []float64) (v, size []float64) {
		for i := range x {
			v = append(v, slices.Max(x[:i+1]))
		}
		return v, make([]float64, len(x))
	})
	lined("sort", func(t ten, d int) ten { v, _ := t.Sort(d, true); return v }, func(x []float64) (v, size []float64) {
		v = slices.Sorted(slices.Values(x))
		slices.Reverse(v)
		return v, make([]float64, len(x))
	})
	lined("softmax", ten.Softmax, func(x []float64) (v, size []float64) {
		sum := 0.0
		for _, e := range x {
			v = append(v, math.Exp(e-slices.Max(x)))
		}
		for _, e := range v {
			sum += e
		}
		for i := range v {
			v[i] /= sum
		}
		return v, make([]float64, len(x))
	})
}

func unfolded(s *sequence, t *tensor.Tensor, p plain, d int) (*tensor.Tensor, plain, bool) {
	n := p.shape[d]
	if n == 0 || len(p.shape) > 5 {
		return nil, p, false
	}
	size, step := 1+s.rng.IntN(n), 1+s.rng.IntN(3)
	shape := append(slices.Clone(p.shape), size)
	shape[d] = (n-size)/step + 1
	if tensor.Shape(shape).Count() > 5000 {
		return nil, p, false
	}
	return t.Unfold(d, size, step), plainOf(shape, func(at []int) float64 {
		in := slices.Clone(at[:len(at)-1])
		in[d] = at[d]*step + at[len(at)-1]
		return p.at(in)
	}), true
}

func permuted(s *sequence, t *tensor.Tensor, p plain, _ int) (*tensor.Tensor, plain, bool) {
	order := s.rng.Perm(len(p.shape))
	shape := make([]int, len(order))
	for i, o := range order {
		shape[i] = p.shape[o]
	}
	return t.Permute(order...), plainOf(shape, func(at []int) float64 {
		in := make([]int, len(at))
		for i, o := range order {
			in[o] = at[i]
		}
		return p.at(in)
	}), true
}

func expanded(s *sequence, t *tensor.Tensor, p plain, _ int) (*tensor.Tensor, plain, bool) {
	d, n := s.rng.IntN(len(p.shape)+1), 1+s.rng.IntN(3)
	shape := slices.Insert(slices.Clone(p.shape), d, n)
	if tensor.Shape(shape).Count() > 5000 || len(shape) > 6 {
		return nil, p, false
	}
	return t.Unsqueeze(d - len(shape)).Expand(shape...), plainOf(shape, func(at []int) float64 {
		return p.at(slices.Delete(slices.Clone(at), d, d+1))
	}), true
}

func diagonal(s *sequence, t *tensor.Tensor, p plain, d int) (*tensor.Tensor, plain, bool) {
	e := s.rng.IntN(len(p.shape))
	if d == e || p.shape[d] == 0 || p.shape[e] == 0 {
		return nil, p, false
	}
	k := s.rng.IntN(p.shape[d]+p.shape[e]-1) - (p.shape[d] - 1)
	down, right := max(-k, 0), max(k, 0)
	shape := slices.Clone(p.shape)
	shape = slices.Delete(shape, max(d, e), max(d, e)+1)
	shape = slices.Delete(shape, min(d, e), min(d, e)+1)
	shape = append(shape, min(p.shape[d]-down, p.shape[e]-right))
	return t.Diagonal(k, d, e), plainOf(shape, func(at []int) float64 {
		i := at[len(at)-1]
		in := slices.Clone(at[:len(at)-1])
		if d < e {
			in = slices.Insert(slices.Insert(in, d, i+down), e, i+right)
		} else {
			in = slices.Insert(slices.Insert(in, e, i+right), d, i+down)
		}
		return p.at(in)
	}), true
}

func subscripted(s *sequence, t *tensor.Tensor, p plain, d int) (*tensor.Tensor, plain, bool) {
	step := 1 + s.rng.IntN(3)
	n := (p.shape[d] + step - 1) / step
	items := slices.Repeat([]any{tensor.All}, len(p.shape))
	items[d] = tensor.All.By(-step)
	shape := slices.Clone(p.shape)
	shape[d] = n
	return t.Index(items...), plainOf(shape, func(at []int) float64 {
		in := slices.Clone(at)
		in[d] = p.shape[d] - 1 - at[d]*step
		return p.at(in)
	}), true
}

func repeated(s *sequence, t *tensor.Tensor, p plain, d int) (*tensor.Tensor, plain, bool) {
	if len(p.v) > 2000 {
		return nil, p, false
	}
	counts := slices.Repeat([]int{1}, len(p.shape))
	counts[d] = s.rng.IntN(3)
	shape := slices.Clone(p.shape)
	shape[d] *= counts[d]
	return t.Repeat(counts...), plainOf(shape, func(at []int) float64 {
		in := slices.Clone(at)
		in[d] %= p.shape[d]
		return p.at(in)
	}), true
}

// places draws random indices of dimension d for elements of a shape.
func (s *sequence) places(n int, shape []int) (*tensor.Tensor, []int64) {
	list := make([]int64, tensor.Shape(shape).Count())
	for i := range list {
		list[i] = s.rng.Int64N(int64(n))
	}
	return tensor.From(s.d, list, shape...), list
}

func gathered(s *sequence, t *tensor.Tensor, p plain, d int) (*tensor.Tensor, plain, bool) {
	if p.shape[d] == 0 {
		return nil, p, false
	}
	shape := slices.Clone(p.shape)
	shape[d] = 1 + s.rng.IntN(4)
	ids, list := s.places(p.shape[d], shape)
	i := 0
	return t.Gather(ids, d), plainOf(shape, func(at []int) float64 { // in row-major order
		in := slices.Clone(at)
		in[d] = int(list[i])
		i++
		return p.at(in)
	}), true
}

func scattered(s *sequence, t *tensor.Tensor, p plain, d int) (*tensor.Tensor, plain, bool) {
	if p.shape[d] == 0 {
		return nil, p, false
	}
	ids, list := s.places(p.shape[d], p.shape)
	q := plainOf(p.shape, p.at)
	q.size = make([]float64, len(q.v))
	for i, x := range q.v {
		q.size[i] = math.Abs(x)
	}
	strides := tensor.Shape(p.shape).Strides()
	i := 0
	plainOf(p.shape, func(at []int) float64 {
		to := i + (int(list[i])-at[d])*strides[d]
		x := p.at(at)
		q.v[to] += x
		q.size[to] += math.Abs(x)
		i++
		return 0
	})
	return t.ScatterAdd(ids, t, d), q, true
}

func masked(_ *sequence, t *tensor.Tensor, p plain, _ int) (*tensor.Tensor, plain, bool) {
	return t.MaskedFill(t.GtScalar(1), -2), plainOf(p.shape, func(at []int) float64 {
		if x := p.at(at); x <= 1 {
			return x
		}
		return -2
	}), true
}

func summed(_ *sequence, t *tensor.Tensor, p plain, _ int) (*tensor.Tensor, plain, bool) {
	sum, size := totals(p.v)
	return t.Sum(), plain{v: []float64{sum}, size: []float64{size}}, true
}

func triangle(s *sequence, t *tensor.Tensor, p plain, _ int) (*tensor.Tensor, plain, bool) {
	n := len(p.shape)
	if n < 2 {
		return nil, p, false
	}
	k := s.rng.IntN(5) - 2
	return t.Tril(k), plainOf(p.shape, func(at []int) float64 {
		if at[n-1] > at[n-2]+k {
			return 0
		}
		return p.at(at)
	}), true
}
