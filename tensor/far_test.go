package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/tensor"
)

// far returns rows of six numbers that lie so far apart that the last ones are more than
// 2³² bytes behind the first, and the same numbers side by side. Of the memory between them
// the system has no pages as long as nothing touches it.
func far(t *testing.T, d *tensor.Device, dt tensor.DType) (x, near *tensor.Tensor) {
	t.Helper()
	const rows = 33
	size := 1
	if dt != tensor.U8 {
		size = 2
	}
	pitch := 1<<27/size + 3
	require.Greater(t, (rows-1)*pitch*size, 1<<32)
	data := make([]float32, rows*6)
	for i := range data {
		data[i] = float32(i * 7 % 11)
	}
	near = tensor.From(d, data, rows, 6).Cast(dt)
	all := tensor.Empty(d, dt, rows, pitch)
	t.Cleanup(func() { _ = all.Free() })
	x = all.Narrow(1, 100, 6)
	require.NoError(t, x.Assign(near))
	for _, i := range []int{0, 1, 31, 32} { // the host looks for itself
		require.Equal(t, data[6*i:6*i+6], list[float32](t, x.Get(i).Cast(tensor.F32)))
	}
	return x, near
}

// room skips a test on a device that has no memory for it.
func room(t *testing.T, d *tensor.Device) {
	t.Helper()
	_, total, err := d.MemInfo()
	require.NoError(t, err)
	if total < 6<<30 {
		t.Skipf("%v has %d bytes of memory, and tensors of 4.5 GB are tested", d, total)
	}
}

// Elements that are more than 2³² bytes apart are operands as others are: no distance is cut
// to 32 bits.
func TestFar(t *testing.T) {
	d := open(t)
	room(t, d)
	for _, dt := range []tensor.DType{tensor.U8, tensor.BF16} {
		t.Run(dt.String(), func(t *testing.T) {
			x, near := far(t, d, dt)
			for name, f := range farOps {
				alike(t, f(near), f(x), 0, name)
			}
			for name, f := range farFloats {
				if dt.IsFloat() {
					alike(t, f(near), f(x), 0.02, name)
				}
			}
			farWrites(t, d, x, near)
		})
	}
}

// rowsOf is indices of rows, the first and the last ones among them.
func rowsOf(x ten) ten { return tensor.From(x.Device(), []int64{32, 0, 31, 32}) }

var farOps = map[string]func(x ten) ten{
	"copy":          ten.Copy,
	"cast":          func(x ten) ten { return x.Cast(tensor.F32) },
	"add":           func(x ten) ten { return x.Add(x) },
	"add to itself": func(x ten) ten { return x.Add(x.Copy()) },
	"broadcast add": func(x ten) ten { return x.Add(x.Get(32)) },
	"relu":          ten.Relu,
	"compare":       func(x ten) ten { return x.GtScalar(5) },
	"where":         func(x ten) ten { return x.GtScalar(5).Where(x, x.Flip(0)) },
	"sum":           func(x ten) ten { return x.Sum() },
	"sum of rows":   func(x ten) ten { return x.Sum(1) },
	"sum down":      func(x ten) ten { return x.Sum(0) },
	"max down":      func(x ten) ten { return x.Max(0) },
	"argmax down":   func(x ten) ten { return x.ArgMax(0) },
	"cumsum":        func(x ten) ten { return x.CumSum(1) },
	"cumsum down":   func(x ten) ten { return x.Narrow(1, 0, 2).CumMax(0) },
	"sort":          func(x ten) ten { v, _ := x.Sort(1, true); return v },
	"sort down":     func(x ten) ten { v, _ := x.Sort(0, false); return v },
	"places":        func(x ten) ten { return x.ArgSort(0, false) },
	"topk":          func(x ten) ten { v, _ := x.TopK(3, 0, false); return v },
	"matmul":        func(x ten) ten { return x.MatMul(x.T()) },
	"product down":  func(x ten) ten { return x.T().MatMul(x) },
	"product of vectors": func(x ten) ten {
		return x.GetOn(1, 2).Dot(x.GetOn(1, 3)).Add(x.MV(x.Get(32)).Get(32))
	},
	"index select": func(x ten) ten { return x.IndexSelect(rowsOf(x), 0) },
	"gather":       func(x ten) ten { return x.Gather(rowsOf(x).Unsqueeze(1).Repeat(1, 6), 0) },
	"embedding":    func(x ten) ten { return x.Embedding(rowsOf(x)) },
	"take":         func(x ten) ten { return x.Take(tensor.From(x.Device(), []int64{197, 0, 192})) },
	"scatter": func(x ten) ten {
		return x.Scatter(rowsOf(x).Narrow(0, 0, 3).Unsqueeze(1), x.Narrow(0, 5, 3).Narrow(1, 0, 1), 0)
	},
	"index add":     func(x ten) ten { return x.IndexAdd(rowsOf(x), x.Narrow(0, 29, 4), 0) },
	"masked select": func(x ten) ten { return x.MaskedSelect(x.GtScalar(5)) },
	"masked fill":   func(x ten) ten { return x.MaskedFill(x.GtScalar(5), 1) },
	"nonzero":       func(x ten) ten { return x.Cast(tensor.U8).Nonzero() },
	"flip":          func(x ten) ten { return x.Flip(0) },
	"roll":          func(x ten) ten { return x.Roll(5, 0) },
	"pad":           func(x ten) ten { return x.Pad(0, 2, 3, tensor.PadReflect, 0) },
	"repeat":        func(x ten) ten { return x.Repeat(2, 1) },
	"cat":           func(x ten) ten { return tensor.Cat(0, x, x) },
	"unfold":        func(x ten) ten { return x.Unfold(0, 3, 15).Copy() },
	"transposed":    func(x ten) ten { return x.T().Contiguous() },
	"tril":          func(x ten) ten { return x.Tril(-20) },
	"max pool":      func(x ten) ten { return x.Unsqueeze(0).MaxPool(tensor.Pooling{Kernel: []int{3, 2}}) },
	"conv": func(x ten) ten {
		return x.Unsqueeze(0).Conv(x.Narrow(0, 0, 33).Narrow(1, 0, 3).Unsqueeze(0), tensor.Convolution{})
	},
	"nearest": func(x ten) ten { return x.Unsqueeze(0).UpsampleNearest(50, 4) },
	"im2col":  func(x ten) ten { return x.Unsqueeze(0).Im2Col(tensor.Windows{Kernel: []int{2, 2}}) },
	"unique":  func(x ten) ten { _, at, _ := x.Unique(); return at },
}

var farFloats = map[string]func(x ten) ten{
	"exp":          ten.Exp,
	"mean":         func(x ten) ten { return x.Mean(0) },
	"var":          func(x ten) ten { return x.Var(0).Add(x.Var(1).Get(32)) },
	"softmax":      func(x ten) ten { return x.Softmax(1) },
	"softmax down": func(x ten) ten { return x.Softmax(0) },
	"layer norm":   func(x ten) ten { return x.LayerNorm(1, x.Get(32), nil, 1e-3) },
	"rms norm":     func(x ten) ten { return x.RMSNorm(0, x.GetOn(1, 2), 1e-3) },
	"quantile":     func(x ten) ten { return x.Quantile(0.3, 0) },
	"bilinear":     func(x ten) ten { return x.Unsqueeze(0).UpsampleBilinear(20, 9, true) },
	"avg pool":     func(x ten) ten { return x.Unsqueeze(0).AvgPool(tensor.Pooling{Kernel: []int{3, 2}}) },
	"map": func(x ten) ten {
		return tensor.Map2(func(a, b dsl.BF16) float32 { return dsl.F32(a) - 2*dsl.F32(b) }, x, x.Flip(0))
	},
}

// farWrites changes x, and what is near, in the same ways.
func farWrites(t *testing.T, d *tensor.Device, x, near *tensor.Tensor) {
	t.Helper()
	src := near.Narrow(0, 3, 4).Copy()
	ids := rowsOf(x).Narrow(0, 1, 3)
	for name, f := range map[string]func(x ten) error{
		"assign":      func(x ten) error { return x.T().Assign(near.Flip(0, 1).T()) },
		"const set":   func(x ten) error { return x.Step(0, 4).OneSet() },
		"slice set":   func(x ten) error { return x.SliceSet(src, 0, 29) },
		"scatter":     func(x ten) error { return x.ScatterSet(ids.Unsqueeze(1).Repeat(1, 6), src.Narrow(0, 0, 3), 0) },
		"scatter add": func(x ten) error { return x.ScatterAddSet(ids.Unsqueeze(1).Repeat(1, 6), src.Narrow(0, 0, 3), 0) },
		"index add":   func(x ten) error { return x.IndexAddSet(rowsOf(x), src, 0) },
	} {
		require.NoError(t, f(x), name)
		require.NoError(t, f(near), name)
		alike(t, near, x, 0, name)
	}
}

// Dimensions are longer than 2³²: indices of that size are read, written and refused, and
// elements counted.
func TestHuge(t *testing.T) {
	d := open(t)
	room(t, d)
	const n = 1<<32 + 4099
	x := tensor.Empty(d, tensor.U8, n)
	t.Cleanup(func() { _ = x.Free() })
	places := []int64{0, 1 << 31, 1<<32 - 1, 1<<32 + 1, n - 1}
	want := []uint8{3, 1, 4, 15, 9}
	for i, p := range places {
		require.NoError(t, x.Narrow(0, int(p), 1).Assign(tensor.From(d, want[i:i+1])))
	}
	ids := tensor.From(d, places)
	for name, got := range map[string]*tensor.Tensor{
		"index select": x.IndexSelect(ids, 0),
		"gather":       x.Gather(ids, 0),
		"take":         x.Reshape(1, n).Take(ids),
		"index":        x.Index(ints(places)),
		"embedding":    x.Reshape(n, 1).Embedding(ids).Reshape(5),
		"columns":      x.Reshape(1, n).IndexSelect(ids, 1).Reshape(5),
	} {
		require.Equal(t, want, list[uint8](t, got), name)
	}
	require.Equal(t, []uint8{3, 1, 9}, list[uint8](t, tensor.Cat(0, x.Get(0).Unsqueeze(0), x.Get(1<<31).Unsqueeze(0), x.Get(-1).Unsqueeze(0))))

	src := tensor.From(d, []uint8{10, 20, 30, 40, 50})
	require.NoError(t, x.IndexAddSet(ids, src, 0))
	require.Equal(t, []uint8{13, 21, 34, 55, 59}, list[uint8](t, x.IndexSelect(ids, 0)))
	require.NoError(t, x.ScatterSet(ids.Flip(0), src, 0))
	require.Equal(t, []uint8{50, 40, 30, 20, 10}, list[uint8](t, x.Gather(ids, 0)))
	require.NoError(t, x.SliceSet(src, 0, n-5))
	require.Equal(t, []uint8{10, 20, 30, 40, 50}, list[uint8](t, x.Narrow(0, n-5, 5)))

	failed := x.IndexSelect(tensor.From(d, []int64{0, n}), 0)
	require.ErrorContains(t, d.Synchronize(), "index_select: index 4294971395 at position 1 is out of range")
	require.ErrorIs(t, failed.Err(), tensor.ErrIndex)

	ones := tensor.Ones(d, tensor.I64, 1).BroadcastTo(n)
	require.Equal(t, n, ones.Count())
	require.Equal(t, []int64{n}, list[int64](t, ones.Sum()))
	require.ErrorIs(t, ones.ArgMax().Err(), tensor.ErrTooLarge)
	for _, bad := range []*tensor.Tensor{ones.ArgSort(0, false), tensor.Ones(d, tensor.F16, 1).BroadcastTo(n).Median(0), first(ones.TopK(3, 0, false))} {
		require.ErrorIs(t, bad.Err(), tensor.ErrTooLarge)
	}
	require.ErrorIs(t, x.BroadcastTo(1<<31, n).Err(), tensor.ErrTooLarge)
}

// ints is a list of indices as [tensor.Tensor.Index] takes it.
func ints(places []int64) (out []int) {
	for _, p := range places {
		out = append(out, int(p))
	}
	return out
}

func first(x, _ *tensor.Tensor) *tensor.Tensor { return x }
