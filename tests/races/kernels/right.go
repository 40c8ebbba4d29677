package kernels

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)

// Tile is the side of the tiles of Transpose.
const Tile = 8

// Transpose writes the n by n matrix in to out with rows and columns exchanged.
//
//kiln:kernel
func Transpose(t dsl.Thread, out, in []float32, n int) {
	tile := dsl.Shared[[Tile][Tile + 1]float32](t)
	tile[t.ThreadY()][t.ThreadX()] = in[t.GlobalY()*n+t.GlobalX()]
	t.Sync()
	x, y := t.BlockY()*Tile+t.ThreadX(), t.BlockX()*Tile+t.ThreadY()
	out[y*n+x] = tile[t.ThreadX()][t.ThreadY()]
}

// Reduce writes the sum of each block's part of in.
//
//kiln:kernel
func Reduce(t dsl.Thread, out, in []int32) {
	part := dsl.Shared[[256]int32](t)
	i := t.ThreadX()
	part[i] = in[t.Global()]
	for d := t.BlockDimX() / 2; d > 0; d /= 2 {
		t.Sync()
		if i < d {
			part[i] += part[i+d]
		}
	}
	if i == 0 {
		out[t.BlockX()] = part[0]
	}
}

// Histogram counts in, each of whose elements is less than 16.
//
//kiln:kernel
func Histogram(t dsl.Thread, out, in []int32) {
	bins := dsl.Shared[[16]int32](t)
	if t.ThreadX() < 16 {
		bins[t.ThreadX()] = 0
	}
	t.Sync()
	dsl.AtomicAdd(&bins[in[t.Global()]], 1)
	t.Sync()
	if t.ThreadX() < 16 {
		dsl.AtomicAdd(&out[t.ThreadX()], bins[t.ThreadX()])
	}
}

// Smooth adds to each element its neighbours in the block, some times over, in two
// buffers by turns.
//
//kiln:kernel
func Smooth(t dsl.Thread, out, in []int32, times int) {
	buf := dsl.Shared[[2][256]int32](t)
	i, last := t.ThreadX(), t.BlockDimX()-1
	buf[0][i] = in[t.Global()]
	for k := range times {
		t.Sync()
		from, to := &buf[k&1], &buf[1-k&1]
		to[i] = from[i] + from[max(i-1, 0)] + from[min(i+1, last)]
	}
	out[t.Global()] = buf[times&1][i]
}

// Mirror turns each warp around.
//
//kiln:kernel
func Mirror(t dsl.Thread, out, in []int32) {
	buf := dsl.Shared[[256]int32](t)
	i := t.ThreadX()
	buf[i] = in[t.Global()]
	t.SyncWarp()
	out[t.Global()] = buf[i^(t.WarpSize()-1)]
}

// Staged writes two tiles of the block's part of the input, the second one while the first is
// written.
//
//kiln:kernel
func Staged(t dsl.Thread, out, in []int32) {
	tiles := dsl.Shared[[2][128]int32](t)
	i := t.ThreadX()
	for k := range 2 {
		dsl.CopyVecAsync[[2]int32](tiles[k][:], i, in, t.Global())
		dsl.CopyCommit()
	}
	for k := range 2 {
		if k == 0 {
			dsl.CopyWaitGroups(1)
		} else {
			dsl.CopyWaitGroups(0)
		}
		t.Sync()
		out[t.Global()] = tiles[k][127-i]
	}
}

// Ring is a pipeline of half of the block's warps that load tiles and the others that add them up,
// through slots that barriers hand over and back.
//
//kiln:kernel
func Ring(t dsl.Thread, out, in []int32) {
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
			tiles[s][i] = in[k*n+i]
			full[s].Arrive()
		} else {
			full[s].Wait(t, phase)
			sum += tiles[s][n-1-i]
			empty[s].Arrive()
		}
	}
	t.Sync()
	if t.ThreadX() >= n && t.BlockX() == 0 {
		out[i] = sum
	}
}

func ringInit(t dsl.Thread, b []dsl.MBarrier, n int) {
	if t.ThreadX() == 0 {
		for s := range b {
			b[s].Init(n)
		}
	}
}

// WarpSums writes the sum of each warp, by shuffles alone.
//
//kiln:kernel
func WarpSums(t dsl.Thread, out, in []int32) {
	sum := dsl.WarpSum(t, in[t.Global()])
	if t.Lane() == 0 {
		out[t.Global()/t.WarpSize()] = sum
	}
}

// Scans writes prefix sums and the difference to the largest and smallest of a block.
//
//kiln:kernel
func Scans(t dsl.Thread, out, in []int32) {
	v := in[t.Global()]
	for range 3 {
		v = dsl.BlockScanSum(t, v) + dsl.BlockScanExclusive(t, v)
	}
	out[t.Global()] = dsl.BlockMax(t, v) - dsl.BlockMin(t, v) + dsl.BlockSum(t, v)
}

// Total writes the sum of in to out[0]. Each block leaves its part in parts, and the
// last to do so, by the counter, adds them.
//
//kiln:kernel
func Total(t dsl.Thread, out, in, parts []int32, counter []int32) {
	last := dsl.Shared[bool](t)
	sum := dsl.BlockSum(t, in[t.Global()])
	if t.ThreadX() == 0 {
		parts[t.BlockX()] = sum
		dsl.Fence()
		*last = dsl.AtomicAdd(&counter[0], 1) == int32(t.GridDimX()-1)
	}
	t.Sync()
	if *last {
		dsl.Fence()
		if t.ThreadX() == 0 {
			out[0] = 0
			for _, p := range parts[:t.GridDimX()] {
				out[0] += p
			}
		}
	}
}

// Locked adds in to out[0] under a lock, one thread at a time.
//
//kiln:kernel
func Locked(t dsl.Thread, out, in []int32, lock []int32) {
	for done := false; !done; {
		if dsl.AtomicCAS(&lock[0], 0, 1) == 0 {
			out[0] += in[t.Global()]
			dsl.Fence()
			dsl.AtomicStore(&lock[0], 0)
			done = true
		}
	}
}

// Shift moves in by one element.
//
//kiln:kernel
func Shift(t dsl.Thread, out, in []int32) {
	if i := t.Global(); i+1 < len(in) {
		out[i] = in[i+1]
	}
}

// Neighbours writes adjacent elements of one word.
//
//kiln:kernel
func Neighbours(t dsl.Thread, bytes []uint8, halves []dsl.F16, pairs []Pair) {
	i := t.Global()
	bytes[i] = uint8(i)
	halves[i] = dsl.To[dsl.F16](float32(i))
	if i&1 == 0 {
		pairs[i/2].A = int32(i)
	} else {
		pairs[i/2].B = int32(i)
	}
}

// Pair is a struct whose fields different threads write.
type Pair struct{ A, B int32 }

// Halo adds three neighbours from a tile with an element more on each side.
//
//kiln:kernel
func Halo(t dsl.Thread, out, in []int32) {
	tile := dsl.Shared[[258]int32](t)
	i, g, n := t.ThreadX()+1, t.Global(), t.BlockDimX()
	tile[i] = in[g]
	if i == 1 {
		tile[0] = in[max(g-1, 0)]
		tile[n+1] = in[min(g+n, len(in)-1)]
	}
	t.Sync()
	out[g] = tile[i-1] + tile[i] + tile[i+1]
}

// Chain writes running sums of blocks: each waits for the one before it.
//
//kiln:kernel
func Chain(t dsl.Thread, out, in, flags []int32) {
	b, sum := t.BlockX(), dsl.BlockSum(t, in[t.Global()])
	if t.ThreadX() == 0 {
		if b > 0 {
			for dsl.AtomicLoad(&flags[b-1]) == 0 {
			}
			dsl.Fence()
			sum += out[b-1]
		}
		out[b] = sum
		dsl.Fence()
		dsl.AtomicStore(&flags[b], 1)
	}
}

// Compact writes the elements that are not zero, in any order.
//
//kiln:kernel
func Compact(t dsl.Thread, out, in, count []int32) {
	if v := in[t.Global()]; v != 0 {
		out[dsl.AtomicAdd(&count[0], 1)] = v
	}
}
