package attention

import "github.com/gokiln/kiln/tensor"

// Options say what attention does besides softmax(q·kᵀ/√d)·v, which is the zero value's.
//
// For query i at position p = i + (kv−s), see the package's documentation, and key j, the score is
//
//	score = ScoreFunc(SoftCap·tanh(q·k·Scale / SoftCap), p, j) − ALiBi·|p−j| + Mask
//
// and −Inf for a key that Causal, Window, MaskFunc or a boolean Mask leave out.
type Options struct {
	// Scale multiplies q·k; 0 stands for 1/√d.
	Scale float64

	// Causal leaves out keys behind the query's position: j > p.
	Causal bool

	// Window leaves out keys that are far from the query's position; nil leaves out none.
	Window *Window

	// Mask is broadcast to (…, heads, queries, keys). One of type U8 leaves out keys where it is
	// 0; one of a floating-point type is added to the scores, and may have a gradient. It is nil
	// for none.
	Mask *tensor.Tensor

	// MaskFunc is a mask by a function: a query attends to a key if it returns true for their
	// positions (the mask_mod of FlexAttention). It is a literal or a function of a package, which
	// is compiled for the device as those of [tensor.Map] are, and nil for none:
	//
	//	MaskFunc: func(query, key int32) bool { return key <= query || key < 16 } // causal, prefix
	MaskFunc func(query, key int32) bool

	// BlockMask keeps which tiles of keys MaskFunc leaves out, for calls that follow. It is nil for
	// none.
	BlockMask *BlockMask

	// ScoreFunc makes a score of one and of the positions of its query and key (the score_mod of
	// FlexAttention), in float32: a literal or a function of a package, as MaskFunc is, and nil for
	// none. Queries of type F64 are an error of kind ErrDType.
	//
	//	ScoreFunc: func(s float32, query, key int32) float32 { return s - 0.1*float32(query-key) }
	//
	// ScoreGrad is its derivative by the score, which gradients of queries and keys need: without
	// one they are errors of kind ErrNoGradient. Gradients of attention with a ScoreFunc are those
	// of operations.
	ScoreFunc, ScoreGrad func(score float32, query, key int32) float32

	// ALiBi has a slope for each head, (heads) or (…, heads), of a floating-point type: scores
	// are less by slope·|p−j| (Press et al., "Train short, test long", 2022). It is nil for none.
	ALiBi *tensor.Tensor

	// SoftCap bounds the magnitude of the products' scores, before masks; 0 bounds none.
	SoftCap float64

	// Sinks has a score for each head, (heads), of a floating-point type, that takes part in the
	// sum that probabilities are divided by, and has no value. It is nil for none.
	Sinks *tensor.Tensor

	// Dropout is the probability with which a probability becomes 0, from 0 to 1; others are
	// divided by 1−Dropout. The random numbers are the device's: see [tensor.Device.SetSeed].
	Dropout float64
}

// Window is the keys next to a query's position p that it attends to: p−Left ≤ j ≤ p+Right.
// [Unlimited] stands for no bound at a side.
type Window struct {
	Left, Right int
}

// Unlimited is a side of a [Window] without a bound.
const Unlimited = -1

// unlimited is a bound that no position reaches, and that sums of positions do not overflow by.
const unlimited = 1 << 40

// bounds returns how far in front of and behind its position a query attends.
func (o *Options) bounds() (left, right int) {
	left, right = unlimited, unlimited
	if w := o.Window; w != nil && w.Left >= 0 {
		left = min(w.Left, unlimited)
	}
	if w := o.Window; w != nil && w.Right >= 0 {
		right = min(w.Right, unlimited)
	}
	if o.Causal {
		right = min(right, 0)
	}
	return left, right
}
