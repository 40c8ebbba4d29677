// Command throughput measures how fast the compiler turns specialisations of
// kernels into PTX:
//
//	go run ./bench/throughput                       one line
//	go run ./bench/throughput -rounds 5 -cpu 2      the line of the best of five
//	go run ./bench/throughput -cpuprofile cpu.prof  for go tool pprof
//
// It compiles 1,000 kernels: 25 operations, 4 types of elements and 10
// configurations of bench/throughput/kernels. Each one goes all the way from
// source, which is in memory as it is in a program that embeds it, to PTX for
// sm_90. Nothing is read from or written to a cache on disk. What the compiler
// keeps in memory between kernels is kept as in any program; the first round
// begins without it.
//
// The line gives wall-clock time, processor time, which neighbours on a shared
// machine disturb less, kernels a second, time a kernel and bytes allocated a
// kernel.
package main
