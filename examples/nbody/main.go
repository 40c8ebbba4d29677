package main

import (
	"errors"
	"flag"
	"fmt"
	"image/color"
	"math/rand/v2"
	"time"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/examples/internal/picture"
	"github.com/gokiln/kiln/examples/nbody/kernels"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
)

// The kernels, as handles: each is compiled for a device when first used there.
var step, count, expose = jit.Of(kernels.Step), jit.Of(kernels.Count), jit.Of(kernels.Expose)

const (
	width, height, scale = 320, 240, 36 // of the picture, and pixels for a distance of 1
	frames               = 40
	dt, softening        = 0.01, 0.005
)

// palette has a colour for each pair of brightnesses: the stars of one galaxy are blue, those of the other golden.
var palette = append(append(append(
	picture.Gradient(4, color.RGBA{R: 6, G: 6, B: 20}, color.RGBA{R: 255, G: 190, B: 90}),
	picture.Gradient(4, color.RGBA{R: 60, G: 120, B: 220}, color.RGBA{R: 255, G: 200, B: 150})...),
	picture.Gradient(4, color.RGBA{R: 110, G: 170, B: 255}, color.RGBA{R: 255, G: 220, B: 190})...),
	picture.Gradient(4, color.RGBA{R: 180, G: 220, B: 255}, color.RGBA{R: 255, G: 250, B: 240})...)

func main() {
	bodies := flag.Int("bodies", 2048, "in two galaxies")
	steps := flag.Int("steps", 520, "steps of time")
	picture.Main("nbody.gif", func(dev *runtime.Device) (*picture.Drawing, error) { return draw(dev, galaxies(*bodies), *steps) })
}

// galaxies returns two discs of stars, each of which turns about a heavy centre, and which move
// towards each other. Sines are those of package dsl, which have the same bits on every machine.
func galaxies(n int) []kernels.Body {
	r, list := rand.New(rand.NewPCG(1, 2)), make([]kernels.Body, max(n, 0))
	for i := range list {
		side := float32(1 - i%2*2)
		b := kernels.Body{X: -2.2 * side, Y: 1.2 * side, U: 0.8 * side, Mass: 4}
		if i >= 2 { // a star
			radius, angle := 0.15+float32(1.15*dsl.Sqrt(r.Float32())), 6.2831855*r.Float32()
			x, y, speed := dsl.Cos(angle), dsl.Sin(angle), -dsl.Sqrt(4/radius)
			b.X, b.Y, b.Z = b.X+float32(radius*x), b.Y+float32(0.8*radius*y), 0.6*radius*y*side
			b.U, b.V, b.W, b.Mass = b.U-float32(speed*y), 0.8*speed*x, 0.6*speed*x*side, 1/float32(n)
		}
		list[i] = b
	}
	return list
}

// draw moves the bodies and draws them.
func draw(dev *runtime.Device, list []kernels.Body, steps int) (*picture.Drawing, error) {
	n := len(list)
	if n < 2 || steps < frames {
		return nil, fmt.Errorf("bodies %d, steps %d: the least are 2 and %d", n, steps, frames)
	}
	bodies, err1 := runtime.From(dev, list)
	next, err2 := runtime.Alloc[kernels.Body](dev, n)
	counts, err3 := runtime.From(dev, make([]uint32, width*height))
	pixels, err4 := runtime.Alloc[uint8](dev, width*height)
	err5 := errors.Join(step.Prepare(dev), count.Prepare(dev), expose.Prepare(dev))
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return nil, err
	}
	d := &picture.Drawing{Delay: 8, Work: float64(steps) * float64(n) * float64(n), Unit: "interactions"}
	s, grid, start := dev.DefaultStream(), runtime.Cover(n, kernels.Tile), time.Now()
	for i := range steps {
		if err := step.Launch(s, grid, next, bodies, float32(dt), float32(softening)); err != nil {
			return nil, err
		}
		bodies, next = next, bodies
		if (i+1)*frames/steps == i*frames/steps { // no frame is due
			continue
		}
		err1 := count.Launch(s, grid, counts, bodies, width, height, float32(scale))
		err2 := expose.Launch(s, runtime.Cover(width*height, 256), pixels, counts)
		if err := errors.Join(err1, err2, d.AddFrame(pixels, width, palette)); err != nil { // waits for the kernels
			return nil, err
		}
	}
	d.Time = time.Since(start)
	return d, nil
}
