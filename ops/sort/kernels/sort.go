package kernels

import (
	"math"

	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
	rowskernels "github.com/gokiln/kiln/ops/rows/kernels"
)

// Sorting is by keys, unsigned integers in the order of what they stand for, and stable:
// equal keys stay in order. NaN has the largest key, and both zeros the same.

// Key is what elements are sorted by.
type Key interface{ ~uint32 | ~uint64 }

// KeyFloat is the key of a floating-point number of up to 32 bits.
func KeyFloat[T dsl.Float](x T) uint32 {
	v := dsl.Convert[float32](x)
	if v != v {
		return math.MaxUint32
	}
	b := math.Float32bits(v + 0) // of both zeros the same
	if b>>31 != 0 {
		return ^b
	}
	return b | 1<<31
}

// KeyDouble is the key of a float64.
func KeyDouble(x float64) uint64 {
	if x != x {
		return math.MaxUint64
	}
	b := math.Float64bits(x + 0)
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}

// KeyUint is the key of an unsigned integer.
func KeyUint[T uint8 | uint32](x T) uint32 { return uint32(x) }

// KeyByte is the key of an int8.
func KeyByte(x int8) uint32 { return uint32(int32(x) + 1<<7) }

// KeyShort is the key of an int16.
func KeyShort(x int16) uint32 { return uint32(int32(x) + 1<<15) }

// KeyInt is the key of an int32.
func KeyInt(x int32) uint32 { return uint32(x) ^ 1<<31 }

// KeyLong is the key of an int64.
func KeyLong(x int64) uint64 { return uint64(x) ^ 1<<63 }

// Ranks says where the rows are that are sorted, in the operand and in a result.
// Dimensions are numbered from the innermost.
type Ranks struct {
	Outs       dsl.ConstInt  // dimensions but that of a row
	Wide       dsl.ConstBool // indices of 31 bits are not enough for Div
	Contiguous dsl.ConstBool // neighbours in a row of the operand are contiguous
	N          int           // elements in a row of the operand
	Rows       int           // how many rows there are
	In         int           // the stride of the operand in a row
	To         int           // that of the result

	Div  [core.MaxRank]core.Divisor // the sizes of the other dimensions
	Size [core.MaxRank]int
	Step [2][core.MaxRank]int // the strides of the operand and of the result
}

// row returns where row r begins in the operand and in the result.
func (w *Ranks) row(r int) (x, out int) {
	for d := range int(w.Outs) {
		q, i := 0, r
		if d < int(w.Outs)-1 {
			if w.Wide {
				q = r / w.Size[d]
				i = r - q*w.Size[d]
			} else {
				q, i = w.Div[d].DivMod(r)
			}
		}
		r = q
		x += i * w.Step[0][d]
		out += i * w.Step[1][d]
	}
	return x, out
}

// at returns where element i of a row of the operand is.
func (w *Ranks) at(i int) int {
	if w.Contiguous {
		return i
	}
	return i * w.In
}

// Order says what of rows is sorted how. The rows of the operand and of the values are
// those of Ranks, and where the rows of the indices are is said by others.
type Order struct {
	Down    dsl.ConstBool // the largest first
	Values  dsl.ConstBool // are stored
	Indices dsl.ConstBool // are stored
	Size    dsl.ConstInt  // of a row for SortShort, a power of two
	Items   dsl.ConstInt  // elements that a block of SortShort has, of one row or several
	Take    int           // how many elements of a row are stored
}

// SortShort sorts rows that fit a block, by a bitonic network (Batcher, "Sorting
// networks and their applications", 1968) over pairs of keys and indices.
//
//kiln:kernel
func SortShort[T dsl.Number, K Key](t dsl.Thread, values []T, indices []uint32, x []T, w, wi Ranks, o Order, key func(T) K) {
	keys := dsl.SharedSlice[K](t, o.Items)
	at := dsl.SharedSlice[uint32](t, o.Items)
	size, per := int(o.Size), int(o.Items/o.Size)
	for r0 := t.BlockX() * per; r0 < w.Rows; r0 += t.GridDimX() * per {
		for e := t.ThreadX(); e < int(o.Items); e += t.BlockDimX() {
			i := e % size
			base, _ := w.row(min(r0+e/size, w.Rows-1))
			var k K
			k = ^k
			if i < w.N { // what is past the end has the largest key and index
				k = ordered(key(x[base+w.at(i)]), o)
			}
			keys[e], at[e] = k, uint32(i)
		}
		t.Sync()
		for k := 2; k <= size; k *= 2 {
			for j := k / 2; j > 0; j /= 2 {
				for p := t.ThreadX(); p < int(o.Items)/2; p += t.BlockDimX() {
					a := 2*p - p&(j-1)
					b := a + j
					after := keys[a] > keys[b] || keys[a] == keys[b] && at[a] > at[b]
					if up := a%size&k == 0; after == up {
						keys[a], keys[b] = keys[b], keys[a]
						at[a], at[b] = at[b], at[a]
					}
				}
				t.Sync()
			}
		}
		for e := t.ThreadX(); e < int(o.Items); e += t.BlockDimX() {
			if r, i := r0+e/size, e%size; i < o.Take && r < w.Rows {
				sorted(values, indices, x, w, wi, o, r, i, at[e])
			}
		}
		t.Sync() // before the next rows are read
	}
}

func ordered[K Key](k K, o Order) K {
	if o.Down {
		return ^k
	}
	return k
}

// sorted stores element i of a row that is sorted, which element from is in the operand.
func sorted[T dsl.Number](values []T, indices []uint32, x []T, w, wi Ranks, o Order, r, i int, from uint32) {
	base, to := w.row(r)
	if o.Values {
		values[to+i*w.To] = x[base+w.at(int(from))]
	}
	if o.Indices {
		_, to := wi.row(r)
		indices[to+i*wi.To] = from
	}
}

// Where blocks are one warp rows are sorted by [SortSerial], or, where there are fewer rows
// than blocks that run at the same time, by the digits of their keys, the lowest first: each
// pass counts the digits of the parts of a row, adds up where those of each part go, and moves
// them there. One lane does so, as lanes would be serialised.

const (
	digitBits = 8
	digits    = 1 << digitBits
)

// SortKeys stores the keys of rows contiguously.
//
//kiln:kernel
func SortKeys[T dsl.Number, K Key](t dsl.Thread, keys []K, x []T, w Ranks, o Order, key func(T) K) {
	for r := t.BlockY(); r < w.Rows; r += t.GridDimY() {
		base, _ := w.row(r)
		for i := t.Global(); i < w.N; i += t.GlobalSize() {
			keys[r*w.N+i] = ordered(key(x[base+w.at(i)]), o)
		}
	}
}

// SortCount counts the digits of keys from bit shift on, in each part of part keys of
// rows of n: count d of a part comes after those of smaller digits in all parts, and
// those of d in earlier parts.
//
//kiln:kernel
func SortCount[K Key](t dsl.Thread, counts []uint32, keys []K, n, part, rows, shift int) {
	count := dsl.Shared[[digits]uint32](t)
	for r := t.BlockY(); r < rows; r += t.GridDimY() {
		for d := t.Lane(); d < digits; d += t.WarpSize() {
			count[d] = 0
		}
		t.SyncWarp()
		if t.Lane() == 0 {
			first := t.BlockX() * part
			for i := first; i < min(first+part, n); i++ {
				count[digit(keys[r*n+i], shift)]++
			}
		}
		t.SyncWarp()
		for d := t.Lane(); d < digits; d += t.WarpSize() {
			counts[(r*digits+d)*t.GridDimX()+t.BlockX()] = count[d]
		}
		t.SyncWarp()
	}
}

func digit[K Key](k K, shift int) int { return int(k >> uint(shift) & (digits - 1)) }

// SortMove moves keys and indices to where their digits belong. before are the sums of
// the counts up to each one. The indices of the first pass are where the keys are.
//
//kiln:kernel
func SortMove[K Key](t dsl.Thread, toKeys []K, toAt []uint32, keys []K, at, before []uint32, n, part, rows, shift int, from dsl.ConstBool) {
	next := dsl.Shared[[digits]uint32](t)
	for r := t.BlockY(); r < rows; r += t.GridDimY() {
		for d := t.Lane(); d < digits; d += t.WarpSize() {
			sum := uint32(0)
			if i := (r*digits+d)*t.GridDimX() + t.BlockX(); i > r*digits*t.GridDimX() {
				sum = before[i-1]
			}
			next[d] = sum
		}
		t.SyncWarp()
		if t.Lane() == 0 {
			first := t.BlockX() * part
			for i := first; i < min(first+part, n); i++ {
				k, a := keys[r*n+i], uint32(i)
				if from {
					a = at[r*n+i]
				}
				d := digit(k, shift)
				to := r*n + int(next[d])
				next[d]++
				toKeys[to], toAt[to] = k, a
			}
		}
		t.SyncWarp()
	}
}

// SortStore stores the elements of rows in the order of at, which is contiguous.
//
//kiln:kernel
func SortStore[T dsl.Number](t dsl.Thread, values []T, indices []uint32, x []T, at []uint32, w, wi Ranks, o Order) {
	for r := t.BlockY(); r < w.Rows; r += t.GridDimY() {
		for i := t.Global(); i < o.Take; i += t.GlobalSize() {
			sorted(values, indices, x, w, wi, o, r, i, at[r*w.N+i])
		}
	}
}

// Quantile stores what lies frac of the way from element at of rows to the next one. The
// rows are sorted and are contiguous. One with NaN, which is last then, gives NaN.
//
//kiln:kernel
func Quantile[T dsl.Float, C dsl.Real](t dsl.Thread, out, sorted []T, w rowskernels.RowReduction, at int, frac C) {
	for r := t.Global(); r < w.Rows; r += t.GlobalSize() {
		_, to := w.Row(r, 0)
		v, next, last := dsl.Convert[C](sorted[r*w.N+at]), dsl.Convert[C](sorted[r*w.N+min(at+1, w.N-1)]), dsl.Convert[C](sorted[r*w.N+w.N-1])
		out[to] = dsl.Convert[T](quantileOf(v, next, last, frac))
	}
}

// quantileOf is what lies frac of the way from v to the next element, or the last one if
// that is NaN. It is never -0.
func quantileOf[C dsl.Real](v, next, last, frac C) C {
	if last != last {
		return last
	}
	if frac != 0 && v != next { // also infinite ones
		if d := next - v; d-d == 0 {
			v += d * frac
		} else { // from or to infinity, or too far for a difference
			v = v*(1-frac) + next*frac
		}
	}
	return v + 0
}
