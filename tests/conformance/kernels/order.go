package kernels

import "github.com/gokiln/kiln/dsl"

// Passed has each thread write what another one has, and one more. The threads of the first
// blocks have most to do, so that the last block is not the last to end.
//
//kiln:kernel
func Passed(t dsl.Thread, to, from []uint32, by int) {
	n := len(to)
	for i := t.Global(); i < n; i += t.GlobalSize() {
		v := from[(i+by)%n]
		for range max(0, 200-t.BlockX()) {
			v = v*1664525 + 1013904223 // and back
			v = (v - 1013904223) * 4276115653
		}
		to[i] = v + 1
	}
}
