// Package interp runs a kernel in IR form on the CPU: the engine of the "cpu"
// device wherever no native code is generated, and the one that checks.
//
// A block is executed by one worker, an operation at a time for all of its
// threads: a register is an array with one element for each thread (lane), and
// an operation is one loop over such arrays, in Go on every processor. Blocks are
// handed out to as many workers as there are processors. The model:
//
//   - Each value is uniform (one scalar for the block), affine (base + lane*step,
//     two scalars: most index arithmetic, pointers included) or varying (an array).
//     Uniform and affine values cost the same for any number of threads, and a load
//     or store through an affine pointer is a plain copy.
//   - Where threads disagree on a branch, the lanes wait at the two targets. The
//     target that comes first in reverse postorder runs first, loops before what
//     follows them, so lanes meet again as early as possible and all lanes of a
//     loop run its iterations in step.
//   - Operations without effects compute idle lanes too (registers are assigned so
//     that nothing live is lost); memory operations touch active lanes only.
//   - A block without barriers and shared memory is cut into strips of lanes whose
//     registers fit the first-level cache.
//
// Always checked: index bounds, barriers and warp operations that some threads do
// not reach, argument size. Shared memory starts as 0xFF bytes. A failure is a
// [KernelError] naming the kernel, the source position, the block and the thread.
//
// A checked build (ir.Module.Checked) is looked at more closely: before each access to
// shared or global memory the checker (race.go) compares it with what a shadow of the
// memory remembers of earlier ones, and reports data races, between blocks too, and
// reads of shared memory that no thread of the block has written. It then runs the
// blocks in order on one processor. Other builds have none of those instructions.
//
//	p, err := interp.Load("scale", text)
//	if err != nil { … }
//	err = p.Run(interp.Launch{Grid: [3]int{64, 1, 1}, Block: [3]int{256, 1, 1}, Args: args})
package interp
