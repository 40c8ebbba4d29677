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

// Mandelbrot counts iterations, two points a thread of a two-dimensional grid, one
// above the other: while one waits for its sums, the other is computed.
//
//kiln:kernel
func Mandelbrot(t dsl.Thread, out []int32, width, height, limit int, x0, y0, step float32) {
	px, py := t.GlobalX(), 2*t.GlobalY()
	if px >= width || py+1 >= height {
		return
	}
	cx := dsl.FMA(float32(px), step, x0)
	var x, y, cy [2]float32
	var count [2]int32
	for k := range cy {
		cy[k] = dsl.FMA(float32(py+k), step, y0)
	}
	for range limit {
		inside := false
		for k := range cy {
			yy, xx := y[k]*y[k], x[k]*x[k]
			if xx+yy <= 4 {
				y[k] = dsl.FMA(2*x[k], y[k], cy[k])
				x[k] = xx - yy + cx
				count[k]++
				inside = true
			}
		}
		if !inside {
			break
		}
	}
	for k := range count {
		out[(py+k)*width+px] = count[k]
	}
}
