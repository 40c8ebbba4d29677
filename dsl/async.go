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
// A device that has no such copies copies at once, and so does checked code.
//
//kiln:intrinsic
func CopyAsync[T Number](dst, src *T) { *dst = *src }

// CopyWait waits until all is there that the thread has asked [CopyAsync] for. It is
// no barrier: what other threads have asked for need not be there.
//
//kiln:intrinsic
func CopyWait() {}
