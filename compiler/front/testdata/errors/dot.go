package k

import . "github.com/gokiln/kiln/dsl"

//kiln:kernel
func K(t Thread, x []float32) {} // ERROR 10 "K0120: Thread comes from a dot import"
