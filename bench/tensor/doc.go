// Command tensor measures the operations of package tensor, each beside a copy of the
// same run:
//
//	go run ./bench/tensor                    # on the CPU
//	go run ./bench/tensor -device cuda:0 -json >ours.jsonl
//	python3 bench/peers/tensor.py >torch.jsonl
//	go run ./bench/gpubench -table ours.jsonl torch.jsonl
//
// -product bf16:16x14336x4096, or f32-high:4096x4096x4096, measures one product of matrices in all
// strategies that there are, of which those that are not for it are errors at the end.
//
// -cc 80 compiles for another compute capability than that of the GPU, as a program does for an older
// one: with -product bf16:4096x4096x4096, products by mma.sync on a device that has more than these.
//
// The rate of an operation that moves memory is its operands, each read once, and its
// result, written once, over the device's time between two events, the allocation of the
// result included; that of a product of matrices is its floating-point operations. On a GPU
// up to ten operations run between the events, so that what counts is what a program gets
// that does not wait for each.
package main
