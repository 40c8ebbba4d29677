package k

import "github.com/gokiln/kiln/dsl"

var table [4]float32

var scale = compute()

func compute() float32 { panic("host only") }

//kiln:kernel
func K(t dsl.Thread, x []float32) {
	x[0] = table[1] * scale // ERROR 9 "K0111: package variable table"  ERROR 20 "K0111: package variable scale"
	table[0] = 1            // ERROR 2 "K0111: package variable table"
}
