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

type pair struct {
	n int
	f [2]dsl.F8E5M2
}

//kiln:kernel
func Eight(t dsl.Thread, x []dsl.F8E4M3, y []float32) {
	x[0] = x[1] + x[2]       // ERROR 14 "K0125: \+ on dsl.F8E4M3.*dsl.F32"
	x[1] = ^x[2]             // ERROR 9 "K0125: \^ on dsl.F8E4M3"
	y[0] = float32(x[1])     // ERROR 9 "K0125: conversion of dsl.F8E4M3 to float32 .* use dsl.F32"
	x[3] = dsl.F8E4M3(y[1])  // ERROR 9 "K0125: conversion of float32 to dsl.F8E4M3 .* use dsl.To"
	y[2] = float32(x[2] % 3) // ERROR 22 "K0125: % on dsl.F8E4M3"
	if x[0] == x[1] {        // ERROR 10 "K0125: == on dsl.F8E4M3"
		y[1] = 1
	}
	var p, q pair
	p.n = t.ThreadX()
	if p == q { // ERROR 7 "K0125: == compares dsl.F8E5M2 fields"
		y[3] = 1
	}
	x[4] = min(x[1], x[2]) // ERROR 9 "K0125: min on dsl.F8E4M3"
	x[5] = x[5] >> 1       // ERROR 14 "K0125: >> on dsl.F8E4M3"
	x[6] = dsl.F8E4M3(x[7].Bits() ^ 0x80)
	x[7] = dsl.To[dsl.F8E4M3](dsl.F32(dsl.F8E5M2(uint8(x[6]))))
}

//kiln:kernel
func Generic[T dsl.Float](t dsl.Thread, x []T) {
	x[0] += x[1] // ERROR 2 "K0125: \+ on dsl.BF16"  ERROR 2 "K0125: \+ on dsl.F16"  ERROR 2 "K0125: \+ on dsl.F8E4M3"  ERROR 2 "K0125: \+ on dsl.F8E5M2"
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

//kiln:kernel
func EightConstants(t dsl.Thread, x []dsl.F8E4M3) {
	x[0] = 1 // ERROR 9 "K0125: constant 1 as dsl.F8E4M3 makes bits of a number: use dsl.To"
	x[1] = dsl.F8E4M3(0x38)
}
