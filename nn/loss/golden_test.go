package loss_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn/internal/golden"
	"github.com/gokiln/kiln/nn/loss"
	"github.com/gokiln/kiln/tensor"
)

// Losses and gradients are those of PyTorch.
func TestGolden(t *testing.T) {
	loose := map[string]float64{
		"bce saturated":        1e-7, // PyTorch's bound of a denominator is a float32
		"bce logits saturated": 0,
		"ce saturated":         0,
	}
	golden.Run(t, open(t), "testdata/golden.json", losses, loose)
}

func open(t *testing.T) *tensor.Device {
	t.Helper()
	d, err := tensor.Open("auto")
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

type ts = []*tensor.Tensor

// losses are the functions of the cases, by their names.
var losses = map[string]golden.Func{
	"ce wide":            ce(loss.CrossEntropyOptions{}),
	"ce saturated":       ce(loss.CrossEntropyOptions{ClassOptions: loss.ClassOptions{Reduction: loss.None}}),
	"ce minus infinity":  ce(loss.CrossEntropyOptions{ClassOptions: loss.ClassOptions{Reduction: loss.None}}),
	"ce all ignored":     ce(loss.CrossEntropyOptions{}),
	"ce all ignored sum": ce(loss.CrossEntropyOptions{ClassOptions: loss.ClassOptions{Reduction: loss.Sum}}),
	"ce empty":           ce(loss.CrossEntropyOptions{}),
	"ce empty none":      ce(loss.CrossEntropyOptions{ClassOptions: loss.ClassOptions{Reduction: loss.None}}),

	"ctc mean":     ctc(0, loss.Mean, false, []int{9, 7, 5}, []int{4, 3, 0}),
	"ctc sum":      ctc(0, loss.Sum, false, []int{9, 7, 5}, []int{4, 3, 0}),
	"ctc none":     ctc(0, loss.None, false, []int{9, 7, 5}, []int{4, 3, 0}),
	"ctc repeats":  ctc(4, loss.None, false, []int{10, 8}, []int{4, 3}),
	"ctc infinite": ctc(4, loss.None, true, []int{4, 8}, []int{4, 3}),

	"focal": func(in ts) *tensor.Tensor { return loss.Focal(in[0], in[1], loss.FocalOptions{}) },
	"focal gamma": func(in ts) *tensor.Tensor {
		return loss.Focal(in[0], in[1], loss.FocalOptions{Alpha: -1, Gamma: 3, Reduction: loss.None})
	},
	"kl batchmean": func(in ts) *tensor.Tensor {
		return loss.KLDiv(in[0], in[1], loss.KLDivOptions{Reduction: loss.BatchMean})
	},
	"bce saturated": func(in ts) *tensor.Tensor { return loss.BCE(in[0], in[1], loss.BinaryOptions{Reduction: loss.None}) },
	"bce logits saturated": func(in ts) *tensor.Tensor {
		return loss.BCEWithLogits(in[0], in[1], loss.BinaryOptions{Reduction: loss.None})
	},
	"kl zeros": func(in ts) *tensor.Tensor {
		return loss.KLDiv(in[0], in[1].Detach(), loss.KLDivOptions{Reduction: loss.None})
	},
	"mse empty": func(in ts) *tensor.Tensor { return loss.MSE(in[0], in[1], loss.Options{}) },
}

var w5 = []float64{0.31, 0.604, 0.622, 0.519, 1.201}

// weights are the weights of classes that gen.py draws first.
func weights(like *tensor.Tensor) *tensor.Tensor {
	return tensor.From(like.Device(), w5, 5).Cast(like.DType())
}

func ce(o loss.CrossEntropyOptions) func(in ts) *tensor.Tensor {
	return func(in ts) *tensor.Tensor { return loss.CrossEntropy(in[0], in[1], o) }
}

// reduced are the losses whose cases have each reduction.
var reduced = map[string]func(in ts, r loss.Reduction) *tensor.Tensor{
	"nll": func(in ts, r loss.Reduction) *tensor.Tensor {
		return loss.NLL(in[0], in[1], loss.ClassOptions{Reduction: r})
	},
	"nll weight": func(in ts, r loss.Reduction) *tensor.Tensor {
		return loss.NLL(in[0], in[1], loss.ClassOptions{Reduction: r, Weight: weights(in[0])})
	},
	"nll 2d": func(in ts, r loss.Reduction) *tensor.Tensor {
		return loss.NLL(in[0], in[1], loss.ClassOptions{Reduction: r, Weight: weights(in[0]), Ignore: loss.IgnoreIndex(2)})
	},
	"ce":                    smoothed(0, loss.ClassOptions{}, false),
	"ce one":                smoothed(0, loss.ClassOptions{}, false),
	"ce weight ignored":     smoothed(0, loss.ClassOptions{}, true),
	"ce smooth":             smoothed(0.1, loss.ClassOptions{}, false),
	"ce smooth weight":      smoothed(0.3, loss.ClassOptions{}, true),
	"ce 2d smooth weight":   smoothed(0.3, loss.ClassOptions{Ignore: loss.IgnoreIndex(1)}, true),
	"ce last":               smoothed(0.2, loss.ClassOptions{ClassLast: true}, true),
	"ce soft":               smoothed(0, loss.ClassOptions{}, false),
	"ce soft smooth weight": smoothed(0.2, loss.ClassOptions{}, true),

	"mse": func(in ts, r loss.Reduction) *tensor.Tensor {
		return loss.MSE(in[0], in[1], loss.Options{Reduction: r})
	},
	"l1": func(in ts, r loss.Reduction) *tensor.Tensor { return loss.L1(in[0], in[1], loss.Options{Reduction: r}) },
	"smooth l1": func(in ts, r loss.Reduction) *tensor.Tensor {
		return loss.SmoothL1(in[0], in[1], loss.HuberOptions{Reduction: r})
	},
	"smooth l1 beta": func(in ts, r loss.Reduction) *tensor.Tensor {
		return loss.SmoothL1(in[0], in[1], loss.HuberOptions{Delta: 0.4, Reduction: r})
	},
	"huber": func(in ts, r loss.Reduction) *tensor.Tensor {
		return loss.Huber(in[0], in[1], loss.HuberOptions{Reduction: r})
	},
	"huber delta": func(in ts, r loss.Reduction) *tensor.Tensor {
		return loss.Huber(in[0], in[1], loss.HuberOptions{Delta: 0.4, Reduction: r})
	},
	"bce": func(in ts, r loss.Reduction) *tensor.Tensor {
		return loss.BCE(in[0], in[1], loss.BinaryOptions{Reduction: r})
	},
	"bce weight": func(in ts, r loss.Reduction) *tensor.Tensor {
		return loss.BCE(in[0], in[1], loss.BinaryOptions{Reduction: r, Weight: in[2]})
	},
	"bce logits": func(in ts, r loss.Reduction) *tensor.Tensor {
		return loss.BCEWithLogits(in[0], in[1], loss.BinaryOptions{Reduction: r})
	},
	"bce logits weights": func(in ts, r loss.Reduction) *tensor.Tensor {
		return loss.BCEWithLogits(in[0], in[1], loss.BinaryOptions{Reduction: r, Weight: in[2], PosWeight: in[3]})
	},
	"kl": func(in ts, r loss.Reduction) *tensor.Tensor {
		return loss.KLDiv(in[0], in[1], loss.KLDivOptions{Reduction: r})
	},
	"kl log": func(in ts, r loss.Reduction) *tensor.Tensor {
		return loss.KLDiv(in[0], in[1], loss.KLDivOptions{Reduction: r, LogTarget: true})
	},
	"poisson": func(in ts, r loss.Reduction) *tensor.Tensor {
		return loss.PoissonNLL(in[0], in[1], loss.PoissonOptions{Reduction: r})
	},
	"poisson rate full": func(in ts, r loss.Reduction) *tensor.Tensor {
		return loss.PoissonNLL(in[0], in[1], loss.PoissonOptions{Rate: true, Full: true, Reduction: r})
	},
	"gaussian": func(in ts, r loss.Reduction) *tensor.Tensor {
		return loss.GaussianNLL(in[0], in[1], in[2], loss.GaussianOptions{Reduction: r})
	},
	"gaussian full": func(in ts, r loss.Reduction) *tensor.Tensor {
		return loss.GaussianNLL(in[0], in[1], in[2], loss.GaussianOptions{Full: true, Eps: 0.3, Reduction: r})
	},
	"hinge embedding": func(in ts, r loss.Reduction) *tensor.Tensor {
		return loss.HingeEmbedding(in[0], in[1].Detach(), loss.MarginOptions{Reduction: r})
	},
	"margin ranking": func(in ts, r loss.Reduction) *tensor.Tensor {
		return loss.MarginRanking(in[0], in[1], in[2], loss.MarginOptions{Margin: 0.3, Reduction: r})
	},
	"cosine": func(in ts, r loss.Reduction) *tensor.Tensor {
		return loss.CosineEmbedding(in[0], in[1], in[2], loss.MarginOptions{Margin: 0.1, Reduction: r})
	},
	"triplet": func(in ts, r loss.Reduction) *tensor.Tensor {
		return loss.Triplet(in[0], in[1], in[2], loss.TripletOptions{Reduction: r})
	},
	"triplet p swap": func(in ts, r loss.Reduction) *tensor.Tensor {
		return loss.Triplet(in[0], in[1], in[2], loss.TripletOptions{Margin: 2.5, P: 3, Swap: true, Reduction: r})
	},
}

func smoothed(smooth float64, o loss.ClassOptions, weighted bool) func(in ts, r loss.Reduction) *tensor.Tensor {
	return func(in ts, r loss.Reduction) *tensor.Tensor {
		o := o
		o.Reduction = r
		if weighted {
			o.Weight = weights(in[0])
		}
		return loss.CrossEntropy(in[0], in[1], loss.CrossEntropyOptions{ClassOptions: o, LabelSmoothing: smooth})
	}
}

func init() {
	for name, f := range reduced {
		for _, r := range []loss.Reduction{loss.Mean, loss.Sum, loss.None} {
			losses[name+" "+r.String()] = func(in ts) *tensor.Tensor { return f(in, r) }
		}
	}
}

// ctc is the loss behind log-softmax.
func ctc(blank int, r loss.Reduction, zero bool, times, labels []int) func(in ts) *tensor.Tensor {
	return func(in ts) *tensor.Tensor {
		return loss.CTC(in[0].LogSoftmax(2), in[1], times, labels, loss.CTCOptions{Blank: blank, ZeroInfinity: zero, Reduction: r})
	}
}
