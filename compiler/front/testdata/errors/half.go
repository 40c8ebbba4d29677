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
