// Transpose turns a matrix round with the tile size that is the fastest one on its device. Which
// that is, it measures when it first runs there:
//
//	go run ./examples/transpose -n 4096 -m 4096
//	KILN_LOG=info go run ./examples/transpose -n 4096 -m 4096    # what was measured
//
// A second run finds the choice in the cache. To ship it, record a run and prebuild from the record:
//
//	KILN_RECORD=kernels.txt ./transpose -n 4096 -m 4096
//	kiln prebuild -from kernels.txt -o transpose.kiln
package main
