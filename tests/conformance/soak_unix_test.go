//go:build unix

package conformance_test

import "syscall"

// preempt sends the process the signals by which the Go runtime preempts goroutines
// and the profiler samples, to whatever thread they find.
func preempt() {
	pid := syscall.Getpid()
	for range 16 {
		_ = syscall.Kill(pid, syscall.SIGURG)
	}
	_ = syscall.Kill(pid, syscall.SIGPROF)
}
