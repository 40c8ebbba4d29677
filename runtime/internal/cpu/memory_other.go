//go:build !(linux || darwin || freebsd || netbsd || openbsd || windows)

package cpu

// mapMemory uses the Go heap where there is nothing else. Blocks stay in place:
// the collector does not move, and the arena keeps them reachable.
func mapMemory(size int) ([]byte, error) {
	mem := make([]byte, size+pageSize)
	off := (pageSize - int(addrOf(mem)%pageSize)) % pageSize
	return mem[off : off+size : off+size], nil
}

func unmapMemory([]byte) {}

func touch([]byte) {}
