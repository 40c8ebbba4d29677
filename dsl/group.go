package dsl

import "math/bits"

// A group is the lanes of a warp whose numbers agree in all but the low bits: with width
// 8, lanes 0 to 7, 8 to 15, and so on. The width is a power of two, at most the size of a
// warp, and the same for all lanes; a kernel for all devices uses at most 8. All lanes of
// the warp call a function of groups, as they do for all operations of warps: a group is a
// part of the data, not of the control flow.

// GroupLane returns the number of the lane in its group.
func GroupLane(t Thread, width int) int { return t.Lane() & (groupWidth(t, width) - 1) }

// GroupIndex returns the number of the lane's group in the warp.
func GroupIndex(t Thread, width int) int { return t.Lane() / groupWidth(t, width) }

// GroupMask returns a mask with one bit for each lane of the lane's group.
func GroupMask(t Thread, width int) uint64 {
	return (uint64(1)<<uint(groupWidth(t, width)) - 1) << uint(t.Lane()&^(width-1))
}

// GroupShuffle returns the v of the lane with the given number in the group, taken
// modulo the width.
func GroupShuffle[T Number](t Thread, v T, lane, width int) T {
	width = groupWidth(t, width)
	return Shuffle(t, v, t.Lane()&^(width-1)|lane&(width-1))
}

// GroupShuffleUp returns the v of the lane delta below this one, and its own v where the
// group has none.
func GroupShuffleUp[T Number](t Thread, v T, delta, width int) T {
	return GroupShuffle(t, v, inGroup(GroupLane(t, width), GroupLane(t, width)-delta, width), width)
}

// GroupShuffleDown returns the v of the lane delta above this one, and its own v where
// the group has none.
func GroupShuffleDown[T Number](t Thread, v T, delta, width int) T {
	return GroupShuffle(t, v, inGroup(GroupLane(t, width), GroupLane(t, width)+delta, width), width)
}

// GroupShuffleXor returns the v of the lane whose number differs from this one in the
// bits of mask, and its own v where the group has none.
func GroupShuffleXor[T Number](t Thread, v T, mask, width int) T {
	return GroupShuffle(t, v, inGroup(GroupLane(t, width), GroupLane(t, width)^mask, width), width)
}

// GroupBallot returns a mask with one bit for each lane of the group whose p is true; bit
// 0 is the group's first lane.
func GroupBallot(t Thread, p bool, width int) uint64 {
	return (Ballot(t, p) & GroupMask(t, width)) >> uint(t.Lane()&^(width-1))
}

// GroupAny reports whether p is true in any lane of the group.
func GroupAny(t Thread, p bool, width int) bool { return Ballot(t, p)&GroupMask(t, width) != 0 }

// GroupAll reports whether p is true in all lanes of the group.
func GroupAll(t Thread, p bool, width int) bool { return Ballot(t, !p)&GroupMask(t, width) == 0 }

// GroupSum returns the sum of v over the group to each of its lanes. The order of
// additions is fixed: neighbours first, lanes at distance half a group last.
func GroupSum[T Word](t Thread, v T, width int) T {
	width = groupWidth(t, width)
	for d := 1; d < width; d *= 2 {
		v += ShuffleXor(t, v, d)
	}
	return v
}

// GroupMax returns the largest v of the group to each of its lanes; NaN wins.
func GroupMax[T Word](t Thread, v T, width int) T {
	width = groupWidth(t, width)
	for d := 1; d < width; d *= 2 {
		v = max(v, ShuffleXor(t, v, d))
	}
	return v
}

// GroupMin returns the smallest v of the group to each of its lanes; NaN wins.
func GroupMin[T Word](t Thread, v T, width int) T {
	width = groupWidth(t, width)
	for d := 1; d < width; d *= 2 {
		v = min(v, ShuffleXor(t, v, d))
	}
	return v
}

// GroupReduce combines v over the group by op and returns the result to each of its
// lanes. op is commutative and associative, or nearly so: neighbours are combined first,
// lanes at distance half a group last, and either may come as first operand.
func GroupReduce[T Number](t Thread, v T, width int, op func(a, b T) T) T {
	width = groupWidth(t, width)
	for d := 1; d < width; d *= 2 {
		v = op(v, ShuffleXor(t, v, d))
	}
	return v
}

// GroupScanSum returns to each lane the sum of v over the lanes of the group up to and
// with its own. The order of additions is fixed, as in [WarpScanSum].
func GroupScanSum[T Word](t Thread, v T, width int) T {
	width = groupWidth(t, width)
	for d := 1; d < width; d *= 2 {
		below := ShuffleUp(t, v, d)
		if t.Lane()&(width-1) >= d {
			v += below
		}
	}
	return v
}

// GroupScanExclusive returns to each lane the sum of v over the lanes of the group below
// its own, 0 to the first. It adds in the order of [GroupScanSum].
func GroupScanExclusive[T Word](t Thread, v T, width int) T {
	sum := ShuffleUp(t, GroupScanSum(t, v, width), 1)
	if GroupLane(t, width) == 0 {
		return 0
	}
	return sum
}

// groupWidth returns a width that is one, and ends the thread for another.
func groupWidth(t Thread, width int) int {
	Assert(t, width > 0 && width&(width-1) == 0 && width <= t.WarpSize(), "groups of %d lanes in a warp of %d: want a power of two that is no larger", width, t.WarpSize())
	return width
}

// inGroup returns the lane from of a group, or lane where there is none.
func inGroup(lane, from, width int) int {
	if uint(from) < uint(width) {
		return from
	}
	return lane
}

// LanesBelow returns a mask with one bit for each lane of the warp below this one. With
// [Ballot] it gives each lane its index among those of which something is true:
//
//	index := bits.OnesCount64(dsl.Ballot(t, found) & dsl.LanesBelow(t))
func LanesBelow(t Thread) uint64 { return uint64(1)<<uint(t.Lane()) - 1 }

// ActiveMask returns a mask with one bit for each lane of the warp. All lanes come to an
// operation of warps, so that it is the same everywhere; the lanes that will take a branch
// are [Ballot] of its condition, before it.
func ActiveMask(t Thread) uint64 { return Ballot(t, true) }

// MatchAny returns a mask with one bit for each lane of the warp that has the same v. It
// takes a step for each value that there is.
func MatchAny[T Int | Uint](t Thread, v T) uint64 {
	var same uint64
	for left := ActiveMask(t); left != 0; {
		first := Shuffle(t, v, bits.TrailingZeros64(left))
		mask := Ballot(t, v == first)
		if v == first {
			same = mask
		}
		left &^= mask
	}
	return same
}

// MatchAll reports whether all lanes of the warp have the same v.
func MatchAll[T Int | Uint](t Thread, v T) bool { return All(t, v == Shuffle(t, v, 0)) }
