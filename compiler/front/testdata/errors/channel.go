package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func K(t dsl.Thread, x []int) {
	c := make(chan int) // ERROR 7 "K0101: make of a channel"
	c <- 1              // ERROR 2 "K0101: send"
	x[0] = <-c          // ERROR 9 "K0101: receive"
	for range c {       // ERROR 2 "K0101: range"
	}
	close(c)          // ERROR 2 "K0101: close"
	var d chan<- bool // ERROR 8 "K0101: channel type"
	_ = d
}
