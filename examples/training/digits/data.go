package main

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

const pixels = 8 * 8

// load reads the images, with pixels from 0 to 1, and divides them at random into those to learn from and
// those to test with.
func load(held int) (learn, test data.Dataset[data.Labeled], err error) {
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, nil, err
	}
	rows, err := csv.NewReader(unpacked).ReadAll()
	if err != nil {
		return nil, nil, err
	}
	var x []float32
	var labels []uint32
	for i, row := range rows {
		if len(row) != pixels+1 {
			return nil, nil, fmt.Errorf("image %d has %d numbers, not %d", i, len(row), pixels+1)
		}
		for k, cell := range row {
			n, err := strconv.ParseFloat(cell, 32)
			if err != nil {
				return nil, nil, fmt.Errorf("image %d: %w", i, err)
			}
			if k == pixels {
				labels = append(labels, uint32(n))
			} else {
				x = append(x, float32(n)/16)
			}
		}
	}
	all, err := data.NewLabeled(x, pixels, labels)
	if err != nil {
		return nil, nil, err
	}
	test, learn, err = data.Split[data.Labeled](all, held, 1)
	return learn, test, err
}
