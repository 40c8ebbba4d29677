package metal

import "github.com/gokiln/kiln/runtime/internal/driver"

// dispatchWords writes the arguments of a dispatch. Structs of three words are passed
// on the stack, behind the six words that registers take.
func dispatchWords(w *driver.Scratch, encoder, selector uintptr, grid, block [3]int) []uintptr {
	w[0], w[1] = encoder, selector
	for i := range 3 {
		w[6+i], w[9+i] = uintptr(grid[i]), uintptr(block[i])
	}
	return w[:12]
}
