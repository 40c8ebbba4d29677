// Package dtype has the element types of tensors.
//
// There are eleven that operations compute with, and four that are only stored and
// moved, so that files in the formats of the Open Compute Project's Microscaling
// specification can be opened and written. A [Scalar] is one number of such a type.
//
//	d, err := dtype.Parse("bf16")
//	d.Size()            // 2
//	dtype.Of[float32]() // F32
//
// Truth is U8: comparisons give 0 or 1, and what is asked for truth takes any number
// but 0 for true.
package dtype
