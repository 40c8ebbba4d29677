package dsl

import (
	"math"
	"sync/atomic"
	"unsafe"
)

// Atomic operations work on global and shared memory, return the old value,
// and are relaxed: they order nothing but themselves. They hold for all threads
// of the device.

// AtomicAdd adds v to *p.
//
//kiln:intrinsic
func AtomicAdd[T Word](p *T, v T) T {
	for {
		old := atomicLoad(p)
		if swapWord(p, old, old+v) {
			return old
		}
	}
}

// AtomicExch stores v in *p.
//
//kiln:intrinsic
func AtomicExch[T Word](p *T, v T) T {
	if unsafe.Sizeof(v) == 4 {
		return fromWord[T](uint64(atomic.SwapUint32((*uint32)(unsafe.Pointer(p)), uint32(toWord(v)))))
	}
	return fromWord[T](atomic.SwapUint64((*uint64)(unsafe.Pointer(p)), toWord(v)))
}

// AtomicCAS stores v in *p if *p is old, and returns what *p was. It compares
// bits: on floats a NaN equals itself, and the two zeros differ.
//
//kiln:intrinsic
func AtomicCAS[T Word](p *T, old, v T) T {
	for {
		now := atomicLoad(p)
		if toWord(now) != toWord(old) || swapWord(p, old, v) {
			return now
		}
	}
}

// AtomicAnd sets *p to *p & v.
//
//kiln:intrinsic
func AtomicAnd[T WordInt](p *T, v T) T {
	for {
		old := atomicLoad(p)
		if swapWord(p, old, old&v) {
			return old
		}
	}
}

// AtomicOr sets *p to *p | v.
//
//kiln:intrinsic
func AtomicOr[T WordInt](p *T, v T) T {
	for {
		old := atomicLoad(p)
		if swapWord(p, old, old|v) {
			return old
		}
	}
}

// AtomicXor sets *p to *p ^ v.
//
//kiln:intrinsic
func AtomicXor[T WordInt](p *T, v T) T {
	for {
		old := atomicLoad(p)
		if swapWord(p, old, old^v) {
			return old
		}
	}
}

// AtomicMin sets *p to min(*p, v). It is an intrinsic on integers; on floats it
// is compiled from atomicMin32 and atomicMin64. NaN wins, and -0 is less than +0.
//
//kiln:intrinsic
//kiln:dispatch
func AtomicMin[T Word](p *T, v T) T {
	for {
		old := atomicLoad(p)
		if swapWord(p, old, min(old, v)) {
			return old
		}
	}
}

// AtomicMax sets *p to max(*p, v). It is an intrinsic on integers; on floats it
// is compiled from atomicMax32 and atomicMax64. NaN wins, and -0 is less than +0.
//
//kiln:intrinsic
//kiln:dispatch
func AtomicMax[T Word](p *T, v T) T {
	for {
		old := atomicLoad(p)
		if swapWord(p, old, max(old, v)) {
			return old
		}
	}
}

// atomicMin32 starts from a plain read: a stale value costs one more round, as
// the exchange compares with what memory holds. The loop compares bits, so that
// a NaN in memory ends it.
func atomicMin32(p *float32, v float32) float32 {
	old := *p
	for {
		now := AtomicCAS(p, old, min(old, v))
		if math.Float32bits(now) == math.Float32bits(old) {
			return now
		}
		old = now
	}
}

func atomicMin64(p *float64, v float64) float64 {
	old := *p
	for {
		now := AtomicCAS(p, old, min(old, v))
		if math.Float64bits(now) == math.Float64bits(old) {
			return now
		}
		old = now
	}
}

func atomicMax32(p *float32, v float32) float32 {
	old := *p
	for {
		now := AtomicCAS(p, old, max(old, v))
		if math.Float32bits(now) == math.Float32bits(old) {
			return now
		}
		old = now
	}
}

func atomicMax64(p *float64, v float64) float64 {
	old := *p
	for {
		now := AtomicCAS(p, old, max(old, v))
		if math.Float64bits(now) == math.Float64bits(old) {
			return now
		}
		old = now
	}
}

// atomicLoad and swapWord serve the host bodies above.
func atomicLoad[T Word](p *T) T {
	if unsafe.Sizeof(*p) == 4 {
		return fromWord[T](uint64(atomic.LoadUint32((*uint32)(unsafe.Pointer(p)))))
	}
	return fromWord[T](atomic.LoadUint64((*uint64)(unsafe.Pointer(p))))
}

func swapWord[T Word](p *T, old, v T) bool {
	if unsafe.Sizeof(v) == 4 {
		return atomic.CompareAndSwapUint32((*uint32)(unsafe.Pointer(p)), uint32(toWord(old)), uint32(toWord(v)))
	}
	return atomic.CompareAndSwapUint64((*uint64)(unsafe.Pointer(p)), toWord(old), toWord(v))
}
