package dsl

// WarpScanSum returns to each lane the sum of v over the lanes up to and with its
// own. The order of additions is fixed: to what the lane has come the lanes below, in
// aligned groups of one, two, four and so on, each summed as by [WarpSum]. The last lane
// has what WarpSum returns.
func WarpScanSum[T Word](t Thread, v T) T {
	v, _ = warpScan(t, v, v)
	return v
}

// WarpScanExclusive returns to each lane the sum of v over the lanes below its
// own, 0 to the first: what [WarpScanSum] returns to the lane below.
func WarpScanExclusive[T Word](t Thread, v T) T {
	sum, _ := warpScan(t, v, nothing[T]())
	if t.Lane() == 0 {
		return 0
	}
	return sum
}

// BlockScanSum returns to each thread the sum of v over the threads of the block
// up to and with its own, in the order of [Thread.ThreadIndex] and with the same bits on
// every device: the order of additions is that of [WarpScanSum], continued over the block.
// The last thread has what [BlockSum] returns. All threads of the block call it, and it
// contains barriers.
func BlockScanSum[T Word](t Thread, v T) T {
	sum, all := warpScan(t, v, v)
	return addWarps(t, sum, all)
}

// BlockScanExclusive returns to each thread the sum of v over the threads of the
// block below its own, 0 to the first: what [BlockScanSum] returns to the thread below.
// All threads of the block call it, and it contains barriers.
func BlockScanExclusive[T Word](t Thread, v T) T {
	sum, all := warpScan(t, v, nothing[T]())
	sum = addWarps(t, sum, all)
	if t.ThreadIndex() == 0 {
		return 0
	}
	return sum
}

// warpScan adds to sum the lanes below, in aligned groups, of which each is as long as
// a bit of the lane's number says. It also returns the sum of v over the warp.
func warpScan[T Word](t Thread, v, sum T) (scan, all T) {
	lane := t.Lane()
	for d := 1; d < t.WarpSize(); d *= 2 {
		other := ShuffleXor(t, v, d)
		if lane&d != 0 {
			sum += other
		}
		v += other
	}
	return sum, v
}

// addWarps adds to sum the warps below, in aligned groups again. All is the sum over
// the thread's warp.
func addWarps[T Word](t Thread, sum, all T) T {
	p := Shared[parts[T]](t)
	i, n, w := t.ThreadIndex(), t.BlockSize()/t.WarpSize(), t.Warp()
	t.Sync() // an earlier call may still be reading
	if t.Lane() == 0 {
		p.warps[w] = all
	}
	t.Sync()
	sum = addParts(sum, p.warps[:], w)
	if n <= 8 {
		return sum
	}
	if 8*i+8 <= n {
		p.eights[i] = eight(p.warps[8*i:], add)
	}
	t.Sync()
	sum = addParts(sum, p.eights[:], w/8)
	if t.WarpSize() < 16 && w >= 64 {
		sum += eight(p.eights[:8], add)
	}
	return sum
}

// addParts adds to sum the parts below part i in its eight.
func addParts[T Word](sum T, p []T, i int) T {
	if i&1 != 0 {
		sum += p[i-1]
	}
	if i&2 != 0 {
		sum += p[i&^3] + p[i&^3+1]
	}
	if i&4 != 0 {
		sum += four(p[i&^7:], add)
	}
	return sum
}

func add[T Word](a, b T) T { return a + b }
