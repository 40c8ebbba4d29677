package kernels

import "github.com/gokiln/kiln/dsl"

// Bins is the number of bins of [Histogram]: one for each unit of gradient
// length, of which Sobel makes up to 1442.5.
const Bins = 1536

// copies is how many counters a block of Histogram has for each bin.
const copies = 4

// Histogram adds to bins[b] the number of pixels whose magnitude is from b up
// to b+1. What would lie beyond the last bin is counted there. Blocks are
// one-dimensional, and each counts a part of the pixels.
//
// Each block counts in shared memory first, where atomic operations are cheap,
// and then adds its counts to the others': a few thousand global atomic
// operations instead of one for each pixel. Neighbours are often alike, and
// operations on one counter wait for each other; so neighbouring threads have
// counters of their own, next to each other.
//
//kiln:kernel
func Histogram(t dsl.Thread, bins []uint32, magnitude []float32) {
	counts := dsl.Shared[[Bins * copies]uint32](t)
	for i := t.ThreadX(); i < len(counts); i += t.BlockDimX() {
		counts[i] = 0
	}
	t.Sync()
	each := ceilDiv(ceilDiv(len(magnitude), t.GridDimX()), t.BlockDimX()) * t.BlockDimX()
	first, mine := t.BlockX()*each, int32(t.ThreadX()%copies)
	for i := first + t.ThreadX(); i < min(first+each, len(magnitude)); i += t.BlockDimX() {
		b := clamp(int32(magnitude[i]), Bins)
		dsl.AtomicAdd(&counts[b*copies+mine], 1)
	}
	t.Sync()
	for b := t.ThreadX(); b < Bins; b += t.BlockDimX() {
		n := uint32(0)
		for c := range copies {
			n += counts[b*copies+c]
		}
		if n > 0 {
			dsl.AtomicAdd(&bins[b], n)
		}
	}
}

// ceilDiv returns n/d, rounded up.
func ceilDiv(n, d int) int { return (n + d - 1) / d }
