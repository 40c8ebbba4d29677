package cpu

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

func mapMemory(size int) ([]byte, error) {
	p, err := windows.VirtualAlloc(0, uintptr(size), windows.MEM_COMMIT|windows.MEM_RESERVE, windows.PAGE_READWRITE)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&p))), size), nil
}

func unmapMemory(mem []byte) {
	_ = windows.VirtualFree(addrOf(mem), 0, windows.MEM_RELEASE)
}

func touch([]byte) {}
