package layout

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// What can be wrong with shapes, for errors.Is.
var (
	ErrShape     = errors.New("shape mismatch")
	ErrBroadcast = errors.New("incompatible shapes for broadcasting")
	ErrDim       = errors.New("dimension out of range")
	ErrDuplicate = errors.New("duplicate dimension")
	ErrRank      = errors.New("unexpected number of dimensions")
	ErrNarrow    = errors.New("range out of bounds")
	ErrTooLarge  = errors.New("shape too large")
)

// Shape is the size of each dimension, the outermost first. An empty Shape is that
// of a single number.
type Shape []int

// Count is the number of elements.
func (s Shape) Count() int {
	n := 1
	for _, d := range s {
		n *= d
	}
	return n
}

// Check reports negative sizes, and more elements than an int counts.
func (s Shape) Check() error {
	n, empty := 1, false
	for i, d := range s {
		if d < 0 {
			return fmt.Errorf("%w: size %d of dimension %d in %v is negative", ErrShape, d, i, s)
		}
		empty = empty || d == 0
	}
	for _, d := range s {
		if !empty && n > math.MaxInt/d {
			return fmt.Errorf("%w: %v has more than %d elements", ErrTooLarge, s, math.MaxInt)
		}
		n *= d
	}
	return nil
}

// Equal reports whether both have the same sizes.
func (s Shape) Equal(t Shape) bool { return slices.Equal(s, t) }

// Strides returns the strides of elements that lie in row-major order without gaps.
func (s Shape) Strides() []int {
	strides := make([]int, len(s))
	n := 1
	for i := len(s) - 1; i >= 0; i-- {
		strides[i] = n
		n *= s[i]
	}
	return strides
}

// String is the sizes in brackets, as in "[2, 3]".
func (s Shape) String() string {
	var b strings.Builder
	b.WriteByte('[')
	for i, d := range s {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, d)
	}
	b.WriteByte(']')
	return b.String()
}

// Inferred is the size of a dimension that follows from the number of elements and the other sizes.
const Inferred = -1

// Fill returns the shape with its inferred dimension, if it has one, so that it has n elements.
func (s Shape) Fill(n int) (Shape, error) {
	inferred, rest := -1, 1
	for i, d := range s {
		switch {
		case d == Inferred && inferred >= 0:
			return nil, fmt.Errorf("%w: %v has more than one inferred dimension", ErrShape, s)
		case d == Inferred:
			inferred = i
		case d < 0:
			return nil, fmt.Errorf("%w: size %d of dimension %d in %v is negative", ErrShape, d, i, s)
		case d > 0 && rest > math.MaxInt/d:
			return nil, fmt.Errorf("%w: %v has more than %d elements", ErrTooLarge, s, math.MaxInt)
		default:
			rest *= d
		}
	}
	switch {
	case inferred < 0 && rest != n, inferred >= 0 && (rest == 0 || n%rest != 0):
		return nil, fmt.Errorf("%w: cannot reshape a tensor of %d elements to %v", ErrShape, n, s)
	case inferred < 0:
		return s, nil
	}
	s = slices.Clone(s)
	s[inferred] = n / rest
	return s, nil
}

// Broadcast returns the shape that both broadcast to: aligned at the innermost
// dimension, sizes are equal or one of them is 1.
func Broadcast(a, b Shape) (Shape, error) {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := slices.Clone(a)
	lead := len(a) - len(b)
	for i, n := range b {
		switch m := a[lead+i]; {
		case m == n, n == 1:
		case m == 1:
			out[lead+i] = n
		default:
			return nil, fmt.Errorf("%w: %v and %v, %d and %d", ErrBroadcast, a, b, m, n)
		}
	}
	return out, nil
}

// Dim resolves a dimension of a tensor of a rank: 0 is the outermost, -1 the
// innermost.
func Dim(d, rank int) (int, error) {
	if d < -rank || d >= rank {
		if rank == 0 {
			return 0, fmt.Errorf("%w: %d, a single number has none", ErrDim, d)
		}
		return 0, fmt.Errorf("%w: %d, want %d to %d", ErrDim, d, -rank, rank-1)
	}
	if d < 0 {
		d += rank
	}
	return d, nil
}

// Dims resolves several dimensions and sorts them; each may be there once.
func Dims(dims []int, rank int) ([]int, error) {
	out := make([]int, len(dims))
	for i, d := range dims {
		var err error
		if out[i], err = Dim(d, rank); err != nil {
			return nil, err
		}
	}
	slices.Sort(out)
	for i := range out[min(1, len(out)):] {
		if out[i] == out[i+1] {
			return nil, fmt.Errorf("%w: %d in %v", ErrDuplicate, out[i], dims)
		}
	}
	return out, nil
}
