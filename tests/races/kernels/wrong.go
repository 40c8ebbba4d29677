package kernels

import "github.com/gokiln/kiln/dsl"

// TransposeNoSync reads the tile while others still write it.
//
//kiln:kernel
func TransposeNoSync(t dsl.Thread, out, in []float32, n int) {
	tile := dsl.Shared[[Tile][Tile + 1]float32](t)
	x, y := t.BlockY()*Tile+t.ThreadX(), t.BlockX()*Tile+t.ThreadY()
	tile[t.ThreadY()][t.ThreadX()] = in[t.GlobalY()*n+t.GlobalX()] // other
	out[y*n+x] = tile[t.ThreadX()][t.ThreadY()]                    // bad
}

// ReduceNoSync has no barrier between its steps.
//
//kiln:kernel
func ReduceNoSync(t dsl.Thread, out, in []int32) {
	part := dsl.Shared[[256]int32](t)
	i := t.ThreadX()
	part[i] = in[t.Global()]
	t.Sync()
	for d := t.BlockDimX() / 2; d > 0; d /= 2 {
		if i < d {
			part[i] += part[i+d] // bad // other
		}
	}
	if i == 0 {
		out[t.BlockX()] = part[0]
	}
}

// HistogramNoAtomic counts with plain additions.
//
//kiln:kernel
func HistogramNoAtomic(t dsl.Thread, out, in []int32) {
	bins := dsl.Shared[[16]int32](t)
	if t.ThreadX() < 16 {
		bins[t.ThreadX()] = 0
	}
	t.Sync()
	bins[in[t.Global()]]++ // bad // other
	t.Sync()
	if t.ThreadX() < 16 {
		dsl.AtomicAdd(&out[t.ThreadX()], bins[t.ThreadX()])
	}
}

// SmoothOneBuffer writes where neighbours still read.
//
//kiln:kernel
func SmoothOneBuffer(t dsl.Thread, out, in []int32, times int) {
	buf := dsl.Shared[[256]int32](t)
	i, last := t.ThreadX(), t.BlockDimX()-1
	buf[i] = in[t.Global()]
	for range times {
		t.Sync()
		sum := buf[i] + buf[max(i-1, 0)] + buf[min(i+1, last)] // other
		buf[i] = sum                                           // bad
	}
	out[t.Global()] = buf[i]
}

// MirrorNoSync counts on the lanes of a warp to run in step.
//
//kiln:kernel
func MirrorNoSync(t dsl.Thread, out, in []int32) {
	buf := dsl.Shared[[256]int32](t)
	i := t.ThreadX()
	buf[i] = in[t.Global()]                   // other
	out[t.Global()] = buf[i^(t.WarpSize()-1)] // bad
}

// StagedEarly waits for one group too few.
//
//kiln:kernel
func StagedEarly(t dsl.Thread, out, in []int32) {
	tiles := dsl.Shared[[2][128]int32](t)
	i := t.ThreadX()
	for k := range 2 {
		dsl.CopyVecAsync[[2]int32](tiles[k][:], i, in, t.Global())
		dsl.CopyCommit()
	}
	for k := range 2 {
		dsl.CopyWaitGroups(1)
		t.Sync()
		out[t.Global()] = tiles[k][127-i] // bad
	}
}

// RingEarly hands slots back before it has read them.
//
//kiln:kernel
func RingEarly(t dsl.Thread, out, in []int32) {
	const slots, n = 3, 48
	full := dsl.Shared[[slots]dsl.MBarrier](t)
	empty := dsl.Shared[[slots]dsl.MBarrier](t)
	tiles := dsl.Shared[[slots][n]int32](t)
	ringInit(t, full[:], n)
	ringInit(t, empty[:], n)
	t.Sync()
	i, sum := t.ThreadX()%n, int32(0)
	for k := range len(in) / n {
		s, phase := k%slots, k/slots
		if t.ThreadX() < n {
			empty[s].Wait(t, phase+1)
			tiles[s][i] = in[k*n+i] // bad
			full[s].Arrive()
		} else {
			full[s].Wait(t, phase)
			empty[s].Arrive()
			sum += tiles[s][n-1-i] // other
		}
	}
	t.Sync()
	if t.ThreadX() >= n && t.BlockX() == 0 {
		out[i] = sum
	}
}

// WarpSumsAll lets every lane write the sum: the same value, but a race.
//
//kiln:kernel
func WarpSumsAll(t dsl.Thread, out, in []int32) {
	sum := dsl.WarpSum(t, in[t.Global()])
	out[t.Global()/t.WarpSize()] = sum // bad // other
}

// TotalNoFence leaves the parts of other blocks unordered.
//
//kiln:kernel
func TotalNoFence(t dsl.Thread, out, in, parts []int32, counter []int32) {
	last := dsl.Shared[bool](t)
	sum := dsl.BlockSum(t, in[t.Global()])
	if t.ThreadX() == 0 {
		parts[t.BlockX()] = sum // other
		*last = dsl.AtomicAdd(&counter[0], 1) == int32(t.GridDimX()-1)
	}
	t.Sync()
	if *last && t.ThreadX() == 0 {
		out[0] = 0
		for _, p := range parts[:t.GridDimX()] { // bad
			out[0] += p
		}
	}
}

// LockedNoFence hands the lock on before what it guards.
//
//kiln:kernel
func LockedNoFence(t dsl.Thread, out, in []int32, lock []int32) {
	for done := false; !done; {
		if dsl.AtomicCAS(&lock[0], 0, 1) == 0 {
			out[0] += in[t.Global()] // bad // other
			dsl.AtomicStore(&lock[0], 0)
			done = true
		}
	}
}

// ShiftInPlace reads what a thread of another warp or block writes.
//
//kiln:kernel
func ShiftInPlace(t dsl.Thread, out, in []int32) {
	i := t.Global()
	next := out[min(i+1, len(out)-1)] // other
	t.SyncWarp()                      // which is not enough
	out[i] = next                     // bad
}

// NeighboursOverlap writes a byte beside its own.
//
//kiln:kernel
func NeighboursOverlap(t dsl.Thread, bytes []uint8, halves []dsl.F16, pairs []Pair) {
	i := t.Global()
	pairs[i].A = int32(i) // other
	pairs[i^1].A = 7      // bad
}

// HaloForgotten does not load the element behind the tile.
//
//kiln:kernel
func HaloForgotten(t dsl.Thread, out, in []int32) {
	tile := dsl.Shared[[258]int32](t)
	i, g := t.ThreadX()+1, t.Global()
	tile[i] = in[g]
	if i == 1 {
		tile[0] = in[max(g-1, 0)]
	}
	t.Sync()
	out[g] = tile[i-1] + tile[i] + tile[i+1] // bad
}

// ChainNoFence raises its flag before the sum is there.
//
//kiln:kernel
func ChainNoFence(t dsl.Thread, out, in, flags []int32) {
	b, sum := t.BlockX(), dsl.BlockSum(t, in[t.Global()])
	if t.ThreadX() == 0 {
		if b > 0 {
			for dsl.AtomicLoad(&flags[b-1]) == 0 {
			}
			sum += out[b-1] // bad
		}
		out[b] = sum // other
		dsl.AtomicStore(&flags[b], 1)
	}
}

// CompactByLoad takes a place that another thread may take as well.
//
//kiln:kernel
func CompactByLoad(t dsl.Thread, out, in, count []int32) {
	if v := in[t.Global()]; v != 0 {
		out[dsl.AtomicLoad(&count[0])] = v // bad // other
		dsl.AtomicAdd(&count[0], 1)
	}
}
