package dsl

import "unsafe"

// isFloat32 tells the two widths of Real apart in the host bodies of dispatch
// functions. The Go compiler folds it.
func isFloat32[T Real](x T) bool { return unsafe.Sizeof(x) == 4 }
