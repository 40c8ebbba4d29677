//go:build !amd64

package metal

import (
	"unsafe"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// dispatchWords writes the arguments of a dispatch. The callee gets pointers to
// structs of three words, which lie behind the arguments; w is on the heap.
func dispatchWords(w *driver.Scratch, encoder, selector uintptr, grid, block [3]int) []uintptr {
	for i := range 3 {
		w[8+i], w[11+i] = uintptr(grid[i]), uintptr(block[i])
	}
	w[0], w[1], w[2], w[3] = encoder, selector, uintptr(unsafe.Pointer(&w[8])), uintptr(unsafe.Pointer(&w[11]))
	return w[:4]
}
