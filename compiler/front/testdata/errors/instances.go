package k

import "github.com/gokiln/kiln/dsl"

type Config struct {
	Tile dsl.ConstInt
	Fast dsl.ConstBool
	Size int
}

func add[T dsl.Number](a, b T) T { return a + b }

// All is complete, and its lines add up.
//
//kiln:instances T=float32,dsl.F16 n=1,2 cfg.Tile=8 cfg.Fast=false,true f=add
//kiln:instances T=float64 2=4 3.Tile=0x10 3.Fast=1 4=add // by place
//kiln:kernel
func All[T dsl.Float](t dsl.Thread, x []T, n dsl.ConstInt, cfg Config, f func(a, b float32) float32) {
	x[0] = dsl.To[T](f(dsl.F32(x[0]), float32(n+cfg.Tile)))
}

//kiln:instances T n=1 // ERROR 18 "K0010: .T. in the comment //kiln:instances of kernel Form is not name=value,value"
//kiln:instances T=float32, n=1 // ERROR 18 "K0010: an empty value for T in the comment //kiln:instances of kernel Form"
//kiln:instances T=float32 n=1 T=float64 // ERROR 32 "K0010: T is listed twice in a comment //kiln:instances of kernel Form"
//kiln:instances T=float32 tile=1 // ERROR 28 "K0010: kernel Form has no parameter tile that is fixed when it is compiled"
//kiln:instances T=float32 x=1 // ERROR 28 "K0010: kernel Form has no parameter x that is fixed when it is compiled"
//kiln:instances T=float32 n.Size=1 // ERROR 1 "K0010: the comment //kiln:instances of kernel Form gives no value to n" ERROR 35 "K0010: kernel Form has no compile-time parameter n.Size"
//kiln:instances n=1 // ERROR 1 "K0010: the comment //kiln:instances of kernel Form names no types for T"
//kiln:instances T=float32,string n=1 // ERROR 28 "K0010: kernel Form has no instance .string.: string does not satisfy dsl.Float"
//kiln:instances T=float32,dsl.F17 n=1 // ERROR 28 "K0010: kernel Form has no instance .dsl.F17.: undefined"
//kiln:instances T=float32,map[ n=1 // ERROR 1 "K0010: .* gives no value to n" ERROR 28 "K0010: kernel Form has no instance .map. n=1.*is not a list of types"
//kiln:instances T=float32 n=one // ERROR 30 "K0010: .one. is neither an integer nor true or false"
//kiln:kernel
func Form[T dsl.Float](t dsl.Thread, x []T, n dsl.ConstInt) {
	x[n] = x[0]
}

//kiln:instances on=2 f=add // ERROR 21 "K0010: 2 is no value for a compile-time bool"
//kiln:instances on=1 f=sub // ERROR 25 "K0010: package example.com/k has no function sub"
//kiln:instances on=1 f=example.com/far.add // ERROR 25 "K0010: package example.com/far is not a kernel package"
//kiln:kernel
func Func(t dsl.Thread, x []int32, on dsl.ConstBool, f func(a, b int32) int32) {
	if on {
		x[0] = f(x[0], x[1])
	}
}

//kiln:instances n=1 // ERROR 18 "K0010: kernel Plain has no parameter n that is fixed when it is compiled"
//kiln:kernel
func Plain(t dsl.Thread, x []int32, n int) { x[0] = int32(n) }

//kiln:instances T=float32
func Helper[T dsl.Float](x T) T { return x } // ERROR 1 "K0005: the comment //kiln:instances of Helper means nothing"
