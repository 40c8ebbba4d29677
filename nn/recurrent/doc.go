// Package recurrent has the operations of layers that keep a state of fixed size for a sequence, in
// place of the keys and values of all its tokens: selective scans, linear attention by the gated
// delta rule, gated linear recurrences of channels, and the short causal convolution in front of
// them.
//
//	on, err := recurrent.NewSequences(dev, []recurrent.Sequence{{Tokens: 7, Fresh: true}})
//	state := tensor.Empty(dev, tensor.F32, 1, 3, channels)
//	y := recurrent.ShortConv(x, weight, bias, state, on, recurrent.SiLU) // (7, channels)
//
// # Model
//
// Tokens of a batch are packed: those of one sequence behind those of another, (tokens, features).
// [Sequences] says how many each sequence has, and which row of tensors of states is its own. An
// operation reads that state, or begins anew with zeros, and leaves there the state behind the
// last token: sequences can be fed in parts of any sizes, one token or thousands, with the same
// result up to rounding. One launch is for all sequences of a batch.
//
// States are changed in place. So these operations have no gradients: operands that want one are
// an error of kind tensor.ErrNoGradient. Numbers of fewer than 32 bits are computed in float32,
// which states are in, and results are the same bits in every run.
package recurrent
