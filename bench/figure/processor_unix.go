//go:build unix

package figure

import (
	"syscall"
	"time"
)

// ProcessorTime is what the process has used so far, on all processors, the collector of garbage
// included; 0 where it is not known.
func ProcessorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
