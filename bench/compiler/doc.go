// Command compiler measures the machine code of Kiln's compiler beside nvcc's:
//
//	compiler -cubins folder              every case
//	compiler -cubins folder -only NBody  one of them
//
// A case is a kernel of bench/compiler/kernels and its twin in
// bench/compiler/cuda: the same algorithm, launch and argument block. The twins
// are compiled where the benchmark runs, by bench/compiler/run.sh, into files
// such as compute.cubin and, with products and sums contracted, which Go's
// arithmetic forbids, compute.fmad.cubin.
//
// BlackScholesFast asks for approximate functions and contraction, as its twin
// does with CUDA's intrinsics: its ratio is that to fmad.
//
// Both run in one process on the same buffers and take turns, so that clocks and
// neighbours meet them alike. A sample is a batch of launches between two
// events, 10 ms or so; a figure is the median of the samples. Every version's
// results are checked against plain Go before it is timed.
package main
