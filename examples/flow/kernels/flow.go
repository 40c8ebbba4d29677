package kernels

import "github.com/gokiln/kiln/dsl"

// The nine velocities, in cells per step, with their weights: at rest, along the axes, diagonal.
var (
	dx       = [9]int{0, 1, 0, -1, 0, 1, -1, -1, 1}
	dy       = [9]int{0, 0, 1, 0, -1, 1, 1, -1, -1}
	weight   = [9]float32{4. / 9, 1. / 9, 1. / 9, 1. / 9, 1. / 9, 1. / 36, 1. / 36, 1. / 36, 1. / 36}
	opposite = [9]int{0, 3, 4, 1, 2, 7, 8, 5, 6}
)

// Colours of Paint: vorticity from one sense of rotation to the other, and the cylinder.
const (
	Colours = 33
	Solid   = Colours
)

// Equilibrium is the density of particles with velocity k in a fluid of density rho that moves with (u, v).
// A product that is part of a sum stands in a conversion: without it plain Go may round both
// at once on some processors, and kernels never do.
func Equilibrium(k int, rho, u, v float32) float32 {
	along := 3 * (float32(float32(dx[k])*u) + float32(float32(dy[k])*v))
	return weight[k] * rho * (1 + along + float32(along*along/2) - float32(1.5*(float32(u*u)+float32(v*v))))
}

// solid reports whether a cell is part of the cylinder.
func solid(x, y, height int) bool {
	x, y = x-height/2, y-height/2
	return 81*(x*x+y*y) < height*height
}

// Step computes a step of time. f[k*width*height+y*width+x] is the density of the particles with
// velocity k in cell (x, y). First they come from the cells where they were, or bounce off the
// cylinder; then collisions bring them closer to equilibrium, by the part rate. From the left
// comes a fluid with velocity inflow, at the right it leaves, and above the top is the bottom.
//
//kiln:kernel
func Step(t dsl.Thread, next, f []float32, width, height int, inflow, rate float32) {
	x, y := t.GlobalX(), t.GlobalY()
	if x >= width || y >= height {
		return
	}
	var p [9]float32
	for k := range 9 {
		i, j := max(0, min(x-dx[k], width-1)), (y-dy[k]+height)%height
		if solid(i, j, height) {
			p[k] = f[(opposite[k]*height+y)*width+x]
		} else {
			p[k] = f[(k*height+j)*width+i]
		}
	}
	rho, u, v := moments(p)
	if x == 0 {
		rho, u, v, rate = 1, inflow, 0, 1
	}
	for k := range 9 {
		next[(k*height+y)*width+x] = p[k] + float32(rate*(Equilibrium(k, rho, u, v)-p[k]))
	}
}

// moments returns the density and the velocity of the particles of a cell.
func moments(p [9]float32) (rho, u, v float32) {
	rho = p[0] + p[1] + p[2] + p[3] + p[4] + p[5] + p[6] + p[7] + p[8]
	u = p[1] + p[5] + p[8] - p[3] - p[6] - p[7]
	v = p[2] + p[5] + p[6] - p[4] - p[7] - p[8]
	return rho, u / rho, v / rho
}

// Paint draws the vorticity of each cell, how fast the fluid turns there, in Colours from
// -limit to limit.
//
//kiln:kernel
func Paint(t dsl.Thread, pixels []uint8, f []float32, width, height int, limit float32) {
	x, y := t.GlobalX(), t.GlobalY()
	if x >= width || y >= height {
		return
	}
	_, right := velocity(f, min(x+1, width-1), y, width, height)
	_, left := velocity(f, max(x-1, 0), y, width, height)
	below, _ := velocity(f, x, (y+1)%height, width, height)
	above, _ := velocity(f, x, (y+height-1)%height, width, height)
	turn := max(-1, min((right-left-below+above)/limit, 1))
	pixels[y*width+x] = uint8((turn+1)*(Colours-1)/2 + 0.5)
	if solid(x, y, height) {
		pixels[y*width+x] = Solid
	}
}

// velocity returns the velocity of the fluid in a cell.
func velocity(f []float32, x, y, width, height int) (u, v float32) {
	var p [9]float32
	for k := range 9 {
		p[k] = f[(k*height+y)*width+x]
	}
	_, u, v = moments(p)
	return u, v
}
