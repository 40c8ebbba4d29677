package plain

// Heat does some steps of the heat equation on a grid of width by height points, whose
// edge keeps its values. It overwrites in and tmp.
func Heat(out, in, tmp []float32, width, height, steps int, k float32) {
	for s := range steps {
		to := tmp
		if s == steps-1 {
			to = out
		}
		copy(to[:width], in[:width])
		copy(to[(height-1)*width:], in[(height-1)*width:])
		for y := 1; y < height-1; y++ {
			row := to[y*width:][:width]
			above, here, below := in[(y-1)*width:][:width], in[y*width:][:width], in[(y+1)*width:][:width]
			row[0], row[width-1] = here[0], here[width-1]
			for x := 1; x < width-1; x++ {
				v := here[x]
				sum := here[x-1] + here[x+1] + above[x] + below[x] - float32(4*v)
				row[x] = v + float32(k*sum)
			}
		}
		in, tmp = to, in
	}
}

// IDCT transforms the coefficients of a picture of blocks of 8 by 8.
func IDCT(out []uint8, coeffs []int16, table []uint16, across int) {
	var work [64]int32
	for n := range len(coeffs) / 64 {
		in := coeffs[n*64:][:64]
		for i := range 8 {
			var v [8]int32
			for k := range v {
				v[k] = int32(in[k*8+i]) * int32(table[k*8+i])
			}
			idct8(&v, 1<<10, 11)
			for k := range v {
				work[k*8+i] = v[k]
			}
		}
		for i := range 8 {
			v := [8]int32(work[i*8:])
			idct8(&v, 1<<17, 18)
			row := out[(n/across*8+i)*across*8+n%across*8:][:8]
			for k := range v {
				row[k] = uint8(min(max(v[k]+128, 0), 255))
			}
		}
	}
}

func idct8(v *[8]int32, round int32, shift uint32) {
	z := (v[2] + v[6]) * 4433
	even2, even3 := z-v[6]*15137, z+v[2]*6270
	even0, even1 := (v[0]+v[4])<<13, (v[0]-v[4])<<13
	a0, a3, a1, a2 := even0+even3+round, even0-even3+round, even1+even2+round, even1-even2+round
	z1, z2, z3, z4 := v[7]+v[1], v[5]+v[3], v[7]+v[3], v[5]+v[1]
	z5 := (z3 + z4) * 9633
	z1, z2, z3, z4 = -z1*7373, -z2*20995, z5-z3*16069, z5-z4*3196
	b0, b1 := v[7]*2446+z1+z3, v[5]*16819+z2+z4
	b2, b3 := v[3]*25172+z2+z3, v[1]*12299+z1+z4
	v[0], v[7] = (a0+b3)>>shift, (a0-b3)>>shift
	v[1], v[6] = (a1+b2)>>shift, (a1-b2)>>shift
	v[2], v[5] = (a2+b1)>>shift, (a2-b1)>>shift
	v[3], v[4] = (a3+b0)>>shift, (a3-b0)>>shift
}

// Matches finds the longest piece of at most longest bytes that stands in the window
// before each byte of text.
func Matches(length, back []uint8, text []uint8, window, longest int) {
	for i := range text {
		limit := min(longest, len(text)-i)
		best, at := 0, 0
		here := text[i:][:limit]
		for d := 1; d <= window && d <= i; d++ {
			there := text[i-d:][:limit]
			n := 0
			for n < len(here) && here[n] == there[n] {
				n++
			}
			if n > best {
				best, at = n, d
			}
		}
		length[i], back[i] = uint8(best), uint8(at)
	}
}

// HashMatches measures the piece that the text repeats from the candidate of each byte.
func HashMatches(length []uint8, text []uint8, candidate []int32) {
	for i := range text {
		n, c := 0, int(candidate[i])
		if c >= 0 {
			for n < 255 && i+n < len(text) && text[i+n] == text[c+n] {
				n++
			}
		}
		length[i] = uint8(n)
	}
}

// Scan writes the sums of x up to and with each number.
func Scan(out, x []uint32) {
	var sum uint32
	for i, v := range x {
		sum += v
		out[i] = sum
	}
}

// Label gives each pixel of a picture that is not 0 one more than the place of the
// first pixel of its component.
func Label(label []int32, picture []uint8, width int) {
	for i, p := range picture {
		label[i] = 0
		if p == 0 {
			continue
		}
		x := i % width
		left, up := x > 0 && picture[i-1] != 0, i >= width && picture[i-width] != 0
		switch {
		case left && up:
			a, b := root(label, label[i-1]), root(label, label[i-width])
			a, b = min(a, b), max(a, b)
			label[b-1] = a
			label[i] = a
		case left:
			label[i] = label[i-1]
		case up:
			label[i] = label[i-width]
		default:
			label[i] = int32(i) + 1
		}
	}
	for i, n := range label {
		if n != 0 {
			label[i] = root(label, n)
		}
	}
}

func root(label []int32, n int32) int32 {
	for label[n-1] != n {
		n = label[n-1]
	}
	return n
}
