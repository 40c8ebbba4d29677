package main

import (
	"errors"
	"flag"
	"fmt"
	"image"
	"time"

	"github.com/gokiln/kiln/examples/internal/picture"
	"github.com/gokiln/kiln/examples/raytracer/kernels"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
)

var render = jit.Of(kernels.Render) // compiled for a device when first used there

func main() {
	width := flag.Int("width", 480, "of the picture, in pixels; the height is three fifths of it")
	samples := flag.Int("samples", 8, "along each side of a pixel")
	picture.Main("raytracer.png", func(dev *runtime.Device) (*picture.Drawing, error) {
		return draw(dev, *width, *samples)
	})
}

// draw renders the picture.
func draw(dev *runtime.Device, width, samples int) (*picture.Drawing, error) {
	height := width * 3 / 5
	if height < 1 || samples < 1 {
		return nil, fmt.Errorf("width %d, samples %d: the least are 2 and 1", width, samples)
	}
	pixels, err := runtime.Alloc[uint8](dev, 4*width*height)
	if err := errors.Join(err, render.Prepare(dev)); err != nil {
		return nil, err
	}
	start, img := time.Now(), image.NewRGBA(image.Rect(0, 0, width, height))
	err = render.Launch(dev.DefaultStream(), picture.Grid(width, height), pixels, width, height, samples)
	if err := errors.Join(err, pixels.CopyTo(img.Pix)); err != nil { // the copy waits for the kernel
		return nil, err
	}
	work := float64(width*height) * float64(samples*samples)
	return &picture.Drawing{Frames: []image.Image{img}, Work: work, Unit: "camera rays", Time: time.Since(start)}, nil
}
