package cases

import "github.com/gokiln/kiln/dsl"

// Functions calls the functions of package dsl that are compiled from kernel
// code.
//
//kiln:kernel
func Functions[T dsl.Real](t dsl.Thread, out, x, y []T) {
	const n = 24
	for i := t.Global(); i < len(x); i += t.GlobalSize() {
		a, b := x[i], y[i]
		o := out[i*n : (i+1)*n]
		o[0], o[1], o[2] = dsl.Asin(a), dsl.Acos(a), dsl.Atan(a)
		o[3], o[4], o[5] = dsl.Atan2(a, b), dsl.Erf(a), dsl.Erfc(a)
		o[6], o[7], o[8] = dsl.Exp(a), dsl.Exp2(a), dsl.Expm1(a)
		o[9], o[10], o[11] = dsl.Log(a), dsl.Log2(a), dsl.Log10(a)
		o[12], o[13], o[14] = dsl.Log1p(a), dsl.Mod(a, b), dsl.Pow(a, b)
		o[15], o[16], o[17] = dsl.Rsqrt(a), dsl.Cbrt(a), dsl.Hypot(a, b)
		o[18], o[19], o[20] = dsl.Sinh(a), dsl.Cosh(a), dsl.Tanh(a)
		o[21], o[22], o[23] = dsl.Sin(a), dsl.Cos(a), dsl.Tan(a)
	}
}
