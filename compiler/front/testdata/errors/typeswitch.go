package k

import "github.com/gokiln/kiln/dsl"

func f[T dsl.Number](x T) int {
	switch any(x).(type) { // ERROR 2 "K0119: type switch"
	case int:
		return 1
	}
	return 0
}

//kiln:kernel
func K(t dsl.Thread, x []int) {
	x[0] = f(x[1])
	var v any = x[0] // ERROR 8 "K0110: any is an interface"
	x[1] = v.(int)   // ERROR 9 "K0119: type assertion"
}
