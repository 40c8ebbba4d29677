package reference

import "math"

// Picture is a plane of numbers with a width and a height.
type Picture[T any] struct {
	W, H int
	Pix  []T
}

// New returns a picture of zeros.
func New[T any](w, h int) Picture[T] { return Picture[T]{w, h, make([]T, w*h)} }

// At is the pixel nearest to (x, y).
func (p Picture[T]) At(x, y int) T {
	if x < 0 {
		x = 0
	}
	if y < 0 {
		y = 0
	}
	if x >= p.W {
		x = p.W - 1
	}
	if y >= p.H {
		y = p.H - 1
	}
	return p.Pix[y*p.W+x]
}

// each makes a picture by asking for every pixel.
func each[T any](w, h int, at func(x, y int) T) Picture[T] {
	p := New[T](w, h)
	for y := range h {
		for x := range w {
			p.Pix[y*w+x] = at(x, y)
		}
	}
	return p
}

// Luma is the brightness of red, green and blue in the lowest bytes.
func Luma(rgba Picture[uint32]) Picture[float32] {
	return each(rgba.W, rgba.H, func(x, y int) float32 {
		p := rgba.At(x, y)
		sum := float32(0.2126 * float32(uint8(p)))
		sum += float32(0.7152 * float32(uint8(p>>8)))
		sum += float32(0.0722 * float32(uint8(p>>16)))
		return sum
	})
}

// Blur weighs pixels at distance 1, 2, … along (dx, dy), nearest first.
func Blur(src Picture[float32], weights []float32, dx, dy int) Picture[float32] {
	return each(src.W, src.H, func(x, y int) float32 {
		sum := float32(weights[0] * src.At(x, y))
		for k, w := range weights {
			if k > 0 {
				pair := src.At(x-k*dx, y-k*dy) + src.At(x+k*dx, y+k*dy)
				sum += float32(w * pair)
			}
		}
		return sum
	})
}

// Gradient returns the length and the direction of the Sobel gradient.
// Directions are 0 for horizontal, 1 for falling, 2 for vertical, 3 for rising.
func Gradient(src Picture[float32]) (Picture[float32], Picture[uint8]) {
	// Sums of float32 depend on their order: corners first, then the middle,
	// twice.
	grad := func(x, y int) (gx, gy float32) {
		at := func(i, j int) float32 { return src.At(x+i, y+j) }
		plus, minus := at(1, -1)+at(1, 1), at(-1, -1)+at(-1, 1)
		plus, minus = plus+at(1, 0), minus+at(-1, 0)
		gx = (plus + at(1, 0)) - (minus + at(-1, 0))
		plus, minus = at(-1, 1)+at(1, 1), at(-1, -1)+at(1, -1)
		plus, minus = plus+at(0, 1), minus+at(0, -1)
		gy = (plus + at(0, 1)) - (minus + at(0, -1))
		return gx, gy
	}
	length := each(src.W, src.H, func(x, y int) float32 {
		gx, gy := grad(x, y)
		xx, yy := float32(gx*gx), float32(gy*gy)
		return float32(math.Sqrt(float64(xx + yy)))
	})
	direction := each(src.W, src.H, func(x, y int) uint8 { return sector(grad(x, y)) })
	return length, direction
}

// sector divides the half circle into four parts of 45 degrees.
func sector(gx, gy float32) uint8 {
	const tan = float32(0.41421356237309503)
	if gx < 0 {
		gx, gy = -gx, -gy // a gradient and its opposite are one direction
	}
	steep := gy
	if steep < 0 {
		steep = -steep
	}
	if steep <= float32(tan*gx) {
		return 0
	}
	if gx <= float32(tan*steep) {
		return 2
	}
	if gy > 0 {
		return 1
	}
	return 3
}

// Histogram counts lengths in bins of one unit; the last takes what is longer.
func Histogram(length Picture[float32], bins int) []uint32 {
	h := make([]uint32, bins)
	for _, v := range length.Pix {
		b := int(math.Floor(float64(v)))
		if b >= bins {
			b = bins - 1
		}
		h[b]++
	}
	return h
}

// Suppress keeps ridges of at least threshold, times gain.
func Suppress(length Picture[float32], direction Picture[uint8], threshold, gain float32) Picture[uint8] {
	steps := [4][2]int{{1, 0}, {1, 1}, {0, 1}, {1, -1}}
	return each(length.W, length.H, func(x, y int) uint8 {
		d := steps[direction.At(x, y)]
		at := func(side int) float32 {
			i, j := x+side*d[0], y+side*d[1]
			if i < 0 || j < 0 || i >= length.W || j >= length.H {
				return 0
			}
			return length.At(i, j)
		}
		v := at(0)
		if v < threshold || v <= at(-1) || v < at(1) {
			return 0
		}
		return uint8(math.Min(255, float64(float32(v*gain))))
	})
}
