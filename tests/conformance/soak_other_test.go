//go:build !unix

package conformance_test

// preempt has no signals to send.
func preempt() {}
