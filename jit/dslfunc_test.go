package jit_test

import (
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
)

// Functions of package dsl are functions as others are: those that a generic one chooses
// among by type, exact ones, and the bodies.
func TestFuncOfDSL(t *testing.T) {
	dev := open(t)
	x := []float32{0, 0.5, 1, 4, -1}
	for name, c := range map[string]struct {
		f    *jit.Fn
		want func(float32) float32
	}{
		"Sin":   {jit.Func(dsl.Sin[float32]), dsl.Sin[float32]},
		"Sqrt":  {jit.Func(dsl.Sqrt[float32]), dsl.Sqrt[float32]},
		"Abs":   {jit.Func(dsl.Abs[float32]), dsl.Abs[float32]},
		"Round": {jit.Func(dsl.Round[float32]), dsl.Round[float32]},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, c.f.Err())
			for i, got := range mapped[float32](t, dev, c.f, x) {
				require.Equal(t, math.Float32bits(c.want(x[i])), math.Float32bits(got), "of %v", x[i])
			}
		})
	}
	y := []float32{3, -2, 0.5, 1e30, 7}
	for i, got := range mapped[float32](t, dev, jit.Func(dsl.FMA32), x, y, x) {
		require.Equal(t, dsl.FMA32(x[i], y[i], x[i]), got)
	}
	for i, got := range mapped[float32](t, dev, jit.Func(dsl.Pow[float32]), y, x) {
		require.Equal(t, math.Float32bits(dsl.Pow(y[i], x[i])), math.Float32bits(got))
	}
	wide := mapped[float64](t, dev, jit.Func(dsl.Sin[float32]).As(reflect.TypeFor[func(float64) float64]()), []float64{0.5})
	require.Equal(t, []float64{dsl.Sin(0.5)}, wide)
}
