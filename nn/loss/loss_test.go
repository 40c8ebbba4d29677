package loss_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn/loss"
	"github.com/gokiln/kiln/tensor"
)

// numeric checks the gradient of f, a scalar, against differences.
func numeric(t *testing.T, d *tensor.Device, shape []int, f func(x *tensor.Tensor) *tensor.Tensor) {
	t.Helper()
	d.SetSeed(7)
	x := tensor.NewVar(tensor.Randn(d, tensor.F64, 0, 1, shape...)).Tensor()
	out := f(x)
	require.NoError(t, out.Err())
	grads, err := out.Backward()
	require.NoError(t, err)
	got, err := grads.Of(x).Float64s()
	require.NoError(t, err)
	base, err := x.Float64s()
	require.NoError(t, err)
	const h = 1e-5
	for i := range base {
		at := func(by float64) float64 {
			moved := append([]float64{}, base...)
			moved[i] += by
			y, err := f(tensor.From(d, moved, shape...)).Float64s()
			require.NoError(t, err)
			return y[0]
		}
		require.InDelta(t, (at(h)-at(-h))/(2*h), got[i], 1e-7, "element %d", i)
	}
}

// Gradients that kernels compute are the slopes of what others compute.
func TestDifferences(t *testing.T) {
	d := open(t)
	weight := tensor.From(d, []float64{0.5, 1, 2, 0.1})
	numeric(t, d, []int{3, 4}, func(x *tensor.Tensor) *tensor.Tensor {
		o := loss.CrossEntropyOptions{ClassOptions: loss.ClassOptions{Weight: weight}, LabelSmoothing: 0.2}
		return loss.CrossEntropy(x, tensor.From(d, []int32{3, -1, 0}), o)
	})
	numeric(t, d, []int{2, 4, 3}, func(x *tensor.Tensor) *tensor.Tensor {
		return loss.CrossEntropy(x, tensor.From(d, []uint8{3, 255, 0, 1, 1, 2}, 2, 3), loss.CrossEntropyOptions{})
	})
	numeric(t, d, []int{4, 2, 4}, func(x *tensor.Tensor) *tensor.Tensor { // of logarithms that are of no distribution
		return loss.CTC(x, tensor.From(d, []int64{1, 1, 3, 0}, 2, 2), []int{4, 3}, []int{2, 1}, loss.CTCOptions{Reduction: loss.Sum})
	})
}

// A gradient has a gradient wherever the loss is no kernel of its own.
func TestSecondGradients(t *testing.T) {
	d := open(t)
	x := tensor.NewVar(tensor.From(d, []float64{0.3, -2, 1})).Tensor()
	y := tensor.From(d, []float64{0.5, 0.1, 0.9})
	second := func(l *tensor.Tensor) ([]float64, error) {
		g, err := l.BackwardBy(tensor.BackwardOptions{Graph: true})
		require.NoError(t, err)
		h, err := g.Of(x).Sum().Backward()
		if err != nil {
			return nil, err
		}
		return h.Of(x).Float64s()
	}
	got, err := second(loss.MSE(x, y, loss.Options{Reduction: loss.Sum}))
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{2, 2, 2}, got, 1e-12)
	got, err = second(loss.BCEWithLogits(x, y, loss.BinaryOptions{Reduction: loss.Sum}))
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{0.2444583117, 0.1049935854, 0.1966119332}, got, 1e-9)
	_, err = second(loss.CrossEntropy(x.Unsqueeze(0), tensor.From(d, []int64{1}), loss.CrossEntropyOptions{}))
	require.ErrorIs(t, err, tensor.ErrNoGradient)
}

// Errors name the loss, and what was wrong.
func TestErrors(t *testing.T) {
	d := open(t)
	x, ids := tensor.Ones(d, tensor.F32, 2, 3), tensor.From(d, []int64{0, 2})
	bad := tensor.Fail("first", tensor.ErrArgument)
	smooth := loss.CrossEntropyOptions{LabelSmoothing: 1.5}
	batch := loss.ClassOptions{Reduction: loss.BatchMean}
	class := func(w *tensor.Tensor) loss.ClassOptions { return loss.ClassOptions{Weight: w} }
	for _, c := range []struct {
		y    *tensor.Tensor
		kind error
		text string
	}{
		{loss.NLL(x, ids, class(tensor.NewVar(tensor.Ones(d, tensor.F32, 3)).Tensor())), tensor.ErrNoGradient, "nll: no gradient: of the weights of classes"},
		{loss.CrossEntropy(x, tensor.From(d, []int64{0, 2, 1}), loss.CrossEntropyOptions{}), tensor.ErrShape, "cross_entropy: shape mismatch: [2, 3] and a target of [3], want [2] (loss_test.go:"},
		{loss.CrossEntropy(x, nil, loss.CrossEntropyOptions{}), tensor.ErrArgument, "cross_entropy: "},
		{loss.CrossEntropy(nil, ids, loss.CrossEntropyOptions{}), tensor.ErrArgument, "cross_entropy: "},
		{loss.CrossEntropy(bad, ids, loss.CrossEntropyOptions{}), tensor.ErrArgument, "first: "},
		{loss.CrossEntropy(x, bad, loss.CrossEntropyOptions{}), tensor.ErrArgument, "first: "},
		{loss.CrossEntropy(x, ids, smooth), tensor.ErrArgument, "label smoothing of 1.5"},
		{loss.CrossEntropy(x.Cast(tensor.I32), ids, loss.CrossEntropyOptions{}), tensor.ErrDType, "[2, 3] of i32"},
		{loss.CrossEntropy(x, x.Cast(tensor.F64), loss.CrossEntropyOptions{}), tensor.ErrDTypeMismatch, "f32 and [2, 3] of f64"},
		{loss.CrossEntropy(x, x.Narrow(1, 0, 2), loss.CrossEntropyOptions{}), tensor.ErrShape, "[2, 3] and [2, 2]"},
		{loss.CrossEntropy(x, ids, loss.CrossEntropyOptions{ClassOptions: batch}), tensor.ErrArgument, "batchmean"},
		{loss.CrossEntropy(tensor.Item(d, float32(1)), ids, loss.CrossEntropyOptions{}), tensor.ErrRank, "[]"},
		{loss.NLL(x, ids, class(tensor.Ones(d, tensor.F32, 2))), tensor.ErrShape, "nll: shape mismatch: a weight of [2] for 3 classes"},
		{loss.NLL(x, x, loss.ClassOptions{}), tensor.ErrDType, "a target of f32 for [2, 3]"},
		{loss.MSE(x, x.T(), loss.Options{}), tensor.ErrShape, "mse: shape mismatch: [2, 3] and [3, 2]"},
		{loss.MSE(x, x, loss.Options{Reduction: 9}), tensor.ErrArgument, "mse: invalid argument: reduction 9"},
		{loss.L1(x, x.Cast(tensor.BF16), loss.Options{}), tensor.ErrDTypeMismatch, "l1: "},
		{loss.Huber(x, x, loss.HuberOptions{Delta: -1}), tensor.ErrArgument, "huber: invalid argument: delta of -1"},
		{loss.BCE(x, x, loss.BinaryOptions{Weight: tensor.Ones(d, tensor.F32, 2)}), tensor.ErrBroadcast, "bce: incompatible shapes for broadcasting: a weight of [2] for [2, 3]"},
		{loss.BCE(x, x, loss.BinaryOptions{PosWeight: x}), tensor.ErrArgument, "bce: "},
		{loss.BCEWithLogits(x, x, loss.BinaryOptions{PosWeight: tensor.Ones(d, tensor.F32, 2)}), tensor.ErrBroadcast, "bce_with_logits: "},
		{loss.GaussianNLL(x, x, nil, loss.GaussianOptions{}), tensor.ErrArgument, "gaussian_nll: "},
		{loss.CosineEmbedding(x, x, x, loss.MarginOptions{}), tensor.ErrShape, "cosine_embedding: shape mismatch: vectors of [2, 3] with labels of [2, 3]"},
		{loss.Triplet(x, x, x, loss.TripletOptions{P: -2}), tensor.ErrArgument, "triplet: invalid argument: norm -2"},
		{loss.CTC(x, ids, nil, nil, loss.CTCOptions{}), tensor.ErrRank, "ctc: "},
		{loss.CTC(x.Unsqueeze(0), ids.Unsqueeze(1), []int{2, 1}, nil, loss.CTCOptions{}), tensor.ErrRange, "item 0 has 2 times of 1"},
		{loss.CTC(x.Unsqueeze(0), ids.Unsqueeze(1), nil, []int{1}, loss.CTCOptions{}), tensor.ErrShape, "1 numbers of labels for 2 items"},
		{loss.CTC(x.Unsqueeze(0), ids.Unsqueeze(1), nil, nil, loss.CTCOptions{Blank: 3}), tensor.ErrArgument, "blank 3 of 3 classes"},
	} {
		require.ErrorIs(t, c.y.Err(), c.kind, c.text)
		require.ErrorContains(t, c.y.Err(), c.text)
	}
}

// Targets that are no classes are found by the device.
func TestTargetsOutOfRange(t *testing.T) {
	d := open(t)
	x := tensor.Ones(d, tensor.F32, 2, 3)
	_, err := loss.CrossEntropy(x, tensor.From(d, []int64{0, 3}), loss.CrossEntropyOptions{}).Item()
	require.ErrorIs(t, err, tensor.ErrIndex)
	require.ErrorContains(t, err, "cross_entropy: target 3 at position 1 is out of range")
	require.ErrorContains(t, err, "loss_test.go:")
	_, err = loss.CTC(x.Unsqueeze(0), tensor.From(d, []int64{0, 3}, 2, 1), nil, nil, loss.CTCOptions{}).Item()
	require.ErrorIs(t, err, tensor.ErrIndex)
}

func ExampleCrossEntropy() {
	dev, err := tensor.Open("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	logits := tensor.NewVar(tensor.From(dev, []float32{2, 1, 0, 0, 3, 0}, 2, 3))
	labels := tensor.From(dev, []int64{0, 1})
	l := loss.CrossEntropy(logits.Tensor(), labels, loss.CrossEntropyOptions{})
	grads, err := l.Backward()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f\n%.3f\n", l, grads.Of(logits.Tensor()))
	// Output:
	// [0.2513]
	// Tensor[[], f32]
	// [[-0.167,  0.122,  0.045],
	//  [ 0.023, -0.045,  0.023]]
	// Tensor[[2, 3], f32]
}
