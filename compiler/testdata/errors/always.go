package k

import "github.com/gokiln/kiln/dsl"

type config struct {
	Tile dsl.ConstInt
	Loop dsl.ConstBool
}

//kiln:kernel
func Unrolled(t dsl.Thread, out []uint32) {
	var a [4]uint32
	for i := 4; i < 8; i++ {
		a[i] = 1 // ERROR 4 "K0308: index out of range \[4\] with length 4"
	}
	if i := t.Global(); i < len(out) {
		out[i] = a[0]
	}
}

//kiln:kernel
func Last(t dsl.Thread, out []uint32) {
	i := t.Global()
	if i >= len(out) {
		return
	}
	var a [4]uint32
	for k := 0; k <= 4; k++ {
		a[k] = out[i] // ERROR 4 "K0308: index out of range \[4\] with length 4"
	}
	out[i] = a[0]
}

//kiln:kernel
func Long(t dsl.Thread, out []uint32, n int) {
	tile := dsl.Shared[[512]uint32](t)
	for i := t.Global(); i < len(out); i += t.GlobalSize() {
		for k := range n {
			for j := 1000; j < 2000; j++ {
				tile[j] = uint32(k) // ERROR 9 "K0308: index out of range \[1000\] with length 512, or a larger one"
			}
		}
		out[i] = tile[t.ThreadX()&511] + tile[at(i)] // ERROR 40 "K0308: index out of range \[-1\]"
	}
}

func at(i int) int { return min(i, 0) - 1 }

//kiln:kernel
func Bounds(t dsl.Thread, out []uint32) {
	var a [4]uint32
	n := 0
	for k := range 5 {
		n = k + 1
	}
	out[t.Global()] = uint32(len(a[:n])) // ERROR 32 "K0308: slice bounds out of range \[:5\] with length 4"
}

//kiln:kernel
//kiln:const cfg.Tile=2,8 cfg.Loop=false
func Variant(t dsl.Thread, out []uint32, cfg config) {
	var a [4]uint32
	for k := range cfg.Tile {
		a[k] = 1 // ERROR 4 "K0308: index out of range \[4\] with length 4"
	}
	out[t.Global()] = a[0]
}

// Guessed is tried with tiles of 1 and 8, which nobody asks for.
//
//kiln:kernel
func Guessed(t dsl.Thread, out []uint32, cfg config) {
	var a [4]uint32
	for k := range cfg.Tile {
		a[k] = 1
	}
	for k := range 4 + cfg.Tile {
		a[k] = 1 // ERROR 4 "K0308: index out of range \[4\] with length 4"
	}
	out[t.Global()] = a[0]
}

// Perhaps ends in one of the ways in which it is tried.
//
//kiln:kernel
func Perhaps(t dsl.Thread, out []uint32, loop dsl.ConstBool) {
	for {
		out[0]++
		if loop {
			break
		}
	}
}

// Guarded reaches nothing that is out of range for all that the compiler can tell.
//
//kiln:kernel
func Guarded(t dsl.Thread, out []uint32, n int, cfg config) {
	var a [4]uint32
	for k := range 8 {
		if k < n || out[0] > 3 {
			a[k]++
		}
	}
	for k := range cfg.Tile {
		if cfg.Tile <= 4 {
			a[k]++
		}
	}
	if n > 4 {
		for k := 4; k < 8; k++ {
			a[k]++
		}
	}
	if t.Warp() > 0 {
		for k := 4; k < 8; k++ {
			a[k]++
		}
	}
	if cfg.Tile == 77 {
		for k := 4; k < 8; k++ {
			a[k]++
		}
	}
	out[t.Global()] = a[0]
}

//kiln:kernel
func Stuck(t dsl.Thread, out []uint32, n int) {
	for n > 3 { // ERROR 8 "K0135: the condition of the loop never changes in it"
		out[t.Global()]++
	}
	for i := 0; i < 10; n++ {
		out[i]++ // ERROR 3 "K0135: nothing leaves the loop around this"
	}
}

//kiln:kernel
func Polls(t dsl.Thread, flag, out []uint32) {
	for flag[3] == 0 { // ERROR 14 "K0135: the condition of the loop never changes in it"
	}
	out[0] = 1
}

//kiln:kernel
func Down(t dsl.Thread, out []uint32) {
	for i := uint32(9); i >= 0; i-- { // ERROR 30 "K0135: nothing leaves the loop around this"
		out[i] = i
	}
}

//kiln:kernel
//kiln:const cfg.Tile=1 cfg.Loop=false
func Config(t dsl.Thread, out []uint32, cfg config) {
	i := 0
	for {
		i++
		if cfg.Loop { // ERROR 10 "K0135: nothing leaves the loop around this"
			break
		}
	}
	out[0] = uint32(i)
}

// Waits has loops that end when another thread writes.
//
//kiln:kernel
func Waits(t dsl.Thread, flag, out []uint32) {
	for dsl.AtomicLoad(&flag[0]) == 0 {
	}
	for flag[1] == 0 {
		dsl.Fence()
	}
	for dsl.LoadAcquire(&flag[0]) == 0 {
	}
	for n := 10; n > 0 && out[n] > 0; n-- {
	}
	for more := out[1] > 0; more; more = dsl.AtomicAdd(&flag[0], 1) < 5 {
	}
}

//kiln:kernel
func Empty(t dsl.Thread, x []float32, n int) {
	x[0] = 1
	if false {
		for {
		}
	}
	if n == 1 {
		x[1] = 1
		for { // ERROR 3 "K0135: nothing leaves the loop around this"
		}
	}
	if n == 2 {
		for i := 0; ; i++ {
			for {
				break
			}
			switch n {
			case 5:
				break
			}
			x[0]++ // ERROR 4 "K0135: nothing leaves the loop around this"
		}
	}
	if n == 3 {
		for { // ERROR 3 "K0135: nothing leaves the loop around this"
		}
	}
	if n == 4 {
	own:
		for {
			if x[0] > 0 { // ERROR 8 "K0135: nothing leaves the loop around this"
				continue own
			}
			x[0]++
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
