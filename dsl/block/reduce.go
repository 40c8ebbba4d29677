package block

import "github.com/gokiln/kiln/dsl"

// maxWarps bounds the warps of a block: 1024 threads in warps of eight.
const maxWarps = 128

// Reduce combines v over a block of so many threads by op, and gives all of them the result. op is
// commutative and associative, or nearly so: the order is that of [dsl.BlockSum], a tree over the
// indices of threads that gives the same bits whatever the width of a warp. All threads of the block
// call it, and it contains barriers.
func Reduce[T dsl.Number](t dsl.Thread, threads dsl.ConstInt, v T, op func(a, b T) T) T {
	part := dsl.Shared[[maxWarps]T](t)
	v = dsl.WarpReduce(t, v, op)
	t.Sync() // an earlier call may still be reading
	if t.Lane() == 0 {
		part[t.Warp()] = v
	}
	t.Sync()
	n := max(int(threads)/t.WarpSize(), 1) // launches of less than a warp are refused
	all := dsl.LocalSlice[T](dsl.ConstInt(n))
	for i := range n {
		all[i] = part[i]
	}
	for d := 1; d < n; d *= 2 {
		for i := 0; i+d < n; i += 2 * d {
			all[i] = op(all[i], all[i+d])
		}
	}
	return all[0]
}

// Scan returns op of what the threads below have, none to the first, and of what all threads of the
// block have. Their number is a constant or t.BlockSize(). op is associative, or nearly so; the
// operand on its left is that of lower threads. none changes nothing. Where op rounds, the bits
// depend on the width of a warp: [dsl.BlockScanExclusive] adds in one order everywhere. All threads of
// the block call it, and it contains barriers.
func Scan[T dsl.Number](t dsl.Thread, threads int, v, none T, op func(a, b T) T) (below, all T) {
	part := dsl.Shared[[maxWarps]T](t)
	t.Sync() // an earlier call may still be reading
	inWarp, all := ScanWarp(t, v, none, op)
	below, all = ScanWarps(t, threads, part[:], all, none, op)
	return op(below, inWarp), all
}

// ScanWarp is [Scan] over the lanes of a warp, without barriers.
func ScanWarp[T dsl.Number](t dsl.Thread, v, none T, op func(a, b T) T) (below, all T) {
	for d := 1; d < t.WarpSize(); d *= 2 {
		other := dsl.ShuffleUp(t, v, d)
		if t.Lane() >= d {
			v = op(other, v)
		}
	}
	below = dsl.ShuffleUp(t, v, 1)
	if t.Lane() == 0 {
		below = none
	}
	return below, dsl.Shuffle(t, v, t.WarpSize()-1)
}

// ScanWarps is [Scan] over the warps of the block, given one v for each warp, the same in all of its
// lanes. part is shared memory with an element for each warp, which no thread reads any more: there is
// one barrier, and a kernel that scans in a loop alternates between two of them.
func ScanWarps[T dsl.Number](t dsl.Thread, threads int, part []T, v, none T, op func(a, b T) T) (below, all T) {
	if t.Lane() == 0 {
		part[t.Warp()] = v
	}
	t.Sync()
	below, all = none, none
	for i := range threads / t.WarpSize() {
		if i == t.Warp() {
			below = all
		}
		all = op(all, part[i])
	}
	return below, all
}
