package native

import _ "unsafe" // for linkname

// Supported says whether this build can call native code.
const Supported = true

// call runs native code on the calling goroutine's thread. To the Go runtime it
// is a system call that computes, and for the same reasons that make system
// calls safe this is:
//
//   - Between entersyscall and exitsyscall the goroutine has the state of one
//     in a system call. If the code takes long, sysmon gives the processor (P)
//     to other goroutines, with GOMAXPROCS=1 too, and the garbage collector
//     does not wait: stopping the world takes the P away as well.
//   - The collector may scan this stack meanwhile. It begins at the frame of
//     call, which entersyscall has noted and which stays as it is until
//     exitsyscall; stacks of goroutines in system calls are not moved
//     (isShrinkStackSafe). Nothing here can grow the stack: call and enter are
//     nosplit, and native code uses two words of it, for its return address and for
//     that of a subroutine, out of the hundreds that every Go frame has below it.
//   - Native code sees addresses of the context only, which is not Go memory, and
//     of device memory, so there is nothing for write barriers to do.
//   - Signal handlers run on the signal stack of the thread (the runtime sets
//     SA_ONSTACK) and find g through thread-local storage, not through the
//     registers that native code changes. A preemption signal finds a program
//     counter that is no Go function and leaves the goroutine alone
//     (isAsyncSafePoint). A profiling signal accounts to ExternalCode for the same
//     reason (sigprof). The kernel saves and restores all vector state.
//   - enter is called by ABI0, so the compiler takes every register but SP and BP
//     to be changed, and makes R14 (g) and X15 (zero) again behind it. BP is
//     kept by the frame of enter.
//   - A fault of memory in native code ends the program, as it does in C: nothing
//     could unwind it. Kernels check their indices, so it takes a slice of memory
//     that was freed, or a fault of the compiler; see trapping.
//
// The race detector does not see what native code does; call has no memory
// accesses that it could see on a stack that must not grow, either.
//
//go:nosplit
//go:noinline
//go:norace
func call(code, ctx uintptr) {
	entersyscall()
	enter(code, ctx)
	exitsyscall()
}

// enter calls code with ctx in RDI.
//
//go:noescape
func enter(code, ctx uintptr)

// pause tells the processor that this is a loop that waits.
func pause()

// The runtime keeps these two for packages that make system calls of their own.

//go:linkname entersyscall runtime.entersyscall
func entersyscall()

//go:linkname exitsyscall runtime.exitsyscall
func exitsyscall()
