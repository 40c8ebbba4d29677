package matmultest

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/opstest"
	"github.com/gokiln/kiln/runtime"
)

// period is after how many elements numbers of operands repeat: a prime, so that no stride has the
// same number again and again.
const period = 65521

// table is numbers of a type, again as bytes.
type table struct {
	floats []float64
	ints   []int64
	raw    []byte
}

func newTable(b *opstest.Bench, d dtype.DType, spread int) *table {
	t := &table{raw: make([]byte, 0, period*d.Size())}
	for range period {
		x := randomNumber(b, d, spread)
		t.raw = x.Append(t.raw)
		if d.IsInt() {
			t.ints = append(t.ints, x.Int())
		} else {
			t.floats = append(t.floats, x.Float())
		}
	}
	return t
}

// randomNumber draws a number that is zero or normal, of a magnitude up to 4; integers are any.
func randomNumber(b *opstest.Bench, d dtype.DType, spread int) dtype.Scalar {
	if d.IsInt() {
		return b.Number(d)
	}
	if b.Rand.IntN(16) == 0 {
		return dtype.Zero(d)
	}
	x := dtype.FromFloat(d, math.Ldexp(b.Rand.Float64()*2+2, -b.Rand.IntN(2*spread+1)))
	if b.Rand.IntN(2) == 0 {
		x = dtype.FromFloat(d, -x.Float())
	}
	return x
}

// arena is memory for operands of several products: poison, in which the operands lie. An element
// of an operand is that of the table at its place in memory, counted from where the operand begins.
type arena struct {
	dtype  dtype.DType
	dev    *runtime.Device
	table  *table
	poison []byte // of an element
	unique bool   // no result is poison
	length int    // in elements
	list   []*operandAt
	host   []byte
	mem    runtime.Slice[byte]
}

// operandAt is an operand in an arena.
type operandAt struct {
	at    layout.Layout
	start int  // in the table, of the element at the offset
	given bool // it is no result
}

func newArena(t *testing.T, b *opstest.Bench, d dtype.DType, spread int) *arena {
	x, unique := opstest.Poison(d)
	a := &arena{dtype: d, dev: b.Device, table: newTable(b, d, spread), poison: x.Append(nil), unique: unique}
	t.Cleanup(func() {
		_ = a.mem.Free()
		*a = arena{} // a test keeps its functions, and by them all of this, until the ones beside it end
	})
	return a
}

// clear makes the arena empty.
func (a *arena) clear() { a.length, a.list = 0, nil }

// chunk is how many elements aligned operands and rows begin at multiples of: enough of any type
// for a bulk copy.
const chunk = 16

// place finds room for an operand.
func (a *arena) place(t *testing.T, r *rand.Rand, s layout.Shape, o order, given bool) *operandAt {
	strides := make([]int, len(s))
	dims := make([]int, len(s)) // from the innermost one
	for i := range dims {
		dims[i] = len(s) - 1 - i
	}
	if o.Turned && len(s) > 1 {
		dims[0], dims[1] = dims[1], dims[0]
	}
	step := o.Step
	for i, d := range dims {
		strides[d] = step
		step *= s[d]
		if i == 0 && o.Aligned {
			step = ops.RoundUp(step, chunk)
		}
		if i < 2 && o.Gap > 0 {
			step += map[bool]int{true: o.Gap / 4 * chunk, false: r.IntN(o.Gap + 1)}[o.Aligned]
		}
	}
	if o.Repeated {
		strides[dims[len(dims)-1]] = 0
	}
	begin := ops.RoundUp(a.length+opstest.Guard, chunk)
	if !o.Aligned {
		begin += r.IntN(chunk)
	}
	at, err := layout.New(s, strides, begin)
	require.NoError(t, err)
	p := &operandAt{at: at, start: r.IntN(period), given: given}
	a.length = begin + at.Span() + opstest.Guard
	a.list = append(a.list, p)
	return p
}

// upload puts the operands on the device.
func (a *arena) upload(t *testing.T) {
	size := a.dtype.Size()
	a.host = slices.Grow(a.host[:0], a.length*size)[:a.length*size]
	for n := copy(a.host, a.poison); n < len(a.host); n *= 2 {
		copy(a.host[n:], a.host[:n])
	}
	for _, p := range a.list {
		if p.given {
			a.fill(p)
		}
	}
	if a.mem.Len() < len(a.host) {
		require.NoError(t, a.mem.Free())
		mem, err := runtime.Alloc[byte](a.dev, len(a.host)*5/4)
		require.NoError(t, err)
		a.mem = mem
	}
	require.NoError(t, a.mem.Slice(0, len(a.host)).CopyFrom(a.host))
}

// fill stores an operand's elements.
func (a *arena) fill(p *operandAt) {
	size, begin := a.dtype.Size(), p.at.Offset()
	length, starts := p.at.Blocks()
	for at := range starts {
		for n := 0; n < length; { // up to where numbers repeat
			i := (p.start + at + n - begin) % period
			m := min(length-n, period-i)
			copy(a.host[(at+n)*size:(at+n+m)*size], a.table.raw[i*size:])
			n += m
		}
	}
}

// download returns what the device has now.
func (a *arena) download(t *testing.T) []byte {
	got := make([]byte, len(a.host))
	require.NoError(t, a.mem.Slice(0, len(got)).CopyTo(got))
	return got
}

// written returns an error if an element of a result is still poison.
func (a *arena) written(p *operandAt, got []byte) error {
	if !a.unique {
		return nil
	}
	size := a.dtype.Size()
	for at := range p.at.Offsets() {
		if bytes.Equal(got[at*size:(at+1)*size], a.poison) {
			return fmt.Errorf("the element at %d of the result was not written", at-p.at.Offset())
		}
	}
	return nil
}

// unchanged returns an error if memory outside of the results of products is not what it was.
func (a *arena) unchanged(got []byte, list []*drawn) error {
	size := a.dtype.Size()
	for _, p := range list {
		length, starts := p.operands[ofOut].at.Blocks()
		for at := range starts {
			copy(got[at*size:], a.host[at*size:(at+length)*size])
		}
	}
	if bytes.Equal(got, a.host) {
		return nil
	}
	first, n := -1, 0
	for i := range a.length {
		if is, was := got[i*size:(i+1)*size], a.host[i*size:(i+1)*size]; !bytes.Equal(is, was) {
			if n++; first < 0 {
				first = i
			}
		}
	}
	err := fmt.Errorf("%d elements outside of results were written: %d is %#x, was %#x", n, first, a.element(got, first).Bits(), a.element(a.host, first).Bits())
	for _, p := range list {
		if out := p.operands[ofOut].at; first >= out.Offset()-opstest.Guard && first < out.Offset()+out.Span()+opstest.Guard {
			err = fmt.Errorf("%w, %d behind where the result of %v begins", err, first-out.Offset(), p)
		}
	}
	return err
}

// view is an operand as operations take it, none of no type.
func (a *arena) view(p *operandAt) (v ops.View) {
	if p == nil {
		return v
	}
	return ops.View{Buf: a.mem.Buffer(), DType: a.dtype, Layout: p.at}
}

// element is the one at a place in downloaded memory.
func (a *arena) element(raw []byte, at int) dtype.Scalar {
	var bits uint64
	size := a.dtype.Size()
	for k := range size {
		bits |= uint64(raw[at*size+k]) << (8 * k)
	}
	return dtype.FromBits(a.dtype, bits)
}

// scalar is the element of an operand that belongs to an index of the result, zero of none.
func (a *arena) scalar(p *operandAt, at []int) dtype.Scalar {
	if p == nil {
		return dtype.Zero(a.dtype)
	}
	return a.element(a.host, p.offset(at))
}

// offset is where the element is that is broadcast to an index.
func (p *operandAt) offset(at []int) int {
	s, strides := p.at.Shape(), p.at.Strides()
	at = at[len(at)-len(s):]
	n := p.at.Offset()
	for d := range s {
		if s[d] > 1 {
			n += at[d] * strides[d]
		}
	}
	return n
}

// cursor is places in a table, some steps apart.
type cursor struct{ at, step int }

// next moves a cursor on.
func (c *cursor) next() {
	if c.at += c.step; c.at >= period {
		c.at -= period
	}
}

// along is where elements are from an index on, along a dimension counted from the last.
func (p *operandAt) along(at []int, last int) cursor {
	d := p.at.Rank() - last
	step := p.at.Strides()[d]
	if p.at.Shape()[d] == 1 {
		step = 0
	}
	return cursor{(p.start + p.offset(at) - p.at.Offset()) % period, step % period}
}

// dot adds n products of numbers of a table, and their magnitudes.
func dot(table []float64, x, y cursor, n int) (sum, size float64) {
	for range n {
		p := table[x.at] * table[y.at]
		sum, size = sum+p, size+math.Abs(p)
		x.next()
		y.next()
	}
	return sum, size
}

// dotExact is dot without the rounding errors of float64, but of the last place (Ogita, Rump and
// Oishi, "Accurate sum and dot product", 2005).
func dotExact(table []float64, x, y cursor, n int) float64 {
	sum, less := 0.0, 0.0
	for range n {
		a, b := table[x.at], table[y.at]
		p := a * b
		e := math.FMA(a, b, -p)
		s := sum + p
		z := s - sum
		less += (sum - (s - z)) + (p - z) + e
		sum = s
		x.next()
		y.next()
	}
	return sum + less
}

// dotInts adds n products of integers of a table.
func dotInts(table []int64, x, y cursor, n int) (sum int64) {
	for range n {
		sum += table[x.at] * table[y.at]
		x.next()
		y.next()
	}
	return sum
}
