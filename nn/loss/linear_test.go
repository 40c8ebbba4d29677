package loss

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

func device(t *testing.T) *tensor.Device {
	t.Helper()
	d, err := tensor.Open("auto")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// set changes a number for a test.
func set(t *testing.T, at *int, n int) {
	old := *at
	t.Cleanup(func() { *at = old })
	*at = n
}

// TestLinearCrossEntropy compares losses and gradients with those of a layer and CrossEntropy, in
// one part and in several, of which the last one is shorter.
func TestLinearCrossEntropy(t *testing.T) {
	d := device(t)
	x := tensor.Randn(d, tensor.F64, 0, 1, 2, 5, 4)
	w, bias := tensor.Randn(d, tensor.F64, 0, 1, 7, 4), tensor.Randn(d, tensor.F64, 0, 1, 7)
	ids := tensor.From(d, []int64{0, 6, -1, 2, 3, 3, -100, 1, 5, 4}, 2, 5)
	weight := tensor.Rand(d, tensor.F64, 0.5, 2, 7)
	for i, o := range []CrossEntropyOptions{
		{}, {ClassOptions: ClassOptions{Reduction: Sum, Weight: weight}}, {ClassOptions: ClassOptions{Reduction: None}},
		{ClassOptions: ClassOptions{Weight: weight, Ignore: IgnoreIndex(3)}, LabelSmoothing: 0.1},
	} {
		if o.Ignore != nil {
			ids = ids.MaskedFill(ids.EqScalar(-100), -1)
		}
		for _, bias := range []*tensor.Tensor{bias, nil} {
			for _, logits := range []int{1 << 20, 7 * 3, 1} {
				t.Run(fmt.Sprintf("%d/%v/%d", i, bias != nil, logits), func(t *testing.T) {
					set(t, &maxLogits, logits)
					run := func(f func(x, w, b *tensor.Tensor) *tensor.Tensor) (out []*tensor.Tensor) {
						vars := []*tensor.Var{tensor.NewVar(x), tensor.NewVar(w)}
						var b *tensor.Tensor
						if bias != nil {
							vars = append(vars, tensor.NewVar(bias))
							b = vars[2].Tensor()
						}
						l := f(vars[0].Tensor(), vars[1].Tensor(), b)
						require.NoError(t, l.Err())
						grads, err := l.Sqr().Sum().Backward()
						require.NoError(t, err)
						out = append(out, l)
						for _, v := range vars {
							out = append(out, grads.Of(v.Tensor()))
						}
						return out
					}
					whole := o
					whole.ClassLast = true
					want := run(func(x, w, b *tensor.Tensor) *tensor.Tensor { return CrossEntropy(x.Linear(w, b), ids, whole) })
					got := run(func(x, w, b *tensor.Tensor) *tensor.Tensor { return LinearCrossEntropy(x, w, b, ids, o) })
					for k := range want {
						require.Equal(t, want[k].Shape(), got[k].Shape())
						a, err := want[k].Float64s()
						require.NoError(t, err)
						b, err := got[k].Float64s()
						require.NoError(t, err)
						require.InDeltaSlice(t, a, b, 1e-12)
					}
				})
			}
		}
	}
}

// The logits of a large vocabulary are not in memory at once, with gradients or without.
func TestLinearCrossEntropyMemory(t *testing.T) {
	d := device(t)
	const n, in, classes = 512, 16, 8192
	set(t, &maxLogits, n*classes/16)
	x, w := tensor.NewVar(tensor.Randn(d, tensor.F32, 0, 1, n, in)), tensor.NewVar(tensor.Randn(d, tensor.F32, 0, 1, classes, in))
	ids := tensor.Arange[int64](d, 0, n)
	require.NoError(t, d.Synchronize())
	d.ResetPeak()
	before := d.PeakBytes()
	grads, err := LinearCrossEntropy(x.Tensor(), w.Tensor(), nil, ids, CrossEntropyOptions{}).Backward()
	require.NoError(t, err)
	require.NoError(t, grads.Of(w.Tensor()).Err())
	require.NoError(t, d.Synchronize())
	require.Less(t, d.PeakBytes()-before, int64(n*classes*4), "as much as all logits")
}

func TestLinearCrossEntropyFaults(t *testing.T) {
	d := device(t)
	x, w, ids := tensor.Ones(d, tensor.F32, 2, 3), tensor.Ones(d, tensor.F32, 4, 3), tensor.From(d, []int64{0, 1})
	for _, c := range []struct {
		l    *tensor.Tensor
		kind error
		says string
	}{
		{LinearCrossEntropy(x, w.T(), nil, ids, CrossEntropyOptions{}), tensor.ErrShape, "[2, 3] and a weight of [3, 4]"},
		{LinearCrossEntropy(x, w, x, ids, CrossEntropyOptions{}), tensor.ErrShape, "with a bias of [2, 3]"},
		{LinearCrossEntropy(x, nil, nil, ids, CrossEntropyOptions{}), tensor.ErrArgument, "operand 1 is a nil tensor"},
		{LinearCrossEntropy(x, w.Cast(tensor.F64), nil, ids, CrossEntropyOptions{}), tensor.ErrDTypeMismatch, "f64"},
		{LinearCrossEntropy(x, w, nil, ids.Unsqueeze(0), CrossEntropyOptions{}), tensor.ErrShape, "a target of [1, 2], want [2]"},
		{LinearCrossEntropy(x, w, nil, x, CrossEntropyOptions{}), tensor.ErrDType, "a target of f32"},
		{LinearCrossEntropy(x, w, nil, ids, CrossEntropyOptions{LabelSmoothing: 2}), tensor.ErrArgument, "label smoothing of 2"},
	} {
		require.ErrorIs(t, c.l.Err(), c.kind)
		require.ErrorContains(t, c.l.Err(), c.says)
		require.ErrorContains(t, c.l.Err(), "linear_cross_entropy: ")
	}
	empty := LinearCrossEntropy(x.Narrow(0, 0, 0), w, nil, ids.Narrow(0, 0, 0), CrossEntropyOptions{ClassOptions: ClassOptions{Reduction: Sum}})
	v, err := empty.Float64s()
	require.NoError(t, err)
	require.Equal(t, []float64{0}, v)
}
