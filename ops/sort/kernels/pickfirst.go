package kernels

import (
	"math/bits"

	"github.com/gokiln/kiln/dsl"
)

// Where a block is one warp the first elements of a row, in the order of [SortKeys], are found
// by reading it once: keys below a limit become candidates, and when there is no room for
// more the limit becomes the key of the last candidate that still counts. Few keys are below
// it soon, and to find that none of many is takes a comparison each.

// PickFirst stores o.Take elements of each part of rows that come first, in the order that
// they have in the row, and where they were. The block of a part is one warp.
//
//kiln:kernel
//kiln:const p.Each=4,8 p.From=0,16 p.End=32 p.SharedItems=512
func PickFirst[T dsl.Number, K Key](t dsl.Thread, values []T, places []uint32, x []T, w Ranks, o Order, p Pick, key func(T) K) {
	keys := dsl.SharedSlice[K](t, p.SharedItems)
	at := dsl.SharedSlice[uint32](t, p.SharedItems)
	count, last := dsl.Shared[[digits]uint32](t), dsl.Shared[[1]K](t)
	many := t.WarpSize() * int(p.Each)
	for r := t.BlockY(); r < w.Rows; r += t.GridDimY() {
		base, to := w.row(r)
		first := t.BlockX() * p.Part
		end := min(first+p.Part, w.N)
		n, all := 0, true // candidates, and whether every key is one
		var limit K
		for j := first; j < end; j += many {
			var k [mostPicked]K
			below := false
			if j+many <= end {
				for e := range int(p.Each) {
					k[e] = pickKey(x[base+w.at(j+e*t.WarpSize()+t.Lane())], o, &p, key)
				}
				for e := range int(p.Each) {
					below = below || k[e] < limit
				}
			} else {
				for e := range int(p.Each) {
					k[e] = pickKey(x[base+w.at(min(j+e*t.WarpSize()+t.Lane(), end-1))], o, &p, key)
				}
				below = true
			}
			if !all && !dsl.Any(t, below) {
				continue
			}
			for e := range int(p.Each) {
				i := j + e*t.WarpSize() + t.Lane()
				n = keepKey(t, keys, at, n, k[e], i, i < end && (all || k[e] < limit))
			}
			if n > int(p.SharedItems)-many {
				n, limit = bestOf(t, count, last, keys, at, n, o.Take)
				all = false
			}
		}
		n, _ = bestOf(t, count, last, keys, at, n, o.Take)
		to += t.BlockX() * o.Take * w.To
		for i := t.Lane(); i < n; i += t.WarpSize() {
			values[to+i*w.To], places[to+i*w.To] = x[base+w.at(int(at[i]))], at[i]
		}
		t.SyncWarp()
	}
}

// keepKey puts a key and its position behind n others if it is wanted, those of lower lanes
// first, and returns how many there are then.
func keepKey[K Key](t dsl.Thread, keys []K, at []uint32, n int, k K, i int, wanted bool) int {
	these := dsl.Ballot(t, wanted)
	if wanted {
		to := n + bits.OnesCount64(these&(1<<uint(t.Lane())-1))
		keys[to], at[to] = k, uint32(i)
	}
	return n + bits.OnesCount64(these)
}

// bestOf leaves of n keys the lowest ones, so many of them, of equal ones the first, in the
// order that they have, and returns how many there are and the highest of them if some are
// left out. One lane does so, as to count digits and to close gaps lanes would be serialised.
func bestOf[K Key](t dsl.Thread, count *[digits]uint32, last *[1]K, keys []K, at []uint32, n, take int) (int, K) {
	t.SyncWarp()
	if n > take && t.Lane() == 0 {
		limit, equal := keyAt(count, keys, n, take-1)
		kept := 0
		for i := range n {
			k, a := keys[i], at[i]
			keys[kept], at[kept] = k, a
			if k < limit {
				kept++
			} else if k == limit && equal >= 0 {
				kept++
				equal--
			}
		}
		last[0] = limit
	}
	t.SyncWarp()
	return min(n, take), last[0]
}

// keyAt returns which of n keys comes at a position in their order, and how many that are equal
// to it come before it. It finds one digit after the other, from the highest bit that differs,
// of how far keys are above the lowest, until one key is left.
func keyAt[K Key](count *[digits]uint32, keys []K, n, place int) (K, int) {
	low, high := keys[0], keys[0]
	for i := range n {
		low, high = min(low, keys[i]), max(high, keys[i])
	}
	for width := bits.Len64(uint64(high - low)); width > 0; {
		shift := max(width-digitBits, 0)
		for d := range count {
			count[d] = 0
		}
		for i := range n {
			if k := keys[i] - low; k>>uint(width) == 0 {
				count[int(k>>uint(shift))&(digits-1)]++
			}
		}
		d := 0
		for ; place >= int(count[d&(digits-1)]); d++ {
			place -= int(count[d&(digits-1)])
		}
		low, width = low+K(d)<<uint(shift), shift
		if count[d&(digits-1)] == 1 {
			return keyIn(keys, n, low, width), 0
		}
	}
	return low, place
}

// keyIn returns the first of n keys that is less than 2^width above low.
func keyIn[K Key](keys []K, n int, low K, width int) K {
	for i := range n {
		if (keys[i]-low)>>uint(width) == 0 {
			return keys[i]
		}
	}
	return low // there is one
}
