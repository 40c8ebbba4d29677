//go:build linux || darwin || freebsd || netbsd || openbsd

package native

import "golang.org/x/sys/unix"

func mapWritable(size int) ([]byte, error) {
	return unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
}

func makeExecutable(mem []byte) error { return unix.Mprotect(mem, unix.PROT_READ|unix.PROT_EXEC) }

func unmap(mem []byte) { _ = unix.Munmap(mem) }
