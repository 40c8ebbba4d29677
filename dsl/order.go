package dsl

// MemoryOrder says which accesses of the thread an atomic operation orders, besides those
// to its own address. Arguments of this type are constants.
type MemoryOrder int

// The orders. A thread that reads by an acquiring operation what another has written by a
// releasing one sees all that the other did before, if both are in the scope of both
// operations:
//
//	data[i] = x                      for dsl.LoadAcquire(&ready[i]) == 0 {
//	dsl.StoreRelease(&ready[i], 1)   }
//	                                 x := data[i]
const (
	Relaxed        MemoryOrder = iota // none
	Acquire                           // what comes after in the program comes after; of what reads
	Release                           // what comes before in the program comes before; of what writes
	AcquireRelease                    // both; of what reads and writes
)

// MemoryScope says for which threads an atomic operation is indivisible and ordered.
// Arguments of this type are constants. The host is no part of any scope: it sees what a
// launch wrote when the launch has ended.
type MemoryScope int

// The scopes.
const (
	DeviceScope MemoryScope = iota // all threads of the device
	BlockScope                     // the threads of the block, which may be cheaper
)

// LoadAcquire is [AtomicLoadExplicit] with [Acquire] for the device.
//
//kiln:intrinsic
func LoadAcquire[T Int | Uint | Real](p *T) T { return AtomicLoad(p) }

// StoreRelease is [AtomicStoreExplicit] with [Release] for the device.
//
//kiln:intrinsic
func StoreRelease[T Int | Uint | Real](p *T, v T) { AtomicStore(p, v) }

// AtomicLoadExplicit is [AtomicLoad] with an order and a scope. It cannot release.
//
//kiln:intrinsic
func AtomicLoadExplicit[T Int | Uint | Real](p *T, order MemoryOrder, scope MemoryScope) T {
	return AtomicLoad(p)
}

// AtomicStoreExplicit is [AtomicStore] with an order and a scope. It cannot acquire.
//
//kiln:intrinsic
func AtomicStoreExplicit[T Int | Uint | Real](p *T, v T, order MemoryOrder, scope MemoryScope) {
	AtomicStore(p, v)
}

// AtomicAddExplicit is [AtomicAdd] with an order and a scope.
//
//kiln:intrinsic
func AtomicAddExplicit[T Int | Uint | Real | F16 | BF16](p *T, v T, order MemoryOrder, scope MemoryScope) T {
	return AtomicAdd(p, v)
}

// AtomicExchExplicit is [AtomicExch] with an order and a scope.
//
//kiln:intrinsic
func AtomicExchExplicit[T Int | Uint | Real](p *T, v T, order MemoryOrder, scope MemoryScope) T {
	return AtomicExch(p, v)
}

// AtomicCASExplicit is [AtomicCAS] with an order and a scope. An exchange
// that fails releases nothing.
//
//kiln:intrinsic
func AtomicCASExplicit[T Int | Uint | Real](p *T, old, v T, order MemoryOrder, scope MemoryScope) T {
	return AtomicCAS(p, old, v)
}

// AtomicAndExplicit is [AtomicAnd] with an order and a scope.
//
//kiln:intrinsic
func AtomicAndExplicit[T Int | Uint](p *T, v T, order MemoryOrder, scope MemoryScope) T {
	return AtomicAnd(p, v)
}

// AtomicOrExplicit is [AtomicOr] with an order and a scope.
//
//kiln:intrinsic
func AtomicOrExplicit[T Int | Uint](p *T, v T, order MemoryOrder, scope MemoryScope) T {
	return AtomicOr(p, v)
}

// AtomicXorExplicit is [AtomicXor] with an order and a scope.
//
//kiln:intrinsic
func AtomicXorExplicit[T Int | Uint](p *T, v T, order MemoryOrder, scope MemoryScope) T {
	return AtomicXor(p, v)
}

// AtomicMinExplicit is [AtomicMin] of integers with an order and a scope; on floats
// put fences around that.
//
//kiln:intrinsic
func AtomicMinExplicit[T Int | Uint](p *T, v T, order MemoryOrder, scope MemoryScope) T {
	return AtomicMin(p, v)
}

// AtomicMaxExplicit is [AtomicMax] of integers with an order and a scope; on floats
// put fences around that.
//
//kiln:intrinsic
func AtomicMaxExplicit[T Int | Uint](p *T, v T, order MemoryOrder, scope MemoryScope) T {
	return AtomicMax(p, v)
}
