package tensor_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/tensor"
)

// TestSequences runs sequences of operations, drawn at random with their shapes, on
// tensors and on plain lists of float64. KILN_SEQUENCES says how many, KILN_SEED where to
// begin; the same seed gives the same sequence. A million take half an hour of one core:
// KILN_SEQUENCES=1000000 go test ./tensor -run TestSequences -timeout 0.
func TestSequences(t *testing.T) {
	some := 400
	switch {
	case tooltest.Sweeps():
		some = 1500
	case testing.Short():
		some = 150
	}
	n, seed := number(t, "KILN_SEQUENCES", some), number(t, "KILN_SEED", 1)
	runSequences(t, open(t), n, seed)
}

func runSequences(t *testing.T, d *tensor.Device, n, seed int) {
	for i := range n {
		s := &sequence{rng: rand.New(rand.NewPCG(uint64(seed+i), 0)), d: d}
		s.dt = sequenceTypes[s.rng.IntN(len(sequenceTypes))]
		require.NoError(t, s.run(), "KILN_SEED=%d KILN_SEQUENCES=1: %v %v", seed+i, s.dt, s.steps)
	}
}

// sequenceTypes are those that sequences have, most often the usual one.
var sequenceTypes = []tensor.DType{tensor.F32, tensor.F32, tensor.F32, tensor.F64, tensor.BF16, tensor.F16}

// slack is how far results may be off, as a part of them, and most how large operands get.
var (
	slack = map[tensor.DType]float64{tensor.F64: 1e-12, tensor.F32: 1e-5, tensor.F16: 2e-3, tensor.BF16: 1.6e-2}
	most  = map[tensor.DType]float64{tensor.F64: 1000, tensor.F32: 1000, tensor.F16: 8, tensor.BF16: 1000}
)

func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, name)
	return n
}

// plain is a tensor as a list of numbers in row-major order.
type plain struct {
	shape []int
	v     []float64
	size  []float64 // of sums: those of the magnitudes, which rounding errors go by; nil for others
}

// plainOf returns the plain tensor of a shape with f of each index.
func plainOf(shape []int, f func(at []int) float64) plain {
	n := tensor.Shape(shape).Count()
	p := plain{shape: slices.Clone(shape), v: make([]float64, 0, n)}
	at := make([]int, len(shape)) // f does not keep it
	for i := range n {
		for d, rest := len(shape)-1, i; d >= 0; d-- {
			at[d], rest = rest%shape[d], rest/shape[d]
		}
		p.v = append(p.v, f(at))
	}
	return p
}

// at is the element at an index, where dimensions of size 1 repeat theirs, and there may
// be more dimensions in front.
func (p plain) at(index []int) float64 {
	index = index[len(index)-len(p.shape):]
	n := 0
	for d, i := range index {
		if p.shape[d] == 1 {
			i = 0
		}
		n = n*p.shape[d] + i
	}
	return p.v[n]
}

// sequence is a pool of values, as tensors and as plain ones, that operations are
// applied to.
type sequence struct {
	rng   *rand.Rand
	d     *tensor.Device
	dt    tensor.DType
	t     []*tensor.Tensor
	p     []plain
	steps []string
	err   error // of what was done to operands
}

// errEnough ends a sequence whose numbers have become too large for their type.
var errEnough = errors.New("enough")

func (s *sequence) run() error {
	for range 2 {
		s.fresh()
	}
	for range 3 + s.rng.IntN(8) {
		k := s.rng.IntN(len(s.t))
		t, p, step := s.step(s.t[k], s.p[k])
		s.steps = append(s.steps, fmt.Sprintf("%d: %s of %d%v", len(s.t), step, k, s.p[k].shape))
		if s.err != nil {
			return s.err
		}
		err := s.same(t, p)
		if errors.Is(err, errEnough) {
			return nil
		}
		if err != nil {
			return err
		}
		s.t, s.p = append(s.t, t), append(s.p, p)
	}
	return nil
}

// fresh adds small whole numbers in a shape drawn at random.
func (s *sequence) fresh() {
	shape := make([]int, s.rng.IntN(4))
	for d := range shape {
		shape[d] = 1 + s.rng.IntN(4)
		if s.rng.IntN(12) == 0 {
			shape[d] = []int{0, 33, 70}[s.rng.IntN(3)]
		}
	}
	p := plainOf(shape, func([]int) float64 { return float64(s.rng.IntN(9) - 4) })
	data := make([]float32, len(p.v))
	for i, x := range p.v {
		data[i] = float32(x)
	}
	s.t, s.p = append(s.t, tensor.From(s.d, data).Reshape(shape...).Cast(s.dt)), append(s.p, p)
	s.steps = append(s.steps, fmt.Sprintf("%d: fresh %v", len(s.t)-1, shape))
}

// same compares the result of an operation, and takes over how it is rounded: what comes
// next has the same operands.
func (s *sequence) same(t *tensor.Tensor, p plain) error {
	if t.Err() == nil && t.DType() != s.dt {
		return fmt.Errorf("elements of %v, want %v", t.DType(), s.dt)
	}
	got, err := tensor.ToSlice[float64](t.Cast(tensor.F64))
	if err != nil {
		return err
	}
	if !slices.Equal(t.Shape(), p.shape) && len(p.shape) > 0 {
		return fmt.Errorf("shape %v, want %v", t.Shape(), p.shape)
	}
	for i, x := range got {
		if s.dt == tensor.F16 && math.Abs(p.v[i]) > 60000 {
			return errEnough
		}
		size := 1 + math.Abs(p.v[i])
		if p.size != nil {
			size = 1 + p.size[i]
		}
		if w := p.v[i]; !(math.Abs(x-w) <= slack[s.dt]*size) && !(math.IsNaN(w) && x != x) {
			return fmt.Errorf("element %d of %v is %v, want %v", i, p.shape, x, w)
		}
		p.v[i] = x
	}
	return nil
}

// small keeps numbers from growing: t·scale where that is needed.
func (s *sequence) small(t *tensor.Tensor, p plain) (*tensor.Tensor, plain) {
	largest := 0.0
	for _, x := range p.v {
		largest = max(largest, math.Abs(x))
	}
	if largest < most[s.dt] {
		return t, p
	}
	t = t.MulScalar(1 / 1024.0)
	p = plainOf(p.shape, func(at []int) float64 { return p.at(at) / 1024 })
	if err := s.same(t, p); err != nil && s.err == nil {
		s.err = err
	}
	return t, p
}

// step applies an operation drawn at random.
func (s *sequence) step(t *tensor.Tensor, p plain) (*tensor.Tensor, plain, string) {
	t, p = s.small(t, p)
	rank := len(p.shape)
	if s.rng.IntN(2) == 0 {
		return s.more(t, p)
	}
	if rank == 0 || s.rng.IntN(3) == 0 {
		return s.elementwise(t, p)
	}
	d := s.rng.IntN(rank)
	if s.rng.IntN(2) == 0 {
		return s.view(t, p, d)
	}
	return s.compute(t, p, d)
}

func (s *sequence) elementwise(t *tensor.Tensor, p plain) (*tensor.Tensor, plain, string) {
	each := func(f func(float64) float64) plain {
		return plainOf(p.shape, func(at []int) float64 { return f(p.at(at)) })
	}
	switch s.rng.IntN(6) {
	case 0:
		return t.Neg(), each(func(x float64) float64 { return -x }), "neg"
	case 1:
		return t.Relu(), each(func(x float64) float64 { return max(x, 0) }), "relu"
	case 2:
		return t.Affine(0.5, 1), each(func(x float64) float64 { return x*0.5 + 1 }), "affine"
	case 3:
		return t.Abs().Sqrt(), each(func(x float64) float64 { return math.Sqrt(math.Abs(x)) }), "sqrt abs"
	}
	// Another value whose shape can be broadcast.
	for _, k := range s.rng.Perm(len(s.t)) {
		u, q := s.small(s.t[k], s.p[k])
		shape, ok := joined(p.shape, q.shape)
		if !ok {
			continue
		}
		both := func(f func(x, y float64) float64) plain {
			return plainOf(shape, func(at []int) float64 { return f(p.at(at), q.at(at)) })
		}
		switch s.rng.IntN(4) {
		case 0:
			return t.Add(u), both(func(x, y float64) float64 { return x + y }), fmt.Sprint("add ", k)
		case 1:
			return t.Mul(u), both(func(x, y float64) float64 { return x * y }), fmt.Sprint("mul ", k)
		case 2:
			return t.Maximum(u), both(math.Max), fmt.Sprint("maximum ", k)
		}
		return t.GtScalar(0).Where(t, u), both(func(x, y float64) float64 {
			if x > 0 {
				return x
			}
			return y
		}), fmt.Sprint("where ", k)
	}
	return t.Copy(), plainOf(p.shape, p.at), "copy"
}

// joined broadcasts two shapes.
func joined(a, b []int) ([]int, bool) {
	out := make([]int, max(len(a), len(b)))
	for i := range out {
		x, y := 1, 1
		if k := len(a) - len(out) + i; k >= 0 {
			x = a[k]
		}
		if k := len(b) - len(out) + i; k >= 0 {
			y = b[k]
		}
		if x != y && x != 1 && y != 1 {
			return nil, false
		}
		if out[i] = x; x == 1 {
			out[i] = y
		}
	}
	return out, tensor.Shape(out).Count() < 5000
}

func (s *sequence) view(t *tensor.Tensor, p plain, d int) (*tensor.Tensor, plain, string) {
	with := func(n int) []int { c := slices.Clone(p.shape); c[d] = n; return c }
	moved := func(at []int, x int) []int { c := slices.Clone(at); c[d] = x; return c }
	n, rank := p.shape[d], len(p.shape)
	switch s.rng.IntN(7) {
	case 0:
		from := s.rng.IntN(n + 1)
		k := s.rng.IntN(n - from + 1)
		return t.Narrow(d, from, k), plainOf(with(k), func(at []int) float64 { return p.at(moved(at, at[d]+from)) }), "narrow"
	case 1:
		e := s.rng.IntN(rank)
		c := slices.Clone(p.shape)
		c[d], c[e] = c[e], c[d]
		return t.Transpose(d-rank, e), plainOf(c, func(at []int) float64 { at = slices.Clone(at); at[d], at[e] = at[e], at[d]; return p.at(at) }), "transpose"
	case 2:
		k := 1 + s.rng.IntN(3)
		return t.Step(d, k), plainOf(with((n+k-1)/k), func(at []int) float64 { return p.at(moved(at, at[d]*k)) }), "step"
	case 3:
		c := append([]int{2}, p.shape...)
		return t.BroadcastLeft(2), plainOf(c, func(at []int) float64 { return p.at(at) }), "broadcast"
	case 4:
		return t.Reshape(tensor.Shape(p.shape).Count()), plain{shape: []int{len(p.v)}, v: slices.Clone(p.v)}, "flatten"
	case 5:
		if n > 0 {
			i := s.rng.IntN(n)
			c := slices.Delete(slices.Clone(p.shape), d, d+1)
			return t.GetOn(d, i), plainOf(c, func(at []int) float64 { return p.at(slices.Insert(slices.Clone(at), d, i)) }), "get"
		}
	}
	return t.Flip(d), plainOf(p.shape, func(at []int) float64 { return p.at(moved(at, n-1-at[d])) }), "flip"
}

func (s *sequence) compute(t *tensor.Tensor, p plain, d int) (*tensor.Tensor, plain, string) {
	rest := slices.Delete(slices.Clone(p.shape), d, d+1)
	n := p.shape[d]
	fold := func(init float64, f func(a, x float64) float64) plain {
		return plainOf(rest, func(at []int) float64 {
			a := init
			for i := range n {
				a = f(a, p.at(slices.Insert(slices.Clone(at), d, i)))
			}
			return a
		})
	}
	moved := func(at []int, x int) []int { c := slices.Clone(at); c[d] = x; return c }
	with := func(n int) []int { c := slices.Clone(p.shape); c[d] = n; return c }
	switch s.rng.IntN(7) {
	case 0:
		sum := fold(0, func(a, x float64) float64 { return a + x })
		sum.size = fold(0, func(a, x float64) float64 { return a + math.Abs(x) }).v
		return t.Sum(d), sum, "sum"
	case 1:
		if n > 0 {
			return t.Max(d), fold(math.Inf(-1), math.Max), "max"
		}
	case 2:
		if n > 0 {
			ids := make([]int32, 1+s.rng.IntN(5))
			for i := range ids {
				ids[i] = s.rng.Int32N(int32(n))
			}
			return t.IndexSelect(tensor.From(s.d, ids), d), plainOf(with(len(ids)), func(at []int) float64 { return p.at(moved(at, int(ids[at[d]]))) }), "index select"
		}
	case 3:
		return tensor.Cat(d, t, t.Neg()), plainOf(with(2*n), func(at []int) float64 {
			if at[d] < n {
				return p.at(at)
			}
			return -p.at(moved(at, at[d]-n))
		}), "cat"
	case 4:
		k := s.rng.IntN(7) - 3
		return t.Roll(k, d), plainOf(p.shape, func(at []int) float64 { return p.at(moved(at, ((at[d]-k)%n+n)%n)) }), "roll"
	case 5:
		return t.Pad(d, 1, 2, tensor.PadConstant, 5), plainOf(with(n+3), func(at []int) float64 {
			if i := at[d] - 1; i >= 0 && i < n {
				return p.at(moved(at, i))
			}
			return 5
		}), "pad"
	}
	last := len(p.shape) - 1
	if last < 1 {
		return t.Contiguous(), plainOf(p.shape, p.at), "contiguous"
	}
	r, c := p.shape[last-1], p.shape[last]
	shape := append(slices.Clone(p.shape[:last]), r)
	product := func(magnitude func(float64) float64) plain {
		return plainOf(shape, func(at []int) float64 {
			sum := 0.0
			i, j := slices.Clone(at), slices.Clone(at)
			for k := range c {
				i[last], j[last-1], j[last] = k, at[last], k
				sum += magnitude(p.at(i) * p.at(j))
			}
			return sum
		})
	}
	result := product(func(x float64) float64 { return x })
	result.size = product(math.Abs).v
	return t.MatMul(t.T()), result, "matmul"
}
