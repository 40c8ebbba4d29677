package cpu

import "golang.org/x/sys/unix"

// systemMemory returns the machine's memory; what is available is not known.
func systemMemory() (total, available int64) {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0, 0
	}
	return int64(n), 0
}

func modelName() string {
	if name, err := unix.Sysctl("machdep.cpu.brand_string"); err == nil && name != "" {
		return name
	}
	return "CPU"
}
