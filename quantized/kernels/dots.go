package kernels

import (
	"math"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/quantized/format"
)

// Few says how [Dots] divides a product of few rows.
type Few struct {
	Rows  dsl.ConstInt // of activations
	Each  dsl.ConstInt // rows of the weight that a team multiplies at once
	Warps dsl.ConstInt // warps of a team, a power of two
	Teams dsl.ConstInt // of a block
	Lanes dsl.ConstInt // of the [Layout] of activations
}

// Dots stores the products of few rows of activations, as [Activations] stores them, with all rows
// of a matrix of blocks: out has c.Rows times n of them. Bytes are multiplied by [dsl.Dot4], exactly,
// and the sums of 32, or 16, elements are scaled in float32. A team of warps takes some rows of the
// matrix, for all of which it reads the activations once. The order of sums is that of the threads of
// a team and depends on their number only: a thread adds up every part of its number modulo the
// threads, and then threads are added as a tree.
//
//kiln:kernel
//kiln:const c.Rows=1,3 c.Each=2 c.Warps=1,2 c.Teams=2 c.Lanes=1,8
func Dots[F format.Block, T dsl.Float](
	t dsl.Thread, out []T, x []uint32, b []uint8, h []uint16, w []uint32, n, k int, c Few, f F,
) {
	d := format.Data{B: b, H: h, W: w, Shifts: c.Lanes > 1}
	line := k / format.PartLen
	parts, size := f.Elems()/format.PartLen, f.Bytes()
	bytes := line / parts * size // of a row
	padded := (line + int(c.Lanes) - 1) / int(c.Lanes) * int(c.Lanes)
	rows, each, threads := int(c.Rows), int(c.Each), int(c.Warps)*t.WarpSize()
	team, step := t.ThreadX()/threads, int(c.Teams)*each
	for base := t.BlockX() * step; base < n; base += t.GridDimX() * step {
		first := base + team*each
		sums := dsl.LocalSlice[float32](c.Rows * c.Each)
		for i := range rows * each {
			sums[i] = 0
		}
		// A team has whole blocks, so that a thread has parts of one number.
		part, at := t.ThreadX()%parts, t.ThreadX()%threads/parts*size
		for i := t.ThreadX() % threads; i < line; i += threads {
			ps := dsl.LocalSlice[format.Part](c.Each) // all loads come first
			for e := range each {
				ps[e] = f.Part(d, min(first+e, n-1)*bytes+at, part)
			}
			at += threads / parts * size
			for m := range rows {
				for e := range each {
					sums[e*rows+m] = dotPart(t, f, &ps[e], x, rows*padded, m*padded+i, sums[e*rows+m], c.Lanes)
				}
			}
		}
		for i := range rows * each {
			sums[i] = dsl.WarpSum(t, sums[i])
		}
		storeSums(t, out, sums, first, n, &c)
	}
}

// storeSums adds the sums of the warps of a team, of which each has rows of the result for each row of
// the weight from the first one on, and stores them.
func storeSums[T dsl.Float](t dsl.Thread, out []T, sums []float32, first, n int, c *Few) {
	rows, all, warps := int(c.Rows), int(c.Rows*c.Each), int(c.Warps)
	if warps == 1 {
		for i := range all {
			if row := first + i/rows; t.Lane() == 0 && row < n {
				out[i%rows*n+row] = dsl.To[T](sums[i])
			}
		}
		return
	}
	shared := dsl.SharedSlice[float32](t, c.Teams*c.Warps*c.Rows*c.Each)
	t.Sync() // earlier sums may still be read
	if t.Lane() == 0 {
		for i := range all {
			shared[t.Warp()*all+i] = sums[i]
		}
	}
	t.Sync()
	threads := warps * t.WarpSize()
	i, from := t.ThreadX()%threads, t.ThreadX()/threads*warps*all
	if row := first + i/rows; i < all && row < n {
		v := dsl.LocalSlice[float32](c.Warps)
		for j := range warps {
			v[j] = shared[from+j*all+i]
		}
		for apart := 1; apart < warps; apart *= 2 {
			for j := 0; j < warps; j += 2 * apart {
				v[j] += v[j+apart]
			}
		}
		out[i%rows*n+row] = dsl.To[T](v[0])
	}
}

// dotPart adds the dot product of a part with part i of the activations, of which there are so many.
func dotPart[F format.Block](
	t dsl.Thread, f F, p *format.Part, x []uint32, all, i int, sum float32, lanes dsl.ConstInt,
) float32 {
	y := loadWords(t, x, i, lanes)
	n := loadNumbers(t, x[8*all:], i, Numbers(f), lanes)
	return dotWords(f, p, &y, &n, sum)
}

// dotWords adds the dot product of a part with the bytes of activations, of which the numbers are n.
func dotWords[F format.Block](f F, p *format.Part, y *[8]uint32, n *[4]float32, sum float32) float32 {
	a, b := int32(0), int32(0)
	for j := range 4 {
		a = dsl.Dot4(int32(p.Q[j]), int32(y[j]), a)
		b = dsl.Dot4(int32(p.Q[4+j]), int32(y[4+j]), b)
	}
	v := float32(a+b) * p.D[0]
	if f.Scales() == 2 {
		v = dsl.FMA(float32(b), p.D[1], float32(a)*p.D[0])
	}
	if f.HasMin() {
		v = dsl.FMA(p.M[0], n[1], v)
		if f.Scales() == 2 {
			v = dsl.FMA(p.M[1], n[2], v)
		}
	}
	return dsl.FMA(v, n[0], sum)
}

// loadWords returns the bytes of part i of the activations.
func loadWords(t dsl.Thread, x []uint32, i int, lanes dsl.ConstInt) (y [8]uint32) {
	if lanes > 1 {
		at := (i-t.Lane())*8 + t.Lane()
		for j := range 8 {
			y[j] = x[at+j*int(lanes)]
		}
		return y
	}
	lo, hi := dsl.LoadVec[[4]uint32](x, 2*i), dsl.LoadVec[[4]uint32](x, 2*i+1)
	for j := range 4 {
		y[j], y[4+j] = lo[j], hi[j]
	}
	return y
}

// loadNumbers returns the numbers of part i, of which there are so many.
func loadNumbers(t dsl.Thread, x []uint32, i, n int, lanes dsl.ConstInt) (y [4]float32) {
	if lanes > 1 {
		at := (i-t.Lane())*n + t.Lane()
		for j := range min(n, 3) {
			y[j] = math.Float32frombits(x[at+j*int(lanes)])
		}
		return y
	}
	if n == 1 {
		y[0] = math.Float32frombits(x[i])
	}
	if n == 2 {
		v := dsl.LoadVec[[2]uint32](x, i)
		y[0], y[1] = math.Float32frombits(v[0]), math.Float32frombits(v[1])
	}
	if n == 4 {
		v := dsl.LoadVec[[4]uint32](x, i)
		for j := range 3 {
			y[j] = math.Float32frombits(v[j])
		}
	}
	return y
}
