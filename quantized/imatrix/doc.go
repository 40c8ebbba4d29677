// Package imatrix reads and writes importance matrices, in both forms that the field has: files of
// the GGUF format, and the binary files that came before.
//
// An importance matrix says how much each column of a weight matrix matters: the mean of the
// squares of what the column was multiplied with, in a run of the model over text. Quantizers weigh
// the errors of elements by it. Of layers with experts each expert has its own.
//
//	m, err := imatrix.Open("model.imatrix")
//	e, ok := m.Get("blk.0.ffn_down.weight")
//	columns := e.Weights()
//
// A [Collector] adds up the squares in such a run.
//
// Files of the GGUF form have two tensors for a weight: name.in_sum2, the sums of squares, and
// name.counts, how many rows were added up. Files of the binary form have, behind the number of
// weights, for each of them
//
//	i32, bytes   length of the name, and the name
//	i32          number of calls
//	i32, f32s    number of columns of all experts, and the means times the number of calls
//
// and may end with the number of chunks of text and its name.
package imatrix
