// Command firstop measures what a fresh process spends on 200 kernels before it has run
// each once: compiled, from the cache, and from bundles with text or with machine code.
// Opening the device is not counted.
//
//	go build -o firstop ./bench/firstop
//	./firstop -record kernels.txt                # what the process uses
//	kiln prebuild -from kernels.txt -target ptx:sm_90,cpu -o kernels.kiln
//	./firstop -device cuda:0 -bundle kernels.kiln
//
// With -product 256,4096 it measures the first product of matrices of BF16 of such sizes, and what the
// parts of its time are: the compiler from Go to IR and from there to the device's text, the driver's
// compiler, loading, and the rest, in which the launch and the product are.
//
//	./firstop -product 256,4096 -record products.txt
//	kiln prebuild -from products.txt -target ptx:sm_90a -o products.kiln
//	./firstop -device cuda:0 -product 256,4096 -bundle products.kiln
//
// Bundles have machine code if KILN_PTXAS was there when they were built.
package main
