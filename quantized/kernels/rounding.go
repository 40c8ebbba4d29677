package kernels

import (
	"math"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/quantized/format"
)

// RoundingDots is [Dots] of activations as they are: each block rounds all of them, as [Activations]
// does, to shared memory of so many words, see [RoundingWords], and then goes over rows of the matrix.
// Neighbouring blocks take neighbouring rows, so that where there are no more rows for all teams, all
// multiprocessors have as many.
//
//kiln:kernel
//kiln:const c.Rows=1,3 c.Each=2 c.Warps=1,2 c.Teams=4 c.Lanes=1
func RoundingDots[F format.Block, T dsl.Float](
	t dsl.Thread, out, x []T, b []uint8, h []uint16, w []uint32, n, k, words int, c Few, f F,
) {
	dsl.LaunchBounds(t, c.Teams*c.Warps*dsl.ConstInt(t.WarpSize()), 1)
	rounded := dsl.DynamicShared[uint32](t, words)
	d := format.Data{B: b, H: h, W: w}
	line, threads := k/format.PartLen, int(c.Warps)*t.WarpSize()
	parts, size := f.Elems()/format.PartLen, uint32(f.Bytes()) // indices of bytes have 31 bits
	bytes := uint32(line/parts) * size                         // of a row
	rows, each, team := int(c.Rows), int(c.Each), t.ThreadX()/threads
	roundRows(t, rounded, x, k, &c, f)
	for base := 0; base*each < n; base += int(c.Teams) * t.GridDimX() {
		unit := base + team*t.GridDimX() + t.BlockX()
		if c.Warps == 1 && unit*each >= n { // teams of several warps meet
			break
		}
		first := unit * each
		sums := dsl.LocalSlice[float32](c.Rows * c.Each)
		for i := range rows * each {
			sums[i] = 0
		}
		// A team has whole blocks, so that a thread has parts of one number.
		part, at := t.ThreadX()%parts, uint32(t.ThreadX()%threads/parts)*size
		for i := t.ThreadX() % threads; i < line; i += threads {
			ps := dsl.LocalSlice[format.Part](c.Each) // all loads come first
			for e := range each {
				ps[e] = f.Part(d, int((uint32(min(first+e, n-1))*bytes+at)&math.MaxInt32), part)
			}
			at += uint32(threads/parts) * size
			for m := range rows {
				y, numbers := readPart(t, rounded, m, i, line, &c, f)
				for e := range each {
					sums[e*rows+m] = dotWords(f, &ps[e], &y, &numbers, sums[e*rows+m])
				}
			}
		}
		for i := range rows * each {
			sums[i] = dsl.WarpSum(t, sums[i])
		}
		storeSums(t, out, sums, first, n, &c)
	}
}

// RoundingWords is how many words of shared memory activations take, of so many rows and parts of a
// row, with so many numbers for a part.
func RoundingWords(rows, line, numbers int) int { return rows * line * (8 + numbers) }

// roundRows stores activations in shared memory: of each row the first four words of each part, and
// then the last four, which lanes with neighbouring parts load at once; behind the words of all rows
// come their numbers, a vector for each part.
func roundRows[F format.Block, T dsl.Float](t dsl.Thread, to []uint32, x []T, k int, c *Few, f F) {
	runs, line, n := k/format.RunLen, k/format.PartLen, Numbers(f)
	for base := 0; base < runs; base += t.BlockDimX() {
		i := base + t.ThreadX()
		vs := dsl.LocalSlice[[8]T](c.Rows) // all loads come first
		for m := range int(c.Rows) {
			vs[m] = dsl.LoadVec[[8]T](x, m*runs+min(i, runs-1))
		}
		for m := range int(c.Rows) {
			r := roundEight(t, vs[m])
			if i >= runs {
				continue
			}
			dsl.StoreVec(to, ((2*m+i%4/2)*line+i/4)*2+i%2, r.words)
			if i%4 != 0 {
				continue
			}
			at := int(c.Rows)*8*line + (m*line+i/4)*n
			to[at] = math.Float32bits(r.scale)
			if n == 2 {
				to[at+1] = math.Float32bits(float32(r.sum + r.other))
			}
			if n == 4 {
				to[at+1], to[at+2] = math.Float32bits(float32(r.sum)), math.Float32bits(float32(r.other))
			}
		}
	}
	t.Sync()
}

// ahead is how many runs of each row a thread of [CopyingDots] loads at once, before it begins to copy:
// where nothing is between loads and rounding, [roundRows] takes less time.
func ahead(c *Few) dsl.ConstInt { return max(1, 4/c.Rows) }

// loadRuns loads the runs of activations, eight neighbouring ones each, that a thread rounds next, from
// number base of each row on. Indices have 31 bits, as shared memory and rows of weights have.
func loadRuns[T dsl.Float](t dsl.Thread, values [][8]T, x []T, k int, base uint32, c *Few) {
	runs := uint32(k) / format.RunLen
	for a := range int(ahead(c)) {
		i := min(base+uint32(a)*uint32(t.BlockDimX())+uint32(t.ThreadX()), runs-1)
		for m := range int(c.Rows) {
			values[a*int(c.Rows)+m] = dsl.LoadVec[[8]T](x, int(int32(uint32(m)*runs+i)))
		}
	}
}

// roundRuns rounds and stores all activations, of which the first ones are loaded.
func roundRuns[F format.Block, T dsl.Float](t dsl.Thread, values [][8]T, to []uint32, x []T, k int, c *Few, f F) {
	runs, step := uint32(k)/format.RunLen, uint32(t.BlockDimX())
	for base := uint32(0); base < runs; base += step * uint32(ahead(c)) {
		if base > 0 {
			loadRuns(t, values, x, k, base, c)
		}
		for a := range int(ahead(c)) {
			if first := base + uint32(a)*step; first < runs {
				for m := range int(c.Rows) {
					roundRun(t, values[a*int(c.Rows)+m], to, first+uint32(t.ThreadX()), m, runs, c, f)
				}
			}
		}
	}
}

// roundRun rounds and stores run i of row m, if a row has it.
func roundRun[F format.Block, T dsl.Float](t dsl.Thread, of [8]T, to []uint32, i uint32, m int, runs uint32, c *Few, f F) {
	line, n := runs/4, uint32(Numbers(f))
	r := roundEight(t, of)
	if i >= runs {
		return
	}
	dsl.StoreVec(to, int(int32(((2*uint32(m)+i%4/2)*line+i/4)*2+i%2)), r.words)
	if i%4 != 0 {
		return
	}
	at := int(int32(uint32(c.Rows)*8*line + (uint32(m)*line+i/4)*n))
	to[at] = math.Float32bits(r.scale)
	if n == 2 {
		to[at+1] = math.Float32bits(float32(r.sum + r.other))
	}
	if n == 4 {
		to[at+1], to[at+2] = math.Float32bits(float32(r.sum)), math.Float32bits(float32(r.other))
	}
}

// readPart returns the bytes of part i of row m, and its numbers, as roundRows stores them.
func readPart[F format.Block](t dsl.Thread, from []uint32, m, i, line int, c *Few, f F) (y [8]uint32, n [4]float32) {
	lo, hi := dsl.LoadVec[[4]uint32](from, 2*m*line+i), dsl.LoadVec[[4]uint32](from, (2*m+1)*line+i)
	for j := range 4 {
		y[j], y[4+j] = lo[j], hi[j]
	}
	// Behind words whose number is a multiple of eight.
	numbers := Numbers(f)
	return y, loadNumbers(t, from, int(c.Rows)*line*(8/numbers)+m*line+i, numbers, 1)
}

// rounding is eight elements of a part as bytes, and what they have in common with the others.
type rounding struct {
	words      [2]uint32
	scale      float32
	sum, other int32 // of the bytes of this half of the part, and of the other one
}

// roundEight rounds eight elements of 32, of which four neighbouring lanes have all, as [Activations]
// does. What is added to a number makes its integer the lowest bits.
func roundEight[T dsl.Float](t dsl.Thread, v [8]T) (r rounding) {
	const integers = 3 << 22
	var e [8]float32
	most := float32(0)
	for j := range 8 {
		e[j] = dsl.F32(v[j])
		most = max(most, dsl.Abs(e[j]))
	}
	most = max(most, dsl.ShuffleXor(t, most, 1))
	most = max(most, dsl.ShuffleXor(t, most, 2))
	inverse := 127 / most
	r.scale = most*(1.0/127) + (most - most) // NaN of an infinity
	if most < 0x1p-119 {
		r.scale, inverse = 0, 0
	}
	for half := range 2 {
		var q [4]uint32
		for j := range 4 {
			q[j] = math.Float32bits(float32(e[4*half+j]*inverse) + integers)
		}
		r.words[half] = dsl.Permute(dsl.Permute(q[0], q[1], 0x40), dsl.Permute(q[2], q[3], 0x40), 0x5410)
		r.sum = dsl.Dot4(int32(r.words[half]), 0x01010101, r.sum)
	}
	r.sum += dsl.ShuffleXor(t, r.sum, 1)
	r.other = dsl.ShuffleXor(t, r.sum, 2)
	return r
}
