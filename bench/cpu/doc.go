// Command cpu measures kernels on the CPU beside the same algorithms in C:
//
//	go run ./bench/cpu                        everything
//	go run ./bench/cpu -only SGEMM,Softmax    some kernels, nothing else
//	go run ./bench/cpu -isa avx2              our code for AVX2, C for x86-64-v3
//	go run ./bench/cpu -small                 sizes for the interpreter
//	go run ./bench/cpu -list -only SGEMM      the code of a kernel
//	go run ./bench/cpu -plain                 only the kernels beside plain Go, without a C compiler
//
// A case is a kernel of bench/cpu/kernels and its twin in bench/cpu/c, which the
// command compiles by clang -O3 -march=native with the pragmas of OpenMP for
// vectors, in these ways:
//
//	clang   strict arithmetic, as ours; the peer of the column "ratio"
//	512     the same with vectors of 512 bits, where clang prefers 256
//	alt     another way to write it in C, such as with the polynomials of package
//	        dsl in place of the math library's
//	fast    -ffast-math, which may answer otherwise
//
// and the column "best" is our time over that of the fastest of the first three.
// expf and tanhf come from glibc's libmvec, which is good to 4 ulp, ours to 1.
//
// Both sides run in this process, on one thread, on the same buffers, and take
// turns. Each result is checked against the twin's. A sample is a batch of some
// milliseconds; time is the processor's, which neighbours on the machine disturb
// less than that of the clock (-wall for that). A time in the table is the least of
// the rounds, and a ratio that of two of these.
//
// The multiply-add peak of one core is measured by a loop in C, for the share that
// SGEMM reaches. At the end stand the times for compiling the kernels, and those of
// examples/edges on the interpreter and as machine code, with its own picture and
// with one of 12 megapixels.
//
// A second table has kernels as one writes them for a GPU from the documents, with nothing done for
// a CPU, on all processors (-cores for fewer) beside the same algorithms in plain Go on one thread,
// package plain, whose results are the same to the last bit: times by the clock, and by the
// processor, of which the last column makes what two quiet cores would reach.
package main
