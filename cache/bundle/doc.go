// Package bundle reads and writes files of compiled kernels, for deployment.
//
// A bundle is a read-only [cache.Store] in one file: the same entries under the same
// keys, compressed, with a manifest that says what they are. It can be part of a
// program (go:embed), lie beside it, or be pulled from a registry. The model in ten
// lines:
//
//   - Entries are in sections, one for each target. The one of [Common] has what
//     all targets need. A program reads the sections of its devices only.
//   - A section has an index, sorted by key, with the size and SHA-256 of each entry.
//     [Open] reads the header, the first [Bundle.Get] in a section its index, and
//     each Get one entry: time and memory follow what is used, not what is there.
//   - Entries are compressed on their own by zstd, with a dictionary for the section.
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
//	kiln bundle 1\n
//	{"compiler":"10","manifest":{…},"sections":[{"target":"ptx:sm_90","entries":4,"size":999,"index":{…}},…]}\n
//	{"header":"…","present":[0,2],"signatures":[{"key":"…","signature":"…"}]}\n
//	<manifest> <sections that are present>
//
// The manifest is lines of JSON, an [Item] each, compressed by zstd. A section is its
// dictionary (compressed; often empty), its index and its entries. A record of the index
// is the key (32 bytes), the SHA-256 of the compressed entry (32), and, as
// little-endian numbers, its offset in the entries (8), its size (4) and its size when
// decompressed (4). An entry is its header, a line of JSON, and its body. The third line has
// the SHA-256 of the second one.
package bundle
