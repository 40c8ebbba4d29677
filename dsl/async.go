package dsl

// CopyAsync copies *src, in global memory, to *dst, in shared memory, while the
// thread goes on. What was copied may be read behind [CopyWait], by other threads
// behind a barrier that comes after it. Until then nobody may read or write *dst, or
// write *src. Copies of neighbouring elements in straight code are made as one of 4, 8
// or 16 bytes where both addresses allow, like the accesses of [LoadVec]:
//
//	for k := range 4 {
//		dsl.CopyAsync(&tile[i*4+k], &x[j*4+k])
//	}
//	// What needs no tile.
//	dsl.CopyWait()
//	t.Sync()
//
// A device that has no such copies copies at once, and so does checked code, which on
// the CPU reports what comes too early.
//
//kiln:intrinsic
func CopyAsync[T Number](dst, src *T) { *dst = *src }

// CopyVecAsync copies vector j of src, in global memory, to vector i of dst, in shared
// memory, as [CopyAsync] copies a number; vectors are those of [LoadVec]. If both
// slices begin at a multiple of the vector's size, as buffers and shared memory do, a
// vector of 16 bytes is one copy, which leaves the first-level cache alone:
//
//	dsl.CopyVecAsync[[8]dsl.BF16](tile, i, x, j)
//
//kiln:intrinsic
func CopyVecAsync[V Vec[T], T Number](dst []T, i int, src []T, j int) {
	StoreVec(dst, i, LoadVec[V](src, j))
}

// CopyVecAsyncOrZero is [CopyVecAsync] if ok. If not, vector i of dst becomes zeros as
// late as a copy would be made, nothing is read, and j may be any number: so tiles at
// the edge of a matrix are filled without a branch.
//
//kiln:intrinsic
func CopyVecAsyncOrZero[V Vec[T], T Number](dst []T, i int, src []T, j int, ok bool) {
	var v V
	if ok {
		v = LoadVec[V](src, j)
	}
	StoreVec(dst, i, v)
}

// CopyCommit makes a group of the copies that the thread has begun since the last
// call, for [CopyWaitGroups]. A group may be empty.
//
//kiln:intrinsic
func CopyCommit() {}

// CopyWait waits until all is there that the thread has asked [CopyAsync] for. It is
// no barrier: what other threads have asked for need not be there.
//
//kiln:intrinsic
func CopyWait() {}

// CopyWaitGroups waits like [CopyWait], but not for the n latest groups of
// [CopyCommit], nor for copies that are in no group yet. The number n is known when
// the kernel is compiled, as lengths of [SharedSlice] are. A pipeline of stages makes
// a group in each step, of nothing at the end, and waits for the oldest:
//
//	for s := range stages - 1 {
//		load(s)
//		dsl.CopyCommit()
//	}
//	for k := range steps {
//		dsl.CopyWaitGroups(stages - 2)
//		t.Sync() // tile k is there, and nobody reads tile k-1 any more
//		if next := k + stages - 1; next < steps {
//			load(next)
//		}
//		dsl.CopyCommit()
//		multiply(k)
//	}
//
//kiln:intrinsic
func CopyWaitGroups(n ConstInt) {}
