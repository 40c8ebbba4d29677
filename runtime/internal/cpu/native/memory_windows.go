package native

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

func mapWritable(size int) ([]byte, error) {
	p, err := windows.VirtualAlloc(0, uintptr(size), windows.MEM_COMMIT|windows.MEM_RESERVE, windows.PAGE_READWRITE)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&p))), size), nil
}

var flushInstructionCache = windows.NewLazySystemDLL("kernel32.dll").NewProc("FlushInstructionCache")

func makeExecutable(mem []byte) error {
	p := uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	var old uint32
	if err := windows.VirtualProtect(p, uintptr(len(mem)), windows.PAGE_EXECUTE_READ, &old); err != nil {
		return err
	}
	if ok, _, err := flushInstructionCache.Call(uintptr(windows.CurrentProcess()), p, uintptr(len(mem))); ok == 0 {
		return err
	}
	return nil
}

func unmap(mem []byte) {
	_ = windows.VirtualFree(uintptr(unsafe.Pointer(unsafe.SliceData(mem))), 0, windows.MEM_RELEASE)
}
