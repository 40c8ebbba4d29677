// Package attention has scaled dot-product attention, softmax(q·kᵀ·scale + bias)·v, with gradients,
// and caches of keys and values for decoding.
//
//	y := attention.SDPA(q, k, v, attention.Options{Causal: true}) // (batch, heads, queries, size)
//	err := y.Err()
//
// # Model
//
// [SDPA] with the zero [Options] is PyTorch's scaled_dot_product_attention. Options add causal
// masks, sliding windows, masks and scores by a Go function (FlexAttention), boolean and additive
// masks, ALiBi, a soft cap of the scores, sinks and dropout, all of which go together. A
// [BlockMask] keeps which tiles of keys a mask by a function leaves out, which are not computed
// then. Fewer heads of keys than of queries are shared by groups of heads (GQA, MQA). [SDPAWithLSE]
// also returns the logarithm of each row's sum of exponentials, which parts of an attention over
// different keys are put together by. [VarLen] takes sequences of different lengths in one packed
// tensor.
//
// Queries stand at the end of the keys: query i of s has position i + (kv−s) among kv keys. This
// is where causal masks, windows and ALiBi count from, so that one new query behind a cache sees
// all of it. A query that attends to no key has a result of 0, a log-sum-exp of −Inf, and gradients
// of 0.
//
// Where a device has matrix instructions for types of 16 bits and there is enough to do, scores and
// sums stay in the registers of one kernel, see package ops/attention: for few queries and many
// keys with several blocks that share these, for [VarLen] and [Paged] in one launch for all
// sequences, of which pages are read where they are. Gradients of queries, keys, values and sinks
// are kernels there, too, which add up in the same order at each run. Elsewhere attention is made
// of operations of package tensor. Dropout, and gradients of packed sequences and with functions,
// always are; where a mask or slopes have a gradient, all gradients of the call are.
//
// Scores, softmax and sums of float16 and bfloat16 are in float32. Scores of all queries are never
// in memory at once where there are many: blocks of queries come one after the other, and gradients
// compute the scores of each block again, see [tensor.Checkpoint].
//
// # Caches
//
// [Cache] holds the keys and values of all tokens so far in one piece that grows, [Rotating] those
// of the last tokens, and [Paged] those of many sequences in pages of one pool. They are for
// models that are used: what is in them has no gradient.
package attention
