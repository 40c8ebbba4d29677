// Command load measures how fast a GGUF file comes to a device, beside copies of page-locked memory in
// the same process, and how much memory of the host that takes:
//
//	go run ./bench/load -device cuda:0            # a file of 4 GB that it makes, and removes
//	go run ./bench/load -size 256 -file model.gguf -keep
//
// The file has the tensors of a network in the recipe Q4_K_M: weights of a layer in Q4_K and Q6_K,
// norms in F32. It has just been written, so the system has it in memory: what is measured is the way
// from there to the device, not the disk. The row of reading alone is several goroutines that read
// the file into memory which they use again and again, the row of ordinary memory copies of a slice
// of Go.
//
// The memory is the most that the process has had while the file was loaded for the first time
// (VmHWM of /proc/self/status, which is reset before), less what it had before, and on a CPU less the
// tensors. It includes the page-locked memory that copies go through, and pages of mapped files.
package main
