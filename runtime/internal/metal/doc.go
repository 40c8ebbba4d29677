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
//   - All streams of a device feed one command queue. Every operation is a command
//     buffer that waits for the value that the one before it signals on a shared event,
//     so operations run one after the other in the order of the calls: more order than
//     package driver demands, and never less.
//   - Memory is shared by host and GPU. Copies from and to Go memory wait for the queue
//     and are copies of bytes; all others are blits.
//   - What is freed stays until the operations before it are done.
//   - Autoreleased objects live in a pool that each call opens on its locked thread.
//     Everything else is counted: what a device owns is released when it closes.
//   - A kernel that fails makes its command buffer fail; the next call that waits says
//     so, with the kernel's name. The device stays usable.
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
