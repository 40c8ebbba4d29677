package k

import "github.com/gokiln/kiln/dsl"

type meters float32

func (m meters) twice() meters { return m * 2 }

type measure interface {
	~float32
	twice() meters
}

type none interface{ thrice() }

// Twice is checked for meters, the only type with the method.
//
//kiln:kernel
func Twice[M measure](t dsl.Thread, x []float32, y []M) {
	x[0] = float32(y[0].twice())
	go t.Sync() // ERROR 2 "K0103"
}

//kiln:kernel
func Thrice[N none](t dsl.Thread, x []float32, y []N) { // ERROR 6 "K0008: Thrice cannot be instantiated: no type of package example.com/k has the methods of its constraints"
	y[0].thrice()
}

//kiln:kernel
func Any[T dsl.Number](t dsl.Thread, x []T) {
	x[0] += 1 // ERROR 2 "K0125"  // ERROR 2 "K0125" ERROR 2 "K0125: \+ on dsl.F8E4M3"  ERROR 2 "K0125: \+ on dsl.F8E5M2"
}

type grown[T dsl.Real] struct{ by T }

func (g grown[T]) of(x T) T { return x * g.by }

type grows[T dsl.Real] interface{ of(T) T }

// Grown is checked with the generic type grown.
//
//kiln:kernel
func Grown[T dsl.Real, G grows[T]](t dsl.Thread, x []T, g G) {
	x[0] = g.of(x[0])
	defer t.Sync() // ERROR 2 "K0104"
}

type shrunk[C dsl.Compute] struct{}

func (shrunk[C]) less(x C) C { return x / 2 }

// Shrunk is checked with shrunk[float32], whatever T is.
//
//kiln:kernel
func Shrunk[T dsl.Float, F interface{ less(float32) float32 }](t dsl.Thread, x []T, f F) {
	x[0] = dsl.To[T](f.less(dsl.F32(x[0])))
	defer t.Sync() // ERROR 2 "K0104"
}
