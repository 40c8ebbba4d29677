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
				sums[m] += dotSpan(t, f, &s, x[(m*spans+i)*words:][:words], t.Lane())
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
func dotSpan[F format.Spanned](t dsl.Thread, f F, s *format.Span, x []uint32, at int) float32 {
	const lanes = format.SpanLanes
	d := s.D * math.Float32frombits(x[at+4*lanes])
	v := float32(0)
	if f.SpanMins() && t.Lane()&1 == 1 {
		v = d
	}
	if f.Bias() != 0 {
		v = d * math.Float32frombits(x[at+5*lanes])
	}
	for j := range 4 {
		if pairs(f, j) {
			continue
		}
		sum := dotUnsigned(s.Q[j], int32(x[at+j*lanes]), 0)
		if j < 3 && pairs(f, j+1) {
			sum = dotUnsigned(s.Q[j+1], int32(x[at+(j+1)*lanes]), sum)
		}
		v = dsl.FMA(float32(sum), dsl.Shuffle(t, d, f.ScaleLane(j, t.Lane())), v)
	}
	return v
}

// pairs reports whether Q[j] has the scale of the word before it in all lanes.
func pairs[F format.Spanned](f F, j int) bool {
	return j&1 == 1 && f.ScaleLane(j, 0) == f.ScaleLane(j-1, 0)
}

// SpanSize is how many words [SpanActivations] stores for 256 elements that are multiplied with a format.
func SpanSize[F format.Spanned](f F) int {
	if f.Bias() != 0 {
		return 6 * format.SpanLanes
	}
	return 5 * format.SpanLanes
}

// SpanActivations stores rows of activations as signed bytes, rounded as [Activations] does, where the
// lanes of [SpanDots] have the elements of a format that they are multiplied with. For each 256 elements
// there are vectors of a word for each lane: four of bytes, one of the bits of what numbers of the lanes
// are multiplied with, scales of 16 elements, or in odd lanes of a format with minimums the negative sum
// of 32 elements, and, if the format has a bias, one of the sum of 16 bytes times it, negative.
//
// Eight neighbouring lanes have 32 elements.
//
//kiln:kernel
func SpanActivations[F format.Spanned, T dsl.Float](t dsl.Thread, out []uint32, x []T, f F) {
	const lanes = format.SpanLanes
	words, size := len(x)/4, SpanSize(f)
	for base := t.BlockX() * t.BlockDimX(); base < words; base += t.GridDimX() * t.BlockDimX() {
		i := base + t.ThreadX()
		r := roundFour(t, dsl.LoadVec[[4]T](x, min(i, words-1)))
		number := r.scale
		if f.SpanMins() && t.Lane()&4 != 0 {
			number = -r.scale * float32(r.sum+r.other)
		}
		if i >= words {
			continue
		}
		at, w := i/format.SpanWords*size, i%format.SpanWords
		out[at+f.Slot(w)] = r.word
		if at += 4*lanes + w/4; w%4 != 0 {
			continue
		}
		out[at] = math.Float32bits(number)
		if f.Bias() != 0 {
			out[at+lanes] = math.Float32bits(float32(-f.Bias()) * float32(r.sum))
		}
	}
}
