package dsl

// Reductions and scans combine values by one tree over the indices of threads, the
// same on every device: neighbours first, then aligned groups of 2, of 4, of 8 and so
// on. A thread or group that the block does not have is left out. The width of a warp
// says how far shuffles go and where shared memory takes over, and nothing else.

// WarpSum returns the sum of v over the warp to every lane. The order of
// additions is fixed: neighbours first, then groups of two lanes, of four and so on.
func WarpSum[T Word](t Thread, v T) T {
	for d := 1; d < t.WarpSize(); d *= 2 {
		v += ShuffleXor(t, v, d)
	}
	return v
}

// WarpMax returns the largest v of the warp to every lane; NaN wins.
func WarpMax[T Word](t Thread, v T) T {
	for d := 1; d < t.WarpSize(); d *= 2 {
		v = max(v, ShuffleXor(t, v, d))
	}
	return v
}

// WarpMin returns the smallest v of the warp to every lane; NaN wins.
func WarpMin[T Word](t Thread, v T) T {
	for d := 1; d < t.WarpSize(); d *= 2 {
		v = min(v, ShuffleXor(t, v, d))
	}
	return v
}

// WarpAnd returns the bitwise and of v over the warp to every lane.
func WarpAnd[T WordInt](t Thread, v T) T {
	for d := 1; d < t.WarpSize(); d *= 2 {
		v &= ShuffleXor(t, v, d)
	}
	return v
}

// WarpOr returns the bitwise or of v over the warp to every lane.
func WarpOr[T WordInt](t Thread, v T) T {
	for d := 1; d < t.WarpSize(); d *= 2 {
		v |= ShuffleXor(t, v, d)
	}
	return v
}

// WarpXor returns the bitwise exclusive or of v over the warp to every lane.
func WarpXor[T WordInt](t Thread, v T) T {
	for d := 1; d < t.WarpSize(); d *= 2 {
		v ^= ShuffleXor(t, v, d)
	}
	return v
}

// WarpReduce combines v over the warp by op and returns the result to every
// lane, in the order of [WarpSum]. op is commutative, since either operand may be
// the one of the lower lanes, and associative, or nearly so.
func WarpReduce[T Number](t Thread, v T, op func(a, b T) T) T {
	for d := 1; d < t.WarpSize(); d *= 2 {
		v = op(v, ShuffleXor(t, v, d))
	}
	return v
}

// BlockSum returns the sum of v over the block to every thread, with the same bits on
// every device: neighbours in the order of [Thread.ThreadIndex] are added first, then
// groups of two threads, of four and so on. All threads of the block call it, and it
// contains barriers.
func BlockSum[T Word](t Thread, v T) T {
	return joinWarps(t, WarpSum(t, v), nothing[T](), add)
}

// BlockMax returns the largest v of the block to every thread; NaN wins. All
// threads of the block call it, and it contains barriers.
func BlockMax[T Word](t Thread, v T) T {
	v = WarpMax(t, v)
	return joinWarps(t, v, v, larger)
}

// BlockMin returns the smallest v of the block to every thread; NaN wins. All
// threads of the block call it, and it contains barriers.
func BlockMin[T Word](t Thread, v T) T {
	v = WarpMin(t, v)
	return joinWarps(t, v, v, smaller)
}

func larger[T Word](a, b T) T  { return max(a, b) }
func smaller[T Word](a, b T) T { return min(a, b) }

// nothing returns what changes no sum that it is added to: −0, as −0 + 0 is 0.
func nothing[T Word]() T {
	var zero T
	return -zero
}

// maxWarps bounds the warps of a block: 1024 threads in warps of eight.
const maxWarps = 128

// parts holds results of the warps of a block, of each eight of them, and of each
// eight of those.
type parts[T Word] struct {
	warps  [maxWarps]T
	eights [maxWarps / 8]T
	more   [8]T
}

// joinWarps continues the tree of a reduction over the results of the warps, by eight
// at a time; none, which changes no result, fills the last eight up. Every thread reads
// the last parts from one address, so the compiler knows that the result is uniform.
func joinWarps[T Word](t Thread, v, none T, op func(a, b T) T) T {
	p := Shared[parts[T]](t)
	i, n := t.ThreadIndex(), t.BlockSize()/t.WarpSize()
	t.Sync() // an earlier call may still be reading
	if t.Lane() == 0 {
		p.warps[t.Warp()] = v
	}
	for j := n + i; j < (n+7)&^7; j += t.BlockSize() {
		p.warps[j] = none
	}
	t.Sync()
	if n <= 8 {
		return eight(p.warps[:8], op)
	}
	if 8*i < n {
		p.eights[i] = eight(p.warps[8*i:], op)
	} else if i < maxWarps/8 {
		p.eights[i] = none
	}
	t.Sync()
	if t.WarpSize() >= 16 || n <= 64 {
		return eight(p.eights[:8], op)
	}
	if i < 2 {
		p.more[i] = eight(p.eights[8*i:], op)
	}
	t.Sync()
	return op(p.more[0], p.more[1])
}

// eight combines the first eight parts.
func eight[T Word](p []T, op func(a, b T) T) T {
	return op(four(p, op), four(p[4:], op))
}

func four[T Word](p []T, op func(a, b T) T) T {
	return op(op(p[0], p[1]), op(p[2], p[3]))
}
