package dsl

import (
	"math"
	"sync/atomic"
	"unsafe"
)

// AtomicLoad returns *p as one whole. Like all atomic operations it works on
// global and shared memory, holds for all threads of the device, and is relaxed:
// it orders nothing but accesses to *p. [Fence] orders the rest.
//
//kiln:intrinsic
func AtomicLoad[T Word](p *T) T { return loadWord(p) }

// AtomicStore sets *p to v as one whole; relaxed, for the device.
//
//kiln:intrinsic
func AtomicStore[T Word](p *T, v T) {
	if unsafe.Sizeof(v) == 4 {
		atomic.StoreUint32((*uint32)(unsafe.Pointer(p)), uint32(toWord(v)))
		return
	}
	atomic.StoreUint64((*uint64)(unsafe.Pointer(p)), toWord(v))
}

// AtomicAdd adds v to *p and returns what *p was; relaxed, for the device. A sum
// of halves is rounded once, as float32 gives it; where the hardware cannot do
// it, the word around *p is exchanged, which leaves its other half alone.
//
//kiln:intrinsic
func AtomicAdd[T Word | F16 | BF16](p *T, v T) T {
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
func AtomicExch[T Word](p *T, v T) T {
	if unsafe.Sizeof(v) == 4 {
		return fromWord[T](uint64(atomic.SwapUint32((*uint32)(unsafe.Pointer(p)), uint32(toWord(v)))))
	}
	return fromWord[T](atomic.SwapUint64((*uint64)(unsafe.Pointer(p)), toWord(v)))
}

// AtomicCAS stores v in *p if *p is old, and returns what *p was; relaxed, for
// the device. It compares bits: on floats a NaN equals itself, and the two zeros
// differ.
//
//kiln:intrinsic
func AtomicCAS[T Word](p *T, old, v T) T {
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
func AtomicAnd[T WordInt](p *T, v T) T {
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
func AtomicOr[T WordInt](p *T, v T) T {
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
func AtomicXor[T WordInt](p *T, v T) T {
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
func AtomicMin[T Word](p *T, v T) T {
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
func AtomicMax[T Word](p *T, v T) T {
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
	if unsafe.Sizeof(*p) == 4 {
		return fromWord[T](uint64(atomic.LoadUint32((*uint32)(unsafe.Pointer(p)))))
	}
	return fromWord[T](atomic.LoadUint64((*uint64)(unsafe.Pointer(p))))
}

func swapWord[T any](p *T, old, v T) bool {
	if unsafe.Sizeof(v) == 4 {
		return atomic.CompareAndSwapUint32((*uint32)(unsafe.Pointer(p)), uint32(toWord(old)), uint32(toWord(v)))
	}
	return atomic.CompareAndSwapUint64((*uint64)(unsafe.Pointer(p)), toWord(old), toWord(v))
}

func addHalf[T F16 | BF16](p *T, v T) T {
	low := int(uintptr(unsafe.Pointer(p)) & 2)
	word := (*uint32)(unsafe.Add(unsafe.Pointer(p), -low))
	for {
		old := atomic.LoadUint32(word)
		x := T(old >> (8 * low))
		sum := uint32(To[T](F32(x) + F32(v)))
		if atomic.CompareAndSwapUint32(word, old, old&^(0xFFFF<<(8*low))|sum<<(8*low)) {
			return x
		}
	}
}
