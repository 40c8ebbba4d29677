// Package safetensors reads and writes files of the safetensors format.
//
// Such a file is a header in JSON, which names each tensor with its element type, shape
// and offsets, and then the elements of all tensors, contiguous:
//
//	8 bytes   size of the header, least significant byte first
//	header    {"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"__metadata__":{"format":"pt"}}
//	elements  24 bytes, which end the file
//
// [Open] maps a file and reads its header only. Tensors are then had by name, without a
// copy, whole or in part:
//
//	set, err := safetensors.Open("model.safetensors")
//	defer set.Close()
//	e, err := set.Get("w")
//	v, err := e.View()
//
// [OpenIndex] opens a model in several files by its index, [OpenAll] a list of files.
// [Read] takes a file.Source: bytes in memory, or any io.ReaderAt.
//
// The header must be right in all points: elements that overlap, leave holes or bytes at
// the end, names that are there twice, and sizes that do not fit the shapes are errors
// with the byte of the file. Element types: all of package dtype, and BOOL, I8, U16
// and U64 as package file says. A tensor of another type, as C64, is listed, and is an
// error when it is read.
//
// [Write] gives the same bytes for the same tensors, those that the reference
// implementation writes: larger element types first, then by name.
package safetensors
