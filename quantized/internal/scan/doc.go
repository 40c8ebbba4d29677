// Package scan reads the headers of files field by field, and knows at which byte it is.
//
// A [Reader] goes forward through a file.Source. What a header claims is compared with the bytes
// that are left before memory is taken for it, and faults name the field and the byte:
//
//	r := scan.New(src)
//	n := r.Uint32("number of tensors")
//	name := r.Take(int64(n), "name")
//	if err := r.Err(); err != nil { … }
//
// The first error stays: fields behind it are zero.
package scan
