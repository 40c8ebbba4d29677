// Package attention has scaled dot-product attention in one kernel, with the log-sum-exp of each
// row of scores, by which gradients compute probabilities again. A block has a tile of queries;
// where there are fewer of these than multiprocessors, several blocks share its keys (split-KV),
// and a second kernel combines what each of them gives. Batches may have keys of different lengths,
// keys in pages of a pool, and packed queries: a table on the device, made for each launch, says
// where they are. Functions of positions are compiled into the kernel.
//
// Gradients are two kernels, one by tiles of queries and one by tiles of keys, each of which
// computes the scores again: see [Backward].
//
// See package [github.com/gokiln/kiln/ops] for operands and launches.
package attention
