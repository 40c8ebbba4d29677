package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/examples/internal/pictest"
	"github.com/gokiln/kiln/examples/internal/picture"
	"github.com/gokiln/kiln/examples/life/kernels"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/runtime"
)

func TestMain(m *testing.M) { os.Exit(tooltest.FreshCache(m)) }

func TestPictureOfTheReadme(t *testing.T) {
	pictest.Readme(t, "life.gif", func(dev *runtime.Device) (*picture.Drawing, error) { return life(dev, 512, 900) })
}

func TestSameEverywhere(t *testing.T) {
	const size = width / scale
	cells, next := place(gun, size), place(gun, size)
	for range frames {
		pictest.Plain(t, size, size, func(t dsl.Thread) { kernels.Step(t, next, cells, size) })
		cells, next = next, cells
	}
	pixels := make([]uint8, width*height)
	pictest.Plain(t, width, height, func(t dsl.Thread) { kernels.Paint(t, pixels, cells, width, height, scale, size) })
	require.NotEqual(t, place(gun, size), cells)
	pictest.Everywhere(t, pixels, func(dev *runtime.Device) (*picture.Drawing, error) { return life(dev, size, frames) })
}

// A glider flies a cell down and a cell to the right in four generations, by the rules alone.
func TestGlider(t *testing.T) {
	const size = 32
	alive := func(cells []uint8) (list []int) {
		for i, c := range cells {
			if c == kernels.Alive {
				list = append(list, i)
			}
		}
		return list
	}
	cells := place(".O\n..O\nOOO", size)
	before, next := alive(cells), make([]uint8, size*size)
	for range 4 {
		pictest.Plain(t, size, size, func(t dsl.Thread) { kernels.Step(t, next, cells, size) })
		cells, next = next, cells
	}
	require.Len(t, before, 5)
	for i := range before {
		before[i] += size + 1
	}
	require.Equal(t, before, alive(cells))
}

func TestRefuses(t *testing.T) {
	_, err := life(nil, 100, 900)
	require.ErrorContains(t, err, "the least are 120 and 30")
}
