package dsl

// WarpSum returns the sum of v over the warp to every lane. The order of
// additions is fixed: lanes at distance half a warp first, neighbours last.
func WarpSum[T Word](t Thread, v T) T {
	for d := t.WarpSize() / 2; d > 0; d /= 2 {
		v += ShuffleXor(t, v, d)
	}
	return v
}

// WarpMax returns the largest v of the warp to every lane; NaN wins.
func WarpMax[T Word](t Thread, v T) T {
	for d := t.WarpSize() / 2; d > 0; d /= 2 {
		v = max(v, ShuffleXor(t, v, d))
	}
	return v
}

// WarpMin returns the smallest v of the warp to every lane; NaN wins.
func WarpMin[T Word](t Thread, v T) T {
	for d := t.WarpSize() / 2; d > 0; d /= 2 {
		v = min(v, ShuffleXor(t, v, d))
	}
	return v
}

// WarpAnd returns the bitwise and of v over the warp to every lane.
func WarpAnd[T WordInt](t Thread, v T) T {
	for d := t.WarpSize() / 2; d > 0; d /= 2 {
		v &= ShuffleXor(t, v, d)
	}
	return v
}

// WarpOr returns the bitwise or of v over the warp to every lane.
func WarpOr[T WordInt](t Thread, v T) T {
	for d := t.WarpSize() / 2; d > 0; d /= 2 {
		v |= ShuffleXor(t, v, d)
	}
	return v
}

// WarpXor returns the bitwise exclusive or of v over the warp to every lane.
func WarpXor[T WordInt](t Thread, v T) T {
	for d := t.WarpSize() / 2; d > 0; d /= 2 {
		v ^= ShuffleXor(t, v, d)
	}
	return v
}

// WarpReduce combines v over the warp by op and returns the result to every
// lane. op is commutative and associative, or nearly so: lanes at distance half a
// warp are combined first, neighbours last, and either may come as first operand.
func WarpReduce[T Number](t Thread, v T, op func(a, b T) T) T {
	for d := t.WarpSize() / 2; d > 0; d /= 2 {
		v = op(v, ShuffleXor(t, v, d))
	}
	return v
}

// maxWarps bounds the warps of a block: 1024 threads in warps of eight.
const maxWarps = 128

// BlockSum returns the sum of v over the block to every thread: first over each
// warp as [WarpSum] does, then over the warps in order. All threads of the
// block call it, and it contains barriers.
func BlockSum[T Word](t Thread, v T) T {
	part := Shared[[maxWarps]T](t)
	v = WarpSum(t, v)
	t.Sync() // an earlier call may still be reading
	if t.Lane() == 0 {
		part[t.Warp()] = v
	}
	t.Sync()
	// Every thread adds the few parts itself: the reads are broadcasts, and no
	// third barrier is needed.
	v = part[0]
	for i := 1; i < t.BlockSize()/t.WarpSize(); i++ {
		v += part[i]
	}
	return v
}

// BlockMax returns the largest v of the block to every thread; NaN wins. All
// threads of the block call it, and it contains barriers.
func BlockMax[T Word](t Thread, v T) T {
	part := Shared[[maxWarps]T](t)
	v = WarpMax(t, v)
	t.Sync()
	if t.Lane() == 0 {
		part[t.Warp()] = v
	}
	t.Sync()
	v = part[0]
	for i := 1; i < t.BlockSize()/t.WarpSize(); i++ {
		v = max(v, part[i])
	}
	return v
}

// BlockMin returns the smallest v of the block to every thread; NaN wins. All
// threads of the block call it, and it contains barriers.
func BlockMin[T Word](t Thread, v T) T {
	part := Shared[[maxWarps]T](t)
	v = WarpMin(t, v)
	t.Sync()
	if t.Lane() == 0 {
		part[t.Warp()] = v
	}
	t.Sync()
	v = part[0]
	for i := 1; i < t.BlockSize()/t.WarpSize(); i++ {
		v = min(v, part[i])
	}
	return v
}
