package main

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"fmt"
	"image"
	"image/draw"
	_ "image/jpeg" // so that Decode knows it
	"image/png"
	"os"
)

// lighthouse is the picture that is read by default; testdata/gen.go painted it.
//
//go:embed testdata/lighthouse.jpg
var lighthouse []byte

// load decodes a PNG or JPEG file, or the built-in picture for "".
func load(name string) (image.Image, error) {
	data := lighthouse
	if name == "" {
		name = "the built-in picture"
	} else {
		var err error
		if data, err = os.ReadFile(name); err != nil {
			return nil, err
		}
	}
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w (PNG and JPEG can be read)", name, err)
	}
	return img, nil
}

// save writes a PNG file, or nothing for "".
func save(name string, img image.Image) (err error) {
	if name == "" {
		return nil
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	// Edges are mostly black: the fast level makes files nearly as small.
	enc := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := enc.Encode(f, img); err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	return nil
}

// pack returns the pixels by rows, red in the lowest byte of each, then green,
// blue and alpha. What is transparent shows on black.
func pack(img image.Image) []uint32 {
	b := img.Bounds()
	rgba, ok := img.(*image.RGBA)
	if !ok {
		rgba = image.NewRGBA(b)
		draw.Draw(rgba, b, img, b.Min, draw.Src)
	}
	packed := make([]uint32, 0, b.Dx()*b.Dy())
	for y := b.Min.Y; y < b.Max.Y; y++ {
		row := rgba.Pix[rgba.PixOffset(b.Min.X, y):]
		for x := range b.Dx() {
			packed = append(packed, binary.LittleEndian.Uint32(row[4*x:]))
		}
	}
	return packed
}
