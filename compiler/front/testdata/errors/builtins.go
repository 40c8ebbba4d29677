package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func K(t dsl.Thread, x, y []float32, n []int) {
	copy(x, y)    // ERROR 2 "K0122: copy in a kernel\nfix: write a loop: for i := range min"
	clear(x)      // ERROR 2 "K0122: .*\n.* for i := range s"
	n[0] = cap(x) // ERROR 9 "K0122: .*\nfix: use len"
}
