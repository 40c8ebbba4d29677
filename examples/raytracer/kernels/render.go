package kernels

import "github.com/gokiln/kiln/dsl"

// sphere is an object. Of the light that falls on it, it reflects a part as a mirror does.
type sphere struct {
	centre vec
	radius float32
	colour vec
	mirror float32
}

// spheres are the scene, over a floor at y = 0. A table of constants is part of the compiled kernel.
var spheres = [...]sphere{
	{vec{0, 1.05, 4.4}, 1.05, vec{0.95, 0.95, 0.95}, 0.85},
	{vec{-1.75, 0.7, 3.2}, 0.7, vec{0.75, 0.06, 0.05}, 0.15},
	{vec{1.7, 0.65, 3.1}, 0.65, vec{0.05, 0.17, 0.7}, 0.2},
	{vec{0.45, 0.35, 2.3}, 0.35, vec{0.9, 0.5, 0.05}, 0.4},
	{vec{-0.6, 0.25, 2.0}, 0.25, vec{0.06, 0.45, 0.12}, 0.1},
}

// A ray meets up to bounces surfaces. The sky has the distance far, and the floor has this index.
const bounces, far, floor = 5, 1e30, -1

// Render draws a pixel with each thread, as four bytes: red, green, blue, alpha. The colour is
// the mean of samples × samples paths, which start at different points of the pixel and look for
// different points of the light.
//
//kiln:kernel
func Render(t dsl.Thread, pixels []uint8, width, height, samples int) {
	x, y := t.GlobalX(), t.GlobalY()
	if x >= width || y >= height {
		return
	}
	sum, scale := vec{}, 1/float32(samples)
	for i := range samples * samples {
		u, v := float32((float32(i%samples)+0.5)*scale), float32((float32(i/samples)+0.5)*scale)
		across := (float32(x) + u - float32(width)/2) / float32(height)
		up := (float32(height)/2 - float32(y) - v) / float32(height)
		eye, light := vec{0, 1.3, -1.2}, vec{-5 + float32(1.6*v), 4.5, -float32(1.6 * u)}
		sum = sum.add(trace(eye, vec{across, up - 0.17, 1.3}.unit(), light))
	}
	sum = sum.times(float32(scale * scale))
	at := 4 * (y*width + x)
	pixels[at], pixels[at+1], pixels[at+2], pixels[at+3] = encode(sum.x), encode(sum.y), encode(sum.z), 255
}

// trace returns the colour of a ray, which it follows from surface to surface.
func trace(from, ray, light vec) (colour vec) {
	weight := float32(1)
	for range bounces {
		what, distance := hit(from, ray)
		if distance == far { // the sky
			return colour.add(vec{0.45, 0.65, 0.95}.times(weight * (1 - float32(0.7*max(ray.y, 0)))))
		}
		from = from.add(ray.times(distance))
		normal, paint, mirror := vec{0, 1, 0}, vec{0.7, 0.68, 0.6}, float32(0.15)
		if what != floor {
			s := spheres[what]
			normal, paint, mirror = from.sub(s.centre).times(1/s.radius), s.colour, s.mirror
		} else if (int32(dsl.Floor(from.x+0.5))+int32(dsl.Floor(from.z)))%2 != 0 {
			paint = vec{0.08, 0.1, 0.14}
		}
		from = from.add(normal.times(1e-3)) // so that the next ray does not hit the same point
		brightness, toLight := float32(0.15), light.sub(from).unit()
		if cos := toLight.dot(normal); cos > 0 {
			if _, distance := hit(from, toLight); distance == far { // nothing casts a shadow
				brightness += float32(0.85 * cos)
			}
		}
		colour = colour.add(paint.times(weight * brightness * (1 - mirror)))
		weight *= mirror
		ray = ray.sub(normal.times(2 * ray.dot(normal)))
	}
	return colour
}

// hit returns what a ray hits first, and at which distance.
func hit(from, ray vec) (what int, distance float32) {
	what, distance = floor, far
	if ray.y < -1e-5 { // nearer to the horizon the squares could not be counted
		distance = -from.y / ray.y
	}
	for i, s := range spheres {
		to := s.centre.sub(from)
		along := to.dot(ray)
		inside := float32(along*along) - to.dot(to) + float32(s.radius*s.radius)
		if near := along - dsl.Sqrt(max(inside, 0)); inside > 0 && near > 0 && near < distance {
			what, distance = i, near
		}
	}
	return what, distance
}

// encode makes a byte of a brightness, with a gamma of 2.
func encode(v float32) uint8 { return uint8(float32(255*dsl.Sqrt(min(v, 1))) + 0.5) }

// vec is a point, a direction or a colour. A product that is part of a sum stands in a conversion:
// without it plain Go may round both at once on some processors, and kernels never do.
type vec struct{ x, y, z float32 }

func (a vec) add(b vec) vec       { return vec{a.x + b.x, a.y + b.y, a.z + b.z} }
func (a vec) sub(b vec) vec       { return vec{a.x - b.x, a.y - b.y, a.z - b.z} }
func (a vec) times(s float32) vec { return vec{float32(a.x * s), float32(a.y * s), float32(a.z * s)} }
func (a vec) dot(b vec) float32   { return float32(a.x*b.x) + float32(a.y*b.y) + float32(a.z*b.z) }
func (a vec) unit() vec           { return a.times(1 / dsl.Sqrt(a.dot(a))) }
