package dl

import "unsafe"

// Text copies the C string at p; it is empty for a null pointer.
func Text(p uintptr) string {
	if p == 0 {
		return ""
	}
	n := 0
	for *(*byte)(pointer(p + uintptr(n))) != 0 {
		n++
	}
	return string(Bytes(p, n))
}

// Bytes views size bytes of C memory at p.
func Bytes(p uintptr, size int) []byte { return unsafe.Slice((*byte)(pointer(p)), size) }

// pointer converts an address of C memory. It is not Go memory, so the
// conversion that vet distrusts goes through a pointer to it.
func pointer(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }
