package kernels

import "github.com/gokiln/kiln/dsl"

// Luma writes the brightness of each pixel, 0 to 255, with the weights of
// ITU-R BT.709. A pixel of rgba holds red in its lowest byte, then green, blue
// and alpha.
//
//kiln:kernel
func Luma(t dsl.Thread, luma []float32, rgba []uint32, width, height int) {
	for y := t.GlobalY(); y < height; y += t.GridDimY() * t.BlockDimY() {
		for x := t.GlobalX(); x < width; x += t.GlobalSize() {
			p := rgba[y*width+x]
			luma[y*width+x] = brightness(float32(p&0xff), float32(p>>8&0xff), float32(p>>16&0xff))
		}
	}
}

// brightness weighs the parts of a colour.
func brightness(r, g, b float32) float32 {
	return float32(0.2126*r) + float32(0.7152*g) + float32(0.0722*b)
}

// LumaYCbCr is [Luma] for a picture as JPEG files have it: brightness in y, and what
// there is of blue and red in cb and cr, of which several pixels may share a sample.
// Rows of y are yStride apart and those of the others cStride. The pixel at (x, y)
// has the sample at (x+firstX)>>shiftX and (y+firstY)>>shiftY. Colours are made as
// package image/color makes them.
//
//kiln:kernel
func LumaYCbCr(t dsl.Thread, luma []float32, y, cb, cr []uint8, width, height, yStride, cStride, firstX, firstY int, shiftX, shiftY uint) {
	for j := t.GlobalY(); j < height; j += t.GridDimY() * t.BlockDimY() {
		line, samples, out := j*yStride, (j+firstY)>>shiftY*cStride, j*width
		for i := t.GlobalX(); i < width; i += t.GlobalSize() {
			at := samples + (i+firstX)>>shiftX
			grey, blue, red := int32(y[line+i])*0x10101, int32(cb[at])-128, int32(cr[at])-128
			luma[out+i] = brightness(channel(grey+91881*red), channel(grey-22554*blue-46802*red), channel(grey+116130*blue))
		}
	}
}

// channel is a part of a colour from its value in units of 1/65536.
func channel(v int32) float32 { return float32(max(0, min(v>>16, 255))) }

// Directions of a gradient: the axis it is nearest to, with y pointing down.
const (
	Horizontal uint8 = iota
	Falling          // from upper left to lower right, or back
	Vertical
	Rising // from lower left to upper right, or back
)

// tan225 is the tangent of 22.5 degrees, where one direction ends and the next
// begins.
const tan225 = 0.41421356237309503

// Sobel writes the length of the gradient of src to magnitude and its
// direction to direction. For brightness from 0 to 255 the length is at most
// 1020·√2.
//
//kiln:kernel
func Sobel(t dsl.Thread, magnitude []float32, direction []uint8, src []float32, width, height int) {
	for y := t.GlobalY(); y < height; y += t.GridDimY() * t.BlockDimY() {
		above, here, below := clamp(y-1, height)*width, y*width, clamp(y+1, height)*width
		for x := t.GlobalX(); x < width; x += t.GlobalSize() {
			left, right := clamp(x-1, width), clamp(x+1, width)
			nw, n, ne := src[above+left], src[above+x], src[above+right]
			w, e := src[here+left], src[here+right]
			sw, s, se := src[below+left], src[below+x], src[below+right]

			gx := (ne + se + e + e) - (nw + sw + w + w)
			gy := (sw + se + s + s) - (nw + ne + n + n)
			magnitude[here+x] = dsl.Sqrt(float32(gx*gx) + float32(gy*gy))
			direction[here+x] = axis(gx, gy)
		}
	}
}

// axis returns the direction that the vector is nearest to.
func axis(gx, gy float32) uint8 {
	ax, ay := dsl.Abs(gx), dsl.Abs(gy)
	switch {
	case ay <= tan225*ax:
		return Horizontal
	case ax <= tan225*ay:
		return Vertical
	case (gx > 0) == (gy > 0):
		return Falling
	default:
		return Rising
	}
}

// Suppress writes the edges: zero where magnitude is below threshold or not
// the largest of its neighbours along the gradient, and elsewhere
// magnitude*gain, at most 255. Of two equal neighbours the first one counts, so
// that an edge is one pixel wide.
//
//kiln:kernel
func Suppress(t dsl.Thread, edges []uint8, magnitude []float32, direction []uint8, width, height int, threshold, gain float32) {
	for y := t.GlobalY(); y < height; y += t.GridDimY() * t.BlockDimY() {
		for x := t.GlobalX(); x < width; x += t.GlobalSize() {
			i := y*width + x
			var v uint8
			if m := magnitude[i]; m >= threshold { // few are
				dx, dy := step(direction[i])
				if m > strength(magnitude, x-dx, y-dy, width, height) && m >= strength(magnitude, x+dx, y+dy, width, height) {
					v = uint8(min(m*gain, 255))
				}
			}
			edges[i] = v
		}
	}
}

// step returns the way from a pixel to its neighbour in a direction.
func step(direction uint8) (dx, dy int) {
	switch direction {
	case Horizontal:
		return 1, 0
	case Falling:
		return 1, 1
	case Vertical:
		return 0, 1
	default:
		return 1, -1
	}
}

// strength is the magnitude at (x, y), and none outside the picture.
func strength(magnitude []float32, x, y, width, height int) float32 {
	if uint(x) >= uint(width) || uint(y) >= uint(height) { // below 0 is far above
		return 0
	}
	return magnitude[y*width+x]
}

// clamp returns the nearest of 0 to n-1.
func clamp[T int | int32](i, n T) T { return max(0, min(i, n-1)) }
