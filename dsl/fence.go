package dsl

// Fence orders memory: what this thread read and wrote before it comes, for all
// threads of the device, before what it reads and writes after. It is sequentially
// consistent: all threads see all fences in one order. It makes nobody wait, and
// says nothing about a thread that does not look. A value is handed over so:
//
//	data[i] = x                       for dsl.AtomicLoad(&ready[i]) == 0 {
//	dsl.Fence()                       }
//	dsl.AtomicStore(&ready[i], 1)     dsl.Fence()
//	                                  x := data[i]
//
//kiln:intrinsic
func Fence() {} // threads on the host take turns

// FenceBlock is [Fence] for the threads of the block alone, which is cheaper.
//
//kiln:intrinsic
func FenceBlock() {}
