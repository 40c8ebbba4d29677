package layout

import (
	"fmt"
	"math/bits"
	"slices"
)

// Layout is where elements are. The zero Layout is that of a single number at
// offset 0. A Layout is not changed once it is made.
type Layout struct {
	shape  Shape
	stride []int
	offset int
	dense  bool // in row-major order without gaps
}

// Contiguous returns the layout of elements in row-major order without gaps.
func Contiguous(s Shape) Layout {
	return Layout{shape: s, stride: s.Strides(), dense: true}
}

// Packed returns the layout of elements of the same shape in row-major order without gaps:
// this one, if it is that.
func (l Layout) Packed() Layout {
	n := 1
	for i := len(l.shape) - 1; i >= 0; i-- {
		if l.stride[i] != n {
			return Contiguous(l.shape)
		}
		n *= l.shape[i]
	}
	return Layout{shape: l.shape, stride: l.stride, dense: true}
}

// farthest bounds where an element of any size can be, so that its byte can be counted.
const farthest = 1 << 59

// New returns a layout with such strides and offset, which must not be negative.
func New(s Shape, stride []int, offset int) (Layout, error) {
	if err := s.Check(); err != nil {
		return Layout{}, err
	}
	if len(stride) != len(s) {
		return Layout{}, fmt.Errorf("%w: %d strides for shape %v", ErrRank, len(stride), s)
	}
	if i := slices.IndexFunc(stride, func(n int) bool { return n < 0 }); i >= 0 || offset < 0 {
		return Layout{}, fmt.Errorf("%w: strides %v and offset %d must not be negative", ErrShape, stride, offset)
	}
	if s.Count() > 0 && !reachable(s, stride, offset) {
		return Layout{}, fmt.Errorf("%w: %v with strides %v and offset %d", ErrTooLarge, s, stride, offset)
	}
	return build(s, stride, offset), nil
}

// reachable reports whether the last element is not too far.
func reachable(s Shape, stride []int, offset int) bool {
	last := uint64(offset)
	for i, d := range s {
		high, low := bits.Mul64(uint64(d-1), uint64(stride[i]))
		if high > 0 || low > farthest || last > farthest {
			return false
		}
		last += low
	}
	return last <= farthest
}

// build returns a layout whose parts fit each other.
func build(s Shape, stride []int, offset int) Layout {
	return Layout{s, stride, offset, inOrder(s, stride)}
}

// inOrder reports whether the strides are those of row-major order without gaps. The
// stride of a dimension of size 1 says nothing, and those of no elements do not either.
func inOrder(s Shape, stride []int) bool {
	n := 1
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == 0 {
			return true
		}
	}
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] != 1 && stride[i] != n {
			return false
		}
		n *= s[i]
	}
	return true
}

// Shape is the size of each dimension. It must not be changed.
func (l Layout) Shape() Shape { return l.shape }

// Strides is the distance of neighbours in each dimension, in elements. It must not be
// changed.
func (l Layout) Strides() []int { return l.stride }

// Offset is where the first element is.
func (l Layout) Offset() int { return l.offset }

// Rank is the number of dimensions.
func (l Layout) Rank() int { return len(l.shape) }

// Count is the number of elements.
func (l Layout) Count() int { return l.shape.Count() }

// IsContiguous reports whether the elements lie in row-major order without gaps.
func (l Layout) IsContiguous() bool { return l.dense || len(l.shape) == 0 }

// IsFortranContiguous reports whether the elements lie in column-major order without
// gaps.
func (l Layout) IsFortranContiguous() bool {
	return inOrder(reversed(l.shape), reversed(l.stride))
}

func reversed[S ~[]int](s S) S {
	s = slices.Clone(s)
	slices.Reverse(s)
	return s
}

// Span is how many elements of memory, from the offset, the layout reaches over.
func (l Layout) Span() int {
	n := 1
	for i, d := range l.shape {
		if d == 0 {
			return 0
		}
		n += (d - 1) * l.stride[i]
	}
	return n
}

// Overlaps reports whether two indices may mean the same element, as in a broadcast
// view. For strides that no chain of views makes it may report so without need.
func (l Layout) Overlaps() bool {
	if l.IsContiguous() {
		return false
	}
	order := make([]int, 0, len(l.shape))
	for i, d := range l.shape {
		if d > 1 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return l.stride[a] - l.stride[b] })
	reach := 0 // of the dimensions with smaller strides
	for _, i := range order {
		if l.stride[i] <= reach {
			return true
		}
		reach += (l.shape[i] - 1) * l.stride[i]
	}
	return false
}

// Narrow is the part of dimension d from start on, n long.
func (l Layout) Narrow(d, start, n int) (Layout, error) {
	d, err := Dim(d, l.Rank())
	if err != nil {
		return l, err
	}
	if start < 0 || n < 0 || start > l.shape[d]-n {
		return l, fmt.Errorf("%w: start %d, length %d of dimension %d in %v", ErrNarrow, start, n, d, l.shape)
	}
	if start == 0 && n == l.shape[d] {
		return l, nil
	}
	s := slices.Clone(l.shape)
	s[d] = n
	return build(s, l.stride, l.offset+start*l.stride[d]), nil
}

// Step is every step-th index of dimension d, from the first.
func (l Layout) Step(d, step int) (Layout, error) {
	d, err := Dim(d, l.Rank())
	if err != nil {
		return l, err
	}
	if step < 1 {
		return l, fmt.Errorf("%w: step %d, want 1 or more", ErrNarrow, step)
	}
	s, stride := slices.Clone(l.shape), slices.Clone(l.stride)
	if n := s[d]; n > 0 {
		step = min(step, n)
		s[d], stride[d] = (n-1)/step+1, stride[d]*step
	}
	return build(s, stride, l.offset), nil
}

// Transpose swaps two dimensions.
func (l Layout) Transpose(a, b int) (Layout, error) {
	a, err := Dim(a, l.Rank())
	if err != nil {
		return l, err
	}
	if b, err = Dim(b, l.Rank()); err != nil || a == b {
		return l, err
	}
	s, stride := slices.Clone(l.shape), slices.Clone(l.stride)
	s[a], s[b] = s[b], s[a]
	stride[a], stride[b] = stride[b], stride[a]
	return build(s, stride, l.offset), nil
}

// Permute puts the dimensions in another order: dimension i of the result is
// dimension order[i].
func (l Layout) Permute(order ...int) (Layout, error) {
	if len(order) != l.Rank() {
		return l, fmt.Errorf("%w: %v is no permutation of the dimensions of %v", ErrRank, order, l.shape)
	}
	if _, err := Dims(order, l.Rank()); err != nil {
		return l, err
	}
	s, stride := make(Shape, len(order)), make([]int, len(order))
	for i, d := range order {
		d, _ = Dim(d, l.Rank()) // checked above
		s[i], stride[i] = l.shape[d], l.stride[d]
	}
	return build(s, stride, l.offset), nil
}

// BroadcastTo repeats the elements along dimensions of size 1, and along new ones in
// front.
func (l Layout) BroadcastTo(s Shape) (Layout, error) {
	if err := s.Check(); err != nil {
		return l, err
	}
	lead := len(s) - l.Rank()
	if lead < 0 {
		return l, fmt.Errorf("%w: %v to %v", ErrBroadcast, l.shape, s)
	}
	stride := make([]int, len(s))
	for i, n := range l.shape {
		switch m := s[lead+i]; {
		case m == n:
			stride[lead+i] = l.stride[i]
		case n != 1:
			return l, fmt.Errorf("%w: %v to %v", ErrBroadcast, l.shape, s)
		}
	}
	return build(slices.Clone(s), stride, l.offset), nil
}

// Insert adds a dimension of size 1 in front of dimension d, which may be that after
// the last.
func (l Layout) Insert(d int) (Layout, error) {
	d, err := Dim(d, l.Rank()+1)
	if err != nil {
		return l, err
	}
	return build(slices.Insert(slices.Clone(l.shape), d, 1), slices.Insert(slices.Clone(l.stride), d, 0), l.offset), nil
}

// Remove removes dimension d if its size is 1.
func (l Layout) Remove(d int) (Layout, error) {
	d, err := Dim(d, l.Rank())
	if err != nil || l.shape[d] != 1 {
		return l, err
	}
	return build(slices.Delete(slices.Clone(l.shape), d, d+1), slices.Delete(slices.Clone(l.stride), d, d+1), l.offset), nil
}

// Index is the part of dimension d at index i, without the dimension.
func (l Layout) Index(d, i int) (Layout, error) {
	d, err := Dim(d, l.Rank())
	if err != nil {
		return l, err
	}
	if l, err = l.Narrow(d, i, 1); err != nil {
		return l, err
	}
	return l.Remove(d)
}

// Unfold slides a window of some size along dimension d: the dimension counts the
// windows, step apart, and a new innermost one goes through a window.
func (l Layout) Unfold(d, size, step int) (Layout, error) {
	d, err := Dim(d, l.Rank())
	if err != nil {
		return l, err
	}
	if size < 0 || size > l.shape[d] || step < 1 {
		return l, fmt.Errorf("%w: windows of %d, %d apart, in dimension %d of %v", ErrNarrow, size, step, d, l.shape)
	}
	s, stride := append(slices.Clone(l.shape), size), append(slices.Clone(l.stride), l.stride[d])
	s[d], stride[d] = (s[d]-size)/step+1, stride[d]*min(step, l.shape[d])
	return build(s, stride, l.offset), s.Check()
}

// Diagonal is the elements whose indices in dimensions a and b differ by offset: both
// dimensions go, and a new innermost one goes along the diagonal.
func (l Layout) Diagonal(offset, a, b int) (Layout, error) {
	dims, err := Dims([]int{a, b}, l.Rank())
	if err != nil {
		return l, err
	}
	a, _ = Dim(a, l.Rank()) // checked above
	b, _ = Dim(b, l.Rank())
	row, col := max(-max(offset, -l.shape[a]), 0), max(offset, 0)
	n := max(0, min(l.shape[a]-row, l.shape[b]-col))
	at := l.offset
	if n > 0 {
		at += row*l.stride[a] + col*l.stride[b]
	}
	s := append(slices.Clone(l.shape), n)
	stride := append(slices.Clone(l.stride), l.stride[a]+l.stride[b])
	for _, d := range []int{dims[1], dims[0]} {
		s, stride = slices.Delete(s, d, d+1), slices.Delete(stride, d, d+1)
	}
	return build(s, stride, at), nil
}

// Reshape gives the same elements in the same order another shape, of which one
// dimension may be [Inferred]. It reports false if no strides do that without a copy.
func (l Layout) Reshape(s Shape) (Layout, bool, error) {
	s, err := s.Fill(l.Count())
	if err != nil {
		return l, false, err
	}
	if l.IsContiguous() {
		out := Contiguous(slices.Clone(s))
		out.offset = l.offset
		return out, true, nil
	}
	if l.Count() == 0 {
		return Contiguous(slices.Clone(s)), true, nil
	}
	stride, ok := restride(Merge(l), s)
	if !ok {
		return l, false, nil
	}
	return build(slices.Clone(s), stride, l.offset), true, nil
}

// restride cuts merged dimensions into those of a shape.
func restride(m Merged, s Shape) ([]int, bool) {
	stride := make([]int, len(s))
	k, left := 0, 1 // the merged dimension at hand, and what is left of it
	step := 0
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == 1 {
			continue
		}
		if left == 1 {
			left, step = m.Sizes[k], m.Strides[0][k]
			k++
		}
		if left%s[i] != 0 {
			return nil, false
		}
		stride[i] = step
		step *= s[i]
		left /= s[i]
	}
	return stride, true
}
