package k

import "github.com/gokiln/kiln/dsl"

type shape interface{ area() float32 }

type square struct{ side float32 }

func (s square) area() float32 { return s.side * s.side }

func total(s shape) float32 { return s.area() } // ERROR 14 "K0110: shape is an interface"

//kiln:kernel
func K(t dsl.Thread, x []float32) {
	x[0] = total(square{2})
	var e error       // ERROR 8 "K0110: error is an interface"
	var v interface{} // ERROR 8 "K0110: interface type"
	y := any(x[0])    // ERROR 7 "K0110: any is an interface"
	_, _, _ = e, v, y
}
