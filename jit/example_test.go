package jit_test

import (
	"fmt"
	"log"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
)

// A function literal runs over slices on the device. Its package registers its
// source, as packages of kernels do:
//
//	//go:embed *.go
//	var source embed.FS
//
//	var _ = dsl.Source(source)
func ExampleFunc() {
	dev, err := runtime.Open("cpu") // or "auto": a GPU where there is one
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	x, err := runtime.From(dev, []float32{1, 2, 3})
	if err != nil {
		log.Fatal(err)
	}

	axpb := jit.Func(func(a, b float32) float32 { return a*b + 1 })
	if err := axpb.Map(dev.DefaultStream(), x, x, x); err != nil {
		log.Fatal(err)
	}
	got, err := x.Host()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(got)
	// Output: [2 5 10]
}

// What is wrong with a function is known before anything is launched.
func ExampleFn_Err() {
	scale := float32(2)
	f := jit.Func(func(x float32) float32 { return dsl.Exp(x) * scale })
	fmt.Println(f.Err() != nil)
	// Output: true
}
