package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// memory is what the process had when it was begun to be watched.
type memory struct{ before int64 }

// watch has the system forget the most memory that the process has had.
func watch() (m memory, err error) {
	const reset = "5" // of the peak, see proc(5)
	if err := os.WriteFile("/proc/self/clear_refs", []byte(reset), 0); err != nil {
		return m, fmt.Errorf("the peak of the memory of the process cannot be reset: %w", err)
	}
	m.before, err = status("VmRSS")
	return m, err
}

// most is the most memory that the process has had since, less what it had then.
func (m memory) most() (int64, error) {
	n, err := status("VmHWM")
	return n - m.before, err
}

// status reads a size of /proc/self/status, in bytes.
func status(name string) (n int64, err error) {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), name+":"); ok {
			_, err = fmt.Sscan(rest, &n)
			return n << 10, err
		}
	}
	return 0, fmt.Errorf("/proc/self/status has no %s", name)
}
