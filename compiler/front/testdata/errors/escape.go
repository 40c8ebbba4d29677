package k

import "github.com/gokiln/kiln/dsl"

func local() *int {
	x := 1
	return &x // ERROR 2 "K0123: result of type \*int points to a variable of local"
}

func part() []float32 {
	var a [4]float32
	return a[1:] // ERROR 2 "K0123: .*part"
}

func field() *int {
	v := struct{ a, b int }{1, 2}
	return &v.b // ERROR 2 "K0123: .*field"
}

func counter() func() int {
	n := 0
	return func() int { n++; return n } // ERROR 2 "K0123: .*counter"
}

//kiln:kernel
func K(t dsl.Thread, x []int, y []float32) {
	x[0] = *local()
	y[0] = part()[0]
	x[1] = counter()() + *field()
}

//kiln:kernel
func Earlier(t dsl.Thread, x []int) {
	zero := 0
	p := &zero // ERROR 2 "K0123: pointer to a variable of an earlier iteration"
	for i := range x {
		x[i] = *p
		v := i
		v++
		p = &v
	}
}

//kiln:kernel
func EarlierCounter(t dsl.Thread, x []int) {
	zero := 0
	p := &zero // ERROR 2 "K0123: pointer to a variable of an earlier iteration"
	for i := 0; i < len(x); i++ {
		x[i] = *p
		p = &i
	}
}

type keeper struct{ p *int }

func (k *keeper) keep() {
	x := 1
	x++
	k.p = &x // ERROR 4 "K0123: .*kept longer than the variable lives"
}

//kiln:kernel
func Kept(t dsl.Thread, x []int) {
	k := keeper{&x[0]}
	k.keep()
	x[0] = *k.p
}

//kiln:kernel
func KeptInLoop(t dsl.Thread, x []int) {
	zero := 0
	k := keeper{&zero}
	l := keeper{&zero}
	for i := range x {
		same := keeper{&zero}
		v := i
		v++
		k.p = &v // ERROR 5 "K0123: .*kept longer"
		if x[i] > 2 {
			w := i
			w++
			same.p = &w
		}
		x[i] = *same.p + *k.p
	}
	u := 1
	u++
	l.p = &u
	x[0] = *l.p
}

func zeros(n dsl.ConstInt) []float32 {
	return dsl.LocalSlice[float32](n) // ERROR 2 "K0123: result of type \[\]float32 points to a variable of zeros"
}

//kiln:kernel
func Sized(t dsl.Thread, x []float32, n dsl.ConstInt) {
	last := dsl.LocalSlice[float32](n) // ERROR 2 "K0123: pointer to a variable of an earlier iteration"
	for i := range x {
		next := dsl.LocalSlice[float32](n)
		next[0] = last[0] + x[i]
		last = next
	}
	x[0] = last[0] + zeros(n)[0]
}
