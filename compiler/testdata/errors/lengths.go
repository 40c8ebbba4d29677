package k

import "github.com/gokiln/kiln/dsl"

type config struct {
	Tile dsl.ConstInt
	Wide dsl.ConstBool
}

func (c config) width() dsl.ConstInt {
	if c.Wide {
		return 2 * c.Tile
	}
	return c.Tile
}

//kiln:kernel
func Lengths(t dsl.Thread, x []float32, n int, tile dsl.ConstInt, cfg config) {
	a := dsl.SharedSlice[float32](t, dsl.ConstInt(n))       // ERROR 31 "K0306: length of dsl.SharedSlice is not known at compile time"
	b := dsl.LocalSlice[float32](dsl.ConstInt(t.ThreadX())) // ERROR 30 "K0306: length of dsl.LocalSlice is not known at compile time"
	c := dsl.LocalSlice[float32](-tile)                     // ERROR 30 "K0306: dsl.LocalSlice of a negative length, -1" ERROR 30 "K0306: dsl.LocalSlice of a negative length, -8"
	d := dsl.SharedSlice[float32](t, tile<<40)              // ERROR 31 "K0306: dsl.SharedSlice of 8796093022208 elements is too large" ERROR 31 "K0306: dsl.SharedSlice of 1099511627776 elements is too large"
	e := dsl.SharedSlice[float32](t, cfg.width()+1)
	m := tile
	for i := range x { // the length depends on a loop
		m += dsl.ConstInt(i)
	}
	f := dsl.LocalSlice[float32](m) // ERROR 30 "K0306: length of dsl.LocalSlice is not known"
	x[0] = a[0] + b[0] + c[0] + d[0] + e[0] + f[0]
}

//kiln:kernel
func Barrier(t dsl.Thread, x []float32, on dsl.ConstBool) {
	if on && t.ThreadX() < 16 {
		t.Sync() // ERROR 9 "K0301: barrier is not reached by all threads together"
	}
}

//kiln:kernel
func Fine(t dsl.Thread, x []float32, on dsl.ConstBool, n dsl.ConstInt) {
	if on {
		t.Sync()
	}
	half := dsl.ConstInt(1)
	if n > 1 {
		half = n / 2
	}
	x[0] = dsl.SharedSlice[float32](t, half)[0]
}
