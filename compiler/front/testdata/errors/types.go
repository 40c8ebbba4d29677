package k

import "github.com/gokiln/kiln/dsl"

func unreached() int { return "not checked" }

//kiln:kernel
func K(t dsl.Thread, x []float32) {
	var n int = x[0] // ERROR 14 "K0002: cannot use x\[0\] .* as int value"
	y := undefined   // ERROR 7 "K0002: undefined: undefined"
	x.foo()          // ERROR 4 "K0002: x.foo undefined"
	_, _ = n, y
	unused := 1  // ERROR 2 "K0002: declared and not used: unused"
	dsl.Absent() // ERROR 6 "K0002: undefined: dsl.Absent"
}
