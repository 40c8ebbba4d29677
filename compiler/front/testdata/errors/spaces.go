package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func K(t dsl.Thread, x []float32) {
	var a [4]float32
	s := x // ERROR 2 "K0127: \[\]float32 points to global memory on one path and to local memory on another"
	if x[0] > 0 {
		s = a[:]
	}
	s[1] = 2
}

func pick(c bool, p, q *float32) *float32 {
	if c {
		return p
	}
	return q // ERROR 2 "K0127: \*float32 points to shared memory on one path and to global memory on another"
}

//kiln:kernel
func Returned(t dsl.Thread, x []float32) {
	s := dsl.Shared[[8]float32](t)
	*pick(x[0] > 0, &s[1], &x[1]) = 2
}

type chain struct {
	row []float32
	n   int
}

//kiln:kernel
func Stored(t dsl.Thread, x []float32) {
	s := dsl.Shared[[8]float32](t)
	row := x
	set := func() { row = s[:] } // ERROR 18 "K0127: a pointer to shared memory is stored where pointers to global memory are kept"
	set()
	x[0] = row[1]
	one, two := chain{row: x}, [2]chain{{row: x}, {row: x}}
	p := &one
	if x[0] > 0 {
		p = &two[1]
	}
	p.n++
	x[1] = float32(one.n + two[1].n)
}
