// Package bundle reads and writes files of compiled kernels, for deployment.
//
// A bundle is a read-only [cache.Store] in one file: the same entries under the same
// keys, compressed, with a manifest that says what they are. It can be part of a
// program (go:embed), lie beside it, or be pulled from a registry. The model in ten
// lines:
//
//   - Entries are in sections, one for each target. The one of [Common] has what
//     all targets need. A program reads the sections of its devices only.
//   - A section has an index: where each entry is, sorted by key, and the SHA-256 of each
//     block. [Open] reads the header, the first [Bundle.Get] in a section its index, and each
//     Get one block: time and memory follow what is used, not what is there.
//   - A block is entries of a kind, 128 KiB or one that is larger, compressed by zstd. Entries
//     that are used together are together, so a program that has one soon has
//     the others: the last blocks are kept, and the next ones read ahead.
//   - The header has the SHA-256 of all indices and of the manifest, so its own SHA-256,
//     [Bundle.Digest], names all that is in the bundle; signatures are over that.
//   - Equal entries give equal bytes, whatever the order, the day and the machine.
//   - A copy may lack sections, such as one of a registry's layers for this machine
//     only: digest and signatures stay those of the whole.
//   - Damage never gives a wrong entry: it is an error that names file and offset.
//   - What is not signed by somebody trusted can be refused, see [Trust].
//
// Writing and reading:
//
//	var w bundle.Writer
//	w.Add(key, entry)
//	err := w.WriteTo(file)
//
//	b, err := bundle.Open("app.kiln")
//	entry, err := b.Get("ptx:sm_90", key) // ErrMissing if it is not there
//
// # File format
//
//	kiln bundle 2\n
//	{"compiler":"10","manifest":{…},"sections":[{"target":"ptx:sm_90","entries":4,"blocks":1,"size":999,"index":{…}},…]}\n
//	{"header":"…","present":[0,2],"signatures":[{"key":"…","signature":"…"}]}\n
//	<manifest> <sections that are present>
//
// The manifest is lines of JSON, an [Item] each, compressed by zstd. A section is its index
// and its blocks, one after the other. The index has a record for each block, which is the
// SHA-256 of the compressed block (32 bytes) and, as little-endian numbers, its size (4) and
// its size when decompressed (4); then a record for each entry, which is the key (32), the
// number of its block (4), its offset in the decompressed block (4) and its size (4). An entry is
// its header, a line of JSON, and its body. The third line has the SHA-256 of the second one.
//
// Format 1, which compressed each entry on its own, is not read any more: see [ErrVersion].
package bundle
