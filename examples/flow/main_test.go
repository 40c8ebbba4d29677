package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/examples/flow/kernels"
	"github.com/gokiln/kiln/examples/internal/pictest"
	"github.com/gokiln/kiln/examples/internal/picture"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/runtime"
)

func TestMain(m *testing.M) { os.Exit(tooltest.FreshCache(m)) }

func TestPictureOfTheReadme(t *testing.T) {
	pictest.Readme(t, "flow.gif", func(dev *runtime.Device) (*picture.Drawing, error) { return draw(dev, 96, 6000) })
}

// A few steps of a small channel, with what draw does in front of them and behind.
func TestSameEverywhere(t *testing.T) {
	const width, height, steps = 60, 24, 12
	f, pixels := begin(width, height), make([]uint8, width*height)
	next := make([]float32, len(f))
	for range steps {
		pictest.Plain(t, width, height, func(t dsl.Thread) { kernels.Step(t, next, f, width, height, inflow, 1.7) })
		f, next = next, f
	}
	pictest.Plain(t, width, height, func(t dsl.Thread) { kernels.Paint(t, pixels, f, width, height, inflow/3) })
	require.Positive(t, bytes.Count(pixels, []byte{kernels.Solid}), "the cylinder")
	pictest.Everywhere(t, pixels, func(dev *runtime.Device) (*picture.Drawing, error) {
		return simulate(dev, width, height, steps, 1.7)
	})
}

// Far from the cylinder and the ends no particle appears or disappears: collisions keep the mass and
// the momentum, to the rounding of nine additions.
func TestCollisionsConserve(t *testing.T) {
	for _, u := range []float32{0, 0.05, -0.1} {
		var mass, x, y float32
		for k := range 9 {
			e := kernels.Equilibrium(k, 1.1, u, 0.03)
			mass += e
			x += e * []float32{0, 1, 0, -1, 0, 1, -1, -1, 1}[k]
			y += e * []float32{0, 0, 1, 0, -1, 1, 1, -1, -1}[k]
		}
		require.InDelta(t, 1.1, mass, 1e-6)
		require.InDelta(t, 1.1*u, x, 1e-6)
		require.InDelta(t, 1.1*0.03, y, 1e-6)
	}
}

func TestRefuses(t *testing.T) {
	_, err := draw(nil, 17, 6000)
	require.ErrorContains(t, err, "the least are 18 and 64")
	_, err = draw(nil, 96, 63)
	require.ErrorContains(t, err, "steps 63")
}
