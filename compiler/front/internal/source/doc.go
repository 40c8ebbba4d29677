// Package source takes packages apart into declarations, before types are known.
//
// A [Unit] is a package: its declarations by name, each with what it refers to and with the marks
// that stand above it, and its function literals. [Parse] makes one of the text of a kernel
// package and keeps it as long as there is room; [Libraries] are package dsl and its like, and
// stand-ins for packages of Go, whose declarations are parsed when they are first reached.
//
//	u := source.Parse(p)
//	d := u.Kernel("Scale")
//	d.Load()
package source
