package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func K(t dsl.Thread, x []int32) {
	p := &x[0]
	x[1] = dsl.AtomicLoadExplicit(p, dsl.Acquire, dsl.BlockScope)
	x[1] = dsl.AtomicLoadExplicit(p, dsl.Release, dsl.DeviceScope) // ERROR 9 "K0305: AtomicLoadExplicit cannot have this order"
	dsl.AtomicStoreExplicit(p, 1, dsl.Acquire, dsl.DeviceScope)    // ERROR 2 "K0305: AtomicStoreExplicit cannot have this order"
	dsl.AtomicStoreExplicit(p, 1, 4, dsl.DeviceScope)              // ERROR 2 "K0305: AtomicStoreExplicit cannot have this order"
	dsl.AtomicAddExplicit(p, 1, dsl.AcquireRelease, 2)             // ERROR 2 "K0305: AtomicAddExplicit cannot have this scope"
	dsl.AtomicAddExplicit(p, 1, dsl.MemoryOrder(x[1]), 0)          // ERROR 2 "K0305: order or scope of AtomicAddExplicit is not a constant"
}
