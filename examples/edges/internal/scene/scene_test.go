package scene_test

import (
	"image"
	_ "image/jpeg"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/examples/edges/internal/scene"
)

// The picture in the repository is the one that this package paints, as far as
// JPEG and the rounding of other machines leave it.
func TestCommittedPicture(t *testing.T) {
	f, err := os.Open("../../testdata/lighthouse.jpg")
	require.NoError(t, err)
	defer f.Close()
	got, _, err := image.Decode(f)
	require.NoError(t, err)
	want := scene.Paint(got.Bounds().Dx(), got.Bounds().Dy())
	require.Equal(t, want.Rect, got.Bounds())
	sum, n := 0, 0
	for y := 0; y < want.Rect.Dy(); y++ {
		for x := 0; x < want.Rect.Dx(); x++ {
			r, g, b, _ := got.At(x, y).RGBA()
			c := want.RGBAAt(x, y)
			sum += distance(r, c.R) + distance(g, c.G) + distance(b, c.B)
			n += 3
		}
	}
	assert.Less(t, float64(sum)/float64(n), 4.0, "run testdata/gen.go")
}

func distance(got uint32, want uint8) int {
	d := int(got>>8) - int(want)
	return max(d, -d)
}

// The scene fills any shape, and shows the same in any size.
func TestSizes(t *testing.T) {
	assert.Equal(t, image.Rect(0, 0, 1, 7), scene.Paint(1, 7).Rect)
	assert.Empty(t, scene.Paint(0, 0).Pix)
	small, large := scene.Paint(60, 40), scene.Paint(240, 160)
	// In the middle of the tower's top white part, and of its red one below.
	for _, p := range []image.Point{{43, 12}, {43, 16}} {
		a, b := small.RGBAAt(p.X, p.Y), large.RGBAAt(4*p.X+2, 4*p.Y+2)
		assert.InDelta(t, a.R, b.R, 40)
		assert.InDelta(t, a.B, b.B, 40)
	}
	red := large.RGBAAt(4*43+2, 4*16+2)
	assert.Greater(t, red.R, 3*red.G)
}
