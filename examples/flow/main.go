package main

import (
	"errors"
	"flag"
	"fmt"
	"image/color"
	"time"

	"github.com/gokiln/kiln/examples/flow/kernels"
	"github.com/gokiln/kiln/examples/internal/picture"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
)

// The kernels, as handles: each is compiled for a device when first used there.
var step, paint = jit.Of(kernels.Step), jit.Of(kernels.Paint)

const (
	inflow   = 0.12 // velocity, in cells per step
	reynolds = 160  // inertia of the fluid against its viscosity; vortices leave the cylinder from 47 on
	frames   = 25   // together about the time of two vortices, one on each side
	between  = 32   // steps from frame to frame
)

// palette is blue, white and red for vorticity, and grey for the cylinder.
var palette = append(append(picture.Gradient(kernels.Colours/2+1, color.RGBA{R: 10, G: 60, B: 160}, color.RGBA{R: 250, G: 250, B: 250}),
	picture.Gradient(kernels.Colours/2+1, color.RGBA{R: 250, G: 250, B: 250}, color.RGBA{R: 180, G: 30, B: 30})[1:]...),
	color.RGBA{R: 70, G: 70, B: 75, A: 255})

func main() {
	height := flag.Int("height", 96, "of the channel, in cells; it is two and a half times as long")
	steps := flag.Int("steps", 6000, "steps to compute; the last ones are the animation")
	picture.Main("flow.gif", func(dev *runtime.Device) (*picture.Drawing, error) { return draw(dev, *height, *steps) })
}

// begin returns a fluid that moves to the right everywhere, and a little down, so that the
// vortices need not wait for rounding errors to break the symmetry.
func begin(width, height int) []float32 {
	f := make([]float32, 9*width*height)
	for i := range f {
		f[i] = kernels.Equilibrium(i/(width*height), 1, inflow, inflow/4)
	}
	return f
}

// draw simulates the flow through a channel and draws its last frames.
func draw(dev *runtime.Device, height, steps int) (*picture.Drawing, error) {
	if least := 2 * between; height < 18 || steps < least {
		return nil, fmt.Errorf("height %d, steps %d: the least are 18 and %d", height, steps, least)
	}
	diameter := float32(height) * 2 / 9
	viscosity := inflow * diameter / reynolds
	return simulate(dev, height*5/2, height, steps, 1/(float32(3*viscosity)+0.5))
}

// simulate computes steps and draws the last frames. Collisions bring particles closer to
// equilibrium by the part rate.
func simulate(dev *runtime.Device, width, height, steps int, rate float32) (*picture.Drawing, error) {
	f, err1 := runtime.From(dev, begin(width, height))
	next, err2 := runtime.Alloc[float32](dev, f.Len())
	pixels, err3 := runtime.Alloc[uint8](dev, width*height)
	if err := errors.Join(err1, err2, err3, step.Prepare(dev), paint.Prepare(dev)); err != nil {
		return nil, err
	}
	d := &picture.Drawing{Delay: 6, Work: float64(steps) * float64(width*height), Unit: "lattice updates"}
	s, g, start := dev.DefaultStream(), picture.Grid(width, height), time.Now()
	for i := range steps {
		if err := step.Launch(s, g, next, f, width, height, float32(inflow), rate); err != nil {
			return nil, err
		}
		f, next = next, f
		if left := steps - 1 - i; left >= frames*between || left%between != 0 {
			continue
		}
		err := paint.Launch(s, g, pixels, f, width, height, float32(inflow/3))
		if err := errors.Join(err, d.AddFrame(pixels, width, palette)); err != nil { // waits for the kernels
			return nil, err
		}
	}
	d.Time = time.Since(start)
	return d, nil
}
