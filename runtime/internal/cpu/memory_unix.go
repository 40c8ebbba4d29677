//go:build darwin || freebsd || netbsd || openbsd

package cpu

import "syscall"

func mapMemory(size int) ([]byte, error) {
	return syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
}

func unmapMemory(mem []byte) { _ = syscall.Munmap(mem) }

func touch([]byte) {}
