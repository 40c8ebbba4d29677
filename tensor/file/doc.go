// Package file is what the file formats of tensors have in common. It knows bytes,
// element types and layouts, and no device: package tensor puts what it reads on one.
//
// The packages safetensors, npy and torch beside it, and package gguf, open a file as a [Set],
// which has an [Entry] for each tensor: name, element type, layout, and where the bytes are.
// Nothing but the headers is read until an entry is asked for its bytes:
//
//	set, err := safetensors.Open("model.safetensors")
//	defer set.Close()
//	e, err := set.Get("embed.weight")
//	rows, err := e.Narrow(0, 100, 8) // eight rows: only their bytes are read
//	v, err := rows.View()            // a view into the mapped file, without a copy
//	use(v.Bytes(), rows.Layout)
//	v.Release()
//
// A [Source] is the file itself, mapped into memory where the system can and read
// where it cannot. The mapping lives as long as the Source is open or a [View] into it
// is neither released nor collected: closing a set leaves its views intact.
//
// Types that this module has no element type for are read as the next larger one:
// bool as u8 (0 or 1), u16 as u32, u64 as i64 as long as the values fit.
// What nothing can hold, as complex numbers, is listed, and is an error when read. Elements of
// quantized types, which are stored in blocks, are read by [Entry.Raw] as the file has them.
//
// Files are not trusted. Every size is checked against the file before memory is
// taken for it, and an [Error] says what is wrong, with which tensor, at which byte.
// It wraps [ErrFormat], [ErrTruncated] or [ErrUnsupported].
package file
