// Package ggml reads the files that models of llama.cpp were published in before GGUF.
//
// Such a file is a magic number, seven numbers about a model of the llama family, its vocabulary,
// and tensors up to the end of the file:
//
//	u32       ggml, ggmf or ggjt, as a number
//	u32       version; not in ggml
//	7 u32     see Params
//	tokens    length and bytes of each; then a score, an f32, but not in ggml
//	tensors   rank, length of the name and type; sizes, last dimension first; name; elements,
//	          in ggjt at a multiple of 32 bytes
//
// [Open] maps a file. Tensors are entries of a file.Set, as those of package gguf:
//
//	f, err := ggml.Open("ggml-model-q4_0.bin")
//	defer f.Close()
//	e, err := f.Get("layers.0.attention.wq.weight")
//
// Before version 3 of ggjt, blocks of some quantized types had other fields: these types are listed
// under names of their own, such as "Q4_0 before ggjt v3", which no quantized tensor is made of.
// Other families of models used the same magic numbers for files with other fields, which are
// errors.
package ggml
