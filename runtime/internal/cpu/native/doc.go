// Package native runs kernels in machine code on the processor of the program.
//
// The model:
//
//   - A [Program] is an image of package compiler/amd64/image in executable
//     memory: written, then made executable, never both at once, and unmapped when
//     the program is closed and no launch uses it.
//   - Code is called without cgo, as a system call that computes; see call.
//   - A launch is a job: workers take chunks of its blocks from a counter. The
//     caller is the first; others start when there is work enough. Chunks are
//     as long as the blocks have turned out to take, and shorter towards the end.
//   - A worker has a context, argument block, shared memory and frames in memory
//     outside the Go heap. A [Pool] keeps them for the next launch.
//   - The first block, in order, that fails decides the error of a launch.
//
// Example:
//
//	p, err := native.Load(pool, container)
//	err = p.Run([3]int{64, 1, 1}, [3]int{256, 1, 1}, args)
//	p.Close()
package native
