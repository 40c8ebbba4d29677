package opstest

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	elementwiseops "github.com/gokiln/kiln/ops/elementwise"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

// RunMany tests operations on as many elements as a device of so many units needs for each
// of its threads to take several at once.
func RunMany(t *testing.T, dev *runtime.Device, units int) {
	b := &bench{dev: dev, s: dev.DefaultStream(), rng: rand.New(rand.NewPCG(1, 2))}
	b.many(t, units*maxPart)
}

// maxPart is more than the elements that a block takes at once.
const maxPart = 2048

func many(t *testing.T, b *bench) {
	n := 5 * maxPart
	if info := b.dev.Info(); info.ThreadsPerUnit > info.WarpSize {
		n = info.Units * maxPart
	}
	b.many(t, n)
}

// across are the ways in which the elements of an operand with rows of so many lie: with
// strides and a distance from the beginning of its buffer, of which those of 16 make
// multiples of the size of any vector.
var across = map[string]func(rows, wide int) (row, step, first int){
	"dense":    func(rows, wide int) (int, int, int) { return wide, 1, 16 },
	"shifted":  func(rows, wide int) (int, int, int) { return wide, 1, 17 },
	"padded":   func(rows, wide int) (int, int, int) { return wide + 16, 1, 32 },
	"unpadded": func(rows, wide int) (int, int, int) { return wide + 2, 1, 16 },
	"stepped":  func(rows, wide int) (int, int, int) { return 2 * wide, 2, 16 },
	"bias":     func(rows, wide int) (int, int, int) { return 0, 1, 16 },
	"column":   func(rows, wide int) (int, int, int) { return 1, 0, 16 },
	"number":   func(rows, wide int) (int, int, int) { return 0, 0, 16 },
	"turned":   func(rows, wide int) (int, int, int) { return 1, rows, 16 },
}

// pairs are those of two operands and the result that are tried.
var pairs = [][3]string{
	{"dense", "dense", "dense"}, {"dense", "bias", "dense"}, {"dense", "column", "padded"}, {"dense", "number", "stepped"},
	{"dense", "turned", "dense"}, {"dense", "shifted", "dense"}, {"padded", "bias", "dense"}, {"unpadded", "dense", "padded"},
	{"unpadded", "bias", "unpadded"}, {"stepped", "dense", "dense"}, {"bias", "column", "dense"}, {"number", "bias", "shifted"},
}

// placed is a layout whose first element is so many from the beginning of a buffer.
func placed(t *testing.T, rows, wide, row, step, first int) layout.Layout {
	t.Helper()
	l, err := layout.New(layout.Shape{rows, wide}, []int{row, step}, first-guard)
	require.NoError(t, err)
	return l
}

// many tests operations of at least n elements.
func (b *bench) many(t *testing.T, n int) {
	types := []dtype.DType{dtype.F32, dtype.BF16, dtype.I64, dtype.U8}
	for i, wide := range []int{64, 1, 31, 2050} {
		for k, p := range pairs {
			if i > 0 && k%4 != i {
				continue
			}
			var l [3]layout.Layout
			for j, name := range p {
				row, step, first := across[name]((n+wide-1)/wide, wide)
				l[j] = placed(t, (n+wide-1)/wide, wide, row, step, first)
			}
			b.addsAndChooses(t, types[(i+k)%len(types)], l[0], l[1], l[2])
		}
	}
	for i, d := range types {
		b.inPlace(t, d, n+i)
		b.casts(t, d, types[(i+1)%4], n+i)
		for _, shape := range [][3]int{{1, 64, 64}, {1, 129, 192}, {2, 100, 68}, {3, 32, 40}, {1, 70, 33}} {
			b.turns(t, d, shape)
		}
	}
}

// turns copies matrices that begin at multiples of 16 bytes, the other way round.
func (b *bench) turns(t *testing.T, d dtype.DType, shape [3]int) {
	t.Helper()
	n, rows, cols := shape[0], shape[1], shape[2]
	from, err := layout.New(layout.Shape{n, cols, rows}, []int{rows * cols, 1, cols}, 16-guard)
	require.NoError(t, err)
	to, err := layout.New(layout.Shape{n, cols, rows}, []int{rows * cols, rows, 1}, 16-guard)
	require.NoError(t, err)
	x, out := b.value(t, d, from, func() dtype.Scalar { return b.number(d) }), b.result(t, d, to)
	require.NoError(t, elementwiseops.Copy(b.s, out.View, x.View))
	for i, got := range b.read(t, out) {
		if got != x.want[i] {
			t.Fatalf("%v of %v: element %d is %v, want %v", d, shape, i, got, x.want[i])
		}
	}
}

// small draws a number that all types have.
func (b *bench) small(d dtype.DType) func() dtype.Scalar {
	return func() dtype.Scalar { return dtype.FromInt(d, int64(b.rng.IntN(100))) }
}

func (b *bench) addsAndChooses(t *testing.T, d dtype.DType, lx, ly, lo layout.Layout) {
	t.Helper()
	x, y := b.value(t, d, lx, b.small(d)), b.value(t, d, ly, b.small(d))
	out := b.result(t, d, lo)
	require.NoError(t, elementwiseops.Add.Run(b.s, out.View, []ops.View{x.View, y.View}))
	for i, got := range b.read(t, out) {
		if want := dtype.FromInt(d, x.want[i].Int()+y.want[i].Int()); got != want {
			t.Fatalf("%s of %v and %v to %v: element %d is %v, want %v", d, lx, ly, lo, i, got, want)
		}
	}
	mask := b.value(t, dtype.U8, ly, func() dtype.Scalar { return dtype.FromInt(dtype.U8, int64(b.rng.IntN(2))) })
	require.NoError(t, elementwiseops.Where(b.s, out.View, mask.View, x.View, y.View))
	for i, got := range b.read(t, out) {
		want := y.want[i]
		if mask.want[i].Int() != 0 {
			want = x.want[i]
		}
		if got != want {
			t.Fatalf("where of %s of %v and %v to %v: element %d is %v, want %v", d, lx, ly, lo, i, got, want)
		}
	}
}

// inPlace stores in the memory of an operand.
func (b *bench) inPlace(t *testing.T, d dtype.DType, n int) {
	t.Helper()
	l := placed(t, 1, n, n, 1, 16)
	x, y := b.value(t, d, l, b.small(d)), b.value(t, d, l, b.small(d))
	require.NoError(t, elementwiseops.Add.Run(b.s, x.View, []ops.View{x.View, y.View}))
	for i, got := range b.read(t, x) {
		if want := dtype.FromInt(d, x.want[i].Int()+y.want[i].Int()); got != want {
			t.Fatalf("%s: element %d is %v, want %v", d, i, got, want)
		}
	}
}

func (b *bench) casts(t *testing.T, from, to dtype.DType, n int) {
	t.Helper()
	x, out := b.value(t, from, placed(t, 1, n, n, 1, 16), b.small(from)), b.result(t, to, placed(t, 1, n, n, 1, 16))
	require.NoError(t, elementwiseops.Copy(b.s, out.View, x.View))
	for i, got := range b.read(t, out) {
		if want := x.want[i].Convert(to); got != want {
			t.Fatalf("%s to %s: element %d is %v, want %v", from, to, i, got, want)
		}
	}
}
