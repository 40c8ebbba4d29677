package dsl

import (
	"unsafe"

	"github.com/gokiln/kiln/dsl/internal/host"
)

// Operations of a warp need all of its lanes: the block size is a multiple of
// the warp size, and all lanes come to the same call.

// Shuffle returns the v of the lane with the given number, taken modulo the
// warp size.
//
//kiln:intrinsic
func Shuffle[T Number](t Thread, v T, lane int) T {
	return fromWord[T](t.h.Exchange(host.OpShuffle, toWord(v), lane))
}

// ShuffleUp returns the v of the lane delta below this one, and its own v where
// there is none.
//
//kiln:intrinsic
func ShuffleUp[T Number](t Thread, v T, delta int) T {
	return fromWord[T](t.h.Exchange(host.OpShuffleUp, toWord(v), delta))
}

// ShuffleDown returns the v of the lane delta above this one, and its own v
// where there is none.
//
//kiln:intrinsic
func ShuffleDown[T Number](t Thread, v T, delta int) T {
	return fromWord[T](t.h.Exchange(host.OpShuffleDown, toWord(v), delta))
}

// ShuffleXor returns the v of the lane whose number differs from this one in
// the bits of mask, and its own v where there is none.
//
//kiln:intrinsic
func ShuffleXor[T Number](t Thread, v T, mask int) T {
	return fromWord[T](t.h.Exchange(host.OpShuffleXor, toWord(v), mask))
}

// Ballot returns a mask with one bit for each lane of the warp whose p is true.
//
//kiln:intrinsic
func Ballot(t Thread, p bool) uint64 { return t.h.Exchange(host.OpBallot, boolWord(p), 0) }

// Any reports whether p is true in any lane of the warp.
//
//kiln:intrinsic
func Any(t Thread, p bool) bool { return t.h.Exchange(host.OpAny, boolWord(p), 0) != 0 }

// All reports whether p is true in all lanes of the warp.
//
//kiln:intrinsic
func All(t Thread, p bool) bool { return t.h.Exchange(host.OpAll, boolWord(p), 0) != 0 }

// toWord and the functions below carry values through the host scheduler.
// Device code has no use for them.
func toWord[T any](v T) uint64 {
	p := unsafe.Pointer(&v)
	switch unsafe.Sizeof(v) {
	case 1:
		return uint64(*(*uint8)(p))
	case 2:
		return uint64(*(*uint16)(p))
	case 4:
		return uint64(*(*uint32)(p))
	}
	return *(*uint64)(p)
}

func fromWord[T any](w uint64) (v T) {
	p := unsafe.Pointer(&v)
	switch unsafe.Sizeof(v) {
	case 1:
		*(*uint8)(p) = uint8(w)
	case 2:
		*(*uint16)(p) = uint16(w)
	case 4:
		*(*uint32)(p) = uint32(w)
	default:
		*(*uint64)(p) = w
	}
	return v
}

func boolWord(p bool) uint64 {
	if p {
		return 1
	}
	return 0
}
