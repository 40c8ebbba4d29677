package testkernels

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)

// Scale multiplies by a.
//
//kiln:kernel
func Scale[T float32 | float64 | int32](t dsl.Thread, x []T, a T) {
	for i := t.Global(); i < len(x); i += t.GlobalSize() {
		x[i] *= a
	}
}

// Mixed takes parameters of every size.
//
//kiln:kernel
func Mixed(t dsl.Thread, out []float64, a bool, b int8, c uint16, d float32, e int, f dsl.F16) {
	if t.Global() == 0 && a {
		out[0] = float64(b) + float64(c) + float64(d) + float64(e) + float64(dsl.F32(f))
	}
}

// Sums needs whole warps.
//
//kiln:kernel
func Sums(t dsl.Thread, out []int32) {
	out[t.Global()] = dsl.WarpSum(t, int32(t.Global()))
}

// Divide divides n by each element.
//
//kiln:kernel
func Divide(t dsl.Thread, x []int32, n int32) {
	x[t.Global()] = n / x[t.Global()]
}

// Overrun writes one element too many.
//
//kiln:kernel
func Overrun(t dsl.Thread, out []int32) {
	out[t.Global()] = 1
}

// Rows adds up rows of whole warps: threads come to the sums by their index along y.
//
//kiln:kernel
func Rows(t dsl.Thread, x []int32) {
	if t.ThreadY() == 1 {
		x[t.ThreadX()] = dsl.WarpSum(t, x[t.ThreadX()])
	}
}

// Table is a matrix of rows of a fixed length.
type Table[T any] struct {
	Data []T
	Cols int32
}

func (m Table[T]) at(row, col int) *T { return &m.Data[row*int(m.Cols)+col] }

// Tables has slices in structs, and other types between them.
type Tables struct {
	On     bool
	Sum    Table[float32]
	_      []bool
	_      int16
	Width  dsl.ConstInt
	Factor [2]float32
	Weight []float32
	last   uint8
}

// Weighted adds weighted rows of in to those of to.Sum.
//
//kiln:kernel
func Weighted(t dsl.Thread, to Tables, in Table[float32], n int) {
	for row := t.Global(); to.On && row < n; row += t.GlobalSize() {
		for col := range int(to.Width) {
			*to.Sum.at(row, col) += *in.at(row, col) * to.Weight[row] * to.Factor[to.last]
		}
	}
}

// Untyped cannot be inferred from its parameters.
//
//kiln:kernel
func Untyped[T float32 | float64](t dsl.Thread, out []int32) {
	var v T = 1
	out[0] = int32(v)
}

// Bad starts a goroutine.
//
//kiln:kernel
func Bad(t dsl.Thread, out []int32) {
	go func() {}()
}

// NotMarked is no kernel.
func NotMarked(t dsl.Thread, out []int32) {}
