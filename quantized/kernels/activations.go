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
		v := dsl.LoadVec[[4]T](x, min(i, words-1))
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
		var word uint32
		sum := int32(0)
		for j := range 4 {
			q := int32(dsl.RoundEven(e[j] * inverse)) // of NaN it is 0
			word |= uint32(q) & 255 << (8 * j)
			sum += q
		}
		for lane := 1; lane < 4; lane *= 2 {
			sum += dsl.ShuffleXor(t, sum, lane)
		}
		other := dsl.ShuffleXor(t, sum, 4)
		if i >= words {
			continue
		}
		// The first part of as many as there are lanes, and the number of this one among them.
		part := i/8/line*padded + i/8%line
		first, lane := part/lanes*lanes, part%lanes
		out[first*8+i%8*lanes+lane] = word
		if at := first*n + lane; i%8 == 0 {
			scales[at] = math.Float32bits(scale)
			if n == 2 {
				scales[at+lanes] = math.Float32bits(float32(sum + other))
			}
			if n == 4 {
				scales[at+lanes] = math.Float32bits(float32(sum))
				scales[at+2*lanes] = math.Float32bits(float32(other))
			}
		}
	}
}

// Numbers is how many numbers [Activations] stores for 32 elements that are multiplied with parts of
// a format.
func Numbers[F format.Block](f F) int {
	if !f.HasMin() {
		return 1
	}
	return 2 * f.Scales()
}
