package matmultest

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	matmulops "github.com/gokiln/kiln/ops/matmul"
	"github.com/gokiln/kiln/ops/opstest"
)

// Random products are drawn in two steps, since what takes long is to compile kernels:
// configurations have all that a kernel is compiled for, and each has products of many shapes.
const (
	mostConfigurations = 100
	leastShapes        = 50 // of a configuration
	mostFailures       = 3  // of a configuration that are told
)

// configurations divides as many random products as KILN_PRODUCTS asks for among configurations: f
// draws one and tests n products of it.
func configurations(t *testing.T, b *opstest.Bench, f func(t *testing.T, b *opstest.Bench, n int)) {
	n := opstest.Products()
	count := min(mostConfigurations, (n+leastShapes-1)/leastShapes)
	for i := range count {
		b.Always(t, func(t *testing.T, b *opstest.Bench) { f(t, b, n*(i+1)/count-n*i/count) }, "Random/%d", i)
	}
}

// randomProducts tests random products, of any number of matrices.
func randomProducts(t *testing.T, b *opstest.Bench) {
	configurations(t, b, func(t *testing.T, b *opstest.Bench, n int) { drawConfiguration(b).run(t, b, n) })
}

// gaps tests that no strategy writes to what is behind rows of results, which end within a chunk of
// memory and may be columns of a larger matrix.
func gaps(t *testing.T, b *opstest.Bench) {
	for _, way := range append([]string{""}, matmulops.MatmulStrategies()...) {
		for _, d := range []dtype.DType{dtype.BF16, dtype.F32} {
			if !b.Has(d) {
				continue
			}
			b.Part(t, func(t *testing.T, b *opstest.Bench) {
				c := &configuration{d: dtype.BF16, o: d, way: way, act: "none", bias: "none", scale: 1}
				for i := range c.orders {
					c.orders[i] = order{Aligned: true, Step: 1, Gap: 4}
				}
				factors, results := newArena(t, b, c.d, 0), newArena(t, b, c.o, 0)
				var list []*drawn
				for _, n := range []int{13, 66, 270} {
					list = append(list, c.draw(t, b, matrices{m: 300, k: 64, n: n}, factors, results))
				}
				require.Zero(t, c.runSome(t, b, list, factors, results))
			}, "Gaps/%s/%v", way, d)
		}
	}
}

// configuration is what products of many shapes have in common.
type configuration struct {
	d, o           dtype.DType // of factors and results
	way, act, bias string
	precision      matmulops.Precision
	scale          float64 // 1 for none
	residual, up   bool
	batches        bool
	orders         [len(operandNames)]order
	spread         int // of the numbers' exponents
}

// The operands of a product.
const (
	ofX = iota
	ofY
	ofUp
	ofOut
	ofBias
	ofResidual
)

var operandNames = [...]string{ofX: "a", ofY: "b", ofUp: "up", ofOut: "out", ofBias: "bias", ofResidual: "residual"}

// order is how matrices lie in memory.
type order struct {
	Turned, Aligned, Repeated bool
	Step                      int // from element to element
	Gap                       int // behind a row, at most
}

func drawConfiguration(b *opstest.Bench) *configuration {
	r := b.Rand
	one := func(n int) bool { return r.IntN(n) == 0 }
	c := &configuration{scale: 1, bias: "none", act: "none", residual: one(3), up: one(5), batches: one(3), spread: r.IntN(4)}
	all := slices.DeleteFunc(dtype.All(), func(d dtype.DType) bool { return !b.Has(d) })
	if one(2) { // those of networks
		all = slices.DeleteFunc(all, func(d dtype.DType) bool { return !d.IsFloat() || d == dtype.F64 })
	}
	c.d = all[r.IntN(len(all))]
	c.o = c.d
	for _, k := range r.Perm(len(results)) {
		if to := results[k]; to.factors == c.d && b.Has(to.out) && one(2) {
			c.o = to.out
		}
	}
	if one(2) {
		c.bias = []string{"columns", "rows", "each"}[r.IntN(3)]
	}
	switch names := slices.Sorted(maps.Keys(activations)); {
	case one(2):
	case c.d.IsInt():
		c.act = "relu"
	default:
		c.act = names[r.IntN(len(names))]
	}
	if !c.d.IsInt() && one(3) {
		c.scale = []float64{0.375, -1.5, 0.02}[r.IntN(3)]
	}
	if c.d == dtype.F32 || c.d.IsFloat() && c.d.Size() == 1 {
		c.precision = matmulops.Precision(r.IntN(4))
	}
	ways := matmulops.MatmulStrategies()
	if one(3) && (b.Device.Info().Units > 16 || one(2)) {
		c.way = ways[r.IntN(len(ways))]
	}
	for i := range c.orders {
		c.orders[i] = order{Turned: one(2), Aligned: !one(3), Repeated: i != ofOut && one(16), Step: 1, Gap: r.IntN(3) * 4}
		if one(6) {
			c.orders[i].Step = 2
		}
	}
	if one(2) {
		c.orders[ofUp] = c.orders[ofY] // so that a tile may have columns of both
	}
	return c
}

// shape draws the sizes of a product: most of them are small, and few as large as keeps the device
// busy for some time.
func (c *configuration) shape(r *rand.Rand, units int) matrices {
	size := func() int { return 1 + r.IntN([]int{4, 20, 70, 70, 300}[r.IntN(5)]) }
	s := matrices{m: size(), k: size(), n: size()}
	whole := func(n int) int { return max(16, n&^15) }
	if r.IntN(3) == 0 {
		s.m, s.k, s.n = whole(s.m), whole(s.k), whole(s.n)
	}
	skinny := strings.HasPrefix(c.way, "skinny")
	large := c.way == "" || strings.HasPrefix(c.way, "matrix")
	switch pick := r.IntN(1000); {
	case pick < 60 || skinny:
		s.m, s.n = 1+r.IntN(4), 1+r.IntN(2000)
		if r.IntN(2) == 0 {
			s.m, s.n = s.n, s.m
		}
	case pick < 90:
		s.k = 1 + r.IntN(9000)
		s.m, s.n = 1+s.m/8, 1+s.n/8
	case pick < 93 && large:
		s.m = 1 + r.IntN(min(6000, units<<7))
		s.n = 1 + r.IntN(min(6000, units<<17/s.m))
		s.k = 1 + r.IntN(min(4000, units<<26/(s.m*s.n)))
		return s
	}
	if c.batches {
		of := [][2]layout.Shape{{{3}, {3}}, {{2, 3}, {3}}, {{2, 1}, {1, 2}}, {{5}, nil}, {nil, {4}}, {{1}, {7}}, {{2, 2}, {2, 2}}}[r.IntN(7)]
		s.batchA, s.batchB = of[0], of[1]
	}
	return s
}

// run tests n products of a configuration, some of them at a time.
func (c *configuration) run(t *testing.T, b *opstest.Bench, n int) {
	factors := newArena(t, b, c.d, c.spread)
	results := newArena(t, b, c.o, c.spread)
	failed := 0
	for n > 0 && failed < mostFailures {
		var list []*drawn
		for len(list) < min(n, 64) && factors.length+results.length < 1<<22 {
			list = append(list, c.draw(t, b, c.shape(b.Rand, b.Device.Info().Units), factors, results))
		}
		n -= len(list)
		failed += c.runSome(t, b, list, factors, results)
	}
}

// runSome runs products and returns how many have wrong results.
func (c *configuration) runSome(t *testing.T, b *opstest.Bench, list []*drawn, factors, results *arena) (failed int) {
	factors.upload(t)
	results.upload(t)
	for _, p := range list {
		require.NoError(t, c.launch(b, p, factors, results), "%+v of %+v", *c, p)
	}
	got := results.download(t)
	for _, p := range list {
		if err := c.check(b, p, factors, results, got); err != nil {
			t.Errorf("%+v of %v: %v", *c, p, err)
			failed++
		}
	}
	require.NoError(t, results.unchanged(got, list), "%+v", *c)
	require.NoError(t, factors.unchanged(factors.download(t), nil), "%+v: factors", *c)
	factors.clear()
	results.clear()
	return failed
}

// drawn is a product with its operands.
type drawn struct {
	matrices
	batch    layout.Shape
	operands [len(operandNames)]*operandAt // nil if left out
}

// String says what it takes to find the product again.
func (p *drawn) String() string {
	text := fmt.Sprintf("%+v", p.matrices)
	for i, o := range p.operands {
		if o != nil {
			text += fmt.Sprintf(", %s %v by %v at %d", operandNames[i], o.at.Shape(), o.at.Strides(), o.at.Offset())
		}
	}
	return text
}

// draw draws the places of a product's operands.
func (c *configuration) draw(t *testing.T, b *opstest.Bench, m matrices, factors, results *arena) *drawn {
	p := &drawn{matrices: m}
	batch, err := layout.Broadcast(p.batchA, p.batchB)
	require.NoError(t, err)
	p.batch = batch
	full := join(batch, p.m, p.n)
	place := func(i int, in *arena, s layout.Shape) {
		p.operands[i] = in.place(t, b.Rand, s, c.orders[i], i != ofOut)
	}
	place(ofX, factors, join(p.batchA, p.m, p.k))
	place(ofY, factors, join(p.batchB, p.k, p.n))
	place(ofOut, results, full)
	if c.up {
		place(ofUp, factors, join(p.batchB, p.k, p.n))
	}
	if c.bias != "none" {
		place(ofBias, results, map[string]layout.Shape{"columns": {p.n}, "rows": {p.m, 1}, "each": full}[c.bias])
	}
	if c.residual {
		place(ofResidual, results, full)
	}
	return p
}

// launch launches a product in the way of its configuration, or in the best if the device does not
// have that one for it.
func (c *configuration) launch(b *opstest.Bench, p *drawn, factors, results *arena) error {
	o := matmulops.Options{Strategy: c.way, Precision: c.precision, Epilogue: matmulops.Epilogue{Act: activations[c.act].op}}
	if c.scale != 1 {
		o.Scale = dtype.FromFloat(dtype.F64, c.scale)
	}
	o.Bias, o.Residual = results.view(p.operands[ofBias]), results.view(p.operands[ofResidual])
	o.Up = factors.view(p.operands[ofUp])
	out, x, y := results.view(p.operands[ofOut]), factors.view(p.operands[ofX]), factors.view(p.operands[ofY])
	err := matmulops.MatmulWith(b.Stream, o, out, x, y)
	if o.Strategy != "" && err != nil && (errors.Is(err, jit.ErrUnsupported) || errors.Is(err, layout.ErrShape) || strings.Contains(err.Error(), "bytes of shared memory")) {
		o.Strategy = ""
		err = matmulops.MatmulWith(b.Stream, o, out, x, y)
	}
	return err
}

// work is how many products of elements of each drawn product are computed again: large results are
// looked at here and there, and along their edges.
const work, mostLooks = 1 << 18, 1 << 11

// check compares results with those of float64.
func (c *configuration) check(b *opstest.Bench, p *drawn, factors, results *arena, got []byte) error {
	shape := p.operands[ofOut].at.Shape()
	count := shape.Count()
	if err := results.written(p.operands[ofOut], got); err != nil {
		return err
	}
	at := make([]int, len(shape))
	looks := min(mostLooks, max(64, work/p.k))
	if count <= looks {
		for i := range count {
			c.index(at, i, shape)
			if err := c.element(b, p, at, factors, results, got); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range looks {
		c.index(at, b.Rand.IntN(count), shape)
		for d, n := range shape {
			if i%4 < 2 && b.Rand.IntN(2) == 0 { // an edge or a corner
				at[d] = []int{0, n - 1}[i%2]
			}
		}
		if err := c.element(b, p, at, factors, results, got); err != nil {
			return err
		}
	}
	return nil
}

// index makes at the i-th index of a shape.
func (c *configuration) index(at []int, i int, s layout.Shape) {
	for d := len(s) - 1; d >= 0; d-- {
		at[d], i = i%s[d], i/s[d]
	}
}

// element compares the result with an index.
func (c *configuration) element(b *opstest.Bench, p *drawn, at []int, factors, results *arena, got []byte) error {
	r := result{d: c.o, act: c.act, scale: c.scale, factor: dtype.One(c.o.Compute())}
	r.sum, r.size = c.sum(p, p.operands[ofX], p.operands[ofY], at, factors)
	if c.up {
		r.factor, r.more = c.sum(p, p.operands[ofX], p.operands[ofUp], at, factors)
	}
	r.bias, r.residual = results.scalar(p.operands[ofBias], at), results.scalar(p.operands[ofResidual], at)
	r.lost, r.unit = c.bound(b, p)
	if err := r.check(results.element(got, p.operands[ofOut].offset(at))); err != nil {
		return fmt.Errorf("element %v: %w; %+v", at, err, r)
	}
	return nil
}

// bound is the documented error of a sum of products as part of its magnitude, and that of an
// epilogue as part of the result.
func (c *configuration) bound(b *opstest.Bench, p *drawn) (lost, unit float64) {
	k := float64(p.k)
	unit = math.Ldexp(1, -19)
	if c.o.Bits() < 32 {
		unit = math.Ldexp(1, -12)
	}
	switch c.d {
	case dtype.F64:
		return (k + 2) * math.Ldexp(1, -53), math.Ldexp(1, -48)
	case dtype.F32:
		return (k*float64(terms[c.precision])+2)*math.Ldexp(1, -23) + roundings[c.precision], unit
	case dtype.F8E4M3, dtype.F8E5M2:
		lost = (k + 2) * math.Ldexp(1, -23)
		switch {
		case jit.MatrixShape(b.Device, c.d.Type(), dsl.MatrixM) == 0:
		case c.spread > 0: // an instruction keeps so many bits below its largest term
			lost += math.Ldexp(1, -8)
		case c.precision < matmulops.High:
			lost += math.Ldexp(1, -16)
		default:
			lost += math.Ldexp(1, -12)
		}
		return lost, unit
	}
	return (k + 2) * math.Ldexp(1, -23), unit
}

// terms is how many products of parts make one of float32 numbers, and roundings what is lost of
// these, in each precision.
var (
	terms     = [...]int{matmulops.Highest: 1, matmulops.Split: 6, matmulops.High: 3, matmulops.Medium: 1}
	roundings = [...]float64{matmulops.Highest: 0, matmulops.Split: 0x1p-25, matmulops.High: 0x1.01p-9, matmulops.Medium: 0x1.01p-7}
)

// sum is an element of a product of two operands, without the epilogue, and the sum of the
// magnitudes of its terms.
func (c *configuration) sum(p *drawn, x, y *operandAt, at []int, in *arena) (dtype.Scalar, float64) {
	last := len(at) - 1
	lead, row, col := at[:last-1], at[last-1], at[last]
	from, to := x.along(join(lead, row, 0), 1), y.along(join(lead, 0, col), 2)
	compute := c.o.Compute()
	if c.d.IsInt() {
		return dtype.FromBits(compute, uint64(dotInts(in.table.ints, from, to, p.k))), 0
	}
	sum, size := dot(in.table.floats, from, to, p.k)
	if c.d == dtype.F64 {
		sum = dotExact(in.table.floats, from, to, p.k)
	}
	return dtype.FromFloat(dtype.F64, sum), size
}
