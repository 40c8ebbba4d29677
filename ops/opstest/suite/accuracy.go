package suite

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	convops "github.com/gokiln/kiln/ops/conv"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	matmulops "github.com/gokiln/kiln/ops/matmul"
	"github.com/gokiln/kiln/ops/opstest"
	"github.com/gokiln/kiln/ops/rows"
	"github.com/gokiln/kiln/runtime"
)

// Accuracy is the largest error of an operation that adds many numbers.
type Accuracy struct {
	Name string
	Ulps float64 // in units in the last place of the sum of the magnitudes of what is added
	Data string  // numbers that it is of
	Most float64 // what it may be, as multiple of the logarithm to base 2 of how many are added
}

// numbersOf are kinds of numbers: such as have one rounding error again and again, such as lose
// all of what comes later, and random ones.
var numbersOf = []struct {
	name string
	at   func(rng *rand.Rand, i int) float32
}{
	{"0.1", func(*rand.Rand, int) float32 { return 0.1 }},
	{"2²⁴, then ones", func(_ *rand.Rand, i int) float32 {
		if i == 0 {
			return 1 << 24
		}
		return 1
	}},
	{"random, of both signs", func(rng *rand.Rand, _ int) float32 { return rng.Float32()*2 - 1 }},
	{"random, 2⁻¹² to 2¹²", func(rng *rand.Rand, _ int) float32 {
		return float32(math.Ldexp(float64(rng.Float32()*2-1), rng.IntN(25)-12))
	}},
}

// sums tests the accuracy of all operations that add, of as many numbers as any device adds in
// a moment. [LongSums] is the same of more.
func sums(t *testing.T, b *opstest.Bench) {
	b.Part(t, func(t *testing.T, b *opstest.Bench) { CheckAccuracy(t, LongSums(t, b.Device, 1<<14)) }, "Short")
}

// CheckAccuracy fails where an error is larger than documented.
func CheckAccuracy(t *testing.T, list []Accuracy) {
	t.Helper()
	for _, a := range list {
		require.LessOrEqual(t, a.Ulps, a.Most, "%s of %s", a.Name, a.Data)
	}
}

// LongSums returns the errors of operations that add n numbers in F32, or that have n numbers in 16
// rows or columns, against sums in more than float64 has. Without are the types that the device
// does not compute with.
func LongSums(t *testing.T, dev *runtime.Device, n int, without ...dtype.DType) (list []Accuracy) {
	t.Helper()
	works := []func(*longSums){(*longSums).reductions, (*longSums).columns, (*longSums).scans, (*longSums).rows, (*longSums).products, (*longSums).windows}
	if !slices.Contains(without, dtype.F64) {
		works = append(works, (*longSums).doubles)
	}
	for _, kind := range numbersOf {
		rng := rand.New(rand.NewPCG(3, 4))
		l := longSums{t: t, s: dev.DefaultStream(), n: n, data: kind.name}
		for i := range n {
			l.x = append(l.x, kind.at(rng, i))
		}
		for i := range n {
			l.y = append(l.y, kind.at(rng, i))
		}
		l.upload(dev)
		for _, f := range works {
			f(&l)
			require.NoError(t, dev.Sync())
		}
		list = worst(list, l.found)
	}
	return list
}

// worst is the larger of errors of the same operations.
func worst(a, b []Accuracy) []Accuracy {
	if a == nil {
		return b
	}
	for i := range a {
		if b[i].Ulps > a[i].Ulps {
			a[i] = b[i]
		}
	}
	return a
}

// lineCount is how many rows or columns there are where there are several.
const lineCount = 16

type longSums struct {
	t          *testing.T
	s          *runtime.Stream
	n          int
	data       string
	x, y       []float32
	xs, ys, to ops.View // of n elements, on the device
	out        runtime.Slice[float32]
	top, exps  float64 // the largest of x, and the sum of the exponentials of the distances from it
	found      []Accuracy
}

func (l *longSums) upload(dev *runtime.Device) {
	l.t.Helper()
	put := func(data []float32) (runtime.Slice[float32], ops.View) {
		mem, err := runtime.From(dev, data)
		require.NoError(l.t, err)
		l.t.Cleanup(func() { _ = mem.Free() })
		return mem, ops.View{Buf: mem.Buffer(), DType: dtype.F32, Layout: layout.Contiguous(layout.Shape{len(data)})}
	}
	_, l.xs = put(l.x)
	_, l.ys = put(l.y)
	l.out, l.to = put(make([]float32, l.n))
}

// shaped is a view in another shape, of fewer elements or as many.
func shaped(v ops.View, sizes ...int) ops.View {
	v.Layout = layout.Contiguous(layout.Shape(sizes))
	return v
}

// got returns the first elements of the result.
func (l *longSums) got(n int) []float32 {
	l.t.Helper()
	list, err := l.out.Slice(0, n).Host()
	require.NoError(l.t, err)
	return list
}

// most is the documented bound of errors of sums of n numbers: some units for each level of a
// tree.
func most(each float64, n int) float64 { return each * float64(bits.Len(uint(n))) }

// compare adds to the errors of a name, of sums of n numbers.
func (l *longSums) compare(name string, each float64, n int, got float32, want, magnitude float64) {
	l.report(name, each, n, errorOf(got, want, magnitude))
}

// errorOf is an error in units in the last place of a magnitude, which is no denormal number.
func errorOf(got float32, want, magnitude float64) float64 {
	const single = 23
	return errorIn(single, float64(got)-want, magnitude)
}

// errorIn is an error in units of so many bits below the first one of a magnitude.
func errorIn(bits uint64, diff, magnitude float64) float64 {
	const fraction = 52
	unit := math.Float64frombits((math.Float64bits(magnitude)>>fraction - bits) << fraction)
	if e := math.Abs(diff) / unit; e == e {
		return e
	}
	return math.Inf(1)
}

func (l *longSums) report(name string, each float64, n int, e float64) {
	if k := len(l.found) - 1; k >= 0 && l.found[k].Name == name {
		l.found[k].Ulps = max(l.found[k].Ulps, e)
		return
	}
	l.found = append(l.found, Accuracy{name, e, l.data, most(each, n)})
}

// exact is a sum with what float64 loses of it, and that of the magnitudes.
type exact struct{ sum, lost, all float64 }

func (e *exact) add(x float64) {
	s := e.sum + x
	if math.Abs(e.sum) >= math.Abs(x) {
		e.lost += e.sum - s + x
	} else {
		e.lost += x - s + e.sum
	}
	e.sum, e.all = s, e.all+math.Abs(x)
}

func (e *exact) value() float64 { return e.sum + e.lost }

func exactly(n int, at func(i int) float64) (e exact) {
	for i := range n {
		e.add(at(i))
	}
	return e
}

func (l *longSums) at(i int) float64 { return float64(l.x[i]) }

// The documented bounds: so many units for each level of a tree of sums; of scans, which add what
// comes before to each part; and of products with vectors and of matrices and of windows, of which
// threads add longer chains. Products of matrices with sums of up to 2048 elements add those one
// after the other.
const (
	sumUlps     = 2
	scanUlps    = 2
	vectorUlps  = 8
	productUlps = 22
	windowUlps  = 16
	wholeSum    = 2048
)

func (l *longSums) reductions() {
	n := float64(l.n)
	sum := exactly(l.n, l.at)
	squares := exactly(l.n, func(i int) float64 { return l.at(i) * l.at(i) })
	mean := sum.value() / n
	apart := exactly(l.n, func(i int) float64 { return (l.at(i) - mean) * (l.at(i) - mean) })
	top := math.Inf(-1)
	for _, x := range l.x {
		top = max(top, float64(x))
	}
	exps := exactly(l.n, func(i int) float64 { return math.Exp(l.at(i) - top) })
	l.top, l.exps = top, exps.value()
	for _, r := range []struct {
		of              *rows.Reduction
		want, magnitude float64
	}{
		{rows.Sum, sum.value(), sum.all},
		{rows.Average, mean, sum.all / n},
		{rows.SumSqr, squares.value(), squares.all},
		{rows.Norm2, math.Sqrt(squares.value()), math.Sqrt(squares.all)},
		{rows.Var, apart.value() / (n - 1), squares.all / (n - 1)},
		{rows.LogSumExp, top + math.Log(l.exps), math.Abs(top) + math.Log(n)},
	} {
		require.NoError(l.t, r.of.Run(l.s, shaped(l.to), l.xs, []int{0}))
		l.compare(r.of.Name(), sumUlps, l.n, l.got(1)[0], r.want, r.magnitude)
	}
}

func (l *longSums) columns() {
	n := l.n / lineCount
	require.NoError(l.t, rows.Sum.Run(l.s, shaped(l.to, lineCount), shaped(l.xs, n, lineCount), []int{0}))
	for c, got := range l.got(lineCount) {
		sum := exactly(n, func(i int) float64 { return l.at(i*lineCount + c) })
		l.compare("sum of columns", sumUlps, n, got, sum.value(), sum.all)
	}
}

func (l *longSums) scans() {
	scan := func(name string, lines, n int, x ops.View, dim int, position func(line, i int) int) {
		require.NoError(l.t, rows.CumSum.Run(l.s, shaped(l.to, x.Layout.Shape()...), x, dim))
		got, largest := l.got(l.n), 0.0
		for line := range lines {
			var e exact
			for i := range n {
				at := position(line, i)
				e.add(l.at(at))
				largest = max(largest, errorOf(got[at], e.value(), e.all))
			}
		}
		l.report(name, scanUlps, n, largest)
	}
	n := l.n / lineCount
	scan("cumsum of one row", 1, l.n, l.xs, 0, func(_, i int) int { return i })
	scan("cumsum of rows", lineCount, n, shaped(l.xs, lineCount, n), 1, func(r, i int) int { return r*n + i })
	scan("cumsum of columns", lineCount, n, shaped(l.xs, n, lineCount), 0, func(c, i int) int { return i*lineCount + c })
}

// rows tests what is divided by sums.
func (l *longSums) rows() {
	require.NoError(l.t, rows.Softmax(l.s, l.to, l.xs, 0, false))
	for i, got := range l.got(min(l.n, 1<<12)) {
		if want := math.Exp(l.at(i)-l.top) / l.exps; want > 0x1p-100 {
			l.compare("softmax", sumUlps, l.n, got, want, want)
		}
	}
}

func (l *longSums) products() {
	dot := func(n int, x, y func(i int) int) exact {
		return exactly(n, func(i int) float64 { return l.at(x(i)) * float64(l.y[y(i)]) })
	}
	multiply := func(name string, rows, cols, n int, x, y ops.View, px, py func(line, i int) int) {
		require.NoError(l.t, matmulops.Matmul(l.s, shaped(l.to, rows, cols), x, y))
		got, each := l.got(rows*cols), float64(vectorUlps)
		switch {
		case cols > 1 && n <= wholeSum:
			each = max(productUlps, float64(n)/2/most(1, n))
		case cols > 1:
			each = productUlps
		}
		for r := range rows {
			c := r / 2 % cols // of a product of matrices a few
			e := dot(n, func(i int) int { return px(r, i) }, func(i int) int { return py(c, i) })
			l.compare(name, each, n, got[r*cols+c], e.value(), e.all)
		}
	}
	n := l.n / lineCount
	turned := func(v ops.View, rows, cols int) ops.View {
		v = shaped(v, rows, cols)
		v.Layout, _ = v.Layout.Transpose(0, 1) // of two dimensions
		return v
	}
	row, column := func(r, i int) int { return r*n + i }, func(c, i int) int { return i*lineCount + c }
	one := func(_, i int) int { return i }
	multiply("dot product", 1, 1, l.n, shaped(l.xs, 1, l.n), shaped(l.ys, l.n, 1), one, one)
	multiply("matrix times vector", lineCount, 1, n, shaped(l.xs, lineCount, n), shaped(l.ys, n, 1), row, one)
	multiply("transposed matrix times vector", lineCount, 1, n, turned(l.xs, n, lineCount), shaped(l.ys, n, 1), column, one)
	multiply("product of matrices", lineCount, lineCount, n, shaped(l.xs, lineCount, n), shaped(l.ys, n, lineCount), row, column)
}

// windows tests sums over the elements of a window: of many channels, and of a large window in one
// dimension and in two.
func (l *longSums) windows() {
	n := min(l.n, 1<<20) // one thread adds them
	high := 1 << (bits.Len(uint(n)) / 2)
	of := func(name string, n int, shape []int, run func(out, x, y ops.View) error, y func(i int) float64, scale float64) {
		one := make([]int, len(shape))
		for i := range one {
			one[i] = 1
		}
		require.NoError(l.t, run(shaped(l.to, one...), shaped(l.xs, shape...), shaped(l.ys, shape...)))
		e := exactly(n, func(i int) float64 { return l.at(i) * y(i) })
		l.compare(name, windowUlps, n, l.got(1)[0], e.value()*scale, e.all*scale)
	}
	weight := func(i int) float64 { return float64(l.y[i]) }
	conv := func(out, x, y ops.View) error { return convops.Conv(l.s, out, x, y, convops.Convolution{}) }
	channels := n / 9
	of("convolution, many channels", channels*9, []int{1, channels, 3, 3}, conv, weight, 1)
	of("convolution, long kernel", n, []int{1, 1, n}, conv, weight, 1)
	of("convolution, large kernel", n, []int{1, 1, high, n / high}, conv, weight, 1)
	of("mean of a window", n, []int{1, 1, high, n / high}, func(out, x, _ ops.View) error {
		return convops.AvgPool(l.s, out, x, convops.Pooling{Kernel: []int{high, n / high}})
	}, func(int) float64 { return 1 }, 1/float64(n))
}

// doubles tests sums of float64, of which the errors are in its units.
func (l *longSums) doubles() {
	x := make([]float64, l.n)
	for i := range x {
		x[i] = l.at(i) * 0.7
	}
	mem, err := runtime.From(l.s.Device(), x)
	require.NoError(l.t, err)
	defer mem.Free()
	out, err := runtime.Alloc[float64](l.s.Device(), l.n)
	require.NoError(l.t, err)
	defer out.Free()
	view := func(s runtime.Slice[float64], n int) ops.View {
		return ops.View{Buf: s.Buffer(), DType: dtype.F64, Layout: layout.Contiguous(layout.Shape{n})}
	}
	run := func(name string, each float64, n int, err error, check func(e *exact, i int) bool) {
		require.NoError(l.t, err)
		got, err := out.Slice(0, n).Host()
		require.NoError(l.t, err)
		var e exact
		most := 0.0
		for i, v := range x {
			if e.add(v); check(&e, i) {
				most = max(most, errorIn(52, got[min(i, n-1)]-e.sum-e.lost, e.all))
			}
		}
		l.report(name, each, l.n, most)
	}
	run("sum, float64", sumUlps, 1, rows.Sum.Run(l.s, view(out, 1), view(mem, l.n), []int{0}), func(_ *exact, i int) bool { return i == l.n-1 })
	run("cumsum, float64", scanUlps, l.n, rows.CumSum.Run(l.s, view(out, l.n), view(mem, l.n), 0), func(*exact, int) bool { return true })
}

// InOrder is the error of n numbers that are added one after the other.
func InOrder(n int) Accuracy {
	a := Accuracy{Name: "sums in order"}
	for _, kind := range numbersOf {
		rng := rand.New(rand.NewPCG(3, 4))
		var sum float32
		e := exactly(n, func(i int) float64 {
			x := kind.at(rng, i)
			sum += x
			return float64(x)
		})
		if found := errorOf(sum, e.value(), e.all); found > a.Ulps {
			a.Ulps, a.Data = found, kind.name
		}
	}
	return a
}
