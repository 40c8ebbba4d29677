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
//kiln:const p.Each=4,8 p.From=0,16 p.End=32 p.Room=512
func PickFirst[T dsl.Number, K Key](t dsl.Thread, values []T, places []uint32, x []T, w Ranks, o Order, p Pick, key func(T) K) {
	keys := dsl.SharedSlice[K](t, p.Room)
	at := dsl.SharedSlice[uint32](t, p.Room)
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
			if n > int(p.Room)-many {
				n, limit = bestOf(t, keys, at, n, o.Take)
				all = false
			}
		}
		n, _ = bestOf(t, keys, at, n, o.Take)
		to += t.BlockX() * o.Take * w.To
		for i := t.Lane(); i < n; i += t.WarpSize() {
			values[to+i*w.To], places[to+i*w.To] = x[base+w.at(int(at[i]))], at[i]
		}
		t.SyncWarp()
	}
}

// keepKey puts a key and its place behind n others if it is wanted, those of lower lanes
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
// order that they have, and returns how many there are and the highest of them.
func bestOf[K Key](t dsl.Thread, keys []K, at []uint32, n, take int) (int, K) {
	t.SyncWarp()
	var none K
	low, high := ^none, none // where the keys are
	for i := t.Lane(); i < n; i += t.WarpSize() {
		low, high = min(low, keys[i]), max(high, keys[i])
	}
	low, high = dsl.Shuffle(t, dsl.WarpMin(t, low), 0), dsl.Shuffle(t, dsl.WarpMax(t, high), 0)
	if n <= take {
		return n, high
	}
	// Bit by bit, from the highest that differs, the highest key of which less than take are below.
	limit := low
	if low != high {
		top := bits.Len64(uint64(low^high)) - 1
		limit = low >> uint(top) >> 1 << uint(top) << 1
		for b := top; b >= 0; b-- {
			next := limit | (none+1)<<uint(b)
			if countBelow(t, keys, n, next) < take {
				limit = next
			}
		}
	}
	room := take - countBelow(t, keys, n, limit) // for those equal to the limit
	kept, equal := 0, 0
	for j := 0; j < n; j += t.WarpSize() {
		i := min(j+t.Lane(), n-1)
		k, place := keys[i], int(at[i])
		same := dsl.Ballot(t, j+t.Lane() < n && k == limit)
		before := equal + bits.OnesCount64(same&(1<<uint(t.Lane())-1))
		t.SyncWarp()
		kept = keepKey(t, keys, at, kept, k, place, j+t.Lane() < n && (k < limit || k == limit && before < room))
		t.SyncWarp()
		equal += bits.OnesCount64(same)
	}
	return kept, limit
}

// countBelow counts the keys below a limit.
func countBelow[K Key](t dsl.Thread, keys []K, n int, limit K) int {
	var sum uint32
	for i := t.Lane(); i < n; i += t.WarpSize() {
		if keys[i] < limit {
			sum++
		}
	}
	return int(dsl.Shuffle(t, dsl.WarpSum(t, sum), 0))
}
