// Package metal is the driver of Apple's GPUs. It needs nothing but macOS: the
// Objective-C runtime and the Metal framework are opened while the program runs, and
// objects are sent messages by package dl.
//
// The model:
//
//   - [library] holds the runtime's functions and the selectors; api.go is the whole
//     list. A device needs macOS 13 and a GPU of the family Metal 3, whose buffers have
//     addresses (gpuAddress): slices are addresses in the block of arguments, which is
//     buffer 0 of every kernel. A launch makes those buffers resident whose addresses
//     are in its block.
//   - A stream is a command queue with a shared event. Operations have numbers, and
//     each is a command buffer that signals its number on the event of its stream when
//     it is done (queue.go). It waits for the operation before it, for the latest of
//     the default stream, and for events; in the default stream for the latest of all.
//   - Where host and GPU share their memory all buffers are shared: copies from and to
//     Go memory wait for what comes before them and are copies of bytes. A GPU with
//     memory of its own gets private buffers, which the host never sees: such copies
//     pass through chunks of shared memory (package hostcopy) by blits.
//   - What is freed stays until the operations of all streams before it are done.
//   - A finalised image holds, besides the text, a binary archive with the machine code
//     of its kernels (archive.go). Metal compiles in two steps: text to a library, and
//     its kernels to machine code. The archive saves the second, which depends on the
//     GPU and the system; nothing but Metal's own cache of the process saves the first,
//     because Metal writes no library to a file.
//   - Autoreleased objects live in a pool that each call opens on its locked thread.
//     Everything else is counted: what a device owns is released when it closes.
//   - A kernel that fails makes its command buffer fail; the next call that waits says
//     so, with the kernel's name. The device stays usable, and what waits for the kernel
//     goes on: the host signals in its stead.
//
// MTLSize is passed by value: on amd64 its words are on the stack, on arm64 the callee
// gets a pointer. Functions that return structs or floats are not called at all.
//
// KILN_METAL_LIBRARY names a file to open instead of the system's libraries.
//
//	b := metal.New()
//	report := b.Probe()
//	dev, err := b.Open(0)
package metal
