package layout

import (
	"fmt"
	"iter"
)

// Merged is a walk over several operands of one shape: the dimensions that are left
// when those that lie behind each other in all operands are joined, the innermost
// first.
type Merged struct {
	Sizes   []int
	Strides [][]int // of each operand
	Offsets []int   // of each operand
}

// Merge joins the dimensions of layouts, which have the same shape. Dimensions of
// size 1 vanish. The order of the elements stays.
func Merge(of ...Layout) Merged {
	m := Merged{Strides: make([][]int, len(of)), Offsets: make([]int, len(of))}
	for k, l := range of {
		m.Offsets[k] = l.offset
	}
	shape := of[0].shape
	for i := len(shape) - 1; i >= 0; i-- {
		n := shape[i]
		if n == 1 {
			continue
		}
		if m.joins(of, i) {
			m.Sizes[len(m.Sizes)-1] *= n
			continue
		}
		m.Sizes = append(m.Sizes, n)
		for k, l := range of {
			m.Strides[k] = append(m.Strides[k], l.stride[i])
		}
	}
	return m
}

// joins reports whether dimension i lies behind the last of the merged ones.
func (m *Merged) joins(of []Layout, i int) bool {
	last := len(m.Sizes) - 1
	if last < 0 {
		return false
	}
	for k, l := range of {
		if l.stride[i] != m.Strides[k][last]*m.Sizes[last] {
			return false
		}
	}
	return true
}

// Contiguous reports whether operand k lies in the order of the walk without gaps.
func (m *Merged) Contiguous(k int) bool {
	return len(m.Sizes) == 0 || len(m.Sizes) == 1 && m.Strides[k][0] == 1
}

// Offsets goes through where the elements are, in row-major order of their indices.
func (l Layout) Offsets() iter.Seq[int] {
	return func(yield func(int) bool) {
		if l.Count() == 0 {
			return
		}
		index := make([]int, l.Rank())
		at := l.offset
		for yield(at) {
			d := l.Rank() - 1
			for ; d >= 0; d-- {
				if index[d]++; index[d] < l.shape[d] {
					at += l.stride[d]
					break
				}
				at -= (l.shape[d] - 1) * l.stride[d]
				index[d] = 0
			}
			if d < 0 {
				return
			}
		}
	}
}

// Blocks returns how many elements in a row are contiguous, and goes through where
// such runs begin.
func (l Layout) Blocks() (length int, starts iter.Seq[int]) {
	length = 1
	d := l.Rank()
	for d > 0 && (l.shape[d-1] == 1 || l.stride[d-1] == length) {
		d--
		length *= l.shape[d]
	}
	outer := Layout{shape: l.shape[:d], stride: l.stride[:d], offset: l.offset}
	if length == 0 {
		return 0, func(func(int) bool) {}
	}
	return length, outer.Offsets()
}

// String shows shape, strides and offset.
func (l Layout) String() string {
	return fmt.Sprintf("%v strides %v offset %d", l.shape, Shape(l.stride), l.offset)
}
