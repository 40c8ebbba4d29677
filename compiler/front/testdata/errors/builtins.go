package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func K(t dsl.Thread, x, y []float32, n []int) {
	copy(x, y)    // ERROR 2 "K0122: copy"
	clear(x)      // ERROR 2 "K0122: clear"
	n[0] = cap(x) // ERROR 9 "K0122: cap"
}
