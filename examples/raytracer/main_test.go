package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/examples/internal/pictest"
	"github.com/gokiln/kiln/examples/internal/picture"
	"github.com/gokiln/kiln/examples/raytracer/kernels"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/runtime"
)

func TestMain(m *testing.M) { os.Exit(tooltest.FreshCache(m)) }

func TestPictureOfTheReadme(t *testing.T) {
	pictest.Readme(t, "raytracer.png", func(dev *runtime.Device) (*picture.Drawing, error) { return draw(dev, 480, 8) })
}

func TestSameEverywhere(t *testing.T) {
	const width, height, samples = 80, 48, 2
	pixels := make([]uint8, 4*width*height)
	pictest.Plain(t, width, height, func(t dsl.Thread) { kernels.Render(t, pixels, width, height, samples) })
	pictest.Everywhere(t, pixels, func(dev *runtime.Device) (*picture.Drawing, error) { return draw(dev, width, samples) })
}

func TestRefuses(t *testing.T) {
	_, err := draw(nil, 1, 4)
	require.ErrorContains(t, err, "the least are 2 and 1")
	_, err = draw(nil, 100, 0)
	require.ErrorContains(t, err, "samples 0")
}
