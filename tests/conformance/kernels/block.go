package kernels

import "github.com/gokiln/kiln/dsl"

// Transpose goes through shared memory with a padded tile.
//
//kiln:kernel
func Transpose[T float32 | int64 | uint8](t dsl.Thread, out, in []T, rows, cols int) {
	tile := dsl.Shared[[16][17]T](t)
	x, y := t.GlobalX(), t.GlobalY()
	if x < cols && y < rows {
		tile[t.ThreadY()][t.ThreadX()] = in[y*cols+x]
	}
	t.Sync()
	x = t.BlockY()*16 + t.ThreadX()
	y = t.BlockX()*16 + t.ThreadY()
	if x < rows && y < cols {
		out[y*rows+x] = tile[t.ThreadX()][t.ThreadY()]
	}
}

// BlockSums sums each block's part by a tree in shared memory.
//
//kiln:kernel
func BlockSums[T float32 | float64 | int32](t dsl.Thread, out, x []T) {
	part := dsl.Shared[[256]T](t)
	i := t.ThreadX()
	var sum T
	for n := t.Global(); n < len(x); n += t.GlobalSize() {
		sum += x[n]
	}
	part[i] = sum
	t.Sync()
	for half := t.BlockDimX() / 2; half > 0; half /= 2 {
		if i < half {
			part[i] += part[i+half]
		}
		t.Sync()
	}
	if i == 0 {
		out[t.BlockX()] = part[0]
	}
}

// Reductions uses the warp and block reductions.
//
//kiln:kernel
func Reductions[T float32 | int32 | uint64](t dsl.Thread, out, x []T) {
	var v T
	if t.Global() < len(x) {
		v = x[t.Global()]
	}
	n := t.BlockSize()
	o := out[t.BlockX()*n*6:]
	i := t.ThreadX()
	o[i] = dsl.WarpSum(t, v)
	o[n+i] = dsl.WarpMax(t, v)
	o[2*n+i] = dsl.WarpMin(t, v)
	o[3*n+i] = dsl.BlockSum(t, v)
	o[4*n+i] = dsl.BlockMax(t, v)
	o[5*n+i] = dsl.BlockMin(t, v)
}

// Scans uses the warp and block scans.
//
//kiln:kernel
func Scans[T dsl.Word](t dsl.Thread, out, x []T) {
	var v T
	if t.Global() < len(x) {
		v = x[t.Global()]
	}
	n := t.BlockSize()
	o := out[t.BlockX()*n*4:]
	i := t.ThreadIndex()
	o[i] = dsl.WarpScanSum(t, v)
	o[n+i] = dsl.WarpScanExclusive(t, v)
	o[2*n+i] = dsl.BlockScanSum(t, v)
	o[3*n+i] = dsl.BlockScanExclusive(t, v)
}

// BitReductions uses the warp reductions of integers, and those by a function.
//
//kiln:kernel
func BitReductions[T dsl.WordInt](t dsl.Thread, out, x []T) {
	i := t.Global()
	v := x[i]
	out[4*i] = dsl.WarpAnd(t, v|1)
	out[4*i+1] = dsl.WarpOr(t, v&^1)
	out[4*i+2] = dsl.WarpXor(t, v)
	out[4*i+3] = dsl.WarpReduce(t, v, func(a, b T) T { return max(a, b) ^ a&b })
}

// Shuffles exchanges values in every way a warp can.
//
//kiln:kernel
func Shuffles[T dsl.Number](t dsl.Thread, out, x []T) {
	i := t.Global()
	v := x[i]
	out[5*i] = dsl.Shuffle(t, v, i*7+3)
	out[5*i+1] = dsl.ShuffleUp(t, v, 3)
	out[5*i+2] = dsl.ShuffleDown(t, v, 5)
	out[5*i+3] = dsl.ShuffleXor(t, v, 9)
	t.SyncWarp()
	if t.Warp() == 1 { // uniform in the warp, not in the block
		out[5*i+4] = dsl.ShuffleXor(t, v, 1)
	}
}

// Votes uses ballot, any and all.
//
//kiln:kernel
func Votes(t dsl.Thread, out []uint64, x []int32) {
	i := t.Global()
	out[i] = dsl.Ballot(t, x[i] > 0)
	if dsl.Any(t, x[i] > 90) {
		out[i] ^= 1 << 40
	}
	if dsl.All(t, x[i] > -90) {
		out[i] ^= 1 << 41
	}
	out[i] ^= uint64(t.Lane()) << 48
}

// Histogram counts in shared memory, then adds to global memory.
//
//kiln:kernel
func Histogram(t dsl.Thread, out []uint32, x []uint8) {
	bins := dsl.Shared[[256]uint32](t)
	for i := t.ThreadX(); i < 256; i += t.BlockDimX() {
		bins[i] = 0
	}
	t.Sync()
	for i := t.Global(); i < len(x); i += t.GlobalSize() {
		dsl.AtomicAdd(&bins[x[i]], 1)
	}
	t.Sync()
	for i := t.ThreadX(); i < 256; i += t.BlockDimX() {
		dsl.AtomicAdd(&out[i], bins[i])
	}
}

// Atomics does one atomic of each kind; the results do not depend on order.
//
//kiln:kernel
func Atomics[T int32 | uint32 | int64 | uint64](t dsl.Thread, out, x []T) {
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
	}
}

// AtomicFloats adds whole numbers, so that the sum does not depend on order.
//
//kiln:kernel
func AtomicFloats[T float32 | float64](t dsl.Thread, out, x []T) {
	for i := t.Global(); i < len(x); i += t.GlobalSize() {
		dsl.AtomicAdd(&out[0], x[i])
		dsl.AtomicMin(&out[1], x[i])
		dsl.AtomicMax(&out[2], x[i])
	}
}

// AtomicHalves adds small whole numbers to neighbouring halves.
//
//kiln:kernel
func AtomicHalves[T dsl.F16 | dsl.BF16](t dsl.Thread, out, x []T) {
	part := dsl.Shared[[3]T](t)
	if t.ThreadX() < 3 {
		part[t.ThreadX()] = dsl.To[T](0)
	}
	t.Sync()
	for i := t.Global(); i < len(x); i += t.GlobalSize() {
		dsl.AtomicAdd(&part[i%3], x[i])
		dsl.AtomicAdd(&out[i%2], x[i])
	}
	t.Sync()
	if t.ThreadX() < 3 {
		dsl.AtomicAdd(&out[2+t.ThreadX()], part[t.ThreadX()])
	}
}

// LastBlock sums x in one launch: each block leaves its part, and the one that is
// last to draw a ticket adds the parts up.
//
//kiln:kernel
func LastBlock(t dsl.Thread, out, parts []float32, ticket []int32, x []float32) {
	last := dsl.Shared[bool](t)
	var sum float32
	for i := t.Global(); i < len(x); i += t.GlobalSize() {
		sum += x[i]
	}
	sum = dsl.BlockSum(t, sum)
	if t.ThreadX() == 0 {
		dsl.AtomicStore(&parts[t.BlockX()], sum)
		dsl.Fence()
		*last = dsl.AtomicAdd(&ticket[0], 1) == int32(t.GridDimX()-1)
	}
	t.Sync()
	if *last && t.ThreadX() == 0 {
		dsl.Fence()
		sum = 0
		for i := range t.GridDimX() {
			sum += dsl.AtomicLoad(&parts[i])
		}
		out[0] = sum
		dsl.AtomicStore(&ticket[0], 0)
	}
	dsl.FenceBlock()
}

// MatMul multiplies by tiles of 8 by 8 in shared memory, with four
// accumulators a thread.
//
//kiln:kernel
func MatMul(t dsl.Thread, c, a, b []float32, m, n, k int) {
	ta := dsl.Shared[[16][8]float32](t)
	tb := dsl.Shared[[8][16]float32](t)
	tx, ty := t.ThreadX(), t.ThreadY()
	row, col := t.BlockY()*16, t.BlockX()*16
	var acc [2][2]float32
	for k0 := 0; k0 < k; k0 += 8 {
		for r := range 2 {
			ta[ty+8*r][tx] = 0
			if row+ty+8*r < m && k0+tx < k {
				ta[ty+8*r][tx] = a[(row+ty+8*r)*k+k0+tx]
			}
			tb[ty][tx+8*r] = 0
			if k0+ty < k && col+tx+8*r < n {
				tb[ty][tx+8*r] = b[(k0+ty)*n+col+tx+8*r]
			}
		}
		t.Sync()
		for kk := range 8 {
			for r := range 2 {
				for s := range 2 {
					acc[r][s] = dsl.FMA(ta[ty+8*r][kk], tb[kk][tx+8*s], acc[r][s])
				}
			}
		}
		t.Sync()
	}
	for r := range 2 {
		for s := range 2 {
			if row+ty+8*r < m && col+tx+8*s < n {
				c[(row+ty+8*r)*n+col+tx+8*s] = acc[r][s]
			}
		}
	}
}

// Geometry writes where each thread is in three dimensions.
//
//kiln:kernel
func Geometry(t dsl.Thread, out []int) {
	gx, gy := t.GridDimX()*t.BlockDimX(), t.GridDimY()*t.BlockDimY()
	i := (t.GlobalZ()*gy+t.GlobalY())*gx + t.GlobalX()
	out[i] = t.ThreadIndex() + 1000*t.BlockX() + 10000*t.BlockY() + 100000*t.BlockZ() +
		1000000*t.Lane() + 100000000*t.Warp() + 10000000000*t.GridDimZ() + 100000000000*t.BlockDimZ()
}
