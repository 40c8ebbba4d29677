package kernels

import (
	"math/bits"

	"github.com/gokiln/kiln/dsl"
)

// Where a block is one warp, as on a CPU, one lane sorts a row by the digits of its keys: to
// count a digit and to move a key are a load and a store at addresses that differ from lane
// to lane, so lanes would be serialised, with more work to stay in order. Blocks have rows
// of their own and keep the memory that they move keys through in the cache.

const (
	serialDigit = 11 // bits of a digit at most
	leastDigit  = 6
	inserted    = 20 // rows up to this size are sorted by insertion
	shifted     = 8  // positions that a key moves on average until insertion is given up
	apart       = 3  // more bits than n keys need to be told apart, if they are drawn evenly
	exponent    = 12 // bits of floating-point keys that are not drawn evenly: sign and exponent
)

// SortSerial sorts rows. The block has 2·w.N keys, and as many indices, to move them.
//
//kiln:kernel
//kiln:const bare=true,false
func SortSerial[T dsl.Number, K Key](t dsl.Thread, values []T, indices []uint32, x []T, keys []K, at []uint32, w, wi Ranks, o Order, bare dsl.ConstBool, key func(T) K, back func(K) T) {
	count := dsl.Shared[[2 << serialDigit]uint32](t)
	found, half := dsl.Shared[[2]K](t), dsl.Shared[[1]int](t)
	own := 2 * t.BlockX() * w.N
	for r := t.BlockX(); r < w.Rows; r += t.GridDimX() {
		base, _ := w.row(r)
		row := serialRow[K]{keys: keys[own:], at: at[own:], n: w.N, count: count}
		low := serialKeys(t, found, row.keys, row.at, x[base:], &w, o, key)
		if t.Lane() == 0 {
			half[0] = row.sort(found[1], bare)
		}
		t.SyncWarp()
		storeSerial(t, values, indices, x[base:], row.keys[half[0]:], row.at[half[0]:], &w, &wi, o, bare, r, low, back)
		t.SyncWarp() // before the next row is read
	}
}

// serialKeys stores how far the keys of a row, which begins x, are above the lowest of them,
// and where they are. It returns the lowest key, and in found leaves all bits of what it stores.
func serialKeys[T dsl.Number, K Key](t dsl.Thread, found *[2]K, keys []K, at []uint32, x []T, w *Ranks, o Order, key func(T) K) K {
	var low, all K
	low = ^low
	for i := t.Lane(); i < w.N; i += t.WarpSize() {
		k := ordered(key(x[w.at(i)]), o)
		keys[i], at[i] = k, uint32(i)
		low = min(low, k)
	}
	if low = dsl.WarpMin(t, low); t.Lane() == 0 {
		found[0] = low
	}
	t.SyncWarp()
	low = found[0]
	for i := t.Lane(); i < w.N; i += t.WarpSize() {
		k := keys[i] - low
		keys[i] = k
		all |= k
	}
	if all = dsl.WarpOr(t, all); t.Lane() == 0 {
		found[1] = all
	}
	t.SyncWarp()
	return low
}

// serialRow is n keys and where they were, with memory for as many behind them, and two
// times as many counters as a digit has values.
type serialRow[K Key] struct {
	keys  []K
	at    []uint32
	n     int
	count *[2 << serialDigit]uint32
}

// sort sorts the keys, all bits of which are given, and returns where they are then. Keys of
// many bits are sorted by the highest, after which insertion finds few that are not in order;
// if it finds many all bits are gone by.
func (s *serialRow[K]) sort(all K, bare dsl.ConstBool) int {
	if s.n <= inserted {
		s.insert(0, s.n*s.n)
		return 0
	}
	if all == 0 {
		return 0
	}
	low, end := bits.TrailingZeros64(uint64(all)), bits.Len64(uint64(all))
	enough := bits.Len32(uint32(s.n)) + apart
	if !bare {
		enough += exponent
	}
	from := 0
	if s.passes(enough)+1 < s.passes(end-low) {
		from = s.move(from, end-enough, enough)
		if s.insert(from, shifted*s.n) {
			return from
		}
	}
	return s.move(from, low, end-low)
}

// digits divides width bits into digits: few where there are many keys, and else such as
// take no longer to add up than the keys to move.
func (s *serialRow[K]) digits(width int) (passes, size int) {
	passes = s.passes(width)
	return passes, (width + passes - 1) / passes
}

func (s *serialRow[K]) passes(width int) int {
	most := min(max(bits.Len32(uint32(s.n))-2, leastDigit), serialDigit)
	return (width + most - 1) / most
}

// move sorts the keys, which begin at from, by width bits from bit shift on, a digit in each
// pass. It counts the next digit while it moves keys by one. It returns where they are then.
func (s *serialRow[K]) move(from, shift, width int) int {
	passes, size := s.digits(width)
	keys, at, count := s.keys, s.at, s.count
	mask := 1<<size - 1
	here, next := 0, 1<<serialDigit // the counters
	for d := range mask + 1 {
		count[d] = 0
	}
	for i := range s.n {
		count[int(keys[from+i]>>uint(shift))&mask]++
	}
	for range passes {
		to := s.n - from
		for d := range mask + 1 {
			c := count[here+d]
			count[here+d], count[next+d] = uint32(to), 0
			to += int(c)
		}
		for i := from; i < from+s.n; i++ {
			k := keys[i]
			rest := k >> uint(shift)
			d := here + int(rest)&mask
			j := count[d]
			count[d] = j + 1
			count[next+int(rest>>uint(size))&mask]++
			keys[j], at[j] = k, at[i]
		}
		shift += size
		here, next = next, here
		from = s.n - from
	}
	return from
}

// insert sorts the keys, which begin at from, by insertion. It gives up, and returns false,
// when keys have moved by most positions.
func (s *serialRow[K]) insert(from, most int) bool {
	keys, at := s.keys, s.at
	last := keys[from]
	for i := from + 1; i < from+s.n; i++ {
		k := keys[i]
		if k >= last {
			last = k
			continue
		}
		a, j := at[i], i
		for ; j > from && keys[j-1] > k; j-- {
			keys[j], at[j] = keys[j-1], at[j-1]
		}
		keys[j], at[j] = k, a
		if most -= i - j; most < 0 {
			return false
		}
	}
	return true
}

// storeSerial stores what is taken of a row, which begins x.
func storeSerial[T dsl.Number, K Key](t dsl.Thread, values []T, indices []uint32, x []T, keys []K, at []uint32, w, wi *Ranks, o Order, bare dsl.ConstBool, r int, low K, back func(K) T) {
	_, out := w.row(r)
	_, outAt := wi.row(r)
	for i := t.Lane(); i < o.Take; i += t.WarpSize() {
		if o.Values {
			if bare {
				values[out+i*w.To] = back(ordered(keys[i]+low, o))
			} else {
				values[out+i*w.To] = x[w.at(int(at[i]))]
			}
		}
		if o.Indices {
			indices[outAt+i*wi.To] = at[i]
		}
	}
}
