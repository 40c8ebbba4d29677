package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func K(t dsl.Thread, x []float32, n int) {
	if n == 1 {
		for { // ERROR 3 "K0135: nothing leaves the loop"
		}
	}
	if n == 2 {
		for i := 0; ; i++ { // ERROR 3 "K0135: nothing leaves the loop"
			for {
				break
			}
			switch n {
			case 5:
				break
			}
			x[0]++
		}
	}
	if n == 3 {
	own:
		for { // ERROR 3 "K0135: nothing leaves the loop"
		inner:
			for i := range x {
				for range 4 {
					if x[i] > 0 {
						continue own
					}
					if x[i] < 0 {
						break inner
					}
				}
			}
			f := func() float32 { return 1 }
			x[0] += f()
		}
	}
}

//kiln:kernel
func Ends(t dsl.Thread, x []float32, n int) {
	for {
		if x[0] = 1; n > 2 {
			break
		}
		n++
	}
outer:
	for {
		for {
			n--
			switch {
			case n == 1:
				break outer
			case n < 0:
				return
			}
		}
	}
again:
	for i := range 4 {
		for {
			if n += i; n > 9 {
				continue again
			}
		}
	}
}
