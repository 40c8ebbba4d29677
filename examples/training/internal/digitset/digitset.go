package digitset

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/csv"
	"fmt"
	"strconv"

	"github.com/gokiln/kiln/nn/data"
)

//go:embed digits.csv.gz
var packed []byte

// Pixels is how many an image has, 8 rows of 8.
const Pixels = 8 * 8

// Load reads the images, with pixels from 0 to 1.
func Load() (data.Slice[data.Labeled], error) {
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(unpacked).ReadAll()
	if err != nil {
		return nil, err
	}
	var x []float32
	var labels []uint32
	for i, row := range rows {
		if len(row) != Pixels+1 {
			return nil, fmt.Errorf("image %d has %d numbers, not %d", i, len(row), Pixels+1)
		}
		for k, cell := range row {
			n, err := strconv.ParseFloat(cell, 32)
			if err != nil {
				return nil, fmt.Errorf("image %d: %w", i, err)
			}
			if k == Pixels {
				labels = append(labels, uint32(n))
			} else {
				x = append(x, float32(n)/16)
			}
		}
	}
	return data.NewLabeled(x, Pixels, labels)
}
