package main

import (
	"encoding/json"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/examples/edges/internal/reference"
	"github.com/gokiln/kiln/examples/edges/internal/scene"
	"github.com/gokiln/kiln/examples/edges/kernels"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/runtime"
)

// asCommand makes the test binary behave as the command.
const asCommand = "EDGES_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	os.Exit(tooltest.FreshCache(m))
}

// command runs the command in another process.
func command(t *testing.T, dir string, args ...string) (stdout string, err error) {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asCommand+"=1", "KILN_CACHE_DIR="+filepath.Join(dir, "cache"))
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); ok {
		t.Logf("%v: %s", err, exit.Stderr)
	}
	return string(out), err
}

// cpu opens the device that every machine has.
func cpu(t *testing.T) *runtime.Device {
	t.Helper()
	dev, err := runtime.Open("cpu")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, dev.Close()) })
	return dev
}

// expected is the pipeline in plain Go, and the threshold it chose.
func expected(t *testing.T, img image.Image, sigma float64) (*image.Gray, float32) {
	t.Helper()
	b := img.Bounds()
	rgba := reference.New[uint32](b.Dx(), b.Dy())
	for i := range rgba.Pix {
		c := color.RGBAModel.Convert(img.At(b.Min.X+i%rgba.W, b.Min.Y+i/rgba.W)).(color.RGBA)
		rgba.Pix[i] = uint32(c.R) | uint32(c.G)<<8 | uint32(c.B)<<16 | uint32(c.A)<<24
	}
	weights, err := gaussian(sigma)
	require.NoError(t, err)
	blurred := reference.Blur(reference.Blur(reference.Luma(rgba), weights, 1, 0), weights, 0, 1)
	length, direction := reference.Gradient(blurred)
	limit := threshold(reference.Histogram(length, kernels.Bins))
	out := image.NewGray(image.Rect(0, 0, rgba.W, rgba.H))
	copy(out.Pix, reference.Suppress(length, direction, limit, 128/limit).Pix)
	return out, limit
}

// same fails unless Detect gives what the reference gives, to the last bit.
func same(t *testing.T, dev *runtime.Device, img image.Image, sigma float64) *Report {
	t.Helper()
	got, report, err := Detect(dev, img, sigma)
	require.NoError(t, err)
	want, limit := expected(t, img, sigma)
	assert.Equal(t, limit, report.Threshold)
	require.Equal(t, want.Rect, got.Rect)
	pixels, largest := difference(want, got)
	require.Zero(t, pixels, "pixels differ from the reference, by up to %d", largest)
	return report
}

func TestDetect(t *testing.T) {
	dev := cpu(t)
	for _, size := range [][2]int{{1, 1}, {1, 40}, {40, 1}, {17, 33}, {33, 17}, {300, 70}} {
		img := scene.Paint(size[0], size[1])
		for _, sigma := range []float64{0, 0.3, 1.4, maxSigma} {
			report := same(t, dev, img, sigma)
			assert.Equal(t, size, [2]int{report.Width, report.Height})
		}
	}
}

func TestDetectLighthouse(t *testing.T) {
	img, err := load("")
	require.NoError(t, err)
	report := same(t, cpu(t), img, 1.4)
	assert.Len(t, report.SHA256, 64)
	n := report.Width * report.Height
	assert.Greater(t, report.EdgePixels, n/100, "a picture has edges")
	assert.Less(t, report.EdgePixels, n/10, "and edges are thin")

	var names []string
	for _, s := range report.Steps {
		names = append(names, s.Name)
		assert.GreaterOrEqual(t, s.MS, 0.0, s.Name)
	}
	assert.Equal(t, []string{"kernels", "pack", "upload", "luma", "blur rows", "blur columns", "sobel", "histogram", "threshold", "suppress", "download"}, names)
	assert.Len(t, report.Kernels, len(allKernels))
}

// Pictures of any kind, with any origin, and parts of pictures.
func TestDetectKinds(t *testing.T) {
	dev := cpu(t)
	src := scene.Paint(60, 40)
	part := image.Rect(7, 5, 50, 31)
	for name, img := range map[string]draw.Image{
		"nrgba":   image.NewNRGBA(image.Rect(-3, 4, 57, 44)),
		"gray":    image.NewGray(src.Rect),
		"rgba64":  image.NewRGBA64(src.Rect),
		"cmyk":    image.NewCMYK(src.Rect),
		"shifted": image.NewRGBA(image.Rect(100, -50, 160, -10)),
	} {
		t.Run(name, func(t *testing.T) {
			draw.Draw(img, img.Bounds(), src, image.Point{}, draw.Src)
			same(t, dev, img, 1)
		})
	}
	t.Run("part", func(t *testing.T) { same(t, dev, src.SubImage(part), 1) })
	t.Run("transparent", func(t *testing.T) {
		img := image.NewNRGBA(src.Rect)
		draw.Draw(img, img.Rect, src, image.Point{}, draw.Src)
		for i := 3; i < len(img.Pix); i += 4 {
			img.Pix[i] = uint8(i)
		}
		same(t, dev, img, 1)
	})
}

// A plain area has no edges, however it is enlarged.
func TestDetectPlain(t *testing.T) {
	img := image.NewGray(image.Rect(0, 0, 50, 50))
	for i := range img.Pix {
		img.Pix[i] = 200
	}
	_, report, err := Detect(cpu(t), img, 2)
	require.NoError(t, err)
	assert.Zero(t, report.EdgePixels)
	assert.EqualValues(t, minThreshold, report.Threshold)
}

// A step from dark to light is one line of one pixel.
func TestDetectStep(t *testing.T) {
	img := image.NewGray(image.Rect(0, 0, 64, 20))
	for i := range img.Pix {
		if i%64 >= 30 {
			img.Pix[i] = 255
		}
	}
	out, _, err := Detect(cpu(t), img, 1.4)
	require.NoError(t, err)
	for y := range 20 {
		var lit []int
		for x := range 64 {
			if v := out.GrayAt(x, y).Y; v > 0 {
				lit = append(lit, x)
				assert.GreaterOrEqual(t, v, uint8(128))
			}
		}
		require.Len(t, lit, 1, "row %d", y)
		assert.Contains(t, []int{29, 30}, lit[0], "row %d", y) // either side of the step
	}
}

func TestDetectRefuses(t *testing.T) {
	dev := cpu(t)
	_, _, err := Detect(dev, image.NewGray(image.Rectangle{}), 1)
	assert.ErrorContains(t, err, "empty (0×0)")
	for _, sigma := range []float64{-1, math.NaN(), math.Inf(1), maxSigma + 0.1} {
		_, _, err := Detect(dev, scene.Paint(4, 4), sigma)
		assert.ErrorContains(t, err, "three sigma")
	}
}

func TestGaussian(t *testing.T) {
	for _, sigma := range []float64{0, 0.01, 0.5, 1, 1.4, 7, maxSigma} {
		weights, err := gaussian(sigma)
		require.NoError(t, err)
		assert.LessOrEqual(t, len(weights), kernels.MaxRadius+1)
		assert.GreaterOrEqual(t, float64(len(weights)), 3*sigma+1)
		sum := float64(weights[0])
		for k, w := range weights[1:] {
			sum += 2 * float64(w)
			assert.LessOrEqual(t, w, weights[k])
			assert.InDelta(t, math.Exp(-float64((k+1)*(k+1))/(2*sigma*sigma)), float64(w/weights[0]), 1e-6)
		}
		assert.InDelta(t, 1, sum, 1e-6)
	}
}

func TestThreshold(t *testing.T) {
	counts := func(at map[int]uint32) []uint32 {
		c := make([]uint32, kernels.Bins)
		for b, n := range at {
			c[b] = n
		}
		return c
	}
	for _, c := range []struct {
		counts map[int]uint32
		want   float32
	}{
		{nil, minThreshold},
		{map[int]uint32{0: 1000}, minThreshold},
		{map[int]uint32{500: 1000}, minThreshold},
		{map[int]uint32{10: 900, 400: 100}, 11},
		{map[int]uint32{10: 900, 60: 50, 400: 100, 420: 10}, 61},
		{map[int]uint32{0: 4_000_000_000, 1535: 4_000_000_000}, minThreshold},
	} {
		assert.Equal(t, c.want, threshold(counts(c.counts)), "%v", c.counts)
	}
}

// The command without flags, twice: the second process compiles nothing and
// writes the same file.
func TestCommand(t *testing.T) {
	dir := t.TempDir()
	out, err := command(t, dir, "-device", "cpu")
	require.NoError(t, err)
	for _, want := range []string{"960×640 pixels on cpu", "kernels.Luma", "compiled", "decode", "suppress", "encode", "wrote edges.png"} {
		assert.Contains(t, out, want)
	}
	first, err := os.ReadFile(filepath.Join(dir, "edges.png"))
	require.NoError(t, err)

	out, err = command(t, dir, "-device", "cpu", "-json", "-out", "again.png")
	require.NoError(t, err)
	var report Report
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	for _, k := range report.Kernels {
		assert.Equal(t, "cache", k.Source, k.Kernel)
	}
	again, err := os.ReadFile(filepath.Join(dir, "again.png"))
	require.NoError(t, err)
	assert.Equal(t, first, again)
}

func TestCommandReadsFiles(t *testing.T) {
	dir := t.TempDir()
	img := scene.Paint(50, 30)
	for name, encode := range map[string]func(io.Writer) error{
		"in.png": func(w io.Writer) error { return png.Encode(w, img) },
		"in.jpg": func(w io.Writer) error { return jpeg.Encode(w, img, nil) },
	} {
		f, err := os.Create(filepath.Join(dir, name))
		require.NoError(t, err)
		require.NoError(t, encode(f))
		require.NoError(t, f.Close())
		var out strings.Builder
		o := options{in: f.Name(), out: filepath.Join(dir, name+".edges.png"), device: "cpu", sigma: 1, compare: "cpu"}
		require.NoError(t, o.run(&out))
		assert.Contains(t, out.String(), "cpu against cpu: 0 of 1500 pixels differ, largest difference 0")
		edges, err := load(o.out)
		require.NoError(t, err)
		assert.Equal(t, img.Rect, edges.Bounds())
	}
}

func TestCommandRefuses(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	require.NoError(t, os.WriteFile(text, []byte("no picture"), 0o600))
	good := options{device: "cpu", sigma: 1}
	for want, change := range map[string]func(*options){
		"PNG and JPEG":  func(o *options) { o.in = text },
		"missing:":      func(o *options) { o.in = filepath.Join(dir, "missing") },
		"unknown kind":  func(o *options) { o.device = "abacus" },
		"compare:":      func(o *options) { o.compare = "abacus" },
		"three sigma":   func(o *options) { o.sigma = 100 },
		"missing/x.png": func(o *options) { o.out = filepath.Join(dir, "missing", "x.png") },
	} {
		o := good
		change(&o)
		assert.ErrorContains(t, o.run(io.Discard), want)
	}
	_, err := parse([]string{"photo.jpg"}, io.Discard)
	assert.ErrorContains(t, err, "-in")
	_, err = parse([]string{"-nonsense"}, io.Discard)
	assert.Error(t, err)
}

func TestDifference(t *testing.T) {
	a, b := image.NewGray(image.Rect(0, 0, 3, 1)), image.NewGray(image.Rect(0, 0, 3, 1))
	a.Pix, b.Pix = []uint8{0, 200, 7}, []uint8{255, 100, 7}
	pixels, largest := difference(a, b)
	assert.Equal(t, 2, pixels)
	assert.Equal(t, 255, largest)
}

// The picture of a present-day camera. The reference would take minutes here,
// so that the picture is the small one many times over: away from the seams
// each copy must have the edges of the first.
func TestDetectTwelveMegapixels(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not in a -short run")
	}
	const w, h, tile = 4000, 3000, 500
	small := scene.Paint(tile, tile)
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := 0; y < h; y += tile {
		for x := 0; x < w; x += tile {
			draw.Draw(img, image.Rect(x, y, x+tile, y+tile), small, image.Point{}, draw.Src)
		}
	}
	out, report, err := Detect(cpu(t), img, 1.4)
	require.NoError(t, err)
	for _, s := range report.Steps {
		t.Logf("%-14s %8.1f ms", s.Name, s.MS)
	}
	for y := tile; y < h-tile; y++ {
		if (y+8)%tile < 16 {
			continue
		}
		for x := tile; x < w-tile; x++ {
			if (x+8)%tile < 16 {
				continue
			}
			if out.GrayAt(x, y) != out.GrayAt(tile+x%tile, tile+y%tile) {
				t.Fatalf("(%d, %d) is not as in the first copy", x, y)
			}
		}
	}
	assert.Greater(t, report.EdgePixels, w*h/100)
}

// The README shows what the command writes: testdata/edges.png is the file that
// go run ./examples/edges -out examples/edges/testdata/edges.png makes.
func TestPictureOfTheReadme(t *testing.T) {
	dir := t.TempDir()
	_, err := command(t, dir, "-device", "cpu")
	require.NoError(t, err)
	pixels := func(name string) image.Image {
		f, err := os.Open(name)
		require.NoError(t, err)
		defer f.Close()
		img, err := png.Decode(f)
		require.NoError(t, err)
		return img
	}
	require.Equal(t, pixels("testdata/edges.png"), pixels(filepath.Join(dir, "edges.png")))
}
