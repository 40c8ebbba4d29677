package main

import (
	"fmt"

	"github.com/gokiln/kiln/compiler/front"
)

const kernelPath = "github.com/gokiln/kiln/bench/throughput/kernels"

var ops = []string{
	"Neg", "Abs", "Square", "Sqrt", "Rsqrt", "Recip", "Relu", "LeakyRelu", "Elu", "Gelu", "GeluErf", "Silu", "Sigmoid",
	"Softplus", "Mish", "HardSwish", "Tanh", "Exp", "Log", "Log1p", "Erf", "Sin", "Cos", "Floor", "Sign",
}

var types = []string{"float32", "float64", "dsl.F16", "dsl.BF16"}

// requests returns the specialisations, with those of one type after each
// other, as a program meets them.
func requests() (list []front.Request) {
	for _, t := range types {
		kernel, compute := "Map", "float32"
		if t == "float64" {
			kernel, compute = "MapReal", t
		}
		for _, op := range ops {
			for each := range int64(2) {
				for after := range int64(5) {
					list = append(list, front.Request{
						Pkg: kernelPath, Func: kernel,
						Sig:    fmt.Sprintf("func(dsl.Thread, []%[1]s, []%[1]s, []%[1]s, kernels.%[2]s[%[3]s], kernels.Config)", t, op, compute),
						Consts: map[string]int64{"cfg.Each": each + 1, "cfg.After": after},
					})
				}
			}
		}
	}
	return list
}
