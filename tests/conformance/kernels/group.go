package kernels

import "github.com/gokiln/kiln/dsl"

// Groups exchanges values in every way in the groups of a warp.
//
//kiln:kernel
func Groups[T int32 | float32 | uint64](t dsl.Thread, out, x []T, width dsl.ConstInt) {
	w := int(width)
	v := x[t.Global()]
	o := out[11*t.Global():]
	o[0] = dsl.GroupShuffle(t, v, 3+t.ThreadX(), w)
	o[1] = dsl.GroupShuffleUp(t, v, 1, w)
	o[2] = dsl.GroupShuffleDown(t, v, 3, w)
	o[3] = dsl.GroupShuffleXor(t, v, 5, w)
	o[4] = dsl.GroupSum(t, v, w)
	o[5] = dsl.GroupMax(t, v, w)
	o[6] = dsl.GroupMin(t, v, w)
	o[7] = dsl.GroupScanSum(t, v, w)
	o[8] = dsl.GroupScanExclusive(t, v, w)
	o[9] = dsl.GroupReduce(t, v, w, func(a, b T) T { return max(a, b) - min(a, b) })
	o[10] = T(10*dsl.GroupLane(t, w) + dsl.GroupIndex(t, w))
}

// Masks has masks of lanes: of votes in groups, and of lanes with equal values.
//
//kiln:kernel
func Masks[T int8 | uint32 | int64](t dsl.Thread, out []uint64, x []T, width dsl.ConstInt) {
	w := int(width)
	v := x[t.Global()]
	o := out[6*t.Global():]
	o[0] = dsl.GroupBallot(t, v > 0, w)
	o[1] = dsl.GroupMask(t, w) ^ dsl.LanesBelow(t)
	o[2] = dsl.ActiveMask(t)
	if dsl.GroupAny(t, v > 2, w) {
		o[2] ^= 2
	}
	if dsl.GroupAll(t, v != 3, w) {
		o[2] ^= 4
	}
	o[3] = dsl.MatchAny(t, v)
	if dsl.MatchAll(t, v) {
		o[4] = 1
	}
	if dsl.MatchAll(t, T(t.Warp())) {
		o[5] = 1
	}
}
