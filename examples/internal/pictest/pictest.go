package pictest

import (
	"bytes"
	"image"
	"image/gif"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/dsltest"
	"github.com/gokiln/kiln/examples/internal/picture"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/engine"
)

// Everywhere fails unless draw makes the same pixels on every engine of the CPU, machine code
// and interpreter: those that want has, which are the kernels' called as plain Go.
func Everywhere(t *testing.T, want []uint8, draw func(dev *runtime.Device) (*picture.Drawing, error)) {
	t.Helper()
	engine.Each(t, func(t *testing.T, dev *runtime.Device) {
		d, err := draw(dev)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, pixels(t, d.Frames[len(d.Frames)-1])), "the last frame is not that of plain Go")
	})
}

func pixels(t *testing.T, frame image.Image) []uint8 {
	switch frame := frame.(type) {
	case *image.Paletted:
		return frame.Pix
	case *image.RGBA:
		return frame.Pix
	}
	t.Fatalf("a frame is %T", frame)
	return nil
}

// Plain runs a kernel as plain Go, with a thread for each of width × height pixels or more.
func Plain(t *testing.T, width, height int, kernel func(t dsl.Thread)) {
	t.Helper()
	g := picture.Grid(width, height)
	require.NoError(t, dsltest.Run(dsl.D2(g.Blocks.X, g.Blocks.Y), dsl.D2(g.Threads.X, g.Threads.Y), kernel))
}

// Readme fails unless draw makes the file that the README of the example shows, on the
// device that KILN_DEVICE names, or on the CPU. Pixels are compared, and not bytes: another
// version of Go may compress them better.
func Readme(t *testing.T, file string, draw func(dev *runtime.Device) (*picture.Drawing, error)) {
	t.Helper()
	name := os.Getenv("KILN_DEVICE")
	if name == "" {
		name = "cpu"
	}
	dev, err := runtime.Open(name)
	require.NoError(t, err)
	defer dev.Close()
	d, err := draw(dev)
	require.NoError(t, err)
	require.Positive(t, d.Work)
	require.Positive(t, d.Time)
	drawn := filepath.Join(t.TempDir(), file)
	require.NoError(t, d.Save(drawn))

	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(110_000), "the file of the README is to be small")
	require.Contains(t, read(t, "README.md"), file)
	if read(t, file) == read(t, drawn) {
		return
	}
	want, got := frames(t, file), frames(t, drawn)
	require.Len(t, got, len(want))
	for i := range want {
		require.Equal(t, want[i].Bounds(), got[i].Bounds())
		require.Zero(t, different(want[i], got[i]), "pixels of frame %d differ from those of %s; if they should, write it again", i, file)
	}
}

func read(t *testing.T, file string) string {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

// frames reads a PNG or GIF file.
func frames(t *testing.T, file string) (list []image.Image) {
	t.Helper()
	text := strings.NewReader(read(t, file))
	if strings.HasSuffix(file, ".png") {
		img, err := png.Decode(text)
		require.NoError(t, err)
		return []image.Image{img}
	}
	g, err := gif.DecodeAll(text)
	require.NoError(t, err)
	for _, p := range g.Image {
		list = append(list, p)
	}
	return list
}

// different counts the pixels that differ.
func different(a, b image.Image) (n int) {
	for y := a.Bounds().Min.Y; y < a.Bounds().Max.Y; y++ {
		for x := a.Bounds().Min.X; x < a.Bounds().Max.X; x++ {
			r1, g1, b1, a1 := a.At(x, y).RGBA()
			r2, g2, b2, a2 := b.At(x, y).RGBA()
			if r1 != r2 || g1 != g2 || b1 != b2 || a1 != a2 {
				n++
			}
		}
	}
	return n
}
