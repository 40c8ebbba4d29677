package k

import "github.com/gokiln/kiln/dsl"

const form = "%d %t\n"

type meters float32

//kiln:kernel
func Log(t dsl.Thread, x []int, y []float32, h []dsl.F16) {
	dsl.Printf(t, form, x[0], x[0] > 1)
	dsl.Printf(t, "100%% %v\n", meters(y[0]))
	dsl.Printf(t, "none\n")
	dsl.Printf(t, "%d"+"%d\n", 1, len(x))
	dsl.Assert(t, x[0] > 0, "x is "+form)
	for i := range 3 {
		print3(t, i, y[i])
	}
}

func print3[T dsl.Number](t dsl.Thread, i int, x T) { dsl.Printf(t, "%d: %v\n", i, x) }

//kiln:kernel
func Wrong(t dsl.Thread, x []int, h []dsl.F16, b []dsl.F8E5M2) {
	var s string                         // ERROR 8 "K0109: string"
	dsl.Assert(t, x[0] > 0, s)           // ERROR 26 "K0133: text of dsl.Assert is not a constant"
	dsl.Printf(t, s, x[0])               // ERROR 16 "K0133: text of dsl.Printf is not a constant"
	dsl.Printf(t, "%v\n", h[0])          // ERROR 24 "K0133: dsl.Printf prints numbers and bools, not dsl.F16"
	dsl.Printf(t, "%v\n", "a")           // ERROR 24 "K0133: dsl.Printf prints numbers and bools, not string"
	dsl.Printf(t, "%v\n", x)             // ERROR 24 "K0133: dsl.Printf prints numbers and bools, not \[\]int"
	dsl.Printf(t, "%v\n", []any{1}...)   // ERROR 24 "K0133: arguments of dsl.Printf are a slice"
	println(x[0])                        // ERROR 2 "K0116: .*\nfix: use dsl.Printf"
	assert := dsl.Assert                 // a function by another name
	assert(t, x[0] > 0, "is a function") // ERROR 22 "K0109: string"
	panic("x")                           // ERROR 2 "K0117: .*\nfix: use dsl.Assert"
}

//kiln:kernel
func Misfit(t dsl.Thread, x []int, y []float32) {
	dsl.Printf(t, "%d\n", y[0])       // ERROR 2 "K0133: format .* does not fit the arguments: it prints %!d\(float32=0\)"
	dsl.Printf(t, "%d %d\n", x[0])    // ERROR 2 "K0133: format .* %!d\(MISSING\)"
	dsl.Printf(t, "%T\n", x[0])       // ERROR 2 "K0133: format .* it prints a type"
	dsl.Printf(t, "%d\n", x[0], x[1]) // ERROR 2 "K0133: format .* %!\(EXTRA int=0\)"
	dsl.Printf(t, "%z\n", x[0])       // ERROR 2 "K0133: format .* %!z\(int=0\)"
}

//kiln:kernel
func Generic[T dsl.F16 | float32](t dsl.Thread, x []T) {
	dsl.Printf(t, "%v\n", x[0]) // ERROR 2 "K0133: dsl.Printf prints numbers and bools, not dsl.F16"
}
