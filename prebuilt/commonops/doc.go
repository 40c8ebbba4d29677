// Package commonops is the tensor operations that most programs use, each as a case that runs
// it on the types and shapes that programs have. bench/variants counts what is compiled for
// them, and keeps a record of it for kiln prebuild.
//
// The model:
//
//   - A [Case] queues operations and waits for none: no result is read, and no number that
//     decides what is done next. So a record (KILN_RECORD) of the cases needs no device that
//     computes, only one that has the limits of the device in question.
//   - The operands come from the host, so that nothing but the operation needs a kernel.
//   - Shapes are small: what a launch is specialised for depends on whether rows are short or
//     long, contiguous or strided, rather than on how many there are.
//
// Example:
//
//	for _, c := range commonops.Cases() {
//		if err := c.Run(dev); err != nil {
//			return fmt.Errorf("%s: %w", c.Name, err)
//		}
//	}
package commonops
