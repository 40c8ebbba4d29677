package elementwisetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	elementwiseops "github.com/gokiln/kiln/ops/elementwise"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/opstest"
	"github.com/gokiln/kiln/runtime"
)

// RunMany tests operations on as many elements as a device of so many units needs for each
// of its threads to take several at once, or a share of the parts.
func RunMany(t *testing.T, dev *runtime.Device, units int, share opstest.Share) {
	family := func(t *testing.T, b *opstest.Bench) { many(t, b, units*maxPart) }
	opstest.Run(t, dev, []opstest.Group{{Name: "Many", Run: family}}, share)
}

// maxPart is more than the elements that a block takes at once.
const maxPart = 2048

// Many tests operations on as many elements as the device needs for threads to have several items.
func Many(t *testing.T, b *opstest.Bench) {
	n := 5 * maxPart
	if info := b.Device.Info(); info.ThreadsPerUnit > info.WarpSize {
		n = info.Units * maxPart
	}
	many(t, b, n)
}

// across are the layouts of an operand with rows of so many elements: with
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
	l, err := layout.New(layout.Shape{rows, wide}, []int{row, step}, first-opstest.Guard)
	require.NoError(t, err)
	return l
}

// many tests operations of at least n elements.
func many(t *testing.T, b *opstest.Bench, n int) {
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
			d := types[(i+k)%len(types)]
			b.Part(t, func(t *testing.T, b *opstest.Bench) { addsAndChooses(t, b, d, l[0], l[1], l[2]) }, "%v/%v/%d", d, p, wide)
		}
	}
	for i, d := range types {
		b.Part(t, func(t *testing.T, b *opstest.Bench) {
			inPlace(t, b, d, n+i)
			casts(t, b, d, types[(i+1)%4], n+i)
			for _, shape := range [][3]int{{1, 64, 64}, {1, 129, 192}, {2, 100, 68}, {3, 32, 40}, {1, 70, 33}} {
				transposes(t, b, d, shape)
			}
		}, "%v", d)
	}
}

// transposes copies matrices that begin at multiples of 16 bytes, transposed.
func transposes(t *testing.T, b *opstest.Bench, d dtype.DType, shape [3]int) {
	t.Helper()
	n, rows, cols := shape[0], shape[1], shape[2]
	from, err := layout.New(layout.Shape{n, cols, rows}, []int{rows * cols, 1, cols}, 16-opstest.Guard)
	require.NoError(t, err)
	to, err := layout.New(layout.Shape{n, cols, rows}, []int{rows * cols, rows, 1}, 16-opstest.Guard)
	require.NoError(t, err)
	x, out := b.Value(t, d, from, func() dtype.Scalar { return b.Number(d) }), b.Result(t, d, to)
	require.NoError(t, elementwiseops.Copy(b.Stream, out.View, x.View))
	for i, got := range b.Read(t, out) {
		if got != x.Want[i] {
			t.Fatalf("%v of %v: element %d is %v, want %v", d, shape, i, got, x.Want[i])
		}
	}
}

// small draws a number that all types have.
func small(b *opstest.Bench, d dtype.DType) func() dtype.Scalar {
	return func() dtype.Scalar { return dtype.FromInt(d, int64(b.Rand.IntN(100))) }
}

func addsAndChooses(t *testing.T, b *opstest.Bench, d dtype.DType, lx, ly, lo layout.Layout) {
	t.Helper()
	x, y := b.Value(t, d, lx, small(b, d)), b.Value(t, d, ly, small(b, d))
	out := b.Result(t, d, lo)
	require.NoError(t, elementwiseops.Add.Run(b.Stream, out.View, []ops.View{x.View, y.View}))
	for i, got := range b.Read(t, out) {
		if want := dtype.FromInt(d, x.Want[i].Int()+y.Want[i].Int()); got != want {
			t.Fatalf("%s of %v and %v to %v: element %d is %v, want %v", d, lx, ly, lo, i, got, want)
		}
	}
	mask := b.Value(t, dtype.U8, ly, func() dtype.Scalar { return dtype.FromInt(dtype.U8, int64(b.Rand.IntN(2))) })
	require.NoError(t, elementwiseops.Where(b.Stream, out.View, mask.View, x.View, y.View))
	for i, got := range b.Read(t, out) {
		want := y.Want[i]
		if mask.Want[i].Int() != 0 {
			want = x.Want[i]
		}
		if got != want {
			t.Fatalf("where of %s of %v and %v to %v: element %d is %v, want %v", d, lx, ly, lo, i, got, want)
		}
	}
}

// inPlace stores in the memory of an operand.
func inPlace(t *testing.T, b *opstest.Bench, d dtype.DType, n int) {
	t.Helper()
	l := placed(t, 1, n, n, 1, 16)
	x, y := b.Value(t, d, l, small(b, d)), b.Value(t, d, l, small(b, d))
	require.NoError(t, elementwiseops.Add.Run(b.Stream, x.View, []ops.View{x.View, y.View}))
	for i, got := range b.Read(t, x) {
		if want := dtype.FromInt(d, x.Want[i].Int()+y.Want[i].Int()); got != want {
			t.Fatalf("%s: element %d is %v, want %v", d, i, got, want)
		}
	}
}

func casts(t *testing.T, b *opstest.Bench, from, to dtype.DType, n int) {
	t.Helper()
	x, out := b.Value(t, from, placed(t, 1, n, n, 1, 16), small(b, from)), b.Result(t, to, placed(t, 1, n, n, 1, 16))
	require.NoError(t, elementwiseops.Copy(b.Stream, out.View, x.View))
	for i, got := range b.Read(t, out) {
		if want := x.Want[i].Convert(to); got != want {
			t.Fatalf("%s to %s: element %d is %v, want %v", from, to, i, got, want)
		}
	}
}
