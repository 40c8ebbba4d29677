// Package faults tests to whom the error of a kernel belongs: to what was computed from its
// results, whenever that is read, and to nothing else; on the CPU's engines, on the simulated
// GPUs, and on the device that KILN_DEVICE names. TestSoak has goroutines compute on one device
// at a time, half of them with bad indices, for as long as KILN_SOAK says:
//
//	KILN_SOAK=1m go test -race ./tests/faults -run TestSoak
//	go test -c ./tests/faults && KILN_SOAK=1m KILN_DEVICE=cuda:0 ./faults.test -test.run 'Device|Soak'
//
// The second line makes a program that needs no Go.
package faults
