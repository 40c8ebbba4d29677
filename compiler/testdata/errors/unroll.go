package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func Unknown(t dsl.Thread, x []float32, n int) {
	//kiln:unroll // ERROR 2 "K0136: how often the loop runs is not known at compile time"
	for i := range n {
		x[i]++
	}
	/* another */
	//kiln:unroll
	// because it is short
	for i := range 4 {
		x[i]++
	}
}

//kiln:kernel
func Large(t dsl.Thread, x []float32) {
	//kiln:unroll // ERROR 2 "K0136: the bodies of the unrolled loop have \d+ operations, the kernel may have 32768"
	for i := range 20000 {
		x[i] = x[i]*x[i] + x[i+1]
	}
}

//kiln:kernel
func Misplaced(t dsl.Thread, x []float32) {
	//kiln:unroll // ERROR 2 "K0136: //kiln:unroll does not stand above a for statement"
	x[0] = 1
	//kiln:unroll 4 // ERROR 2 "K0136: //kiln:unroll does not stand above a for statement"

	for i := range x {
		x[i] = 1
	}
	for i := range x { //kiln:unroll // ERROR 21 "K0136: //kiln:unroll does not stand above a for statement"
		for range 4 {
			x[i]++
		}
	}
	//kiln:unroll 0 // ERROR 2 "K0136: //kiln:unroll wants a number of bodies from 1 to 256, not .0"
	for i := range x {
		x[i] = 1
	}
	//kiln:unroll all // ERROR 2 "K0136: //kiln:unroll wants a number of bodies from 1 to 256, not .all"
	for i := range x {
		x[i] = 1
	}
	//kiln:unroll 257 // ERROR 2 "K0136: //kiln:unroll wants a number of bodies"
	for i := range x {
		x[i] = 1
	}
}

//kiln:kernel
func Once(t dsl.Thread, x []float32) {
	for i := range x {
		//kiln:unroll 4 // ERROR 3 "K0136: the loop has no second iteration"
		for x[i] > 0 {
			x[i]++
			break
		}
	}
}

//kiln:kernel
func Either(t dsl.Thread, x []float32) {
	//kiln:unroll 4 // ERROR 2 "K0136: the loop has no second iteration"
	for x[0] > 0 {
		if x[1] > 0 {
			return
		} else {
			break
		}
	}
}

// unreached is compiled by nobody.
func unreached(x []float32) {
	//kiln:unroll 1000
	x[0] = 1
}
