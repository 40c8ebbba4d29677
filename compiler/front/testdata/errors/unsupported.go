package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func K(t dsl.Thread, x []float32) {
	y := [4]float32(x)    // ERROR 2 "K0131: conversion of a slice to an array"
	z := (*[4]float32)(x) // ERROR 7 "K0131: conversion of a slice to an array"
	x[0] = y[1] + z[2]
}
