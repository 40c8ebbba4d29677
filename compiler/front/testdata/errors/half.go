package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func K(t dsl.Thread, x []dsl.F16, b []dsl.BF16, y []float32) {
	x[0] = x[1] + x[2]   // ERROR 14 "K0125: \+ on dsl.F16.*dsl.F32"
	b[0] = b[1] * b[2]   // ERROR 14 "K0125: \* on dsl.BF16"
	x[1] = -x[2]         // ERROR 9 "K0125: - on dsl.F16"
	y[0] = float32(x[1]) // ERROR 9 "K0125: conversion of dsl.F16 to float32 .* use dsl.F32"
	x[3] = dsl.F16(y[1]) // ERROR 9 "K0125: conversion of float32 to dsl.F16 .* use dsl.To"
	if x[0] < x[1] {     // ERROR 10 "K0125: < on dsl.F16"
		y[1] = 1
	}
	x[4] = max(x[1], x[2]) // ERROR 9 "K0125: max on dsl.F16"
	x[5] = x[5] << 1       // ERROR 14 "K0125: << on dsl.F16"
	x[6] = dsl.F16(uint16(x[7]))
}

//kiln:kernel
func Generic[T dsl.Float](t dsl.Thread, x []T) {
	x[0] += x[1] // ERROR 2 "K0125: \+ on dsl.BF16"  ERROR 2 "K0125: \+ on dsl.F16"
}

// Constants that become half types by themselves are bits, as all integers do.
//
//kiln:kernel
func Constants[T dsl.Float, N dsl.Number](t dsl.Thread, x []T, n []N, y []dsl.F16) {
	const three = 3
	x[0] = 1     // ERROR 9 "K0125: constant 1 as T makes bits of a number: use dsl.To"
	x[1] = T(2)  // ERROR 9 "K0125: constant 2 as T"
	y[0] = three // ERROR 9 "K0125: constant 3 as dsl.F16 makes bits of a number: use dsl.To"
	x[1] = 0
	x[2] = dsl.To[T](1)
	n[0] = 1 // integers are meant
	y[1] = dsl.F16(0x3C00)
	y[2] = dsl.F16(uint16(0x3C00))
}
