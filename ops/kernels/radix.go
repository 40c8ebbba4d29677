package kernels

import (
	"math"
	"math/bits"

	"github.com/gokiln/kiln/dsl"
)

// Devices whose units hold many threads sort by digits in tiles: a block has one, each of
// its threads several keys of it, and puts them in order in shared memory. Rows that are
// no longer than a tile are sorted there altogether; the tiles of longer rows move to where
// the digits belong, in runs of neighbours.

// Digits says how a block sorts.
type Digits struct {
	Each    dsl.ConstInt  // keys of a thread
	Room    dsl.ConstInt  // keys of a block
	Blocks  dsl.ConstInt  // that a unit has room for at once
	Next    dsl.ConstInt  // counters: digits of all warps
	Masks   dsl.ConstInt  // as many, of the lanes that have a digit, or 1 if warps ask all lanes
	Bits    dsl.ConstInt  // of a digit; a block has a thread for each digit
	RowBits dsl.ConstInt  // of the number of a row in a tile, 0 if it has one row
	Wide    dsl.ConstBool // warps of more than 32 threads
	X       dsl.ConstBool // keys are those of the operand, not sorted yet
	At      dsl.ConstBool // where the keys were is known
	Last    dsl.ConstBool // the result is stored
	Bare    dsl.ConstBool // equal keys are those of equal bits

	From, End int // the bits that differ, or a digit
	Parts     int // tiles of a row
	Per       int // rows of a tile
	N         int // keys of a row
	Rows      int
	Div       Divisor // by N
}

// mostEach bounds the keys of a thread.
const mostEach = 16

// SortDigits counts the digits of each tile of rows, as [SortCount] does of parts. Each
// digit has several counters, as neighbours often have the same digit.
//
//kiln:kernel
//kiln:const s.Each=2 s.Room=64 s.Blocks=0 s.Bits=4,8
func SortDigits[T dsl.Number, K Key](t dsl.Thread, counts []uint32, x []T, keys []K, w Ranks, o Order, s Digits, key func(T) K) {
	const copies = 4
	count := dsl.SharedSlice[uint32](t, copies<<s.Bits)
	for r := t.BlockY(); r < s.Rows; r += t.GridDimY() {
		for d := t.ThreadX(); d < copies<<int(s.Bits); d += t.BlockDimX() {
			count[d] = 0
		}
		t.Sync()
		first := t.BlockX() * int(s.Room)
		base := 0
		if s.X {
			base, _ = w.row(r)
		}
		var k [mostEach]K
		own := first + item(t, &s)
		if first+int(s.Room) <= s.N {
			tileKeys(t, &k, x, keys, &w, o, &s, base, r, own, key)
		} else {
			for e := range int(s.Each) {
				k[e] = keyOf(x, keys, &w, o, &s, base, r, min(own+e*t.WarpSize(), s.N-1), key)
			}
		}
		for e := range int(s.Each) {
			if own+e*t.WarpSize() < s.N {
				dsl.AtomicAdd(&count[digitOf(k[e], s.From, s.Bits)*copies+t.ThreadX()%copies], 1)
			}
		}
		t.Sync()
		if d := t.ThreadX(); d < 1<<int(s.Bits) {
			sum := uint32(0)
			for c := range copies {
				sum += count[d*copies+(c+d)%copies] // threads begin in different banks
			}
			counts[(r<<int(s.Bits)+d)*s.Parts+t.BlockX()] = sum
		}
		t.Sync()
	}
}

// tileKeys loads what a thread has of row r from element i on, at distances of a warp.
func tileKeys[T dsl.Number, K Key](t dsl.Thread, k *[mostEach]K, x []T, keys []K, w *Ranks, o Order, s *Digits, base, r, i int, key func(T) K) {
	switch {
	case bool(s.X) && bool(w.Unit):
		xs := x[base+i:]
		for e := range int(s.Each) {
			k[e] = ordered(key(xs[e*t.WarpSize()]), o)
		}
	case bool(s.X):
		for e := range int(s.Each) {
			k[e] = ordered(key(x[base+w.at(i+e*t.WarpSize())]), o)
		}
	default:
		ks := keys[r*s.N+i:]
		for e := range int(s.Each) {
			k[e] = ks[e*t.WarpSize()]
		}
	}
}

// keyOf returns key i of row r, which the operand has from base on.
func keyOf[T dsl.Number, K Key](x []T, keys []K, w *Ranks, o Order, s *Digits, base, r, i int, key func(T) K) K {
	if s.X {
		return ordered(key(x[base+w.at(i)]), o)
	}
	return keys[r*s.N+i]
}

// SortTiles moves keys and where they were to where their digits belong, or stores the
// result. before are the sums of the counts up to each one.
//
//kiln:kernel
//kiln:const s.Each=2 s.Room=64 s.Blocks=0 s.Masks=1,32 s.Next=32 s.Bits=4 s.X=true,false s.Last=true,false
func SortTiles[T dsl.Number, K Key](t dsl.Thread, values []T, indices []uint32, toKeys []K, toAt []uint32, x []T, keys []K, at, before []uint32, w, wi Ranks, o Order, s Digits, key func(T) K, back func(K) T) {
	dsl.LaunchBounds(t, s.Room/s.Each, s.Blocks)
	room := dsl.SharedSlice[K](t, s.Room)
	from := dsl.SharedSlice[uint32](t, s.Room)
	next := dsl.SharedSlice[uint16](t, s.Next)
	masks := dsl.SharedSlice[uint32](t, s.Masks)
	start := dsl.SharedSlice[uint32](t, 1<<s.Bits)
	digits := 1 << int(s.Bits)
	for r := t.BlockY(); r < s.Rows; r += t.GridDimY() {
		first := t.BlockX() * int(s.Room)
		n := min(int(s.Room), s.N-first)
		base := 0
		if s.X || s.Last {
			base, _ = w.row(r)
		}
		var k [mostEach]K
		var a [mostEach]uint32
		// What lies in a whole tile has one address for all that a thread has of it.
		own := item(t, &s)
		if n == int(s.Room) {
			tileKeys(t, &k, x, keys, &w, o, &s, base, r, first+own, key)
			for e := range int(s.Each) {
				a[e] = uint32(first + own + e*t.WarpSize())
			}
			if s.At {
				ats := at[r*s.N+first+own:]
				for e := range int(s.Each) {
					a[e] = ats[e*t.WarpSize()]
				}
			}
		} else {
			for e := range int(s.Each) {
				i := own + e*t.WarpSize()
				k[e] = keyOf(x, keys, &w, o, &s, base, r, first+min(i, n-1), key)
				a[e] = uint32(first + i)
				if s.At {
					a[e] = at[r*s.N+first+min(i, n-1)]
				}
				if i >= n { // behind all
					k[e] = ^zeroKey[K]()
				}
			}
		}
		pos, begin := placeTile(t, &s, next, masks, s.Bits, func(e int) int { return digitOf(k[e], s.From, s.Bits) })
		if d := t.ThreadX(); d < digits {
			sum := uint32(0)
			if i := (r*digits+d)*s.Parts + t.BlockX(); i > r*digits*s.Parts {
				sum = before[i-1]
			}
			start[d] = sum - begin
		}
		for e := range int(s.Each) {
			room[pos[e]], from[pos[e]] = k[e], a[e]
		}
		t.Sync()
		if whole := n == int(s.Room); whole && !bool(s.Last) {
			rk, ra, i := toKeys[r*s.N:], toAt[r*s.N:], t.ThreadX()
			for e := range int(s.Each) {
				k := room[i+e*int(s.Room/s.Each)]
				to := int(start[digitOf(k, s.From, s.Bits)] + uint32(i+e*int(s.Room/s.Each)))
				rk[to], ra[to] = k, from[i+e*int(s.Room/s.Each)]
			}
		} else {
			for e := range int(s.Each) {
				i := e*t.BlockDimX() + t.ThreadX()
				if i < n {
					k := room[i]
					to := int(start[digitOf(k, s.From, s.Bits)] + uint32(i))
					if !s.Last {
						toKeys[r*s.N+to], toAt[r*s.N+to] = k, from[i]
					} else if to < o.Take {
						storeSorted(values, indices, x, &w, &wi, o, &s, r, base, to, from[i], k, key, back)
					}
				}
			}
		}
		t.Sync()
	}
}

// SortRows sorts rows of which a tile has one or several.
//
//kiln:kernel
//kiln:const o.Down=false o.Values=true s.Each=2 s.Room=64 s.Blocks=0 s.Masks=1,32 s.Next=32 s.Bits=4 s.RowBits=0,2 s.Bare=true,false
func SortRows[T dsl.Number, K Key](t dsl.Thread, values []T, indices []uint32, x []T, w, wi Ranks, o Order, s Digits, key func(T) K, back func(K) T) {
	dsl.LaunchBounds(t, s.Room/s.Each, s.Blocks)
	room := dsl.SharedSlice[K](t, s.Room)
	from := dsl.SharedSlice[uint32](t, s.Room)
	next := dsl.SharedSlice[uint16](t, s.Next)
	masks := dsl.SharedSlice[uint32](t, s.Masks)
	for r0 := t.BlockX() * s.Per; r0 < w.Rows; r0 += t.GridDimX() * s.Per {
		var k [mostEach]K
		var a [mostEach]uint32
		for e := range int(s.Each) {
			i := item(t, &s) + e*t.WarpSize()
			row, at := 0, i
			if s.RowBits > 0 {
				row, at = s.Div.split(i)
			}
			base, _ := w.row(min(r0+row, w.Rows-1))
			k[e], a[e] = ordered(key(x[base+w.at(min(at, s.N-1))]), o), uint32(i)
			if i >= s.Per*s.N { // behind all
				k[e] = ^zeroKey[K]()
			}
		}
		for shift := s.From; shift < s.End; shift += int(s.Bits) {
			pos, _ := placeTile(t, &s, next, masks, s.Bits, func(e int) int { return digitOf(k[e], shift, s.Bits) })
			for e := range int(s.Each) {
				room[pos[e]], from[pos[e]] = k[e], a[e]
			}
			t.Sync()
			if s.RowBits > 0 || shift+int(s.Bits) < s.End {
				ks, as := room[item(t, &s):], from[item(t, &s):]
				for e := range int(s.Each) {
					k[e], a[e] = ks[e*t.WarpSize()], as[e*t.WarpSize()]
				}
			}
		}
		if s.RowBits > 0 {
			pos, _ := placeTile(t, &s, next, masks, s.RowBits, func(e int) int {
				row, _ := s.Div.split(int(a[e]))
				return min(row, s.Per)
			})
			for e := range int(s.Each) {
				room[pos[e]], from[pos[e]] = k[e], a[e]
			}
			t.Sync()
		}
		for e := range int(s.Each) {
			i := e*t.BlockDimX() + t.ThreadX()
			row, to := 0, i
			if s.RowBits > 0 {
				row, to = s.Div.split(i)
			}
			if i < s.Per*s.N && to < o.Take && r0+row < w.Rows {
				base, _ := w.row(r0 + row)
				storeSorted(values, indices, x, &w, &wi, o, &s, r0+row, base, to, from[i]-uint32(row*s.N), room[i], key, back)
			}
		}
		t.Sync() // before the next rows are moved
	}
}

// item returns which key of a tile is the first of a thread; the others come at distances
// of a warp.
func item(t dsl.Thread, s *Digits) int {
	return t.Warp()*t.WarpSize()*int(s.Each) + t.Lane()
}

func digitOf[K Key](k K, shift int, n dsl.ConstInt) int {
	return int(uint32(k>>uint(shift)) & (1<<uint(n) - 1))
}

func zeroKey[K Key]() (k K) { return k }

// placeTile returns where the keys of a thread belong in the tile by their digits, of so
// many bits, and for each thread how many keys have smaller digits than its number.
func placeTile(t dsl.Thread, s *Digits, next []uint16, masks []uint32, n dsl.ConstInt, digit func(e int) int) (pos [mostEach]int, begin uint32) {
	digits, warps := 1<<uint(n), t.BlockDimX()/t.WarpSize()
	for i := t.ThreadX(); i < warps*digits; i += t.BlockDimX() {
		next[i] = 0
		if s.Masks > 1 {
			masks[i] = 0
		}
	}
	t.Sync()
	mine := next[t.Warp()*digits:]
	for e := range int(s.Each) {
		d := digit(e)
		var ahead, same int
		alike := false // all lanes, whose atomic operations would wait for each other
		switch {
		case s.Masks > 1:
			lanes := masks[t.Warp()*digits:]
			alike = dsl.All(t, d == dsl.Shuffle(t, d, 0))
			if !alike {
				dsl.AtomicOr(&lanes[d], 1<<uint(t.Lane()))
			}
			t.SyncWarp()
			all := uint32(^uint64(0) >> uint(64-t.WarpSize()))
			if !alike {
				all = lanes[d]
			}
			ahead, same = bits.OnesCount32(all&(1<<uint(t.Lane())-1)), bits.OnesCount32(all)
		case bool(s.Wide):
			all := peersOf[uint64](t, d, n)
			ahead, same = bits.OnesCount64(all&(1<<uint(t.Lane())-1)), bits.OnesCount64(all)
		default:
			all := peersOf[uint32](t, d, n)
			ahead, same = bits.OnesCount32(all&(1<<uint(t.Lane())-1)), bits.OnesCount32(all)
		}
		before := int(mine[d])
		pos[e] = before + ahead
		t.SyncWarp()
		if ahead == 0 { // the first of them
			mine[d] = uint16(before + same)
			if s.Masks > 1 && !alike {
				masks[t.Warp()*digits+d] = 0
			}
		}
		t.SyncWarp()
	}
	t.Sync()
	sum := uint32(0)
	if t.ThreadX() < digits {
		for k := range warps {
			sum += uint32(next[k*digits+t.ThreadX()])
		}
	}
	begin = dsl.BlockScanExclusive(t, sum)
	if t.ThreadX() < digits {
		sum = begin
		for k := range warps {
			c := next[k*digits+t.ThreadX()]
			next[k*digits+t.ThreadX()] = uint16(sum)
			sum += uint32(c)
		}
	}
	t.Sync()
	for e := range int(s.Each) {
		pos[e] += int(mine[digit(e)])
	}
	return pos, begin
}

// peersOf returns the lanes of a warp that have the same n low bits.
func peersOf[M uint32 | uint64](t dsl.Thread, d int, n dsl.ConstInt) M {
	same := M(^uint64(0) >> uint(64-t.WarpSize()))
	for b := range int(n) {
		set := d>>uint(b)&1 != 0
		with := M(dsl.Ballot(t, set))
		if !set {
			with = ^with
		}
		same &= with
	}
	return same
}

// storeSorted stores element to of a row that is sorted, which element from is in the operand.
func storeSorted[T dsl.Number, K Key](values []T, indices []uint32, x []T, w, wi *Ranks, o Order, s *Digits, r, base, to int, from uint32, k K, key func(T) K, back func(K) T) {
	if o.Values {
		_, out := w.row(r)
		k = ordered(k, o)
		var zero T
		var v T
		if !bool(s.Bare) && (k == ^zeroKey[K]() || k == key(zero)) { // not all of these have the same bits
			v = x[base+w.at(int(from))]
		} else {
			v = back(k)
		}
		values[out+to*w.To] = v
	}
	if o.Indices {
		_, out := wi.row(r)
		indices[out+to*wi.To] = from
	}
}

// The numbers that keys stand for: BackFloat is the inverse of [KeyFloat] but for NaN and
// -0, and so on.

// SameKey is the key of a key, for keys that stand for nothing else.
func SameKey[K Key](k K) K { return k }

// BackFloat is the floating-point number of a key.
func BackFloat[T dsl.Float](k uint32) T {
	if k>>31 != 0 {
		return dsl.Convert[T](math.Float32frombits(k &^ (1 << 31)))
	}
	return dsl.Convert[T](math.Float32frombits(^k))
}

// BackDouble is the float64 of a key.
func BackDouble(k uint64) float64 {
	if k>>63 != 0 {
		return math.Float64frombits(k &^ (1 << 63))
	}
	return math.Float64frombits(^k)
}

// BackUint is the unsigned integer of a key.
func BackUint[T uint8 | uint32](k uint32) T { return T(k) }

// BackShort is the int16 of a key.
func BackShort(k uint32) int16 { return int16(int32(k) - 1<<15) }

// BackInt is the int32 of a key.
func BackInt(k uint32) int32 { return int32(k ^ 1<<31) }

// BackLong is the int64 of a key.
func BackLong(k uint64) int64 { return int64(k ^ 1<<63) }
