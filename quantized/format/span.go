package format

import "github.com/gokiln/kiln/dsl"

const (
	// SpanLen is how many neighbouring elements a [Span] has.
	SpanLen = 256
	// SpanLanes is how many lanes share a [Span]: each has 16 elements.
	SpanLanes = 16
	// SpanWords is how many words of four bytes a [Span] has.
	SpanWords = SpanLen / 4
)

// Spanned is a format of which the lanes of a vector read 256 neighbouring elements together, so that
// their loads are of neighbouring words, and fields that elements have in common are read once.
type Spanned interface {
	Block
	// Span reads the elements that begin at byte at of d, the first one of a block. It is called by
	// all SpanLanes lanes of a warp, for the same elements.
	Span(t dsl.Thread, d Data, at int) Span
	// Slot says where the lanes have elements 4w to 4w+3: in Q[j] of a lane l, for 16·j + l.
	Slot(w int) int
	// Chains is how many scales a lane has: 4, one for each word, or 2, one for each pair of them.
	Chains() int
	// Bias is what is taken from each byte of Q; bytes of formats that have one are below 128.
	Bias() int
	// SpanMins reports whether M of a [Span] may be other than 0.
	SpanMins() bool
}

// Span is what a lane has of 256 elements: those of signed byte q of Q[j] are D·(q-Bias), where D is
// D[j], or D[j/2] of a format with two scales. To each of elements 16·l to 16·l+15, wherever they are,
// M of lane l is added.
type Span struct {
	Q [4]uint32
	D [4]float32
	M float32
}

// slotOfHalves is Slot of formats that have elements of 32 in pairs of nibbles of 16 bytes.
func slotOfHalves(w int) int { return w>>5*32 + w>>2&1*16 + w>>3&3*4 + w&3 }
