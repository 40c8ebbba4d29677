package dsl

// WarpScanSum returns to each lane the sum of v over the lanes up to and with its
// own. The order of additions is fixed: what lies next to a lane first, then what
// lies further below in twice as long pieces.
func WarpScanSum[T Word](t Thread, v T) T {
	for d := 1; d < t.WarpSize(); d *= 2 {
		below := ShuffleUp(t, v, d)
		if t.Lane() >= d {
			v += below
		}
	}
	return v
}

// WarpScanExclusive returns to each lane the sum of v over the lanes below its
// own, 0 to the first. It adds in the order of [WarpScanSum].
func WarpScanExclusive[T Word](t Thread, v T) T {
	sum := ShuffleUp(t, WarpScanSum(t, v), 1)
	if t.Lane() == 0 {
		return 0
	}
	return sum
}

// BlockScanSum returns to each thread the sum of v over the threads of the block
// up to and with its own, in the order of [Thread.ThreadIndex]: the sums of the
// warps below, added in order, and then what [WarpScanSum] gives. All threads of
// the block call it, and it contains barriers.
func BlockScanSum[T Word](t Thread, v T) T {
	part := Shared[[maxWarps]T](t)
	v = WarpScanSum(t, v)
	t.Sync() // an earlier call may still be reading
	if t.Lane() == t.WarpSize()-1 {
		part[t.Warp()] = v
	}
	t.Sync()
	var below T
	for i := range t.Warp() {
		below += part[i]
	}
	return below + v
}

// BlockScanExclusive returns to each thread the sum of v over the threads of the
// block below its own, 0 to the first; otherwise it is as [BlockScanSum]. All
// threads of the block call it, and it contains barriers.
func BlockScanExclusive[T Word](t Thread, v T) T {
	part := Shared[[maxWarps]T](t)
	sum := WarpScanExclusive(t, v)
	t.Sync()
	if t.Lane() == t.WarpSize()-1 {
		part[t.Warp()] = sum + v
	}
	t.Sync()
	var below T
	for i := range t.Warp() {
		below += part[i]
	}
	return below + sum
}
