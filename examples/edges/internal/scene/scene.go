package scene

import (
	"image"
	"image/color"
	"math"
)

// rgb is a colour with components from 0 to 1.
type rgb struct{ r, g, b float64 }

func (c rgb) times(f float64) rgb { return rgb{c.r * f, c.g * f, c.b * f} }

func (c rgb) mix(d rgb, f float64) rgb {
	return rgb{c.r + f*(d.r-c.r), c.g + f*(d.g-c.g), c.b + f*(d.b-c.b)}
}

// layer returns the colour of a point, and whether the layer covers it.
type layer func(x, y float64) (rgb, bool)

// layers is the scene, front to back.
var layers = []layer{grass, lamp, tower, house, rocks, boat, sea, mountains, moon, sky}

// horizon is where sea and sky meet.
const horizon = 0.62

// Paint returns the scene in a size. Every pixel is the mean of four points, so
// that outlines are smooth as in a photograph.
func Paint(width, height int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	unit := 1 / float64(height)
	aspect := 1.5 // the scene is 3:2, and is stretched to other shapes
	for py := range height {
		for px := range width {
			var sum rgb
			for _, o := range [4][2]float64{{.25, .25}, {.75, .25}, {.25, .75}, {.75, .75}} {
				x := (float64(px) + o[0]) / float64(width) * aspect
				y := (float64(py) + o[1]) * unit
				c := at(x, y)
				sum = rgb{sum.r + c.r/4, sum.g + c.g/4, sum.b + c.b/4}
			}
			grain := 0.02 * (hash(px, py) - 0.5) // film
			img.SetRGBA(px, py, color.RGBA{level(sum.r + grain), level(sum.g + grain), level(sum.b + grain), 255})
		}
	}
	return img
}

func at(x, y float64) rgb {
	for _, l := range layers {
		if c, ok := l(x, y); ok {
			return c
		}
	}
	return rgb{}
}

func level(v float64) uint8 { return uint8(255*min(1, max(0, v)) + 0.5) }

func sky(x, y float64) (rgb, bool) {
	t := y / horizon
	c := rgb{.13, .20, .42}.mix(rgb{.93, .58, .38}, t*t)
	clouds := fractal(3*x+0.4*y, 14*y, 5)
	if d := clouds - 0.52; d > 0 {
		c = c.mix(rgb{.98, .80, .68}, min(0.8, 5*d))
	}
	return c, true
}

func moon(x, y float64) (rgb, bool) {
	dx, dy := x-0.42, y-0.2
	r := math.Hypot(dx, dy)
	if r > 0.055 {
		return rgb{}, false
	}
	craters := fractal(40*x, 40*y, 3)
	return rgb{1, .97, .88}.times(0.72 + 0.28*craters), true
}

// mountains are three ranges, paler with distance.
func mountains(x, y float64) (rgb, bool) {
	if y > horizon {
		return rgb{}, false
	}
	for i := range 3 {
		f := float64(i)
		crest := horizon - 0.05 - 0.055*f - (0.13-0.02*f)*fractal(2.2*x*(1+0.6*f)+17*f, 3*f, 6)*smooth(1.15-0.45*x)
		if y < crest {
			continue
		}
		snow := fractal(30*x, 30*y, 4)
		c := rgb{.16, .17, .27}.mix(rgb{.52, .42, .46}, f/2.5)
		if snow > 0.55 && y-crest < 0.03 {
			c = c.mix(rgb{.95, .9, .92}, 0.5)
		}
		return c.times(0.8 + 0.4*snow), true
	}
	return rgb{}, false
}

func sea(x, y float64) (rgb, bool) {
	if y < horizon {
		return rgb{}, false
	}
	depth := (y - horizon) / (1 - horizon)
	near := 1 / (0.04 + depth)
	wave := fractal(5*(x-0.7)*near, 9*near, 4)
	c := rgb{.72, .47, .40}.mix(rgb{.06, .16, .26}, smooth(1.6*depth))
	if glint := math.Abs(x - 0.42); glint < 0.03+0.25*depth && wave > 0.56 {
		c = c.mix(rgb{1, .9, .75}, 0.75) // of the moon
	}
	return c.times(0.72 + 0.5*wave), true
}

func boat(x, y float64) (rgb, bool) {
	u, v := (x-0.3)/0.13, (y-0.71)/0.13 // the hull is from -0.5 to 0.5
	switch {
	case v > 0 && v < 0.17 && math.Abs(u) < 0.5-0.9*v:
		if v < 0.05 {
			return rgb{.92, .9, .85}, true
		}
		return rgb{.5, .12, .1}, true
	case math.Abs(u) < 0.012 && v > -1.05 && v <= 0:
		return rgb{.25, .16, .1}, true
	case u > 0.03 && v < -0.06 && v > -1 && u < 0.03+0.48*(1+v):
		return rgb{.96, .93, .86}.times(0.85 + 0.15*math.Sin(18*v)), true
	case u < -0.03 && v < -0.1 && v > -0.9 && u > -0.03-0.4*(0.9+v):
		return rgb{.86, .80, .72}, true
	}
	return rgb{}, false
}

func rocks(x, y float64) (rgb, bool) {
	top := 0.80 - 0.16*smooth((x-0.72)/0.35) - 0.07*fractal(9*x, 5, 5)
	if y < top {
		return rgb{}, false
	}
	// The darkest lines are where two rounds of noise are equal: cracks.
	a, b := fractal(11*x, 11*y, 4), fractal(11*x+50, 11*y, 4)
	crack := min(1, 12*math.Abs(a-b))
	light := 0.45 + 0.9*fractal(26*x, 20*y, 4)
	return rgb{.40, .34, .31}.times(light * (0.35 + 0.65*crack)), true
}

func house(x, y float64) (rgb, bool) {
	u, v := (x-1.27)/0.2, (y-0.60)/0.12 // walls from 0 to 1 each way
	switch {
	case v < 0 && v > -0.55 && u > -0.08-0.35*v && u < 1.08+0.35*v:
		tile := math.Mod(9*v+20, 1)
		row := math.Floor(9*v + 20)
		gap := math.Mod(14*u+0.5*row+20, 1)
		shade := 0.75 + 0.25*hash(int(14*u+0.5*row+20), int(row))
		if tile < 0.18 || gap < 0.1 {
			shade *= 0.6
		}
		return rgb{.62, .24, .17}.times(shade), true
	case u < 0 || u > 1 || v < 0 || v > 1.15:
		return rgb{}, false
	case u > 0.42 && u < 0.58 && v > 0.35:
		return rgb{.2, .28, .22}, true // door
	case (math.Abs(u-0.2) < 0.1 || math.Abs(u-0.8) < 0.1) && math.Abs(v-0.45) < 0.2:
		if math.Abs(math.Mod(u*10, 2)) < 0.18 || math.Abs(v-0.45) < 0.015 {
			return rgb{.3, .2, .12}, true
		}
		return rgb{1, .83, .45}, true // lit windows
	}
	return rgb{.85, .80, .72}.times(0.85 + 0.2*fractal(60*x, 60*y, 3)), true
}

// The tower stands at towerX, and is towerHalf wide to each side at its foot.
const towerX, towerTop, towerFoot = 1.08, 0.26, 0.74

func tower(x, y float64) (rgb, bool) {
	if y < towerTop || y > towerFoot {
		return rgb{}, false
	}
	down := (y - towerTop) / (towerFoot - towerTop)
	u := (x - towerX) / (0.038 + 0.026*down) // -1 to 1 across
	if math.Abs(u) > 1 {
		return rgb{}, false
	}
	round := math.Sqrt(1 - u*u)
	light := 0.35 + 0.65*(0.75*round-0.4*u)
	c := rgb{.95, .93, .9}
	if int(5*down)%2 == 1 {
		c = rgb{.74, .14, .12}
	}
	if math.Abs(u) < 0.16 && math.Abs(math.Mod(5*down, 2)-0.5) < 0.2 {
		c, light = rgb{.95, .78, .4}, 1 // windows
	}
	brick := math.Mod(60*down, 1)
	if brick < 0.12 {
		light *= 0.93
	}
	return c.times(light), true
}

// lamp is what stands on the tower: gallery, lantern, roof.
func lamp(x, y float64) (rgb, bool) {
	dx, up := math.Abs(x-towerX), towerTop-y
	switch {
	case up < -0.012 || up > 0.13:
		return rgb{}, false
	case up < 0.008 && dx < 0.058:
		return rgb{.12, .12, .14}, true
	case up < 0.028 && dx < 0.058 && (math.Mod(x*120, 1) < 0.18 || up > 0.024):
		return rgb{.15, .15, .17}, true // railing
	case up >= 0.008 && up < 0.075 && dx < 0.03:
		if math.Mod((x-towerX)*60+10.1, 1) < 0.2 {
			return rgb{.2, .15, .1}, true
		}
		return rgb{1, .95, .7}.mix(rgb{1, .75, .3}, dx/0.03), true
	case up >= 0.075 && up < 0.115 && dx < 0.038*(0.118-up)/0.043:
		return rgb{.55, .1, .09}.times(1.1 - 12*(x-towerX)), true
	case up >= 0.11 && dx < 0.002:
		return rgb{.1, .1, .1}, true
	}
	return rgb{}, false
}

// grass is a dark fringe of single blades at the lower edge.
func grass(x, y float64) (rgb, bool) {
	for i := range 3 {
		f := float64(i)
		cell := math.Floor(x*110 + 0.37*f)
		h := hash(int(cell), 77+i)
		bottom := 1.0 - y
		lean := 0.9 * (hash(int(cell), 99+i) - 0.5) * bottom * 5
		u := x*110 + 0.37*f - cell - 0.5 - lean
		height := (0.03 + 0.09*h) * (0.5 + fractal(4*x, 3, 3)) * (1.2 - 0.4*x)
		if bottom < height && math.Abs(u) < 0.35*(1-bottom/height) {
			return rgb{.10, .16, .07}.mix(rgb{.32, .36, .14}, h), true
		}
	}
	return rgb{}, false
}

// smooth goes from 0 at 0 to 1 at 1, flat at both ends.
func smooth(t float64) float64 {
	t = min(1, max(0, t))
	return t * t * (3 - 2*t)
}

// fractal is noise of several octaves, about 0 to 1 with a mean of one half.
func fractal(x, y float64, octaves int) float64 {
	sum, weight, total := 0.0, 1.0, 0.0
	for range octaves {
		sum += weight * noise(x, y)
		total += weight
		x, y, weight = 2.03*x+11.7, 2.03*y+5.3, weight/2
	}
	return sum / total
}

// noise goes smoothly between random values at whole coordinates.
func noise(x, y float64) float64 {
	fx, fy := math.Floor(x), math.Floor(y)
	u, v := smooth(x-fx), smooth(y-fy)
	i, j := int(fx), int(fy)
	top := hash(i, j) + u*(hash(i+1, j)-hash(i, j))
	bottom := hash(i, j+1) + u*(hash(i+1, j+1)-hash(i, j+1))
	return top + v*(bottom-top)
}

// hash returns a number from 0 to 1 for two whole ones: the finaliser of
// MurmurHash3 over their mixture.
func hash(i, j int) float64 {
	h := uint64(int64(i))*0x9e3779b97f4a7c15 ^ uint64(int64(j))*0xc2b2ae3d27d4eb4f
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	h ^= h >> 33
	return float64(h>>11) / (1 << 53)
}
