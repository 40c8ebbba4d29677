package k

import (
	"fmt"
	"net/http"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
)

const half = 0.5

var table = []float32{1, 2}

func square(x float32) float32 { return x * x }

// What a literal takes from around it as constants and types is no capture.
func good(n int) {
	const two, three = 2, 3
	type (
		host struct{ c *http.Client }
		pair struct{ a, n float32 }
	)
	_ = host{}
	_ = jit.Func(func(x float32) float32 {
		p := pair{a: x, n: two}
		n := [...]float32{three - 1: half}
		sq := func(x float32) float32 { return square(x) + p.a }
		return sq(p.n) + n[2] + dsl.Exp(x)
	})
	fmt.Println(n)
}

func bad(n int, s []float32) (r float32) {
	scale, f := float32(2), square
	for i, v := range s {
		_ = jit.Func(func(x float32) float32 {
			return x*scale + // ERROR 13 "K0134: function literal captures variable scale, which is declared at example.com/k/literal.go:35:2"
				v + // ERROR 5 "K0134: .* variable v, .*:36:9"
				float32(n+ // ERROR 13 "K0134: .* variable n, .*:34:10"
					i) + f(x) + // ERROR 6 "K0134: .* variable i" ERROR 11 "K0134: .* variable f"
				r // ERROR 5 "K0134: .* variable r"
		})
	}
	_ = jit.Func(func(x float32) float32 {
		fmt.Println(x)      // ERROR 3 "K0120: fmt.Println is outside of kernel code"
		return x + table[0] // ERROR 14 "K0111: package variable table"
	})
	_ = jit.Func(func(x float32) float32 {
		m := map[int]float32{} // ERROR 8 "K0102: map"
		return m[0]
	})
	_ = jit.Func(func(x dsl.F16) dsl.F16 {
		return x + x // ERROR 12 "K0125: "
	})
	return jit.Func(func(x float32) int { return x }) // ERROR 47 "K0002: .*cannot use x"
}

type scaler[T dsl.Real] struct{ by T }

func (s *scaler[T]) handle() any {
	return jit.Func(func(x T) T {
		return x * s.by // ERROR 14 "K0134: .* variable s, "
	})
}

func (s scaler[U]) other() any {
	return jit.Func(func(x U) U { y := x + 1; return append(nil, y) }) // ERROR 58 "K0002" ERROR 51 "K0107"
}

var double = jit.Func(func(x float32) float32 { return 2 * x })
