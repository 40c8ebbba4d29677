package kernels

import (
	"math"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/quantized/format"
)

// Layout says how [Activations] stores 32 elements, a part.
type Layout struct {
	Numbers dsl.ConstInt // for each part, behind the bytes of all: 1, 2 or 4, see [Numbers]

	// Lanes is 1 if words and numbers of a part are neighbours, for loads of vectors. Otherwise
	// word i of so many parts are, so that lanes which have one part each load them at once; rows are
	// then padded to a multiple of these parts.
	Lanes dsl.ConstInt
}

// Activations stores rows of activations as signed bytes with a float32 scale for each 32 of them,
// for dot products with a [format.Part]. First come the bytes of all rows, four in a word, and then
// for each 32 elements the bits of their scale; of 2 or 4 numbers there, the second one, or the second
// and the third, are the sum of these bytes, or of each half. The largest magnitude of 32 elements
// becomes 127, and the others are rounded to the nearest. Elements that are not finite make the scale
// so, and magnitudes that are all below 2⁻¹¹⁹ become 0.
//
// Eight neighbouring lanes have 32 elements.
//
//kiln:kernel
//kiln:const l.Numbers=2,4 l.Lanes=1,8
func Activations[T dsl.Float](t dsl.Thread, out []uint32, x []T, line int, l Layout) {
	words, n, lanes := len(x)/4, int(l.Numbers), int(l.Lanes)
	padded := (line + lanes - 1) / lanes * lanes
	scales := out[words/8/line*padded*8:]
	for base := t.BlockX() * t.BlockDimX(); base < words; base += t.GridDimX() * t.BlockDimX() {
		i := base + t.ThreadX()
		r := roundFour(t, dsl.LoadVec[[4]T](x, min(i, words-1)))
		if i >= words {
			continue
		}
		// The first part of as many as there are lanes, and the number of this one among them.
		part := i/8/line*padded + i/8%line
		first, lane := part/lanes*lanes, part%lanes
		out[first*8+i%8*lanes+lane] = r.word
		if at := first*n + lane; i%8 == 0 {
			scales[at] = math.Float32bits(r.scale)
			if n == 2 {
				scales[at+lanes] = math.Float32bits(float32(r.sum + r.other))
			}
			if n == 4 {
				scales[at+lanes] = math.Float32bits(float32(r.sum))
				scales[at+2*lanes] = math.Float32bits(float32(r.other))
			}
		}
	}
}

// roundedFour is four elements as signed bytes, the scale of the 32 that they are of, and the sums of
// the bytes of their half of these and of the other one.
type roundedFour struct {
	word       uint32
	scale      float32
	sum, other int32
}

// roundFour rounds four elements in each of eight neighbouring lanes, as [Activations] says.
func roundFour[T dsl.Float](t dsl.Thread, v [4]T) (r roundedFour) {
	var e [4]float32
	most := float32(0)
	for j := range 4 {
		e[j] = dsl.F32(v[j])
		most = max(most, dsl.Abs(e[j]))
	}
	for lane := 1; lane < 8; lane *= 2 {
		most = max(most, dsl.ShuffleXor(t, most, lane))
	}
	scale, inverse := most*(1.0/127), 127/most
	if most < 0x1p-119 {
		scale, inverse = 0, 0
	}
	r.scale = scale
	for j := range 4 {
		q := int32(dsl.RoundEven(e[j] * inverse)) // of NaN it is 0
		r.word |= uint32(q) & 255 << (8 * j)
		r.sum += q
	}
	for lane := 1; lane < 4; lane *= 2 {
		r.sum += dsl.ShuffleXor(t, r.sum, lane)
	}
	r.other = dsl.ShuffleXor(t, r.sum, 4)
	return r
}

// Numbers is how many numbers [Activations] stores for 32 elements that are multiplied with parts of
// a format.
func Numbers[F format.Block](f F) int {
	if !f.HasMin() {
		return 1
	}
	return 2 * f.Scales()
}
