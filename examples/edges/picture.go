package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"image"
	"image/draw"
	_ "image/jpeg" // so that Decode knows it
	"image/png"
	"os"
	goruntime "runtime"
	"sync"
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

// pixels are those of a picture as they are sent to a device.
type pixels struct {
	// rgba has four bytes for each, by rows: red, green, blue and alpha.
	rgba []uint8
	// ycc, if not nil, has them in three planes.
	ycc            *image.YCbCr
	firstX, firstY int
	shiftX, shiftY uint
}

// shifts are the logarithms of how many pixels share a sample, along x and y.
var shifts = map[image.YCbCrSubsampleRatio][2]uint{
	image.YCbCrSubsampleRatio444: {0, 0}, image.YCbCrSubsampleRatio422: {1, 0}, image.YCbCrSubsampleRatio420: {1, 1},
	image.YCbCrSubsampleRatio440: {0, 1}, image.YCbCrSubsampleRatio411: {2, 0}, image.YCbCrSubsampleRatio410: {2, 1},
}

// pack returns the pixels of a picture. Those that the kernels can read as they are
// stay where they are; others are converted, by as many goroutines as there are
// processors. What is transparent shows on black.
func pack(img image.Image) pixels {
	b := img.Bounds()
	switch img := img.(type) {
	case *image.YCbCr:
		shift, ok := shifts[img.SubsampleRatio]
		if ok && b.Min.X >= 0 && b.Min.Y >= 0 {
			img = trim(img, shift[1])
			return pixels{ycc: img, firstX: b.Min.X & (1<<shift[0] - 1), firstY: b.Min.Y & (1<<shift[1] - 1), shiftX: shift[0], shiftY: shift[1]}
		}
	case *image.RGBA:
		if img.Stride == 4*b.Dx() {
			return pixels{rgba: img.Pix[:4*b.Dx()*b.Dy()]}
		}
	}
	rgba := image.NewRGBA(b)
	var wait sync.WaitGroup
	parts := min(goruntime.GOMAXPROCS(0), b.Dy())
	for i := range parts {
		part := image.Rect(b.Min.X, b.Min.Y+b.Dy()*i/parts, b.Max.X, b.Min.Y+b.Dy()*(i+1)/parts)
		wait.Go(func() { draw.Draw(rgba, part, img, part.Min, draw.Src) })
	}
	wait.Wait()
	return pixels{rgba: rgba.Pix}
}

// trim cuts off what lies below a picture that is part of a larger one.
func trim(img *image.YCbCr, shiftY uint) *image.YCbCr {
	part := *img
	samples := (img.Rect.Max.Y-1)>>shiftY - img.Rect.Min.Y>>shiftY + 1
	part.Y = img.Y[:min(img.Rect.Dy()*img.YStride, len(img.Y))]
	part.Cb, part.Cr = img.Cb[:min(samples*img.CStride, len(img.Cb))], img.Cr[:min(samples*img.CStride, len(img.Cr))]
	return &part
}
