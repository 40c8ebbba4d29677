// Package gguf reads and writes files of the GGUF format, in which models with quantized tensors
// are published.
//
// Such a file is metadata, keys with typed values, then a list of tensors, and then the elements of
// all tensors, each at a multiple of an alignment:
//
//	4 bytes   GGUF
//	u32       version: 1, 2 or 3
//	u64, u64  numbers of tensors and of keys
//	keys      name, type and value of each
//	tensors   name, sizes of dimensions, type and offset of each
//	padding
//	elements  those of all tensors, with padding
//
// [Open] maps a file, or all files of a model that is split, and reads the header only. Tensors are
// entries of a file.Set, as those of packages safetensors, npy and torch:
//
//	f, err := gguf.Open("model-Q4_K_M.gguf")
//	defer f.Close()
//	layers, err := gguf.Get[uint32](f.Meta, "llama.block_count")
//	tokens, err := gguf.GetList[string](f.Meta, "tokenizer.ggml.tokens")
//	e, err := f.Get("blk.0.attn_q.weight")
//	t, err := gguf.TypeOf(e)  // such as format.Q4_K
//	v, err := e.Raw()         // its blocks, a view into the mapped file
//
// Shapes are in the order of this module, the last dimension contiguous; the file has them the
// other way round. Tensors of plain types are read by View and loaded by tensor.Load and nn.Load,
// those of quantized types by Raw, in the byte order of the file.
//
// All versions and both byte orders are read; [Write] writes version 3 with the least
// significant byte first, [WriteSplit] several files of a model. [Edit] changes metadata, in place
// if it fits.
//
// Files are not trusted: whatever a header claims is compared with the size of the file before
// memory is taken for it, and an error has the byte at which it is. Gaps between tensors, bytes
// behind the last, names of more than 63 bytes and arrays of arrays are read, though llama.cpp
// refuses them; duplicate keys and names, tensors that overlap or reach over the end,
// and bools other than 0 and 1 are errors.
package gguf
