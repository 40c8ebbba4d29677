// Package launch holds Go benchmarks of the host's side of a launch:
//
//	go test -bench . ./bench/launch
//	KILN_BENCH_DEVICE=cuda go test -bench . ./bench/launch
//	KILN_BENCH_DEVICE=cpu:avx512 go test -bench . ./bench/launch
//
// Launch measures what a caller waits for: checking and packing the arguments
// and submitting. Queues are drained outside the timed part. Command gpubench
// compares the same with bare calls of the driver. On the CPU a launch of a small
// kernel includes running it. LaunchAndWait does with one block and with more, up to
// such numbers that several processors share them.
package launch
