package kernels

import (
	"math/bits"

	"github.com/gokiln/kiln/dsl"
)

const bodyTile = 256 // bodies in shared memory, and threads in a block of NBody

// NBody sums the gravity of all bodies, each x, y, z and mass, on one body a
// thread. The count of bodies is a multiple of the tile.
//
//kiln:kernel
func NBody(t dsl.Thread, acc, bodies []float32, soft float32) {
	tile := dsl.Shared[[bodyTile][4]float32](t)
	i := t.Global()
	me := dsl.LoadVec[[4]float32](bodies, i)
	var ax, ay, az float32
	for base := 0; base < len(bodies)/4; base += bodyTile {
		tile[t.ThreadX()] = dsl.LoadVec[[4]float32](bodies, base+t.ThreadX())
		t.Sync()
		for j := range bodyTile {
			dx, dy, dz := tile[j][0]-me[0], tile[j][1]-me[1], tile[j][2]-me[2]
			r := 1 / dsl.Sqrt(dsl.FMA(dx, dx, dsl.FMA(dy, dy, dsl.FMA(dz, dz, soft))))
			s := tile[j][3] * (r * r * r)
			ax, ay, az = dsl.FMA(dx, s, ax), dsl.FMA(dy, s, ay), dsl.FMA(dz, s, az)
		}
		t.Sync()
	}
	dsl.StoreVec(acc, i, [4]float32{ax, ay, az, 0})
}

// normalCDF is the distribution function of the normal distribution by the
// polynomial of Abramowitz and Stegun, 26.2.17.
func normalCDF(d float32) float32 {
	k := 1 / dsl.FMA(0.2316419, dsl.Abs(d), 1)
	p := dsl.FMA(k, 1.330274429, -1.821255978)
	p = dsl.FMA(k, p, 1.781477937)
	p = dsl.FMA(k, p, -0.356563782)
	p = dsl.FMA(k, p, 0.319381530)
	c := 0.3989422804 * dsl.Exp(-0.5*d*d) * (k * p)
	if d > 0 {
		c = 1 - c
	}
	return c
}

// BlackScholes prices one European option a turn.
//
//kiln:kernel
func BlackScholes(t dsl.Thread, call, put, price, strike, years []float32, rate, sigma float32) {
	for i := t.Global(); i < len(call); i += t.GlobalSize() {
		s, x, y := price[i], strike[i], years[i]
		root := dsl.Sqrt(y)
		d1 := dsl.FMA(dsl.FMA(0.5*sigma, sigma, rate), y, dsl.Log(s/x)) / (sigma * root)
		d2 := dsl.FMA(-sigma, root, d1)
		n1, n2 := normalCDF(d1), normalCDF(d2)
		now := x * dsl.Exp(-rate*y)
		call[i] = s*n1 - now*n2
		put[i] = now*(1-n2) - s*(1-n1)
	}
}

// Mandelbrot counts iterations, one point a thread of a two-dimensional grid.
//
//kiln:kernel
func Mandelbrot(t dsl.Thread, out []int32, width, height, limit int, x0, y0, step float32) {
	px, py := t.GlobalX(), t.GlobalY()
	if px >= width || py >= height {
		return
	}
	cx, cy := dsl.FMA(float32(px), step, x0), dsl.FMA(float32(py), step, y0)
	x, y := float32(0), float32(0)
	n := 0
	for ; n < limit; n++ {
		yy, xx := y*y, x*x
		if xx+yy > 4 {
			break
		}
		y = dsl.FMA(2*x, y, cy)
		x = xx - yy + cx
	}
	out[py*width+px] = int32(n)
}

const (
	prime1 = 0x9E3779B185EBCA87
	prime2 = 0xC2B2AE3D27D4EB4F
	prime3 = 0x165667B19E3779F9
	prime4 = 0x85EBCA77C2B2AE63
)

func xxRound(acc, in uint64) uint64 {
	return bits.RotateLeft64(acc+in*prime2, 31) * prime1
}

func xxMerge(h, v uint64) uint64 { return (h^xxRound(0, v))*prime1 + prime4 }

// XXHash64 hashes one message of words 64-bit words a turn, words a multiple of
// four, with the seed 0. Word k of message m is at k·messages + m.
//
//kiln:kernel
func XXHash64(t dsl.Thread, out, in []uint64, words int) {
	n := len(out)
	for m := t.Global(); m < n; m += t.GlobalSize() {
		p1, p2 := uint64(prime1), uint64(prime2)
		v1, v2, v3, v4 := p1+p2, p2, uint64(0), -p1
		for k := 0; k < words; k += 4 {
			v1 = xxRound(v1, in[k*n+m])
			v2 = xxRound(v2, in[(k+1)*n+m])
			v3 = xxRound(v3, in[(k+2)*n+m])
			v4 = xxRound(v4, in[(k+3)*n+m])
		}
		h := bits.RotateLeft64(v1, 1) + bits.RotateLeft64(v2, 7) + bits.RotateLeft64(v3, 12) + bits.RotateLeft64(v4, 18)
		h = xxMerge(xxMerge(xxMerge(xxMerge(h, v1), v2), v3), v4)
		h += uint64(words) * 8
		h = (h ^ h>>33) * prime2
		h = (h ^ h>>29) * prime3
		out[m] = h ^ h>>32
	}
}
