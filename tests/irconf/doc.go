// Package irconf holds programs in IR text with inputs and the outputs that they
// must produce. Every engine that runs IR, in whatever form, must satisfy all of
// them: the interpreter, the PTX text on a device, and those to come.
//
// The scalar operations are covered by one program for each operation and
// combination of types, applied to every combination of edge values; what they
// must produce is computed by [ir.Eval], which defines their meaning. Control
// flow, memory, barriers, warp operations and atomics are covered by programs
// with outputs computed in Go.
//
//	for _, c := range irconf.Cases() {
//		bufs := ... // device memory filled from c.Bufs
//		args := c.Pack(func(i int) uint64 { return address of bufs[i] })
//		... // run c.Text with c.Grid, c.Block and args; read bufs back into got
//		if err := c.Check(got); err != nil { ... }
//	}
//
// Results are compared bit by bit, except that any NaN is as good as another.
package irconf
