package k

import "github.com/gokiln/kiln/dsl"

type node struct {
	next *node
	n    int
}

//kiln:kernel
func K(t dsl.Thread, x []int) {
	var a node // ERROR 6 "K0132: variable of type \*k.node cannot be in memory"
	p := &a
	p.n = x[1]
	x[0] = p.n
}

//kiln:kernel
func L(t dsl.Thread, x, y []int) {
	s := [1][][]int{{x, y}} // ERROR 17 "K0132: variable of type \[\]\[\]int"  ERROR 18 "K0132: array of type \[2\]\[\]int cannot be sliced"
	x[0] = s[0][1][2]
	var row []int
	set := func() { row = y }
	set()
	x[1] = row[0]
}
