package testkernels

import "github.com/gokiln/kiln/dsl"

// Op is a function of two numbers.
type Op func(a, b float32) float32

// Fold folds the rows of in, n long each.
//
//kiln:kernel
func Fold[T dsl.Number](t dsl.Thread, out, in []T, n dsl.ConstInt, f func(a, b T) T) {
	for i := t.Global(); i < len(out); i += t.GlobalSize() {
		row := in[i*int(n) : (i+1)*int(n)]
		s := row[0]
		for _, x := range row[1:] {
			s = f(s, x)
		}
		out[i] = s
	}
}

// Twice applies an operator, and another to its result.
//
//kiln:kernel
func Twice(t dsl.Thread, out, a, b []float32, f, g Op) {
	for i := t.Global(); i < len(out); i += t.GlobalSize() {
		out[i] = g(f(a[i], b[i]), b[i])
	}
}

// Celsius is a type of this package.
type Celsius float32

// Warmer is a function of a type of this package.
func Warmer(c Celsius) Celsius { return c + 1 }

// Cube is generic.
func Cube[T dsl.Real](x T) T { return x * x * x }

// Adder returns a function literal. It is inlined, so that the name of the literal
// begins with that of another package.
func Adder() func(a, b float32) float32 {
	return func(a, b float32) float32 {
		return a + b
	}
}

// Scaler returns a function literal of a generic function.
func Scaler[T dsl.Real]() func(T) T {
	const by = 3
	return func(x T) T { return x * by }
}

const two = 2

// Server is host code.
type Server struct{ names map[string]chan int }

// Shift returns a function literal of a method.
func (s *Server) Shift() func(float32) float32 {
	delete(s.names, "")
	return func(x float32) float32 { return x + two }
}

// Captured returns a function that captures a variable.
func Captured(by float32) func(float32) float32 {
	return func(x float32) float32 { return x * by }
}

// Same returns two functions that stand on one line.
func Same() (f, g func(float32) float32) {
	return func(x float32) float32 { return x }, func(x float32) float32 { return -x }
}

// Different returns two functions of different types that stand on one line.
func Different() (f func(float32) float32, g func(int32) int32) {
	return func(x float32) float32 { return x / 2 }, func(x int32) int32 { return x / 2 }
}

// Number has a method.
type Number float32

// Plus is a method.
func (n Number) Plus(x float32) float32 { return float32(n) + x }
