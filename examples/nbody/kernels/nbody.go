package kernels

import "github.com/gokiln/kiln/dsl"

// Body is a star: where it is, how fast it moves, and its mass. The constant of gravity is 1.
type Body struct{ X, Y, Z, U, V, W, Mass float32 }

// Tile is how many bodies a block stages in shared memory at a time, and how many threads it has.
const Tile = 128

// Step moves each body by the gravity of all, with a thread for each body. A body's velocity
// changes first, and it moves on with the new one (symplectic Euler), so that orbits stay
// closed. The square of the distance grows by softening: bodies that meet pass through each other.
//
// The threads of a block need the same bodies. So they load a tile of them together, one each,
// and read it from shared memory: each body is read from global memory once per block.
//
//kiln:kernel
func Step(t dsl.Thread, next, bodies []Body, dt, softening float32) {
	tile := dsl.Shared[[Tile][4]float32](t)
	me := bodies[min(t.Global(), len(bodies)-1)]
	var ax, ay, az float32
	for first := 0; first < len(bodies); first += Tile {
		if at := first + t.ThreadX(); at < len(bodies) {
			b := bodies[at]
			tile[t.ThreadX()] = [4]float32{b.X, b.Y, b.Z, b.Mass}
		}
		t.Sync() // the tile is complete
		for k := range min(Tile, len(bodies)-first) {
			x, y, z := tile[k][0]-me.X, tile[k][1]-me.Y, tile[k][2]-me.Z
			square := float32(x*x) + float32(y*y) + float32(z*z) + softening
			pull := tile[k][3] / float32(square*dsl.Sqrt(square))
			ax, ay, az = ax+float32(x*pull), ay+float32(y*pull), az+float32(z*pull)
		}
		t.Sync() // nobody reads it any more
	}
	me.U, me.V, me.W = me.U+float32(dt*ax), me.V+float32(dt*ay), me.W+float32(dt*az)
	me.X, me.Y, me.Z = me.X+float32(dt*me.U), me.Y+float32(dt*me.V), me.Z+float32(dt*me.W)
	if t.Global() < len(bodies) {
		next[t.Global()] = me
	}
}

// Count adds a body to the pixel that shows it, scale pixels from the centre for a distance of 1:
// those with even indices, of one galaxy, in the lower half of a count, and the others in the upper half.
// Several may add to one pixel at once, so the addition is atomic; that of integers has the
// same result in any order.
//
//kiln:kernel
func Count(t dsl.Thread, counts []uint32, bodies []Body, width, height int, scale float32) {
	i := t.Global()
	if i >= len(bodies) {
		return
	}
	x, y := float32(width/2)+float32(scale*bodies[i].X), float32(height/2)+float32(scale*bodies[i].Y)
	if x >= 0 && y >= 0 && x < float32(width) && y < float32(height) {
		dsl.AtomicAdd(&counts[int(y)*width+int(x)], 1<<(i%2*16))
	}
}

// Expose makes a pixel of each count, with brightnesses from 0 to 3 for both galaxies, and sets the count to zero.
//
//kiln:kernel
func Expose(t dsl.Thread, pixels []uint8, counts []uint32) {
	if i := t.Global(); i < len(counts) {
		pixels[i] = uint8(4*min(counts[i]&0xffff, 3) + min(counts[i]>>16, 3))
		counts[i] = 0
	}
}
