package digitset

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/gokiln/kiln/nn/data"
)

//go:embed digits.txt
var lines string

// Pixels is how many an image has, 8 rows of 8.
const Pixels = 8 * 8

// scale is how the file writes a pixel, from 0 to 16.
const scale = "0123456789abcdefg"

// Load reads the images, with pixels from 0 to 1.
func Load() (data.Slice[data.Labeled], error) {
	var x []float32
	var labels []uint32
	for line := range strings.Lines(lines) {
		label, pixels, _ := strings.Cut(strings.TrimSpace(line), " ")
		if len(label) != 1 || label < "0" || label > "9" || len(pixels) != Pixels {
			return nil, fmt.Errorf("image %d is not a digit and %d pixels: %q", len(labels), Pixels, line)
		}
		labels = append(labels, uint32(label[0]-'0'))
		for i := range Pixels {
			n := strings.IndexByte(scale, pixels[i])
			if n < 0 {
				return nil, fmt.Errorf("image %d: pixel %d is %q, want one of %s", len(labels)-1, i, pixels[i], scale)
			}
			x = append(x, float32(n)/16)
		}
	}
	return data.NewLabeled(x, Pixels, labels)
}
