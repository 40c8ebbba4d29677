package ir

// Order says which accesses of its thread an atomic operation orders besides those to its
// own address.
type Order uint8

// The orders. Acquire and Release are bits, and an update may have both.
const (
	Relaxed        Order = 0
	Acquire        Order = 1 // what the thread does after comes after, for who released what was read
	Release        Order = 2 // what the thread did before comes before, for who acquires what is written
	AcquireRelease       = Acquire | Release
)

// Scope says for whose threads an atomic operation is indivisible and ordered.
type Scope uint8

// The scopes.
const (
	DeviceScope Scope = iota // all of the device
	BlockScope               // those of the block
	numScopes
)

// AtomicImm is what Imm of an atomic operation holds: zero is relaxed, for the device.
func AtomicImm(o Order, s Scope) uint64 { return uint64(o) | uint64(s)<<2 }

// Order returns the order of an atomic operation.
func (v *Value) Order() Order { return Order(v.Imm & 3) }

// Scope returns the scope of an atomic operation.
func (v *Value) Scope() Scope { return Scope(v.Imm >> 2) }

// IsAtomic reports whether op is an atomic operation.
func (op Op) IsAtomic() bool { return op < numOps && ops[op].Rule == RuleAtomic }

// OrderAllowed reports whether op can have the order o: what does not write releases
// nothing, and what does not read acquires nothing.
func OrderAllowed(op Op, o Order) bool {
	switch op {
	case OpAtomicLoad:
		return o&Release == 0
	case OpAtomicStore:
		return o&Acquire == 0
	}
	return o <= AcquireRelease
}

// NarrowUpdate reports whether op on t is an atomic update of 8 or 16 bits other than
// compare-and-swap, around which pass casloop makes a loop for targets that have no other.
func NarrowUpdate(op Op, t *Type) bool {
	switch op {
	case OpAtomicAdd, OpAtomicMin, OpAtomicMax, OpAtomicAnd, OpAtomicOr, OpAtomicXor, OpAtomicExch:
		return t.IsInt() && t.Size() < 4
	}
	return false
}

// AtomicType reports whether the atomic operation op exists for type t.
func AtomicType(op Op, t *Type) bool {
	switch op {
	case OpAtomicAdd:
		return t.IsInt() || t.IsHalf() || t.IsFloat()
	case OpAtomicExch, OpAtomicCAS, OpAtomicLoad, OpAtomicStore:
		return t.IsInt() || t.Size() >= 4 && t.IsFloat()
	}
	return t.IsInt()
}
