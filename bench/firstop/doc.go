// Command firstop measures what a fresh process spends on 200 kernels before it has run
// each once: compiled, from the cache, and from bundles with text or with machine code.
// Opening the device is not counted.
//
//	go build -o firstop ./bench/firstop
//	./firstop -record kernels.txt                # what the process uses
//	kiln prebuild -from kernels.txt -target ptx:sm_90,cpu -o kernels.kiln
//	./firstop -device cuda:0 -bundle kernels.kiln
//
// Bundles have machine code if KILN_PTXAS was there when they were built.
package main
