package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/dsltest"
	"github.com/gokiln/kiln/examples/internal/pictest"
	"github.com/gokiln/kiln/examples/internal/picture"
	"github.com/gokiln/kiln/examples/nbody/kernels"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/runtime"
)

func TestMain(m *testing.M) { os.Exit(tooltest.FreshCache(m)) }

func TestPictureOfTheReadme(t *testing.T) {
	pictest.Readme(t, "nbody.gif", func(dev *runtime.Device) (*picture.Drawing, error) { return draw(dev, galaxies(2048), 520) })
}

// plain moves bodies as plain Go.
func plain(t *testing.T, bodies []kernels.Body, steps int) []kernels.Body {
	t.Helper()
	blocks := (len(bodies) + kernels.Tile - 1) / kernels.Tile
	for range steps {
		next := make([]kernels.Body, len(bodies))
		require.NoError(t, dsltest.Run(dsl.D1(blocks), dsl.D1(kernels.Tile), func(t dsl.Thread) {
			kernels.Step(t, next, bodies, dt, softening)
		}))
		bodies = next
	}
	return bodies
}

// The second tile is not full.
func TestSameEverywhere(t *testing.T) {
	const n = kernels.Tile + 30
	bodies := plain(t, galaxies(n), frames)
	counts, pixels := make([]uint32, width*height), make([]uint8, width*height)
	require.NoError(t, dsltest.Run(dsl.D1(2), dsl.D1(kernels.Tile), func(t dsl.Thread) {
		kernels.Count(t, counts, bodies, width, height, scale)
	}))
	require.NoError(t, dsltest.Run(dsl.D1(width*height/256), dsl.D1(256), func(t dsl.Thread) { kernels.Expose(t, pixels, counts) }))
	require.Positive(t, bytes.Count(pixels, []byte{1}), "a star of one galaxy alone")
	require.Positive(t, bytes.Count(pixels, []byte{4}), "and of the other")
	pictest.Everywhere(t, pixels, func(dev *runtime.Device) (*picture.Drawing, error) { return draw(dev, galaxies(n), frames) })
}

// A light body goes round a heavy one at the distance where it began, and the heavy one hardly moves.
func TestOrbit(t *testing.T) {
	bodies := plain(t, []kernels.Body{{Mass: 4}, {X: 1, V: 2, Mass: 1e-6}}, 157) // half a circle, π/2 of time
	require.InDelta(t, -1, bodies[1].X, 0.02)
	require.InDelta(t, 0, bodies[1].Y, 0.05)
	require.InDelta(t, 0, bodies[0].X, 1e-5)
}

func TestRefuses(t *testing.T) {
	_, err := draw(nil, galaxies(-1), 520)
	require.ErrorContains(t, err, "the least are 2 and 40")
	_, err = draw(nil, galaxies(9), 39)
	require.ErrorContains(t, err, "steps 39")
}
