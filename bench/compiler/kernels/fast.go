package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/fast"
)

// fastCDF is normalCDF with approximate functions.
func fastCDF(d float32) float32 {
	k := fast.Recip(1 + 0.2316419*dsl.Abs(d))
	p := k*(k*(k*(k*1.330274429-1.821255978)+1.781477937)-0.356563782) + 0.319381530
	c := 0.3989422804 * fast.Exp(-0.5*d*d) * (k * p)
	if d > 0 {
		c = 1 - c
	}
	return c
}

// BlackScholesFast is BlackScholes with approximate functions and contraction.
//
//kiln:kernel
//kiln:fastmath
func BlackScholesFast(t dsl.Thread, call, put, price, strike, years []float32, rate, sigma float32) {
	for i := t.Global(); i < len(call); i += t.GlobalSize() {
		s, x, y := price[i], strike[i], years[i]
		root := fast.Sqrt(y)
		d1 := fast.Div(fast.Log(fast.Div(s, x))+(rate+0.5*sigma*sigma)*y, sigma*root)
		d2 := d1 - sigma*root
		n1, n2 := fastCDF(d1), fastCDF(d2)
		now := x * fast.Exp(-rate*y)
		call[i] = s*n1 - now*n2
		put[i] = now*(1-n2) - s*(1-n1)
	}
}
