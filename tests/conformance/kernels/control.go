package kernels

import "github.com/gokiln/kiln/dsl"

// Collatz counts steps: a loop whose trip count differs between threads.
//
//kiln:kernel
func Collatz(t dsl.Thread, out []int32, x []uint32) {
	i := t.Global()
	if i >= len(x) {
		return
	}
	n := x[i]
	for n > 1 {
		if n%2 == 0 {
			n /= 2
		} else {
			n = 3*n + 1
		}
		out[i]++
	}
}

// Mandelbrot counts iterations over a plane, one thread a point.
//
//kiln:kernel
func Mandelbrot(t dsl.Thread, out []int32, width, height int, limit int32) {
	px, py := t.GlobalX(), t.GlobalY()
	if px >= width || py >= height {
		return
	}
	cx := 3.5*float32(px)/float32(width) - 2.5
	cy := 2*float32(py)/float32(height) - 1
	var x, y float32
	n := int32(0)
	for ; n < limit; n++ {
		xx, yy := x*x, y*y
		if xx+yy > 4 {
			break
		}
		x, y = xx-yy+cx, 2*x*y+cy
	}
	out[py*width+px] = n
}

// Labels leaves nested loops by labelled break and continue.
//
//kiln:kernel
func Labels(t dsl.Thread, out []int32, limit []int32) {
	i := t.Global()
	if i >= len(out) {
		return
	}
	sum := int32(0)
outer:
	for a := int32(0); a < 10; a++ {
		for b := range 10 {
			switch {
			case int32(b) == limit[i]:
				continue outer
			case a*int32(b) > 3*limit[i]:
				break outer
			case b == 7:
				sum += 100
				fallthrough
			case b%2 == 1:
				sum += a
			default:
				sum += int32(b)
			}
		}
		sum *= 3
	}
	out[i] = sum
}

type pair struct {
	lo, hi int32
	tag    [2]uint8
}

func (p pair) width() int32 { return p.hi - p.lo }

func (p *pair) grow(by int32) {
	p.lo -= by
	p.hi += by
	p.tag[by&1]++
}

func order(a, b int32) (lo, hi int32) {
	if a < b {
		return a, b
	}
	return b, a
}

// Structs uses structs, methods, pointers and several results.
//
//kiln:kernel
func Structs(t dsl.Thread, out []int32, x []int32) {
	i := t.Global()
	if i >= len(x)-1 {
		return
	}
	var p pair
	p.lo, p.hi = order(x[i], x[i+1])
	q := p
	for n := range x[i] & 3 {
		p.grow(n)
	}
	pairs := [2]pair{p, q}
	out[i] = pairs[i&1].width()*1000 + int32(p.tag[1])*10 + int32(q.tag[0])
}

// Arrays keeps values in a local array that is indexed by variables.
//
//kiln:kernel
func Arrays(t dsl.Thread, out []float32, x []float32) {
	i := t.Global()
	if i >= len(x) {
		return
	}
	var ring [8]float32
	for n := range 20 {
		ring[(n*3+i)%8] += x[(i+n)%len(x)]
	}
	var acc [4]float32
	for n := range acc {
		acc[n] = ring[n] - ring[n+4]
	}
	out[i] = acc[0] + acc[1]*acc[2] + acc[3]
}

// Literals calls function literals, with captured variables too.
//
//kiln:kernel
func Literals(t dsl.Thread, out []float32, x []float32, a float32) {
	scale := func(v float32) float32 { return v * a }
	twice := func(f func(float32) float32, v float32) float32 { return f(f(v)) }
	for i := t.Global(); i < len(x); i += t.GlobalSize() {
		out[i] = twice(scale, x[i]) + twice(func(v float32) float32 { return v - 1 }, a)
	}
}

// Reslice walks re-slices of a parameter.
//
//kiln:kernel
func Reslice(t dsl.Thread, out []int64, x []int64) {
	i := t.Global()
	if i >= len(out) {
		return
	}
	part := x[i:min(i+5, len(x))]
	tail := part[len(part)/2:]
	sum := int64(0)
	for _, v := range part {
		sum += v
	}
	for n, v := range tail {
		sum += v * int64(n)
	}
	out[i] = sum
}
