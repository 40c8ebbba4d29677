package kernels

import "github.com/gokiln/kiln/dsl"

// Bins is the number of bins of [Histogram]: one for each unit of gradient
// length, of which Sobel makes up to 1442.5.
const Bins = 1536

// Histogram adds to bins[b] the number of pixels whose magnitude is from b up
// to b+1. What would lie beyond the last bin is counted there.
//
// Each block counts in shared memory first, where atomic operations are cheap,
// and then adds its counts to the others': a few thousand global atomic
// operations instead of one for each pixel.
//
//kiln:kernel
func Histogram(t dsl.Thread, bins []uint32, magnitude []float32) {
	counts := dsl.Shared[[Bins]uint32](t)
	for b := t.ThreadX(); b < Bins; b += t.BlockDimX() {
		counts[b] = 0
	}
	t.Sync()
	for i := t.Global(); i < len(magnitude); i += t.GlobalSize() {
		b := min(int(magnitude[i]), Bins-1)
		dsl.AtomicAdd(&counts[b], 1)
	}
	t.Sync()
	for b := t.ThreadX(); b < Bins; b += t.BlockDimX() {
		if n := counts[b]; n > 0 {
			dsl.AtomicAdd(&bins[b], n)
		}
	}
}
