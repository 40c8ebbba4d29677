package k

import "github.com/gokiln/kiln/dsl"

type (
	s0 struct{ a, b, c, d, e, f, g, h float32 }
	s1 struct{ a, b, c, d, e, f, g, h s0 }
	s2 struct{ a, b, c, d, e, f, g, h s1 }
	s3 struct{ a, b, c, d, e, f, g, h s2 }
	s4 struct{ a, b, c, d, e, f, g, h s3 } // ERROR 2 "K0401: type s4 has more than 4096 fields"
)

//kiln:kernel
func K(t dsl.Thread, x []float32) {
	var v s4
	x[0] = v.a.a.a.a.a
}
