package kernels

import (
	"math"

	"github.com/gokiln/kiln/dsl"
)

// HeadWords is how many words there are before the status words: the first one is the counter of
// tickets.
const HeadWords = 8

// PackFloat is the bits of x, which are never all ones.
func PackFloat(x float32) uint64 {
	if x != x {
		return 0x7fc00000
	}
	return uint64(math.Float32bits(x))
}

// UnpackFloat is the number of [PackFloat].
func UnpackFloat(b uint64) float32 { return math.Float32frombits(uint32(b)) }

// PackDouble is the bits of x.
func PackDouble(x float64) uint64 { return math.Float64bits(x) }

// UnpackDouble is the number of [PackDouble].
func UnpackDouble(b uint64) float64 { return math.Float64frombits(b) }

// PackInt is the bits of x.
func PackInt[C dsl.Int | dsl.Uint](x C) uint64 { return uint64(x) }

// UnpackInt is the number of [PackInt].
func UnpackInt[C dsl.Int | dsl.Uint](b uint64) C { return C(b) }
