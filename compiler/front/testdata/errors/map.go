package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func K(t dsl.Thread, x []int) {
	m := map[int]int{}     // ERROR 7 "K0102: map type"
	n := make(map[int]int) // ERROR 7 "K0102: make of a map"
	for k := range m {     // ERROR 2 "K0102: range over a map"
		x[k] = 1
	}
	delete(n, 1) // ERROR 2 "K0102: delete"
}
