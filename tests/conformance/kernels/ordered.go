package kernels

import "github.com/gokiln/kiln/dsl"

// NarrowAtomics updates numbers of 8 and 16 bits, which share words with others, in global
// and in shared memory. The results do not depend on order.
//
//kiln:kernel
func NarrowAtomics[T int8 | uint8 | int16 | uint16](t dsl.Thread, out, x []T) {
	counts := dsl.Shared[[4]T](t)
	if t.ThreadX() < len(counts) {
		dsl.AtomicStore(&counts[t.ThreadX()], T(t.ThreadX()))
	}
	t.Sync()
	for i := t.Global(); i < len(x); i += t.GlobalSize() {
		dsl.AtomicAdd(&out[0], x[i])
		dsl.AtomicMin(&out[1], x[i])
		dsl.AtomicMax(&out[2], x[i])
		dsl.AtomicAnd(&out[3], x[i])
		dsl.AtomicOr(&out[4], x[i])
		dsl.AtomicXor(&out[5], x[i])
		for {
			old := dsl.AtomicLoad(&out[6])
			if dsl.AtomicCAS(&out[6], old, old+x[i]*x[i]) == old {
				break
			}
		}
		dsl.AtomicAddExplicit(&counts[i%4], x[i], dsl.Relaxed, dsl.BlockScope)
		if dsl.AtomicExch(&out[7], 1) == 0 {
			dsl.AtomicAdd(&out[8], 1)
		}
	}
	t.Sync()
	if i := t.ThreadX(); i < len(counts) {
		dsl.AtomicAddExplicit(&out[9+i], dsl.AtomicLoadExplicit(&counts[i], dsl.Acquire, dsl.BlockScope), dsl.Relaxed, dsl.DeviceScope)
	}
}

// LastSum has each block publish its sum by a release; the block that comes last reads all
// of them after an acquire. Of the block's own threads, one hands each value on by
// operations of the block's scope.
//
//kiln:kernel
func LastSum[T int32 | uint64 | float32](t dsl.Thread, out, parts, x []T, ticket []uint32) {
	slots := dsl.Shared[[64]T](t)
	last := dsl.Shared[bool](t)
	i := t.ThreadX()
	dsl.AtomicStoreExplicit(&slots[i], x[t.Global()], dsl.Release, dsl.BlockScope)
	t.Sync()
	if i == 0 {
		var sum T
		for j := range t.BlockDimX() {
			sum += dsl.AtomicLoadExplicit(&slots[j], dsl.Acquire, dsl.BlockScope)
		}
		parts[t.BlockX()] = sum
		*last = dsl.AtomicAddExplicit(&ticket[0], 1, dsl.AcquireRelease, dsl.DeviceScope) == uint32(t.GridDimX()-1)
		if *last {
			var all T
			for j := range t.GridDimX() {
				all += parts[j]
			}
			out[0] = all
			dsl.StoreRelease(&out[1], all+1)
		}
	}
	t.Sync()
	if *last && i == 1 {
		out[2] = dsl.LoadAcquire(&out[1])
	}
}

// OrderedKinds does one update of each kind with an order and a scope.
//
//kiln:kernel
func OrderedKinds[T int32 | uint64](t dsl.Thread, out, x []T) {
	for i := t.Global(); i < len(x); i += t.GlobalSize() {
		dsl.AtomicAddExplicit(&out[0], x[i], dsl.Release, dsl.DeviceScope)
		dsl.AtomicMinExplicit(&out[1], x[i], dsl.Acquire, dsl.DeviceScope)
		dsl.AtomicMaxExplicit(&out[2], x[i], dsl.AcquireRelease, dsl.DeviceScope)
		dsl.AtomicAndExplicit(&out[3], x[i], dsl.Relaxed, dsl.DeviceScope)
		dsl.AtomicOrExplicit(&out[4], x[i], dsl.Acquire, dsl.DeviceScope)
		dsl.AtomicXorExplicit(&out[5], x[i], dsl.Release, dsl.DeviceScope)
		for {
			old := dsl.AtomicLoadExplicit(&out[6], dsl.Acquire, dsl.DeviceScope)
			if dsl.AtomicCASExplicit(&out[6], old, old+x[i]*x[i], dsl.AcquireRelease, dsl.DeviceScope) == old {
				break
			}
		}
		if dsl.AtomicExchExplicit(&out[7], 1, dsl.AcquireRelease, dsl.DeviceScope) == 0 {
			dsl.AtomicStoreExplicit(&out[8], 1, dsl.Release, dsl.DeviceScope)
		}
	}
}

// OrderedFloats sums up whole numbers.
//
//kiln:kernel
func OrderedFloats[T float32 | float64](t dsl.Thread, out, x []T) {
	for i := t.Global(); i < len(x); i += t.GlobalSize() {
		dsl.AtomicAddExplicit(&out[0], x[i], dsl.AcquireRelease, dsl.DeviceScope)
		dsl.AtomicExchExplicit(&out[1], 2, dsl.Acquire, dsl.DeviceScope)
		dsl.AtomicCASExplicit(&out[2], 0, 3, dsl.Release, dsl.DeviceScope)
	}
}
