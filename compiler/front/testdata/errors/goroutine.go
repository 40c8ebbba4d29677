package k

import "github.com/gokiln/kiln/dsl"

func work() {}

//kiln:kernel
func K(t dsl.Thread, x []float32) {
	go work()                // ERROR 2 "K0103: go statement starts a goroutine"
	go func() { x[0] = 1 }() // ERROR 2 "K0103: .*goroutine"
}
