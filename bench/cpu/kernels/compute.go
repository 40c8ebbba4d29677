package kernels

import "github.com/gokiln/kiln/dsl"

// NBody sums the gravity of all bodies on one body a thread.
//
//kiln:kernel
func NBody(t dsl.Thread, ax, ay, az, x, y, z, mass []float32, soft float32) {
	i := t.Global()
	if i >= len(x) {
		return
	}
	n := len(x)
	y, z, mass = y[:n], z[:n], mass[:n] // checked here, and not for each body
	mx, my, mz := x[i], y[i], z[i]
	var fx, fy, fz float32
	for j := range x {
		dx, dy, dz := x[j]-mx, y[j]-my, z[j]-mz
		r := 1 / dsl.Sqrt(dsl.FMA(dx, dx, dsl.FMA(dy, dy, dsl.FMA(dz, dz, soft))))
		s := mass[j] * (r * r * r)
		fx, fy, fz = dsl.FMA(dx, s, fx), dsl.FMA(dy, s, fy), dsl.FMA(dz, s, fz)
	}
	ax[i], ay[i], az[i] = fx, fy, fz
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
