package opstest

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
)

// EachIndex goes through all indices of a shape, in order.
func EachIndex(s layout.Shape, f func(at []int)) {
	at := make([]int, len(s))
	for range s.Count() {
		f(at)
		for d := len(s) - 1; d >= 0; d-- {
			if at[d]++; at[d] < s[d] {
				break
			}
			at[d] = 0
		}
	}
}

// FlatIndex is where the element with some indices comes in row-major order.
func FlatIndex(s layout.Shape, at []int) int {
	n := 0
	for d := range s {
		n = n*s[d] + at[d]
	}
	return n
}

// NoIndex is the index of a type that stands for none: all its bits are set.
func NoIndex(d dtype.DType) dtype.Scalar { return dtype.FromBits(d, ^uint64(0)>>(64-d.Bits())) }

// Sequence returns the numbers from a on, n of them.
func Sequence(a, n int) (list []float64) {
	for i := range n {
		list = append(list, float64(a+i))
	}
	return list
}

// Kind draws a number of one of the [Kinds], of all pairs of them.
func (b *Bench) Kind() int { return b.Rand.IntN(4 * len(Kinds) * len(Kinds)) }

// Ints draws a type of indices.
func (b *Bench) Ints() dtype.DType { return dtype.Ints()[b.Rand.IntN(len(dtype.Ints()))] }

// RandomValue puts numbers as [Bench.Number] draws them on the device, in one of the [Kinds] of
// layouts.
func (b *Bench) RandomValue(t *testing.T, d dtype.DType, s layout.Shape, kind int) *Value {
	return b.Value(t, d, LayoutOf(t, Kinds[kind%len(Kinds)], s), func() dtype.Scalar { return b.Number(d) })
}

// Output makes a result in one of the [Kinds] of layouts but the broadcast one.
func (b *Bench) Output(t *testing.T, d dtype.DType, s layout.Shape, kind int) *Value {
	return b.Result(t, d, LayoutOf(t, Kinds[kind%4], s))
}

// Of puts numbers on the device, in row-major order: as many as the shape has elements.
func (b *Bench) Of(t *testing.T, d dtype.DType, s layout.Shape, numbers ...float64) *Value {
	t.Helper()
	i := -1
	return b.Value(t, d, layout.Contiguous(s), func() dtype.Scalar {
		i++
		return dtype.FromFloat(d, numbers[i])
	})
}

// WantNumbers compares a result with numbers.
func (b *Bench) WantNumbers(t *testing.T, out *Value, numbers ...float64) {
	t.Helper()
	var got []float64
	for _, x := range b.Read(t, out) {
		got = append(got, x.Float())
	}
	require.Equal(t, numbers, got)
}

// Along returns the shape of a result without dims, and for each of its elements the
// indices of those of the operand, in row-major order.
func Along(s layout.Shape, dims []int) (out layout.Shape, rows [][]int) {
	resolved, _ := layout.Dims(dims, len(s))
	for d, n := range s {
		if !slices.Contains(resolved, d) {
			out = append(out, n)
		}
	}
	rows = make([][]int, out.Count())
	index := make([]int, len(s))
	for i := range s.Count() {
		at, rest := 0, i
		for d := len(s) - 1; d >= 0; d-- {
			index[d], rest = rest%s[d], rest/s[d]
		}
		for d, n := range s {
			if !slices.Contains(resolved, d) {
				at = at*n + index[d]
			}
		}
		rows[at] = append(rows[at], i)
	}
	return out, rows
}

// Moderate draws a number of a type with which sums of many do not overflow: integers
// of all sizes, which wrap.
func (b *Bench) Moderate(d dtype.DType) dtype.Scalar {
	if d.IsInt() {
		return dtype.FromBits(d, uint64(int64(b.Rand.Uint64())>>(b.Rand.IntN(8)*8)))
	}
	return dtype.FromFloat(d, b.Rand.Float64()*4-2)
}

// Cycle puts numbers on the device, in row-major order, and again from the first after the last.
func (b *Bench) Cycle(t *testing.T, d dtype.DType, s layout.Shape, x ...float64) *Value {
	t.Helper()
	i := -1
	return b.Value(t, d, layout.Contiguous(s), func() dtype.Scalar { i++; return dtype.FromFloat(d, x[i%len(x)]) })
}

// Truth is 1 for true and 0 for false.
func Truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Order compares two numbers as sorting does: NaN is larger than all, and equal to NaN.
func Order(a, b dtype.Scalar) int {
	if a.DType().IsInt() {
		return cmp.Compare(a.Int(), b.Int())
	}
	x, y := a.Float(), b.Float()
	switch {
	case x != x && y != y:
		return 0
	case x != x:
		return 1
	case y != y:
		return -1
	}
	return cmp.Compare(x+0, y+0)
}

// ReductionCase is a reduction to test: of a shape, along dims.
type ReductionCase struct {
	Shape layout.Shape
	Dims  []int
}

// String is the name of the case.
func (f ReductionCase) String() string { return fmt.Sprintf("{%v %v}", []int(f.Shape), f.Dims) }
