package testkernels

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
)

// run maps a function over a slice.
func run(t *testing.T, f *jit.Fn, in ...float32) []float32 {
	t.Helper()
	dev, err := runtime.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	x, err := runtime.From(dev, in)
	require.NoError(t, err)
	require.NoError(t, f.Map(dev.DefaultStream(), x, x))
	got, err := x.Host()
	require.NoError(t, err)
	return got
}

const tested = 7

func half(x float32) float32 { return x/2 + tested }

// Literals and functions of a test file, in the package that is tested.
func TestInside(t *testing.T) {
	assert.Equal(t, []float32{27}, run(t, jit.Func(func(x float32) float32 { return Cube(x) }), 3))
	assert.Equal(t, []float32{8}, run(t, jit.Func(half), 2))
	by := t
	assert.ErrorContains(t, jit.Func(func(x float32) float32 { by.Log(); return x }).Err(), "testkernels/inside_test.go:36:61: K0134: function literal captures variable by")
}
