// Package irtest makes kernels that use every operation of the IR on every combination
// of types that the verifier allows: what the emitters' tests sweep over.
//
//	k := irtest.New()
//	for op := range ir.Ops {
//		for _, u := range irtest.Usages(op) {
//			k.Use(u, nil)
//		}
//	}
//	irtest.MemoryOps(k)
//	text, err := Emit(k.Finish(t), target)
package irtest
