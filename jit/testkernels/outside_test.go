package testkernels_test

import (
	"embed"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/jit/testkernels"
	"github.com/gokiln/kiln/runtime"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)

const tested = 9

// Literals of an external test, whose package stands in the same directory.
func TestOutside(t *testing.T) {
	dev, err := runtime.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	x, err := runtime.From(dev, []float32{3})
	require.NoError(t, err)
	require.NoError(t, jit.Func(func(x float32) float32 { return testkernels.Cube(x) + tested }).Map(dev.DefaultStream(), x, x))
	got, err := x.Host()
	require.NoError(t, err)
	assert.Equal(t, []float32{36}, got)

	f, _ := testkernels.Same()
	assert.ErrorContains(t, jit.Func(f).Err(), "2 function literals of the same type")
}
