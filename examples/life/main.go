package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"image/color"
	"strings"
	"time"

	"github.com/gokiln/kiln/examples/internal/picture"
	"github.com/gokiln/kiln/examples/life/kernels"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
)

//go:embed gun.cells
var gun string

// The kernels, as handles: each is compiled for a device when first used there.
var step, paint = jit.Of(kernels.Step), jit.Of(kernels.Paint)

const (
	width, height, scale = 480, 320, 4 // of the picture, and pixels along the side of a cell
	frames               = 30          // the period of the gun, so that the animation has no seam
)

// palette has a colour for each state of a cell: trails fade to the blue of the night.
var palette = append(picture.Gradient(int(kernels.Alive), color.RGBA{R: 10, G: 14, B: 38}, color.RGBA{R: 52, G: 112, B: 178}),
	color.RGBA{R: 255, G: 240, B: 170, A: 255})

func main() {
	size := flag.Int("size", 512, "rows and columns of the world")
	generations := flag.Int("generations", 900, "generations to compute; the last 30 are the animation")
	picture.Main("life.gif", func(dev *runtime.Device) (*picture.Drawing, error) {
		return life(dev, *size, *generations)
	})
}

// place returns a world of size × size cells with a pattern near its upper left.
func place(pattern string, size int) []uint8 {
	world := make([]uint8, size*size)
	for y, line := range strings.Split(pattern, "\n") {
		for x, c := range line {
			if c == 'O' {
				world[(y+8)*size+x+8] = kernels.Alive
			}
		}
	}
	return world
}

// life computes generations of a world and draws the last ones.
func life(dev *runtime.Device, size, generations int) (*picture.Drawing, error) {
	if size < width/scale || generations < frames {
		return nil, fmt.Errorf("size %d, generations %d: the least are %d and %d", size, generations, width/scale, frames)
	}
	world := place(gun, size)
	cells, err1 := runtime.From(dev, world)
	next, err2 := runtime.From(dev, world) // Step leaves the border as it is
	pixels, err3 := runtime.Alloc[uint8](dev, width*height)
	if err := errors.Join(err1, err2, err3, step.Prepare(dev), paint.Prepare(dev)); err != nil {
		return nil, err
	}
	d := &picture.Drawing{Delay: 7, Work: float64(generations) * float64(size*size), Unit: "cells"}
	s, start := dev.DefaultStream(), time.Now()
	for g := range generations {
		if err := step.Launch(s, picture.Grid(size, size), next, cells, size); err != nil {
			return nil, err
		}
		cells, next = next, cells
		if g < generations-frames {
			continue
		}
		err := paint.Launch(s, picture.Grid(width, height), pixels, cells, width, height, scale, size)
		if err := errors.Join(err, d.AddFrame(pixels, width, palette)); err != nil { // waits for the kernels
			return nil, err
		}
	}
	d.Time = time.Since(start)
	return d, nil
}
