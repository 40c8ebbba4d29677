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
	// ScaleLane is the lane whose scale is that of Q[j] of a lane, an even one if the format has one
	// scale for 32 elements.
	ScaleLane(j, lane int) int
	// Bias is what is taken from each byte of Q.
	Bias() int
	// SpanMins reports whether odd lanes of a [Span] have minimums.
	SpanMins() bool
}

// Span is what a lane has of 256 elements: unsigned bytes of some of them, where [Spanned] says, and a
// number that elements have in common: lane l has the scale of elements 16·l to 16·l+15, which are
// D·(q-Bias). In a format with minimums lane 2·l has the scale of elements 32·l to 32·l+31, and lane
// 2·l+1 what is taken from each of these.
type Span struct {
	Q [4]uint32
	D float32
}

// signBias is Bias of formats whose bytes are signed ones with their top bits inverted.
const signBias = 128

// slotOfHalves is Slot of formats that have elements of 32 in pairs of nibbles of 16 bytes.
func slotOfHalves(w int) int { return w>>5*32 + w>>2&1*16 + w>>3&3*4 + w&3 }
