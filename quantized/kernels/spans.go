package kernels

import (
	"math"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/quantized/format"
)

// SpanDots stores the products of few rows of activations, as [SpanActivations] stores them, with all
// rows of a matrix of blocks: out has rows times n of them. The lanes of a warp, format.SpanLanes of
// them, read 256 elements of a row together. Bytes are multiplied by [dsl.Dot4], exactly, and the sums of
// four, or eight, elements are scaled in float32. A lane adds up what it has of all spans, in order, and
// then lanes are added as a tree.
//
//kiln:kernel
//kiln:const rows=1,3
func SpanDots[F format.Spanned, T dsl.Float](
	t dsl.Thread, out []T, x []uint32, b []uint8, h []uint16, w []uint32, n, k int, rows dsl.ConstInt, f F,
) {
	d := format.Data{B: b, H: h, W: w, Shifts: true}
	spans, bytes, words := k/format.SpanLen, format.SpanLen/f.Elems()*f.Bytes(), SpanSize(f)
	each := (n + t.GridDimX() - 1) / t.GridDimX() // rows of a block, which are neighbours
	for row := t.BlockX() * each; row < min(t.BlockX()*each+each, n); row++ {
		sums := dsl.LocalSlice[float32](rows)
		for m := range int(rows) {
			sums[m] = 0
		}
		for i := range spans {
			s := f.Span(t, d, (row*spans+i)*bytes)
			for m := range int(rows) {
				sums[m] += dotSpan(f, &s, x, (m*spans+i)*words+t.Lane())
			}
		}
		for m := range int(rows) {
			if v := dsl.WarpSum(t, sums[m]); t.Lane() == 0 {
				out[m*n+row] = dsl.To[T](v)
			}
		}
	}
}

// dotSpan is what a lane has of the dot product of a span with the activations whose words of this lane
// begin at one of x.
func dotSpan[F format.Spanned](f F, s *format.Span, x []uint32, at int) float32 {
	const lanes = format.SpanLanes
	chains := f.Chains()
	each, scales := 4/chains, at+4*lanes
	v := float32(0)
	for c := range chains {
		sum := int32(0)
		if f.Bias() != 0 {
			sum = int32(x[scales+(chains+c)*lanes])
		}
		for j := range each {
			sum = dsl.Dot4(int32(s.Q[each*c+j]), int32(x[at+(each*c+j)*lanes]), sum)
		}
		d := s.D[c] * math.Float32frombits(x[scales+c*lanes])
		if c == 0 {
			v = float32(sum) * d
		} else {
			v = dsl.FMA(float32(sum), d, v)
		}
	}
	if f.SpanMins() {
		v = dsl.FMA(s.M, math.Float32frombits(x[at+(SpanSize(f)/lanes-1)*lanes]), v)
	}
	return v
}

// SpanSize is how many words [SpanActivations] stores for 256 elements that are multiplied with a format.
func SpanSize[F format.Spanned](f F) int {
	vectors := 4 + f.Chains()
	if f.Bias() != 0 {
		vectors += f.Chains()
	}
	if f.SpanMins() {
		vectors++
	}
	return vectors * format.SpanLanes
}

// SpanActivations stores rows of activations as signed bytes, rounded as [Activations] does, where the
// lanes of [SpanDots] have the elements of a format that they are multiplied with. For each 256 elements
// there are vectors of a word for each lane: four of bytes, then for each scale of the lane
// the bits of that of the activations, then, if the format has a bias, as many of what it adds to the
// sums of products of these bytes, and last, if it has minimums, one of the sums of 16 elements each.
//
// Eight neighbouring lanes have 32 elements.
//
//kiln:kernel
func SpanActivations[F format.Spanned, T dsl.Float](t dsl.Thread, out []uint32, x []T, f F) {
	const lanes = format.SpanLanes
	words, size, chains := len(x)/4, SpanSize(f), f.Chains()
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
		sum4 := sum // of four elements, or of the eight that a lane has of a scale
		if chains == 2 {
			sum4 += dsl.ShuffleXor(t, sum, 4)
		}
		sum += dsl.ShuffleXor(t, sum, 1)
		sum += dsl.ShuffleXor(t, sum, 2)
		if i >= words {
			continue
		}
		at, w := i/format.SpanWords*size, i%format.SpanWords
		slot := f.Slot(w)
		out[at+slot] = word
		if at := at + format.SpanWords; chains == 4 {
			out[at+slot] = math.Float32bits(scale)
			if f.Bias() != 0 {
				out[at+chains*lanes+slot] = uint32(-int32(f.Bias()) * sum4)
			}
		} else if slot&lanes == 0 {
			slot = slot/(2*lanes)*lanes + slot%lanes
			out[at+slot] = math.Float32bits(scale)
			if f.Bias() != 0 {
				out[at+chains*lanes+slot] = uint32(-int32(f.Bias()) * sum4)
			}
		}
		if f.SpanMins() && w%4 == 0 {
			out[at+size-lanes+w/4] = math.Float32bits(scale * float32(sum))
		}
	}
}
