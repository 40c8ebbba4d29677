package kernels

import (
	"math/bits"

	"github.com/gokiln/kiln/dsl"
)

// What is at some positions of rows that are not sorted is found by the digits of their keys,
// the highest first: a pass counts the digits of the keys that begin as the one that is
// looked for does, and the counts say what its next digit is (Alabi, Blanchard, Gordon
// and Steinbach, "Fast k-selection algorithms for graphics processing units", 2012). Each
// pass reads the rows once and stores nothing but counts.

const (
	mostTargets = 3
	mostPicked  = 16 // elements that a thread loads at once
)

// Pick says what is looked for in rows. Counts, prefixes and rests are in the order of
// passes, rows and targets.
type Pick struct {
	Targets     dsl.ConstInt        // positions that are looked for in each row
	From        dsl.ConstInt        // the lowest bit that differs between keys
	End         dsl.ConstInt        // the bit behind the highest
	Each        dsl.ConstInt        // loads in flight of a thread
	Copies      dsl.ConstInt        // counters of a digit, for neighbours that have the same one
	SharedItems dsl.ConstInt        // counters of a block
	First       dsl.ConstBool       // of the passes: all keys count, for all targets
	Rank        [mostTargets]uint32 // the positions, in order
	Pass        int                 // how many digits are known
	Shift       int                 // of the next digit
	Part        int                 // elements of a row that a block goes through
	Parts       int                 // of a row, of which each warp has one, for PickSides and PickTake
}

// known returns the digits that are known of the key of a target, and its position among those
// that have the same ones, by the counts of the last pass and what was known before. A
// warp finds out, and broadcasts it to the block through shared memory.
func (p *Pick) known(t dsl.Thread, found *[mostTargets]uint64, rest *[mostTargets]uint32, counts []uint32, prefix []uint64, left []uint32, r, rows int) {
	warps := (t.BlockDimX() + t.WarpSize() - 1) / t.WarpSize()
	for j := t.Warp(); j < int(p.Targets); j += warps {
		of, before, rank := j, uint64(0), p.Rank[0]
		for k := 1; k < int(p.Targets); k++ {
			if k == j {
				rank = p.Rank[k]
			}
		}
		if p.Pass == 1 {
			of = 0 // which all targets share
		} else {
			at := ((p.Pass-2)*rows+r)*int(p.Targets) + j
			before, rank = prefix[at], left[at]
		}
		at := ((p.Pass-1)*rows+r)*int(p.Targets) + j
		c := counts[(at-j+of)*digits:]
		if d, rank, here := digitAt(t, rank, func(d int) uint32 { return c[d] }); here {
			found[j], rest[j] = before<<digitBits|uint64(d), rank
			if t.BlockX() == 0 {
				prefix[at], left[at] = found[j], rank
			}
		}
	}
	t.Sync()
}

// digitAt returns, to one lane of a warp, the digit that the key at a position of those that
// are counted has, and its position among those with this digit.
func digitAt(t dsl.Thread, rank uint32, count func(d int) uint32) (d int, rest uint32, here bool) {
	per := digits / t.WarpSize()
	var sum uint32
	for i := range per {
		sum += count(t.Lane()*per + i)
	}
	first := dsl.WarpScanExclusive(t, sum)
	if first > rank || rank-first >= sum {
		return 0, 0, false
	}
	d = t.Lane() * per
	rank -= first
	for rank >= count(d) {
		rank -= count(d)
		d++
	}
	return d, rank, true
}

// pickKey returns the bits of the key of an element that differ, and those below.
func pickKey[T dsl.Number, K Key](v T, o Order, p *Pick, key func(T) K) K {
	var k K
	k++
	return ordered(key(v), o) & (k<<uint(p.End) - 1)
}

// eachKey calls f for the keys of a row, which the operand has from base on, that are the
// thread's: its warp has those from one on up to end, so many at once, and the next ones
// step behind them.
func eachKey[T dsl.Number, K Key](t dsl.Thread, x []T, w *Ranks, o Order, p *Pick, base, first, end, step int, key func(T) K, f func(K)) {
	for ; first < end; first += step {
		i := first + t.Lane()
		var k [mostPicked]K
		if first+t.WarpSize()*int(p.Each) > end {
			for e := range int(p.Each) {
				if i+e*t.WarpSize() < end {
					f(pickKey(x[base+w.at(i+e*t.WarpSize())], o, p, key))
				}
			}
			return
		}
		if w.Contiguous {
			xs := x[base+i:]
			for e := range int(p.Each) {
				k[e] = pickKey(xs[e*t.WarpSize()], o, p, key)
			}
		} else {
			for e := range int(p.Each) {
				k[e] = pickKey(x[base+w.at(i+e*t.WarpSize())], o, p, key)
			}
		}
		for e := range int(p.Each) {
			f(k[e])
		}
	}
}

// PickCount counts the next digits of keys that begin as those that are looked for.
//
//kiln:kernel
//kiln:const p.Targets=1,3 p.From=0,16 p.End=32 p.Each=4 p.Copies=4 p.SharedItems=3072 p.First=true,false
func PickCount[T dsl.Number, K Key](t dsl.Thread, counts []uint32, prefix []uint64, left []uint32, x []T, w Ranks, o Order, p Pick, key func(T) K) {
	found, rest := dsl.Shared[[mostTargets]uint64](t), dsl.Shared[[mostTargets]uint32](t)
	counted, copies := int(p.Targets), int(p.Copies)
	if p.First {
		counted = 1
	}
	count := dsl.SharedSlice[uint32](t, p.SharedItems)
	copyOf := t.ThreadX() % copies
	for r := t.BlockY(); r < w.Rows; r += t.GridDimY() {
		for d := t.ThreadX(); d < counted*digits*copies; d += t.BlockDimX() {
			count[d] = 0
		}
		var begin [mostTargets]K
		if !p.First {
			p.known(t, found, rest, counts, prefix, left, r, w.Rows)
			for j := range int(p.Targets) {
				begin[j] = K(found[j])
			}
		}
		t.Sync()
		base, _ := w.row(r)
		first := t.BlockX() * p.Part
		end := min(first+p.Part, w.N)
		of := t.WarpSize() * int(p.Each)
		eachKey(t, x, &w, o, &p, base, first+t.Warp()*of, end, t.BlockDimX()*int(p.Each), key, func(k K) {
			d := digit(k, p.Shift)*copies + copyOf
			for j := range counted {
				if bool(p.First) || k>>uint(p.Shift+digitBits) == begin[j] {
					dsl.AtomicAdd(&count[j*digits*copies+d], 1)
				}
			}
		})
		t.Sync()
		to := (p.Pass*w.Rows + r) * int(p.Targets) * digits
		for d := t.ThreadX(); d < counted*digits; d += t.BlockDimX() {
			var sum uint32
			for c := range copies {
				sum += count[d*copies+(c+d)%copies] // threads begin in different banks
			}
			if sum > 0 {
				dsl.AtomicAdd(&counts[to+d], sum)
			}
		}
		t.Sync()
	}
}

// PickSides finds the last digit, and stores how many keys of each warp's part of a row are
// below the one that is looked for, and in the second half how many are equal to it.
//
//kiln:kernel
//kiln:const p.Targets=1 p.From=0,16 p.End=32 p.Each=4 p.First=false
func PickSides[T dsl.Number, K Key](t dsl.Thread, sides, counts []uint32, prefix []uint64, left []uint32, x []T, w Ranks, o Order, p Pick, key func(T) K) {
	found, rest := dsl.Shared[[mostTargets]uint64](t), dsl.Shared[[mostTargets]uint32](t)
	for r := t.BlockY(); r < w.Rows; r += t.GridDimY() {
		p.known(t, found, rest, counts, prefix, left, r, w.Rows)
		limit := K(found[0])
		base, _ := w.row(r)
		part, first, end := p.own(t, w.N)
		below, equal := sidesOf(t, x, &w, o, &p, base, first, end, limit, key)
		if t.Lane() == 0 {
			sides[r*p.Parts+part], sides[(w.Rows+r)*p.Parts+part] = below, equal
		}
		t.Sync()
	}
}

// sidesOf counts the keys of a warp's part of a row that are below a limit, and those that are it.
func sidesOf[T dsl.Number, K Key](t dsl.Thread, x []T, w *Ranks, o Order, p *Pick, base, first, end int, limit K, key func(T) K) (below, equal uint32) {
	eachKey(t, x, w, o, p, base, first, end, t.WarpSize()*int(p.Each), key, func(k K) {
		if k >>= uint(p.From); k < limit {
			below++
		} else if k == limit {
			equal++
		}
	})
	return dsl.WarpSum(t, below), dsl.WarpSum(t, equal)
}

// own returns the number of the part of a row that a warp has, and where it begins and ends.
func (p *Pick) own(t dsl.Thread, n int) (part, first, end int) {
	warps := t.BlockDimX() / t.WarpSize()
	part = t.BlockX()*warps + t.Warp()
	first = min(part*(p.Part/warps), n)
	return part, first, min(first+p.Part/warps, n)
}

// PickTake stores the elements of rows whose keys are below the one that was looked for,
// and behind them so many of those that are equal to it as there is room for, each in
// the order that they have, and where they were. Sums are those of what PickSides stored.
//
//kiln:kernel
//kiln:const p.Targets=1 p.From=0,16 p.End=32 p.Each=4 p.First=false
func PickTake[T dsl.Number, K Key](t dsl.Thread, values []T, places, sums []uint32, prefix []uint64, x []T, w Ranks, o Order, p Pick, key func(T) K) {
	for r := t.BlockY(); r < w.Rows; r += t.GridDimY() {
		limit := K(prefix[(p.Pass-1)*w.Rows+r])
		base, to := w.row(r)
		part, first, end := p.own(t, w.N)
		belows, equals := sums[r*p.Parts:], sums[(w.Rows+r)*p.Parts:]
		var below, equal uint32
		if part > 0 {
			below, equal = belows[part-1], equals[part-1]
		}
		all := belows[p.Parts-1]
		equal += all
		if below == belows[part] && (equal >= uint32(o.Take) || equal-all == equals[part]) {
			continue // there is nothing to take, as most often
		}
		takePart(t, values, places, x, &w, o, &p, base, to, first, end, below, equal, limit, key)
	}
}

// takePart stores what a warp's part of a row has of the elements that are taken: those below
// the limit from one position on, and those that are equal to it from another.
func takePart[T dsl.Number, K Key](t dsl.Thread, values []T, places []uint32, x []T, w *Ranks, o Order, p *Pick, base, to, first, end int, below, equal uint32, limit K, key func(T) K) {
	lower := uint64(1)<<uint(t.Lane()) - 1
	for j := first; j < end; j += t.WarpSize() {
		i := j + t.Lane()
		v := x[base+w.at(min(i, end-1))]
		k := pickKey(v, o, p, key) >> uint(p.From)
		under := dsl.Ballot(t, i < end && k < limit)
		same := dsl.Ballot(t, i < end && k == limit)
		at := below + uint32(bits.OnesCount64(under&lower))
		if k == limit {
			at = equal + uint32(bits.OnesCount64(same&lower))
		}
		if i < end && k <= limit && at < uint32(o.Take) {
			values[to+int(at)*w.To], places[to+int(at)*w.To] = v, uint32(i)
		}
		below += uint32(bits.OnesCount64(under))
		equal += uint32(bits.OnesCount64(same))
	}
}

// PickBetween stores what lies frac of the way from the first target of rows to the
// second, NaN where the third, which is the last of the row, is NaN.
//
//kiln:kernel
//kiln:const p.Targets=3 p.From=0,16 p.First=false
func PickBetween[T dsl.Float, K Key, C dsl.Real](t dsl.Thread, out []T, counts []uint32, prefix []uint64, left []uint32, w Ranks, p Pick, frac C, back func(K) T) {
	found, rest := dsl.Shared[[mostTargets]uint64](t), dsl.Shared[[mostTargets]uint32](t)
	for r := t.BlockY(); r < w.Rows; r += t.GridDimY() {
		p.known(t, found, rest, counts, prefix, left, r, w.Rows)
		if t.ThreadX() == 0 {
			_, to := w.row(r)
			out[to] = dsl.Convert[T](betweenFound(found, &p, frac, back))
		}
		t.Sync()
	}
}

// What follows is for rows that a block has by itself, one after the other.

// pickRow finds the keys of all targets in a row, which the operand has from base on, and
// their positions among keys that are equal to theirs.
func pickRow[T dsl.Number, K Key](t dsl.Thread, found *[mostTargets]uint64, rest *[mostTargets]uint32, count []uint32, x []T, w *Ranks, o Order, p *Pick, base int, key func(T) K) {
	copies, targets := int(p.Copies), int(p.Targets)
	copyOf := t.ThreadX() % copies
	warps := t.BlockDimX() / t.WarpSize()
	if j := t.ThreadX(); j < targets {
		found[j], rest[j] = 0, p.Rank[0]
		for k := 1; k < targets; k++ {
			if k == j {
				rest[j] = p.Rank[k]
			}
		}
	}
	for shift := int(p.End) - digitBits; shift >= int(p.From); shift -= digitBits {
		for d := t.ThreadX(); d < targets*digits*copies; d += t.BlockDimX() {
			count[d] = 0
		}
		t.Sync()
		var begin [mostTargets]K
		for j := range targets {
			begin[j] = K(found[j])
		}
		of := t.WarpSize() * int(p.Each)
		eachKey(t, x, w, o, p, base, t.Warp()*of, w.N, warps*of, key, func(k K) {
			d := digit(k, shift)*copies + copyOf
			for j := range targets {
				if k>>uint(shift+digitBits) == begin[j] {
					dsl.AtomicAdd(&count[j*digits*copies+d], 1)
				}
			}
		})
		t.Sync()
		for d := t.ThreadX(); d < targets*digits; d += t.BlockDimX() {
			sum := count[d*copies]
			for c := 1; c < copies; c++ {
				sum += count[d*copies+c]
			}
			count[d*copies] = sum
		}
		t.Sync()
		for j := t.Warp(); j < targets; j += warps {
			d, rank, here := digitAt(t, rest[j], func(d int) uint32 { return count[(j*digits+d)*copies] })
			t.SyncWarp() // all lanes have read rest[j]
			if here {
				found[j], rest[j] = found[j]<<digitBits|uint64(d), rank
			}
		}
		t.Sync()
	}
}

// mostWarps bounds the warps of a block.
const mostWarps = 64

// PickRows is [PickTake] of rows in which nothing is known yet.
//
//kiln:kernel
//kiln:const p.Targets=1 p.From=0,16 p.End=32 p.Each=4 p.Copies=4 p.SharedItems=1024 p.First=false
func PickRows[T dsl.Number, K Key](t dsl.Thread, values []T, places []uint32, x []T, w Ranks, o Order, p Pick, key func(T) K) {
	found, rest := dsl.Shared[[mostTargets]uint64](t), dsl.Shared[[mostTargets]uint32](t)
	count := dsl.SharedSlice[uint32](t, p.SharedItems)
	belows := dsl.Shared[[mostWarps]uint32](t)
	equals := dsl.Shared[[mostWarps]uint32](t)
	for r := t.BlockY(); r < w.Rows; r += t.GridDimY() {
		base, to := w.row(r)
		pickRow(t, found, rest, count, x, &w, o, &p, base, key)
		limit := K(found[0])
		_, first, end := p.own(t, w.N)
		below, equal := sidesOf(t, x, &w, o, &p, base, first, end, limit, key)
		if t.Lane() == 0 {
			belows[t.Warp()], equals[t.Warp()] = below, equal
		}
		t.Sync()
		below, equal = 0, uint32(o.Take-1)-rest[0] // so many are below in the whole row
		for i := range t.Warp() {
			below += belows[i]
			equal += equals[i]
		}
		if belows[t.Warp()]+equals[t.Warp()] > 0 {
			takePart(t, values, places, x, &w, o, &p, base, to, first, end, below, equal, limit, key)
		}
		t.Sync()
	}
}

// PickMiddle is [PickBetween] of rows in which nothing is known yet.
//
//kiln:kernel
//kiln:const p.Targets=3 p.From=0,16 p.End=32 p.Each=4 p.Copies=4 p.SharedItems=3072 p.First=false
func PickMiddle[T dsl.Float, K Key, C dsl.Real](t dsl.Thread, out, x []T, w Ranks, o Order, p Pick, frac C, key func(T) K, back func(K) T) {
	found, rest := dsl.Shared[[mostTargets]uint64](t), dsl.Shared[[mostTargets]uint32](t)
	count := dsl.SharedSlice[uint32](t, p.SharedItems)
	for r := t.BlockY(); r < w.Rows; r += t.GridDimY() {
		base, to := w.row(r)
		pickRow(t, found, rest, count, x, &w, o, &p, base, key)
		if t.ThreadX() == 0 {
			out[to] = dsl.Convert[T](betweenFound(found, &p, frac, back))
		}
		t.Sync()
	}
}

// betweenFound is what lies frac of the way from the first target to the second.
func betweenFound[T dsl.Float, K Key, C dsl.Real](found *[mostTargets]uint64, p *Pick, frac C, back func(K) T) C {
	var v [mostTargets]C
	for j := range v {
		v[j] = dsl.Convert[C](back(K(found[j]) << uint(p.From)))
	}
	return quantileOf(v[0], v[1], v[2], frac)
}
