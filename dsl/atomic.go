package dsl

import (
	"math"
	"sync/atomic"
	"unsafe"
)

// AtomicLoad returns *p as one whole. Like all atomic operations it works on
// global and shared memory, holds for all threads of the device, and is relaxed:
// it orders nothing but accesses to *p. [Fence], or an order given to a function such
// as [AtomicLoadExplicit], orders the rest. Where the hardware has no operation of 8 or
// 16 bits, the word around *p is exchanged, which leaves its other parts alone.
//
//kiln:intrinsic
func AtomicLoad[T Int | Uint | Real](p *T) T { return loadWord(p) }

// AtomicStore sets *p to v as one whole; relaxed, for the device.
//
//kiln:intrinsic
func AtomicStore[T Int | Uint | Real](p *T, v T) { AtomicExch(p, v) }

// AtomicAdd adds v to *p and returns what *p was; relaxed, for the device. A sum
// of halves is rounded once, as float32 gives it.
//
//kiln:intrinsic
func AtomicAdd[T Int | Uint | Real | F16 | BF16](p *T, v T) T {
	switch p := any(p).(type) {
	case *F16:
		old := addHalf(p, any(v).(F16))
		return any(old).(T)
	case *BF16:
		old := addHalf(p, any(v).(BF16))
		return any(old).(T)
	}
	for {
		old := loadWord(p)
		if swapWord(p, old, old+v) {
			return old
		}
	}
}

// AtomicExch stores v in *p and returns what *p was; relaxed, for the device.
//
//kiln:intrinsic
func AtomicExch[T Int | Uint | Real](p *T, v T) T {
	for {
		old := AtomicLoad(p)
		if swapWord(p, old, v) {
			return old
		}
	}
}

// AtomicCAS stores v in *p if *p is old, and returns what *p was; relaxed, for
// the device. It compares bits: on floats a NaN equals itself, and the two zeros
// differ.
//
//kiln:intrinsic
func AtomicCAS[T Int | Uint | Real](p *T, old, v T) T {
	for {
		now := AtomicLoad(p)
		if toWord(now) != toWord(old) || swapWord(p, old, v) {
			return now
		}
	}
}

// AtomicAnd sets *p to *p & v and returns what *p was; relaxed, for the device.
//
//kiln:intrinsic
func AtomicAnd[T Int | Uint](p *T, v T) T {
	for {
		old := AtomicLoad(p)
		if swapWord(p, old, old&v) {
			return old
		}
	}
}

// AtomicOr sets *p to *p | v and returns what *p was; relaxed, for the device.
//
//kiln:intrinsic
func AtomicOr[T Int | Uint](p *T, v T) T {
	for {
		old := AtomicLoad(p)
		if swapWord(p, old, old|v) {
			return old
		}
	}
}

// AtomicXor sets *p to *p ^ v and returns what *p was; relaxed, for the device.
//
//kiln:intrinsic
func AtomicXor[T Int | Uint](p *T, v T) T {
	for {
		old := AtomicLoad(p)
		if swapWord(p, old, old^v) {
			return old
		}
	}
}

// AtomicMin sets *p to min(*p, v) and returns what *p was; relaxed, for the
// device. It is an intrinsic on integers; on floats it is compiled from
// atomicMin32 and atomicMin64. NaN wins, and -0 is less than +0.
//
//kiln:intrinsic
//kiln:dispatch
func AtomicMin[T Int | Uint | Real](p *T, v T) T {
	for {
		old := AtomicLoad(p)
		if swapWord(p, old, min(old, v)) {
			return old
		}
	}
}

// AtomicMax sets *p to max(*p, v) and returns what *p was; relaxed, for the
// device. It is an intrinsic on integers; on floats it is compiled from
// atomicMax32 and atomicMax64. NaN wins, and -0 is less than +0.
//
//kiln:intrinsic
//kiln:dispatch
func AtomicMax[T Int | Uint | Real](p *T, v T) T {
	for {
		old := AtomicLoad(p)
		if swapWord(p, old, max(old, v)) {
			return old
		}
	}
}

// atomicMin32 compares bits, so that a NaN in memory ends the loop.
func atomicMin32(p *float32, v float32) float32 {
	old := AtomicLoad(p)
	for {
		now := AtomicCAS(p, old, min(old, v))
		if math.Float32bits(now) == math.Float32bits(old) {
			return now
		}
		old = now
	}
}

func atomicMin64(p *float64, v float64) float64 {
	old := AtomicLoad(p)
	for {
		now := AtomicCAS(p, old, min(old, v))
		if math.Float64bits(now) == math.Float64bits(old) {
			return now
		}
		old = now
	}
}

func atomicMax32(p *float32, v float32) float32 {
	old := AtomicLoad(p)
	for {
		now := AtomicCAS(p, old, max(old, v))
		if math.Float32bits(now) == math.Float32bits(old) {
			return now
		}
		old = now
	}
}

func atomicMax64(p *float64, v float64) float64 {
	old := AtomicLoad(p)
	for {
		now := AtomicCAS(p, old, max(old, v))
		if math.Float64bits(now) == math.Float64bits(old) {
			return now
		}
		old = now
	}
}

// loadWord, swapWord and addHalf serve the host bodies above.
func loadWord[T any](p *T) T {
	switch unsafe.Sizeof(*p) {
	case 8:
		return fromWord[T](atomic.LoadUint64((*uint64)(unsafe.Pointer(p))))
	case 4:
		return fromWord[T](uint64(atomic.LoadUint32((*uint32)(unsafe.Pointer(p)))))
	}
	word, shift := around(p)
	return fromWord[T](uint64(atomic.LoadUint32(word) >> shift))
}

func swapWord[T any](p *T, old, v T) bool {
	switch unsafe.Sizeof(v) {
	case 8:
		return atomic.CompareAndSwapUint64((*uint64)(unsafe.Pointer(p)), toWord(old), toWord(v))
	case 4:
		return atomic.CompareAndSwapUint32((*uint32)(unsafe.Pointer(p)), uint32(toWord(old)), uint32(toWord(v)))
	}
	word, shift := around(p)
	ones := uint32(1)<<(8*unsafe.Sizeof(v)) - 1
	for {
		now := atomic.LoadUint32(word)
		if now>>shift&ones != uint32(toWord(old)) {
			return false
		}
		if atomic.CompareAndSwapUint32(word, now, now&^(ones<<shift)|uint32(toWord(v))<<shift) {
			return true
		}
	}
}

// around returns the word around a number of 8 or 16 bits, and where it is in it.
func around[T any](p *T) (word *uint32, shift uint) {
	low := int(uintptr(unsafe.Pointer(p)) & 3)
	return (*uint32)(unsafe.Add(unsafe.Pointer(p), -low)), uint(8 * low)
}

func addHalf[T F16 | BF16](p *T, v T) T {
	for {
		old := loadWord(p)
		if swapWord(p, old, To[T](F32(old)+F32(v))) {
			return old
		}
	}
}
