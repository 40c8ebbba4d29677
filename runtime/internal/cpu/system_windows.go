package cpu

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// memoryStatus is MEMORYSTATUSEX.
type memoryStatus struct {
	length, load                                     uint32
	totalPhys, availPhys, totalPage, availPage       uint64
	totalVirtual, availVirtual, availExtendedVirtual uint64
}

var globalMemoryStatus = windows.NewLazySystemDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")

// systemMemory returns the machine's memory and what is available of it, 0
// for what is not known.
func systemMemory() (total, available int64) {
	m := memoryStatus{length: uint32(unsafe.Sizeof(memoryStatus{}))}
	if ok, _, _ := globalMemoryStatus.Call(uintptr(unsafe.Pointer(&m))); ok == 0 {
		return 0, 0
	}
	return int64(m.totalPhys), int64(m.availPhys)
}

func modelName() string {
	if name := os.Getenv("PROCESSOR_IDENTIFIER"); name != "" {
		return name
	}
	return "CPU"
}
