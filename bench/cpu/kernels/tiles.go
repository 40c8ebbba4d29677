package kernels

import "github.com/gokiln/kiln/dsl"

const (
	// HeatSteps is how many steps HeatTiles does in shared memory.
	HeatSteps = 4
	// HeatTile is the side of the part of the grid that a block of HeatTiles writes.
	HeatTile = 32
	heatSide = HeatTile + 2*HeatSteps
)

// HeatTiles does HeatSteps steps of the heat equation on a grid of width by height
// points. A block loads its tile with what is around it, steps in shared memory, where
// the part that is right gets smaller by a point on each side a step, and writes the
// tile. Points at the edge of the grid keep their values. It wants blocks of
// HeatTile/4 rows of HeatTile threads.
//
//kiln:kernel
func HeatTiles(t dsl.Thread, out, in []float32, width, height int, k float32) {
	now := dsl.Shared[[heatSide][heatSide]float32](t)
	next := dsl.Shared[[heatSide][heatSide]float32](t)
	left, top := t.BlockX()*HeatTile-HeatSteps, t.BlockY()*HeatTile-HeatSteps
	for y := t.ThreadY(); y < heatSide; y += t.BlockDimY() {
		for x := t.ThreadX(); x < heatSide; x += t.BlockDimX() {
			gx, gy := min(max(left+x, 0), width-1), min(max(top+y, 0), height-1)
			now[y][x] = in[gy*width+gx]
		}
	}
	t.Sync()
	for s := 1; s <= HeatSteps; s++ {
		for y := t.ThreadY() + s; y < heatSide-s; y += t.BlockDimY() {
			for x := t.ThreadX() + s; x < heatSide-s; x += t.BlockDimX() {
				gx, gy := left+x, top+y
				v := now[y][x]
				if gx > 0 && gx < width-1 && gy > 0 && gy < height-1 {
					v += k * (now[y][x-1] + now[y][x+1] + now[y-1][x] + now[y+1][x] - 4*v)
				}
				next[y][x] = v
			}
		}
		t.Sync()
		now, next = next, now
	}
	for y := t.ThreadY(); y < HeatTile; y += t.BlockDimY() {
		gx, gy := t.BlockX()*HeatTile+t.ThreadX(), t.BlockY()*HeatTile+y
		if gx < width && gy < height {
			out[gy*width+gx] = now[y+HeatSteps][t.ThreadX()+HeatSteps]
		}
	}
}

// HeatLinear is HeatTiles with the threads of a block in a row: each counts through the
// points of the tile, and divides to see where they lie. The tile's sides are those of
// the launch. It wants (tile+2*steps)² numbers to fit in 40².
//
//kiln:kernel
func HeatLinear(t dsl.Thread, out, in []float32, width, height, tile, steps int, k float32) {
	now := dsl.Shared[[heatSide * heatSide]float32](t)
	next := dsl.Shared[[heatSide * heatSide]float32](t)
	side := tile + 2*steps
	across := (width + tile - 1) / tile
	left, top := t.BlockX()%across*tile-steps, t.BlockX()/across*tile-steps
	for i := t.ThreadX(); i < side*side; i += t.BlockDimX() {
		gx, gy := min(max(left+i%side, 0), width-1), min(max(top+i/side, 0), height-1)
		now[i] = in[gy*width+gx]
	}
	t.Sync()
	for s := 1; s <= steps; s++ {
		for i := t.ThreadX(); i < side*side; i += t.BlockDimX() {
			x, y := i%side, i/side
			if x < s || x >= side-s || y < s || y >= side-s {
				continue
			}
			gx, gy := left+x, top+y
			v := now[i]
			if gx > 0 && gx < width-1 && gy > 0 && gy < height-1 {
				v += k * (now[i-1] + now[i+1] + now[i-side] + now[i+side] - 4*v)
			}
			next[i] = v
		}
		t.Sync()
		now, next = next, now
	}
	for i := t.ThreadX(); i < tile*tile; i += t.BlockDimX() {
		x, y := i%tile+steps, i/tile+steps
		if gx, gy := left+x, top+y; gx < width && gy < height {
			out[gy*width+gx] = now[y*side+x]
		}
	}
}

// IDCT is the inverse cosine transform of a JPEG picture: blocks of 8 by 8 coefficients,
// one behind the other, are multiplied by their table, transformed along the columns and then
// along the rows, a thread for each, and written as bytes to a picture of blocks*8
// columns. It wants blocks of 64 threads, each of which then has eight blocks of
// coefficients.
//
//kiln:kernel
func IDCT(t dsl.Thread, out []uint8, coeffs []int16, table []uint16, across int) {
	work := dsl.Shared[[8][64]int32](t)
	b, i := t.ThreadX()/8, t.ThreadX()%8
	n := t.BlockX()*8 + b
	var v [8]int32
	if n*64 < len(coeffs) {
		for k := range v {
			v[k] = int32(coeffs[n*64+k*8+i]) * int32(table[k*8+i])
		}
		v = idct8(v, 1<<10, 11)
		for k := range v {
			work[b][k*8+i] = v[k]
		}
	}
	t.Sync()
	if n*64 < len(coeffs) {
		for k := range v {
			v[k] = work[b][i*8+k]
		}
		v = idct8(v, 1<<17, 18)
		x, y := n%across*8, n/across*8+i
		for k := range v {
			out[y*across*8+x+k] = uint8(min(max(v[k]+128, 0), 255))
		}
	}
}

// idct8 transforms eight numbers, in integers with 13 bits behind the point, adds what
// rounds and shifts.
func idct8(v [8]int32, round int32, shift uint32) [8]int32 {
	z := (v[2] + v[6]) * 4433
	even2, even3 := z-v[6]*15137, z+v[2]*6270
	even0, even1 := (v[0]+v[4])<<13, (v[0]-v[4])<<13
	a0, a3, a1, a2 := even0+even3+round, even0-even3+round, even1+even2+round, even1-even2+round
	z1, z2, z3, z4 := v[7]+v[1], v[5]+v[3], v[7]+v[3], v[5]+v[1]
	z5 := (z3 + z4) * 9633
	z1, z2, z3, z4 = -z1*7373, -z2*20995, z5-z3*16069, z5-z4*3196
	b0, b1 := v[7]*2446+z1+z3, v[5]*16819+z2+z4
	b2, b3 := v[3]*25172+z2+z3, v[1]*12299+z1+z4
	return [8]int32{
		(a0 + b3) >> shift, (a1 + b2) >> shift, (a2 + b1) >> shift, (a3 + b0) >> shift,
		(a3 - b0) >> shift, (a2 - b1) >> shift, (a1 - b2) >> shift, (a0 - b3) >> shift,
	}
}
