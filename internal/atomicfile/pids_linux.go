package atomicfile

import (
	"errors"
	"os"
	"strings"
	"syscall"
)

// pidSpace names the processes among which a number is one's alone: those of a namespace,
// since the machine was started. It is "" where /proc does not say.
func pidSpace() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + " " + space
}

// alive reports whether there is a process of a number. One of another user counts.
func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
