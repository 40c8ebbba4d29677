package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// now returns a time of the clock, or what the process has used of processors.
func now(wall bool) time.Duration {
	id := int32(unix.CLOCK_PROCESS_CPUTIME_ID)
	if wall {
		id = unix.CLOCK_MONOTONIC
	}
	var t unix.Timespec
	if err := unix.ClockGettime(id, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
