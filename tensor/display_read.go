package tensor

import (
	"math"
	"slices"
	"strconv"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/runtime"
)

// number is one element to be formatted.
type number struct {
	float float64
	int   int64
	kind  numberKind
}

type numberKind uint8

const (
	whole  numberKind = iota // an integer, in int
	single                   // a float that float32 holds
	double
)

// appendShortest appends the number with as many digits as it needs.
func (x number) appendShortest(b []byte) []byte {
	bits := 64
	switch x.kind {
	case whole:
		return strconv.AppendInt(b, x.int, 10)
	case single:
		bits = 32
	}
	if !finite(x.float) {
		return appendSpecial(b, x.float)
	}
	return strconv.AppendFloat(b, x.float, 'g', -1, bits)
}

func finite(x float64) bool { return !math.IsInf(x, 0) && !math.IsNaN(x) }

func appendSpecial(b []byte, x float64) []byte {
	switch {
	case math.IsNaN(x):
		return append(b, "NaN"...)
	case x < 0:
		return append(b, "-inf"...)
	}
	return append(b, "inf"...)
}

// shown is the elements of a tensor that are printed.
type shown struct {
	shape   Shape  // of what is shown
	cut     []bool // dimensions of which only the edges are
	edge    int
	numbers []number // in row-major order
}

// shown copies the elements that are printed to the host.
func (t *Tensor) shown(o PrintOptions) (*shown, error) {
	if err := t.Err(); err != nil {
		return nil, err
	}
	s := &shown{shape: t.Shape(), cut: make([]bool, t.Rank()), edge: max(o.EdgeItems, 0)}
	if o.Threshold >= 0 && t.Count() > o.Threshold {
		for d, n := range s.shape {
			if n-s.edge > s.edge {
				s.cut[d], s.shape[d] = true, 2*s.edge
			}
		}
	}
	if s.shape.Count() == 0 {
		return s, nil
	}
	var err error
	if t.dtype.Size() == 0 {
		s.numbers, err = t.packed(s)
	} else {
		s.numbers, err = t.corners(s)
	}
	if err != nil {
		return nil, wrap("print", err)
	}
	return s, nil
}

// corners returns the elements that are shown, through a small tensor to which the
// corners of this one are copied.
func (t *Tensor) corners(s *shown) ([]number, error) {
	t = t.Detach()
	small := t
	if slices.Contains(s.cut, true) {
		var err error
		if small, err = empty(t.dev, t.dtype, s.shape); err == nil {
			err = copyCorners(small, t, s, 0)
		}
		if err != nil {
			return nil, err
		}
	}
	raw, err := small.Bytes()
	if err != nil {
		return nil, err
	}
	if small != t {
		_ = small.Free() // nobody else has it, and it has been read
	}
	size := t.dtype.Size()
	out := make([]number, 0, len(raw)/size)
	for ; len(raw) > 0; raw = raw[size:] {
		out = append(out, decode(t.dtype, raw))
	}
	return out, nil
}

// copyCorners copies what is shown of t from dimension d on; the ones before are cut.
func copyCorners(small, t *Tensor, s *shown, d int) error {
	for ; d < len(s.cut); d++ {
		if s.cut[d] {
			n := t.layout.Shape()[d]
			for _, from := range [2][2]int{{0, 0}, {s.edge, n - s.edge}} {
				if err := copyCorners(small.Narrow(d, from[0], s.edge), t.Narrow(d, from[1], s.edge), s, d+1); err != nil {
					return err
				}
			}
			return nil
		}
	}
	if bad := first("print", small, t); bad != nil {
		return bad.err
	}
	return t.dev.copyInto(small, t)
}

// packed returns the elements that are shown of a type whose elements share bytes. Such
// tensors have no gaps; runs of elements are read with the bytes that they are in.
func (t *Tensor) packed(s *shown) ([]number, error) {
	mem, err := runtime.View[byte](t.buf)
	if err != nil {
		return nil, err
	}
	bits := t.dtype.Bits()
	out := make([]number, 0, s.shape.Count())
	for len(out) < s.shape.Count() {
		at, n := s.run(t.layout.Shape(), len(out))
		from, to := at*bits/8, ((at+n)*bits+7)/8
		raw, err := mem.Slice(from, to).Host()
		if err != nil {
			return nil, err
		}
		for k := range n {
			out = append(out, unpack(t.dtype, raw, (at+k)*bits-from*8))
		}
	}
	return out, nil
}

// run returns where the tensor, of a shape, has number i of what is shown, and how many
// follow it without a gap.
func (s *shown) run(shape Shape, i int) (at, n int) {
	stride := 1
	n = 1
	for d := len(shape) - 1; d >= 0; d-- {
		x := i % s.shape[d]
		i /= s.shape[d]
		if d == len(shape)-1 {
			n = s.shape[d] - x
			if s.cut[d] && x < s.edge {
				n = s.edge - x
			}
		}
		if s.cut[d] && x >= s.edge {
			x += shape[d] - 2*s.edge
		}
		at += x * stride
		stride *= shape[d]
	}
	return at, n
}

// decode returns the element that raw begins with.
func decode(dt DType, raw []byte) number {
	if dt == F8E8M0 {
		return number{kind: single, float: powerOfTwo(raw[0])}
	}
	var word uint64
	for i := range dt.Size() {
		word |= uint64(raw[i]) << (8 * i)
	}
	x := dtype.FromBits(dt, word)
	if dt.IsInt() {
		return number{kind: whole, int: x.Int()}
	}
	n := number{kind: single, float: x.Float()}
	if dt == F64 {
		n.kind = double
	}
	return n
}

// powerOfTwo is a number of F8E8M0, which has an exponent and nothing else.
func powerOfTwo(b byte) float64 {
	if b == 0xFF {
		return math.NaN()
	}
	return math.Ldexp(1, int(b)-127)
}

// mantissas are the bits of the fractions of the types whose elements share bytes, and
// biases those of their exponents. They have neither infinities nor NaN.
var (
	mantissas = map[DType]int{F4: 1, F6E2M3: 3, F6E3M2: 2}
	biases    = map[DType]int{F4: 1, F6E2M3: 1, F6E3M2: 3}
)

// unpack returns the element that begins at a bit: the lowest bits of a byte are first.
func unpack(dt DType, raw []byte, bit int) number {
	v := uint(raw[bit/8])
	if bit/8+1 < len(raw) {
		v |= uint(raw[bit/8+1]) << 8
	}
	v = v >> (bit % 8) & (1<<dt.Bits() - 1)
	m := mantissas[dt]
	sign := v >> (dt.Bits() - 1)
	fraction, exponent := v&(1<<m-1), int(v>>m)&(1<<(dt.Bits()-1-m)-1)
	if exponent == 0 {
		exponent = 1
	} else {
		fraction |= 1 << m
	}
	x := math.Ldexp(float64(fraction), exponent-biases[dt]-m)
	if sign != 0 {
		x = math.Copysign(x, -1)
	}
	return number{kind: single, float: x}
}
