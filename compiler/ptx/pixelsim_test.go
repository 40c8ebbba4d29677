package ptx

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// SimPixels is a map of pixels of the simulator (PTX ISA, "im2col mode").
type SimPixels struct {
	Addr              uint64
	Elem, Axes, Count uint16 // bytes of an element, and pixels of a copy
	Channels, Images  uint32
	Sizes             [3]uint16 // from the innermost on
	Strides           [4]uint32 // in bytes, the last from image to image
	Lower, Upper      [3]int16
	Steps             [3]uint8
	_                 [128 - 8 - 6 - 8 - 6 - 16 - 12 - 3 - 1]byte
	Kind              uint8 // pixelKind, so that no map of the other kind is taken for one
}

const pixelKind = 1

// Bytes makes the bytes of the map.
func (m *SimPixels) Bytes() []byte {
	m.Kind = pixelKind
	out, err := binary.Append(nil, binary.LittleEndian, m)
	if err != nil || len(out) != mapBytes {
		panic(fmt.Sprint(len(out), err))
	}
	return out
}

func (t *simThread) pixels(o simOperand) (m SimPixels) {
	at := o.get(t)
	if at%mapAlign != 0 {
		panic("a tensor map is not aligned")
	}
	if err := binary.Read(bytes.NewReader(t.block.args[at:at+mapBytes]), binary.LittleEndian, &m); err != nil {
		panic(err)
	}
	if m.Kind != pixelKind {
		panic("a map for boxes is used for pixels")
	}
	return m
}

// place is where a copy of pixels begins, and by how much each is moved.
func (m *SimPixels) place(t *simThread, at, moved simOperand) (channel, image int, x, by [3]int) {
	axes := int(m.Axes)
	if len(at.pair) != axes+2 || len(moved.pair) != axes {
		panic(fmt.Sprintf("%d coordinates and %d offsets for %d axes", len(at.pair), len(moved.pair), axes))
	}
	signed := func(i int) int { return int(int32(at.pair[i].get(t))) }
	for a := range axes {
		x[a], by[a] = signed(1+a), int(uint16(moved.pair[a].get(t)))
		if bits := [4]int{1: 16, 2: 8, 3: 5}[axes]; by[a] >= 1<<bits {
			panic(fmt.Sprintf("offset %d has more than %d bits", by[a], bits))
		}
		if x[a] < int(m.Lower[a]) || x[a] >= int(m.Sizes[a])+int(m.Upper[a]) {
			panic(fmt.Sprintf("a copy of pixels begins at %v, outside of its bounding box", x))
		}
	}
	return signed(0), signed(axes + 1), x, by
}

// eachPixel is eachElement for pixels: from one to the next it goes steps on along the innermost axis,
// inside the bounding box, and from there on to the next row and the next image.
func (p *simProgram) eachPixel(m *SimPixels, channel, image int, x, by [3]int, f func(mem []byte, off int), base int) int {
	if base%128 != 0 {
		panic("a copy of pixels is not aligned")
	}
	elem, channels := int(m.Elem), 128/int(m.Elem)
	for i := range int(m.Count) {
		inside, addr := image >= 0 && image < int(m.Images), int(m.Addr)+image*int(m.Strides[3])
		for a := range int(m.Axes) {
			at := x[a] + by[a]
			inside = inside && at >= 0 && at < int(m.Sizes[a])
			addr += at * int(m.Strides[a])
		}
		for c := range channels {
			to := base + i*128 + c*elem
			to ^= to >> 3 & 0x70
			var mem []byte
			if inside && channel+c < int(m.Channels) {
				at := uint64(addr + (channel+c)*elem)
				mem = p.buffers[at>>32-1][at&math.MaxUint32:][:elem]
			}
			f(mem, to-base)
		}
		a := 0
		for ; a < int(m.Axes); a++ {
			if x[a] += int(m.Steps[a]); x[a] < int(m.Sizes[a])+int(m.Upper[a]) {
				break
			}
			x[a] = int(m.Lower[a])
		}
		if a == int(m.Axes) {
			image++
		}
	}
	return int(m.Count) * 128
}

// TestPixels copies pixels of images of 4x4, whose first channels are counted from 1 on: all of one,
// those of a window with padding, the same ones moved, some of two images in both ways, and every second
// one of rows and of pixels.
func TestPixels(t *testing.T) {
	image := make([]byte, 2*16*128)
	for i := range 32 {
		binary.LittleEndian.PutUint32(image[i*128:], uint32(i+1))
	}
	p := &simProgram{buffers: [][]byte{image}}
	for _, c := range []struct {
		corner, step int
		at           [3]int // the innermost axis first, and the image last
		by           int
		want         []uint32
	}{
		{0, 1, [3]int{0, 0, 0}, 0, []uint32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}},
		{-1, 1, [3]int{-1, -1, 0}, 0, []uint32{0, 0, 0, 0, 0, 1, 2, 3, 0, 5, 6, 7, 0, 9, 10, 11}},
		{-1, 1, [3]int{-1, -1, 0}, 1, []uint32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}},
		{0, 1, [3]int{3, 1, 0}, 0, []uint32{8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}},
		{-1, 1, [3]int{2, 1, 0}, 0, []uint32{7, 0, 9, 10, 11, 0, 0, 0, 0, 0, 17, 18, 19, 0, 21, 22}},
		{-1, 2, [3]int{1, 1, 0}, 1, []uint32{11, 17, 19, 25, 27}},
	} {
		m := SimPixels{Addr: 1 << 32, Elem: 4, Axes: 2, Count: uint16(len(c.want)), Channels: 32, Images: 2, Sizes: [3]uint16{4, 4}, Strides: [4]uint32{128, 512, 0, 2048}, Steps: [3]uint8{uint8(c.step), uint8(c.step)}}
		for a := range 2 {
			m.Lower[a], m.Upper[a] = int16(c.corner), int16(c.corner)
		}
		got := make([]uint32, len(c.want))
		size := p.eachPixel(&m, 0, c.at[2], [3]int{c.at[0], c.at[1]}, [3]int{c.by, c.by}, func(mem []byte, off int) {
			if off>>4&7 == off>>7&7 && off%16 == 0 && mem != nil { // the first chunk, swizzled
				got[off/128] = binary.LittleEndian.Uint32(mem)
			}
		}, 0)
		require.Equal(t, c.want, got)
		require.Equal(t, len(c.want)*128, size)
	}
}
