package mapping

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)

// Path is the import path of this package.
const Path = "github.com/gokiln/kiln/jit/internal/mapping"

// Map1 stores f(a[i]) in out[i].
//
//kiln:kernel
func Map1[A, R any](t dsl.Thread, out []R, a []A, f func(A) R) {
	for i := t.Global(); i < len(out); i += t.GlobalSize() {
		out[i] = f(a[i])
	}
}

// Map2 stores f(a[i], b[i]) in out[i].
//
//kiln:kernel
func Map2[A, B, R any](t dsl.Thread, out []R, a []A, b []B, f func(A, B) R) {
	for i := t.Global(); i < len(out); i += t.GlobalSize() {
		out[i] = f(a[i], b[i])
	}
}

// Map3 stores f(a[i], b[i], c[i]) in out[i].
//
//kiln:kernel
func Map3[A, B, C, R any](t dsl.Thread, out []R, a []A, b []B, c []C, f func(A, B, C) R) {
	for i := t.Global(); i < len(out); i += t.GlobalSize() {
		out[i] = f(a[i], b[i], c[i])
	}
}

// Map4 stores f(a[i], b[i], c[i], d[i]) in out[i].
//
//kiln:kernel
func Map4[A, B, C, D, R any](t dsl.Thread, out []R, a []A, b []B, c []C, d []D, f func(A, B, C, D) R) {
	for i := t.Global(); i < len(out); i += t.GlobalSize() {
		out[i] = f(a[i], b[i], c[i], d[i])
	}
}
