package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func A(x []float32, t dsl.Thread) {} // ERROR 10 "K0201: first parameter of kernel A is \[\]float32, not dsl.Thread"  ERROR 23 "K0203: .*a second thread"

//kiln:kernel
func B() {} // ERROR 6 "K0201: kernel B has no dsl.Thread parameter"

//kiln:kernel
func C(t *dsl.Thread) {} // ERROR 10 "K0201: first parameter of kernel C is \*dsl.Thread"
