package language

import "github.com/gokiln/kiln/dsl"

// weights is a loop that a kernel unrolls in each of its instances.
func weights[T dsl.Number](x []T, w [8]T) (sum T) {
	//kiln:unroll
	for k := range w {
		if k < len(x) {
			sum = sum*3 + x[k]*w[k]
		}
	}
	return sum
}

// Unrolled has loops of all forms with unroll factors.
//
//kiln:kernel
func Unrolled(t dsl.Thread, out, in []int32, n int, tile dsl.ConstInt) {
	i := t.Global()
	if i >= len(out) {
		return
	}
	sum := int32(i)
	// Too long to be unrolled otherwise.
	//
	//kiln:unroll
	for k := 0; k < 70; k += 2 {
		sum = sum*31 + int32(k)
	}
	//kiln:unroll 3
	for k := 0; k < n; k++ {
		sum = sum*31 + in[k]
	}
	//kiln:unroll 5
	for k := range n + i%4 {
		if in[k] == 7 {
			continue
		}
		if sum = sum*31 + in[k]; sum&63 == 5 {
			break
		}
	}
	//kiln:unroll 4
	for k, x := range in[:n] {
		sum = sum*31 + x + int32(k)
	}
	//kiln:unroll 1
	for k := range 4 {
		sum += int32(k) * sum
	}
	//kiln:unroll 8
	for k := range 64 {
		sum = sum*31 + int32(k)
	}
	//kiln:unroll 7
	for k := 3; k < 64; k++ {
		sum = sum*31 + int32(k)
	}
	var last int32
	//kiln:unroll 2
	for m := uint32(i); m > 0; m /= 3 {
		last = int32(m)
		sum += last
	}
	//kiln:unroll 16
	for {
		if sum = sum*5 + 1; sum%3 == 0 {
			break
		}
	}
	sum += last
	//kiln:unroll
	for a := range tile {
		//kiln:unroll 2
		for b := range n {
			//kiln:unroll 1
			for c := range 3 {
				sum = sum*31 + int32(a)*int32(b) + int32(c)
			}
		}
	}
	//kiln:unroll 2
outer:
	for a := range n {
		//kiln:unroll 3
		for b := 0; ; b++ {
			switch {
			case in[b] > in[a]:
				continue outer
			case b > 9:
				break outer
			}
			sum += in[b]
		}
	}
	f := func(m int) (s int32) {
		//kiln:unroll 2
		for k := range m {
			s += int32(k) * in[k]
		}
		return s
	}
	out[i] = sum + f(n) + f(3) + weights(in, [8]int32{1, 2, 3, 4, 5, 6, 7, 8}) + int32(weights(in[:3], [8]int32{3}))
}

// UnrolledSync meets in unrolled loops.
//
//kiln:kernel
func UnrolledSync(t dsl.Thread, out, in []int32, n int) {
	tile := dsl.Shared[[64]int32](t)
	i, sum := t.ThreadX(), int32(0)
	//kiln:unroll 3
	for k := 0; k < n; k++ {
		tile[i] = in[i] + int32(k)
		t.Sync()
		sum = sum*3 + tile[63-i]
		t.Sync()
	}
	//kiln:unroll 2
	for k := range n {
		sum += dsl.WarpMax(t, in[k])
	}
	out[i] = sum
}
