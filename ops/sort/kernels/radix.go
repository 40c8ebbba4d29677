package kernels

import (
	"math"
	"math/bits"

	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
)

// Devices with many resident threads sort by digits in tiles: a block has one, each of
// its threads several keys of it, and puts them in order in shared memory. Rows that are
// no longer than a tile are sorted there altogether; the tiles of longer rows move to where
// the digits belong, in runs of neighbours.

// Digits says how a block sorts.
type Digits struct {
	Each      dsl.ConstInt  // keys of a thread
	TileItems dsl.ConstInt  // keys of a block
	Blocks    dsl.ConstInt  // that are resident on a multiprocessor at once
	Next      dsl.ConstInt  // counters: digits of all warps
	Bits      dsl.ConstInt  // of a digit; a block has a thread for each digit
	RowBits   dsl.ConstInt  // of the number of a row in a tile, 0 if it has one row
	Wide      dsl.ConstBool // warps of more than 32 threads
	X         dsl.ConstBool // keys are those of the operand, not sorted yet
	At        dsl.ConstBool // where the keys were is known
	Last      dsl.ConstBool // the result is stored
	Bare      dsl.ConstBool // equal keys are those of equal bits

	From, End int // the bits that differ, or a digit
	Parts     int // tiles of a row
	Per       int // rows of a tile
	N         int // keys of a row
	Rows      int
	Div       core.Divisor // by N
	Counts    int          // where sweeps have the words that count digits, and their words for tiles
	Look      int
}

// mostEach bounds the keys of a thread.
const mostEach = 20

// SortDigits counts the digits of each tile of rows, as [SortCount] does of parts. Each
// digit has several counters, as neighbours often have the same digit.
//
//kiln:kernel
//kiln:const s.Each=2 s.TileItems=64 s.Blocks=0 s.Bits=4,8
func SortDigits[T dsl.Number, K Key](t dsl.Thread, counts []uint32, x []T, keys []K, w Ranks, o Order, s Digits, key func(T) K) {
	const copies = 4
	count := dsl.SharedSlice[uint32](t, copies<<s.Bits)
	for r := t.BlockY(); r < s.Rows; r += t.GridDimY() {
		for d := t.ThreadX(); d < copies<<int(s.Bits); d += t.BlockDimX() {
			count[d] = 0
		}
		t.Sync()
		first := t.BlockX() * int(s.TileItems)
		base := 0
		if s.X {
			base, _ = w.row(r)
		}
		var k [mostEach]K
		own := first + item(t, &s)
		if first+int(s.TileItems) <= s.N {
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
	case bool(s.X) && bool(w.Contiguous):
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
//kiln:const s.Each=2 s.TileItems=64 s.Blocks=0 s.Next=32 s.Bits=4 s.X=true,false s.Last=true,false
func SortTiles[T dsl.Number, K Key](t dsl.Thread, values []T, indices []uint32, toKeys []K, toAt []uint32, x []T, keys []K, at, before []uint32, w, wi Ranks, o Order, s Digits, key func(T) K, back func(K) T) {
	dsl.LaunchBounds(t, s.TileItems/s.Each, s.Blocks)
	staged := dsl.SharedSlice[K](t, s.TileItems)
	from := dsl.SharedSlice[uint32](t, s.TileItems)
	next := dsl.SharedSlice[uint16](t, s.Next)
	start := dsl.SharedSlice[uint32](t, 1<<s.Bits)
	digits := 1 << int(s.Bits)
	for r := t.BlockY(); r < s.Rows; r += t.GridDimY() {
		p := tileOf(&w, &s, r, t.BlockX())
		var k [mostEach]K
		var a [mostEach]uint32
		loadKeys(t, p, &k, x, keys, &w, o, &s, key)
		loadIndices(t, p, &a, at, &s)
		pos, begin, _ := rankTile(t, &s, next, s.Bits, func(e int) int { return digitOf(k[e], s.From, s.Bits) })
		if d := t.ThreadX(); d < digits {
			sum := uint32(0)
			if i := (r*digits+d)*s.Parts + t.BlockX(); i > r*digits*s.Parts {
				sum = before[i-1]
			}
			start[d] = sum - begin
		}
		for e := range int(s.Each) {
			staged[pos[e]], from[pos[e]] = k[e], a[e]
		}
		t.Sync()
		scatterTile(t, p, values, indices, toKeys, toAt, x, staged, from, start, &w, &wi, o, &s, key, back)
		t.Sync()
	}
}

// tilePart is a tile of row r, of n keys from first on; the row begins at base in the operand.
type tilePart struct{ r, first, n, base int }

func tileOf(w *Ranks, s *Digits, r, i int) (p tilePart) {
	p = tilePart{r: r, first: i * int(s.TileItems)}
	p.n = min(int(s.TileItems), s.N-p.first)
	if s.X || s.Last {
		p.base, _ = w.row(r)
	}
	return p
}

// loadKeys loads the keys that a thread has of a tile; those behind its end are the largest.
func loadKeys[T dsl.Number, K Key](t dsl.Thread, p tilePart, k *[mostEach]K, x []T, keys []K, w *Ranks, o Order, s *Digits, key func(T) K) {
	own := item(t, s)
	if p.n == int(s.TileItems) {
		tileKeys(t, k, x, keys, w, o, s, p.base, p.r, p.first+own, key)
		return
	}
	for e := range int(s.Each) {
		i := own + e*t.WarpSize()
		k[e] = keyOf(x, keys, w, o, s, p.base, p.r, p.first+min(i, p.n-1), key)
		if i >= p.n {
			k[e] = ^zeroKey[K]()
		}
	}
}

// loadIndices loads where the keys were that a thread has of a tile.
func loadIndices(t dsl.Thread, p tilePart, a *[mostEach]uint32, at []uint32, s *Digits) {
	own := item(t, s)
	switch {
	case !bool(s.At):
		for e := range int(s.Each) {
			a[e] = uint32(p.first + own + e*t.WarpSize())
		}
	case p.n == int(s.TileItems):
		ats := at[p.r*s.N+p.first+own:]
		for e := range int(s.Each) {
			a[e] = ats[e*t.WarpSize()]
		}
	default:
		for e := range int(s.Each) {
			a[e] = at[p.r*s.N+p.first+min(own+e*t.WarpSize(), p.n-1)]
		}
	}
}

// scatterTile stores a tile that is in order: a key of digit d goes start[d] behind its
// index in the tile.
func scatterTile[T dsl.Number, K Key](t dsl.Thread, p tilePart, values []T, indices []uint32, toKeys []K, toAt []uint32, x []T, staged []K, from, start []uint32, w, wi *Ranks, o Order, s *Digits, key func(T) K, back func(K) T) {
	if whole := p.n == int(s.TileItems); whole && !bool(s.Last) {
		rk, ra, i := toKeys[p.r*s.N:], toAt[p.r*s.N:], t.ThreadX()
		for e := range int(s.Each) {
			k := staged[i+e*int(s.TileItems/s.Each)]
			to := int(start[digitOf(k, s.From, s.Bits)] + uint32(i+e*int(s.TileItems/s.Each)))
			rk[to], ra[to] = k, from[i+e*int(s.TileItems/s.Each)]
		}
		return
	}
	for e := range int(s.Each) {
		i := e*t.BlockDimX() + t.ThreadX()
		if i < p.n {
			k := staged[i]
			to := int(start[digitOf(k, s.From, s.Bits)] + uint32(i))
			if !s.Last {
				toKeys[p.r*s.N+to], toAt[p.r*s.N+to] = k, from[i]
			} else if to < o.Take {
				storeSorted(values, indices, x, w, wi, o, s, p.r, p.base, to, from[i], k, key, back)
			}
		}
	}
}

// SortRows sorts rows of which a tile has one or several.
//
//kiln:kernel
//kiln:const o.Down=false o.Values=true s.Each=2 s.TileItems=64 s.Blocks=0 s.Next=32 s.Bits=4 s.RowBits=0,2 s.Bare=true,false
func SortRows[T dsl.Number, K Key](t dsl.Thread, values []T, indices []uint32, x []T, w, wi Ranks, o Order, s Digits, key func(T) K, back func(K) T) {
	dsl.LaunchBounds(t, s.TileItems/s.Each, s.Blocks)
	staged := dsl.SharedSlice[K](t, s.TileItems)
	from := dsl.SharedSlice[uint32](t, s.TileItems)
	next := dsl.SharedSlice[uint16](t, s.Next)
	for r0 := t.BlockX() * s.Per; r0 < w.Rows; r0 += t.GridDimX() * s.Per {
		var k [mostEach]K
		var a [mostEach]uint32
		for e := range int(s.Each) {
			i := item(t, &s) + e*t.WarpSize()
			row, at := 0, i
			if s.RowBits > 0 {
				row, at = s.Div.DivMod(i)
			}
			base, _ := w.row(min(r0+row, w.Rows-1))
			k[e], a[e] = ordered(key(x[base+w.at(min(at, s.N-1))]), o), uint32(i)
			if i >= s.Per*s.N { // behind all
				k[e] = ^zeroKey[K]()
			}
		}
		for shift := s.From; shift < s.End; shift += int(s.Bits) {
			pos, _, _ := rankTile(t, &s, next, s.Bits, func(e int) int { return digitOf(k[e], shift, s.Bits) })
			for e := range int(s.Each) {
				staged[pos[e]], from[pos[e]] = k[e], a[e]
			}
			t.Sync()
			if s.RowBits > 0 || shift+int(s.Bits) < s.End {
				ks, as := staged[item(t, &s):], from[item(t, &s):]
				for e := range int(s.Each) {
					k[e], a[e] = ks[e*t.WarpSize()], as[e*t.WarpSize()]
				}
			}
		}
		if s.RowBits > 0 {
			pos, _, _ := rankTile(t, &s, next, s.RowBits, func(e int) int {
				row, _ := s.Div.DivMod(int(a[e]))
				return min(row, s.Per)
			})
			for e := range int(s.Each) {
				staged[pos[e]], from[pos[e]] = k[e], a[e]
			}
			t.Sync()
		}
		for e := range int(s.Each) {
			i := e*t.BlockDimX() + t.ThreadX()
			row, to := 0, i
			if s.RowBits > 0 {
				row, to = s.Div.DivMod(i)
			}
			if i < s.Per*s.N && to < o.Take && r0+row < w.Rows {
				base, _ := w.row(r0 + row)
				storeSorted(values, indices, x, &w, &wi, o, &s, r0+row, base, to, from[i]-uint32(row*s.N), staged[i], key, back)
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

// rankTile returns where the keys of a thread belong in the tile by their digits, of so
// many bits, and for each thread how many keys have smaller digits than its number, and how
// many have that.
func rankTile(t dsl.Thread, s *Digits, next []uint16, n dsl.ConstInt, digit func(e int) int) (pos [mostEach]int, begin, count uint32) {
	digits, warps := 1<<uint(n), t.BlockDimX()/t.WarpSize()
	for i := t.ThreadX(); i < warps*digits; i += t.BlockDimX() {
		next[i] = 0
	}
	t.Sync()
	rankInWarp(t, s, &pos, next[t.Warp()*digits:], n, digit)
	t.Sync()
	if t.ThreadX() < digits {
		for k := range warps {
			count += uint32(next[k*digits+t.ThreadX()])
		}
	}
	begin = dsl.BlockScanExclusive(t, count)
	if t.ThreadX() < digits {
		sum := begin
		for k := range warps {
			c := next[k*digits+t.ThreadX()]
			next[k*digits+t.ThreadX()] = uint16(sum)
			sum += uint32(c)
		}
	}
	t.Sync()
	for e := range int(s.Each) {
		pos[e] += int(next[t.Warp()*digits+digit(e)])
	}
	return pos, begin, count
}

// rankInWarp stores how many keys of the warp come before those of a thread that have the
// same digit, and in next how many have each.
func rankInWarp(t dsl.Thread, s *Digits, pos *[mostEach]int, next []uint16, n dsl.ConstInt, digit func(e int) int) {
	first, other := dsl.Shuffle(t, uint32(digit(0)), 0), uint32(0)
	for e := range int(s.Each) {
		other |= uint32(digit(e)) ^ first
	}
	if dsl.All(t, other == 0) { // all have one digit, as high ones often are
		for e := range int(s.Each) {
			pos[e] = e*t.WarpSize() + t.Lane()
		}
		if t.Lane() == 0 {
			next[digit(0)] = uint16(int(s.Each) * t.WarpSize())
		}
		return
	}
	for e := range int(s.Each) {
		d := digit(e)
		var lower, same int
		if s.Wide {
			all := peersOf[uint64](t, d, n)
			lower, same = bits.OnesCount64(all&(1<<uint(t.Lane())-1)), bits.OnesCount64(all)
		} else {
			all := peersOf[uint32](t, d, n)
			lower, same = bits.OnesCount32(all&(1<<uint(t.Lane())-1)), bits.OnesCount32(all)
		}
		before := int(next[d])
		pos[e] = before + lower
		t.SyncWarp()
		if lower == 0 { // the first of them
			next[d] = uint16(before + same)
		}
		t.SyncWarp()
	}
}

// peersOf returns the lanes of a warp that have the same n low bits.
func peersOf[M uint32 | uint64](t dsl.Thread, d int, n dsl.ConstInt) M {
	same := M(^uint64(0) >> uint(64-t.WarpSize()))
	for b := range int(n) {
		set := d&(1<<uint(b)) != 0
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

// BackByte is the int8 of a key.
func BackByte(k uint32) int8 { return int8(int32(k) - 1<<7) }

// BackShort is the int16 of a key.
func BackShort(k uint32) int16 { return int16(int32(k) - 1<<15) }

// BackInt is the int32 of a key.
func BackInt(k uint32) int32 { return int32(k ^ 1<<31) }

// BackLong is the int64 of a key.
func BackLong(k uint64) int64 { return int64(k ^ 1<<63) }
