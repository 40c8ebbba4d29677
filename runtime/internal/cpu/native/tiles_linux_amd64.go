package native

import "syscall"

// permitTiles asks the system for the state of tile registers, 8 KiB for each thread that uses them,
// and reports whether it gives that. It is for the whole process and for good. What the system saves
// for signals grows by as much, for which the signal stacks of Go's threads have room; it refuses if
// there are threads whose stacks have none.
func permitTiles() bool {
	const requestPermission, tileData = 0x1023, 18 // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
	_, _, errno := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, requestPermission, tileData, 0)
	return errno == 0
}
