package interp

import (
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/gokiln/kiln/compiler/ir"
)

// word is the memory type of atomics.
type word interface{ uint32 | uint64 }

// atomicFunc returns the function that performs an atomic operation. Shared memory
// belongs to one worker, so that plain accesses do.
func atomicFunc(op ir.Op, t *ir.Type, space ir.Space) func(w *worker, in *ins) {
	if t.Size() == 4 {
		f := update[uint32, int32](op, t)
		if space == ir.Shared {
			return onEach(func(p unsafe.Pointer, y, z uint32) uint32 {
				x := *(*uint32)(p)
				*(*uint32)(p) = f(x, y, z)
				return x
			})
		}
		if op == ir.OpAtomicAdd && t.IsInt() {
			return onEach(func(p unsafe.Pointer, y, _ uint32) uint32 { return atomic.AddUint32((*uint32)(p), y) - y })
		}
		return onEach(func(p unsafe.Pointer, y, z uint32) uint32 {
			for {
				x := atomic.LoadUint32((*uint32)(p))
				if r := f(x, y, z); atomic.CompareAndSwapUint32((*uint32)(p), x, r) {
					return x
				}
			}
		})
	}
	f := update[uint64, int64](op, t)
	if space == ir.Shared {
		return onEach(func(p unsafe.Pointer, y, z uint64) uint64 {
			x := *(*uint64)(p)
			*(*uint64)(p) = f(x, y, z)
			return x
		})
	}
	if op == ir.OpAtomicAdd && t.IsInt() {
		return onEach(func(p unsafe.Pointer, y, _ uint64) uint64 { return atomic.AddUint64((*uint64)(p), y) - y })
	}
	return onEach(func(p unsafe.Pointer, y, z uint64) uint64 {
		for {
			x := atomic.LoadUint64((*uint64)(p))
			if r := f(x, y, z); atomic.CompareAndSwapUint64((*uint64)(p), x, r) {
				return x
			}
		}
	})
}

// onEach applies one to the active lanes in order.
func onEach[T word](one func(p unsafe.Pointer, y, z T) T) func(w *worker, in *ins) {
	return func(w *worker, in *ins) {
		D := lanes[T](w.at(in.d), w.n)
		y, yd := w.value(in.b, in.bw)
		z, zd := w.value(in.c, in.cw)
		each(w, func(i int) {
			addr := w.lane(in.a, in.aw, i)
			p := *(*unsafe.Pointer)(unsafe.Pointer(&addr))
			D[i] = one(p, *(*T)(unsafe.Add(y, i*yd)), *(*T)(unsafe.Add(z, i*zd)))
		})
	}
}

// update returns the function from the old value x and the operands to the new
// value; S is the signed type of the size of T.
func update[T word, S int32 | int64](op ir.Op, t *ir.Type) func(x, y, z T) T {
	switch op {
	case ir.OpAtomicAdd:
		switch t {
		case ir.F32:
			return func(x, y, _ T) T {
				return T(math.Float32bits(math.Float32frombits(uint32(x)) + math.Float32frombits(uint32(y))))
			}
		case ir.F64:
			return func(x, y, _ T) T {
				return T(math.Float64bits(math.Float64frombits(uint64(x)) + math.Float64frombits(uint64(y))))
			}
		}
		return func(x, y, _ T) T { return x + y }
	case ir.OpAtomicMin:
		if t.IsSigned() {
			return func(x, y, _ T) T { return T(min(S(x), S(y))) }
		}
		return func(x, y, _ T) T { return min(x, y) }
	case ir.OpAtomicMax:
		if t.IsSigned() {
			return func(x, y, _ T) T { return T(max(S(x), S(y))) }
		}
		return func(x, y, _ T) T { return max(x, y) }
	case ir.OpAtomicAnd:
		return func(x, y, _ T) T { return x & y }
	case ir.OpAtomicOr:
		return func(x, y, _ T) T { return x | y }
	case ir.OpAtomicXor:
		return func(x, y, _ T) T { return x ^ y }
	case ir.OpAtomicCAS:
		return func(x, y, z T) T {
			if x == y {
				return z
			}
			return x
		}
	}
	return func(_, y, _ T) T { return y } // exchange
}
