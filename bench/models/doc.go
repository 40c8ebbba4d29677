// Command models measures language models with random weights in the shapes of published ones: tokens
// a second when a prompt is fed, and when tokens are generated one behind the other, for one sequence and
// for several. The share is that of the time that it takes to read all weights once at the rate of a copy.
// With -eager each operation of a step is a launch, and else all of them are one of a graph.
//
//	go build -o models ./bench/models
//	./models -device cuda:0 -model llama-3-8b -prompt 2048 -batch 1,64
//	./models -device cuda:0 -model llama-3-8b -prompt 2048 -batch 1 -eager
//	./models -device cpu -model llama-3.2-1b -quantize Q4_0,Q4_K
package main
