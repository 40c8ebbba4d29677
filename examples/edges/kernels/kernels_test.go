package kernels_test

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/dsltest"
	"github.com/gokiln/kiln/examples/edges/internal/reference"
	"github.com/gokiln/kiln/examples/edges/kernels"
)

// sizes are those at which tiles and blocks end in the wrong place: one pixel,
// one row, one column, odd, and more than one block each way.
var sizes = [][2]int{{1, 1}, {1, 9}, {9, 1}, {2, 2}, {17, 33}, {33, 17}, {64, 64}, {300, 5}, {5, 70}, {67, 41}}

// shapes are the launches that every kernel is tried with: the grid covers the
// picture, or threads have to come back for more.
var shapes = []struct {
	name        string
	grid, block func(w, h int) dsl.Dim3
}{
	{"cover", func(w, h int) dsl.Dim3 { return dsl.D2(ceil(w, 32), ceil(h, 8)) }, fixed(32, 8)},
	{"odd", func(w, h int) dsl.Dim3 { return dsl.D2(ceil(w, 7), 1) }, fixed(7, 3)},
}

func fixed(x, y int) func(w, h int) dsl.Dim3 { return func(int, int) dsl.Dim3 { return dsl.D2(x, y) } }

func ceil(n, d int) int { return (n + d - 1) / d }

// forEach runs a test for all sizes and shapes.
func forEach(t *testing.T, fn func(t *testing.T, w, h int, grid, block dsl.Dim3)) {
	for _, size := range sizes {
		for _, s := range shapes {
			w, h := size[0], size[1]
			t.Run(fmt.Sprintf("%dx%d/%s", w, h, s.name), func(t *testing.T) { fn(t, w, h, s.grid(w, h), s.block(w, h)) })
		}
	}
}

func random(w, h int) reference.Picture[float32] {
	r := rand.New(rand.NewPCG(uint64(w), uint64(h)))
	p := reference.New[float32](w, h)
	for i := range p.Pix {
		p.Pix[i] = 255 * r.Float32()
	}
	return p
}

// poison fills what a kernel must overwrite, all of it and nothing else: the
// slice has guard elements at its end that must stay.
func poison(n int) []float32 {
	s := make([]float32, n+guard)
	for i := range s {
		s[i] = float32(math.NaN())
	}
	return s
}

const guard = 8

func equal[T any](t *testing.T, want reference.Picture[T], got []T) {
	t.Helper()
	n := len(want.Pix)
	if diff := cmp.Diff(want.Pix, got[:n]); diff != "" {
		t.Fatalf("differs from the reference (-want +got):\n%s", diff)
	}
}

func guarded(t *testing.T, s []float32) {
	t.Helper()
	for i, v := range s[len(s)-guard:] {
		require.True(t, v != v, "element %d after the end was written", i)
	}
}

func TestLuma(t *testing.T) {
	forEach(t, func(t *testing.T, w, h int, grid, block dsl.Dim3) {
		rgba := reference.New[uint32](w, h)
		r := rand.New(rand.NewPCG(uint64(w), uint64(h)))
		for i := range rgba.Pix {
			rgba.Pix[i] = r.Uint32()
		}
		got, n := poison(w*h), w*h
		require.NoError(t, dsltest.Run(grid, block, func(th dsl.Thread) { kernels.Luma(th, got[:n], rgba.Pix, w, h) }))
		equal(t, reference.Luma(rgba), got)
		guarded(t, got)
	})
}

func TestLumaOfKnownColours(t *testing.T) {
	rgba := []uint32{0xff000000, 0xffffffff, 0xff0000ff, 0xff00ff00, 0xffff0000, 0x00808080}
	got := make([]float32, len(rgba))
	require.NoError(t, dsltest.Run(dsl.D1(1), dsl.D1(32), func(th dsl.Thread) { kernels.Luma(th, got, rgba, len(rgba), 1) }))
	for i, want := range []float64{0, 255, 54.213, 182.376, 18.411, 128} {
		require.InDelta(t, want, got[i], 1e-4, "%08x", rgba[i])
	}
}

// Every ratio of samples to pixels, parts of pictures that begin between samples, and
// colours beyond what red, green and blue can be.
func TestLumaYCbCr(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	ratios := []image.YCbCrSubsampleRatio{
		image.YCbCrSubsampleRatio444, image.YCbCrSubsampleRatio422, image.YCbCrSubsampleRatio420,
		image.YCbCrSubsampleRatio440, image.YCbCrSubsampleRatio411, image.YCbCrSubsampleRatio410,
	}
	shifts := [][2]uint{{0, 0}, {1, 0}, {1, 1}, {0, 1}, {2, 0}, {2, 1}}
	for k, ratio := range ratios {
		whole := image.NewYCbCr(image.Rect(0, 0, 45, 21), ratio)
		for _, plane := range [][]uint8{whole.Y, whole.Cb, whole.Cr} {
			for i := range plane {
				plane[i] = uint8(r.Uint32())
			}
		}
		for _, part := range []image.Rectangle{whole.Rect, image.Rect(3, 5, 40, 20), image.Rect(1, 1, 2, 2)} {
			img := whole.SubImage(part).(*image.YCbCr)
			rgba := reference.New[uint32](part.Dx(), part.Dy())
			for i := range rgba.Pix {
				c := color.RGBAModel.Convert(img.At(part.Min.X+i%rgba.W, part.Min.Y+i/rgba.W)).(color.RGBA)
				rgba.Pix[i] = uint32(c.R) | uint32(c.G)<<8 | uint32(c.B)<<16
			}
			n, shift := rgba.W*rgba.H, shifts[k]
			for _, s := range shapes {
				got := poison(n)
				require.NoError(t, dsltest.Run(s.grid(rgba.W, rgba.H), s.block(rgba.W, rgba.H), func(th dsl.Thread) {
					kernels.LumaYCbCr(th, got[:n], img.Y, img.Cb, img.Cr, rgba.W, rgba.H, img.YStride, img.CStride,
						part.Min.X&(1<<shift[0]-1), part.Min.Y&(1<<shift[1]-1), shift[0], shift[1])
				}))
				equal(t, reference.Luma(rgba), got)
				guarded(t, got)
			}
		}
	}
}

// weightsOf returns weights that are all different and add up to one.
func weightsOf(radius int) []float32 {
	w := make([]float32, radius+1)
	sum := float32(0)
	for i := range w {
		w[i] = 1 / float32(i+1)
		sum += w[i]
		if i > 0 {
			sum += w[i]
		}
	}
	for i := range w {
		w[i] /= sum
	}
	return w
}

func TestBlur(t *testing.T) {
	for _, radius := range []int{0, 1, 4, 31, kernels.MaxRadius} {
		weights := weightsOf(radius)
		forEach(t, func(t *testing.T, w, h int, grid, block dsl.Dim3) {
			src := random(w, h)
			n := w * h
			rows, cols := poison(n), poison(n)
			rowBlock := dsl.D1(block.X)
			require.NoError(t, dsltest.Run(grid, rowBlock, func(th dsl.Thread) {
				kernels.BlurRows(th, rows[:n], src.Pix, weights, w, h)
			}))
			require.NoError(t, dsltest.Run(grid, block, func(th dsl.Thread) {
				kernels.BlurCols(th, cols[:n], src.Pix, weights, w, h)
			}))
			equal(t, reference.Blur(src, weights, 1, 0), rows)
			equal(t, reference.Blur(src, weights, 0, 1), cols)
			guarded(t, rows)
			guarded(t, cols)
		})
	}
}

// A whole piece of a row with the widest halo fills the shared memory to the end.
func TestBlurRowsOfFullPieces(t *testing.T) {
	const w, h = 2*kernels.RowPiece + 3, 2
	src, weights := random(w, h), weightsOf(kernels.MaxRadius)
	got := poison(w * h)
	require.NoError(t, dsltest.Run(dsl.D2(3, h), dsl.D1(256), func(th dsl.Thread) {
		kernels.BlurRows(th, got[:w*h], src.Pix, weights, w, h)
	}))
	equal(t, reference.Blur(src, weights, 1, 0), got)
	guarded(t, got)
}

func TestSobel(t *testing.T) {
	forEach(t, func(t *testing.T, w, h int, grid, block dsl.Dim3) {
		src := random(w, h)
		n := w * h
		magnitude, direction := poison(n), make([]uint8, n)
		require.NoError(t, dsltest.Run(grid, block, func(th dsl.Thread) {
			kernels.Sobel(th, magnitude[:n], direction, src.Pix, w, h)
		}))
		length, sector := reference.Gradient(src)
		equal(t, length, magnitude)
		equal(t, sector, direction)
		guarded(t, magnitude)
	})
}

// A ramp in each of 16 directions: the length is known, and the direction is
// the nearest of the four.
func TestSobelOfRamps(t *testing.T) {
	names := map[uint8]string{kernels.Horizontal: "horizontal", kernels.Falling: "falling", kernels.Vertical: "vertical", kernels.Rising: "rising"}
	want := []string{"horizontal", "falling", "falling", "falling", "vertical", "rising", "rising", "rising"}
	const n = 5
	for i := range 16 {
		angle := 2 * math.Pi * float64(i) / 16
		if i%4 == 1 || i%4 == 3 { // 22.5° is on the fence: go towards the diagonal
			angle += math.Copysign(0.05, float64(2-i%4))
		}
		dy, dx := math.Sincos(angle)
		src := make([]float32, n*n)
		for j := range src {
			src[j] = float32(100 + dx*float64(j%n) + dy*float64(j/n))
		}
		magnitude, direction := make([]float32, n*n), make([]uint8, n*n)
		require.NoError(t, dsltest.Run(dsl.D1(1), dsl.D2(8, 8), func(th dsl.Thread) {
			kernels.Sobel(th, magnitude, direction, src, n, n)
		}))
		const middle = n * n / 2
		require.InDelta(t, 8, magnitude[middle], 1e-3)
		require.Equal(t, want[i%8], names[direction[middle]], "%.1f°", angle*180/math.Pi)
	}
}

func TestHistogram(t *testing.T) {
	for _, n := range []int{1, 100, 5000} {
		for _, grid := range []int{1, 3, 30} {
			src := random(n, 1)
			for i := range src.Pix {
				src.Pix[i] *= 8 // beyond the last bin
			}
			src.Pix[0] = 1535.9999
			bins := make([]uint32, kernels.Bins)
			require.NoError(t, dsltest.Run(dsl.D1(grid), dsl.D1(96), func(th dsl.Thread) { kernels.Histogram(th, bins, src.Pix) }))
			require.Equal(t, reference.Histogram(src, kernels.Bins), bins)
		}
	}
}

func TestSuppress(t *testing.T) {
	forEach(t, func(t *testing.T, w, h int, grid, block dsl.Dim3) {
		magnitude, direction := random(w, h), reference.New[uint8](w, h)
		for i := range direction.Pix {
			magnitude.Pix[i] = float32(int(magnitude.Pix[i]) / 8) // so that neighbours are often equal
			direction.Pix[i] = uint8(i*7/3) % 4
		}
		got := make([]uint8, w*h+guard)
		for i := range got {
			got[i] = 0xcc
		}
		require.NoError(t, dsltest.Run(grid, block, func(th dsl.Thread) {
			kernels.Suppress(th, got[:w*h], magnitude.Pix, direction.Pix, w, h, 7, 9.7)
		}))
		equal(t, reference.Suppress(magnitude, direction, 7, 9.7), got)
		for _, v := range got[w*h:] {
			require.EqualValues(t, 0xcc, v)
		}
	})
}

// A plateau of two equal ridges gives one line.
func TestSuppressKeepsOneOfTwo(t *testing.T) {
	magnitude := []float32{0, 5, 9, 9, 5, 0}
	got := make([]uint8, 6)
	require.NoError(t, dsltest.Run(dsl.D1(1), dsl.D1(32), func(th dsl.Thread) {
		kernels.Suppress(th, got, magnitude, make([]uint8, 6), 6, 1, 1, 10)
	}))
	require.Equal(t, []uint8{0, 0, 90, 0, 0, 0}, got)
}
