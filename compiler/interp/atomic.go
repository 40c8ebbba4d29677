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
	switch {
	case t.IsHalf():
		return addHalf(t, space)
	case t.Size() == 1:
		return atomicPart[uint8, int8](op, t, space)
	case t.Size() == 2:
		return atomicPart[uint16, int16](op, t, space)
	case t.Size() == 4:
		return atomicOf[uint32, int32](op, t, space)
	}
	return atomicOf[uint64, int64](op, t, space)
}

func atomicOf[T word, S int32 | int64](op ir.Op, t *ir.Type, space ir.Space) func(w *worker, in *ins) {
	switch {
	case op == ir.OpAtomicLoad:
		return loadEach[T]
	case op == ir.OpAtomicStore:
		return storeEach[T]
	case op == ir.OpAtomicAdd && t.IsInt() && space == ir.Shared:
		return addShared[T]
	case op == ir.OpAtomicAdd && t.IsInt():
		return addGlobal[T]
	}
	f := update[T, S](op, t)
	if space == ir.Shared {
		return onEach(func(p unsafe.Pointer, y, z T) T {
			x := *(*T)(p)
			*(*T)(p) = f(x, y, z)
			return x
		})
	}
	return onEach(func(p unsafe.Pointer, y, z T) T {
		for {
			x := atomicLoad[T](p)
			if atomicSwap(p, x, f(x, y, z)) {
				return x
			}
		}
	})
}

// part is a piece of a word. Go has no atomics of it, so that those of global memory
// read and exchange the word around.
type part interface{ uint8 | uint16 }

func atomicPart[T part, S int8 | int16](op ir.Op, t *ir.Type, space ir.Space) func(w *worker, in *ins) {
	f := update[T, S](op, t)
	if op == ir.OpAtomicLoad {
		f = func(x, _, _ T) T { return x }
	}
	one := func(p unsafe.Pointer, y, z T) T {
		return updateInWord(p, func(x T) T { return f(x, y, z) })
	}
	if space == ir.Shared {
		one = func(p unsafe.Pointer, y, z T) T {
			x := *(*T)(p)
			*(*T)(p) = f(x, y, z)
			return x
		}
	}
	switch op {
	case ir.OpAtomicLoad:
		return func(w *worker, in *ins) {
			D := lanes[T](w.at(in.d), w.n)
			each(w, func(i int) { D[i] = one(w.target(in, i), 0, 0) })
		}
	case ir.OpAtomicStore:
		return func(w *worker, in *ins) {
			y, dist := w.value(in.b, in.bw)
			each(w, func(i int) { one(w.target(in, i), *(*T)(unsafe.Add(y, i*dist)), 0) })
		}
	}
	return onEach(one)
}

func atomicAdd[T word](p unsafe.Pointer, y T) T {
	if unsafe.Sizeof(y) == 4 {
		return T(atomic.AddUint32((*uint32)(p), uint32(y)))
	}
	return T(atomic.AddUint64((*uint64)(p), uint64(y)))
}

func atomicLoad[T word](p unsafe.Pointer) T {
	if unsafe.Sizeof(T(0)) == 4 {
		return T(atomic.LoadUint32((*uint32)(p)))
	}
	return T(atomic.LoadUint64((*uint64)(p)))
}

func atomicStore[T word](p unsafe.Pointer, x T) {
	if unsafe.Sizeof(x) == 4 {
		atomic.StoreUint32((*uint32)(p), uint32(x))
		return
	}
	atomic.StoreUint64((*uint64)(p), uint64(x))
}

func atomicSwap[T word](p unsafe.Pointer, x, y T) bool {
	if unsafe.Sizeof(x) == 4 {
		return atomic.CompareAndSwapUint32((*uint32)(p), uint32(x), uint32(y))
	}
	return atomic.CompareAndSwapUint64((*uint64)(p), uint64(x), uint64(y))
}

func loadEach[T word](w *worker, in *ins) {
	D := lanes[T](w.at(in.d), w.n)
	each(w, func(i int) { D[i] = atomicLoad[T](w.target(in, i)) })
}

func storeEach[T word](w *worker, in *ins) {
	y, dist := w.value(in.b, in.bw)
	each(w, func(i int) { atomicStore(w.target(in, i), *(*T)(unsafe.Add(y, i*dist))) })
}

// target returns the address that lane i works on.
func (w *worker) target(in *ins, i int) unsafe.Pointer {
	addr := w.lane(in.a, in.aw, i)
	return *(*unsafe.Pointer)(unsafe.Pointer(&addr))
}

// addHalf adds to halves.
func addHalf(t *ir.Type, space ir.Space) func(w *worker, in *ins) {
	decode, encode := decodeF16, encodeF16
	if t == ir.BF16 {
		decode, encode = decodeBF16, encodeBF16
	}
	sum := func(x, y uint16) uint16 {
		var f [2]float32
		decode(f[:], []uint16{x, y})
		return encode(float64(f[0] + f[1]))
	}
	add := func(p unsafe.Pointer, y uint16) uint16 {
		x := *(*uint16)(p)
		*(*uint16)(p) = sum(x, y)
		return x
	}
	if space != ir.Shared {
		add = func(p unsafe.Pointer, y uint16) uint16 {
			return updateInWord(p, func(x uint16) uint16 { return sum(x, y) })
		}
	}
	return func(w *worker, in *ins) {
		D := lanes[uint16](w.at(in.d), w.n)
		y, dist := w.value(in.b, in.bw)
		each(w, func(i int) { D[i] = add(w.target(in, i), *(*uint16)(unsafe.Add(y, i*dist))) })
	}
}

// updateInWord replaces the part of a word at p by what f makes of it, and returns what
// it was. A part that stays as it is is only read.
func updateInWord[T part](p unsafe.Pointer, f func(T) T) T {
	low := uintptr(p) & 3
	at := unsafe.Add(p, -int(low))
	shift, ones := 8*low, uint32(^T(0))
	for {
		old := atomicLoad[uint32](at)
		x := T(old >> shift)
		y := f(x)
		if y == x || atomicSwap(at, old, old&^(ones<<shift)|uint32(y)<<shift) {
			return x
		}
	}
}

// addGlobal adds integers to global memory. If all lanes add to one address, their
// sum is added once, as if they had come one directly after the other.
func addGlobal[T word](w *worker, in *ins) {
	if in.aw == 0 {
		if p, step := w.pointer(in.a); step == 0 {
			addSum[T](w, in, func(sum T) T { return atomicAdd(p, sum) - sum })
			return
		}
	}
	D := lanes[T](w.at(in.d), w.n)
	y, dist := w.value(in.b, in.bw)
	each(w, func(i int) {
		v := *(*T)(unsafe.Add(y, i*dist))
		D[i] = atomicAdd(w.target(in, i), v) - v
	})
}

func addShared[T word](w *worker, in *ins) {
	D := lanes[T](w.at(in.d), w.n)
	y, dist := w.value(in.b, in.bw)
	each(w, func(i int) {
		p := (*T)(w.target(in, i))
		v := *p
		*p = v + *(*T)(unsafe.Add(y, i*dist))
		D[i] = v
	})
}

// addSum adds the sum of the lanes by add, which returns the value before, and gives
// each lane what it would have found.
func addSum[T word](w *worker, in *ins, add func(T) T) {
	D := lanes[T](w.at(in.d), w.n)
	y, dist := w.value(in.b, in.bw)
	var sum T
	each(w, func(i int) {
		v := *(*T)(unsafe.Add(y, i*dist))
		D[i] = sum
		sum += v
	})
	old := add(sum)
	each(w, func(i int) { D[i] += old })
}

// onEach applies one to the active lanes in order.
func onEach[T word | part](one func(p unsafe.Pointer, y, z T) T) func(w *worker, in *ins) {
	return func(w *worker, in *ins) {
		D := lanes[T](w.at(in.d), w.n)
		y, yd := w.value(in.b, in.bw)
		z, zd := w.value(in.c, in.cw)
		each(w, func(i int) {
			D[i] = one(w.target(in, i), *(*T)(unsafe.Add(y, i*yd)), *(*T)(unsafe.Add(z, i*zd)))
		})
	}
}

// update returns the function from the old value x and the operands to the new
// value; S is the signed type of the size of T.
func update[T word | part, S int8 | int16 | int32 | int64](op ir.Op, t *ir.Type) func(x, y, z T) T {
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
