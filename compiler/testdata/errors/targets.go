package k

import "github.com/gokiln/kiln/dsl"

// targets: ptx:sm_75 hip:gfx942 msl:3.0 cpu:x86-64-v3

//kiln:kernel
func Tile(t dsl.Thread, x []float32) {
	small := dsl.Shared[[256]float32](t)
	tile := dsl.Shared[[128][136]float32](t) // ERROR 39 "K0402: the kernel needs 70656 bytes of shared memory, ptx:sm_75 has 65536 for a block; of the instance k.Tile: 69632 bytes at k/targets.go:10:39, 1024 bytes at k/targets.go:9:35" ERROR 39 "K0402: .*hip:gfx942 has 65536 for a block" ERROR 39 "K0402: .*msl:3.0 has 32768 for a block"
	i := t.ThreadX()
	small[i%256], tile[i%128][i%136] = x[i], x[i]
	t.Sync()
	x[i] = small[(i+1)%256] + tile[(i+1)%128][i%136]
}

//kiln:kernel
func Stack(t dsl.Thread, x []float32) {
	var a [1 << 17]float32 // ERROR 6 "K0402: the kernel needs 524544 bytes of local variables, ptx:sm_75 has 524288 for a thread; of the instance k.Stack: 524288 bytes at k/targets.go:19:6, 256" ERROR 6 "K0402: the kernel needs 524544 bytes of local variables, hip:gfx942 has 524288 for a thread; of the instance k.Stack: 524288 bytes at k/targets.go:19:6, 256" ERROR 6 "K0402: the kernel needs 524544 bytes of local variables, msl:3.0 has 524288 for a thread; of the instance k.Stack: 524288 bytes at k/targets.go:19:6, 256" ERROR 6 "K0402: the kernel needs 524544 bytes of local variables, cpu:x86-64-v3 has 524288 for a thread; of the instance k.Stack: 524288 bytes at k/targets.go:19:6, 256"
	var b [64]float32
	i := t.ThreadX()
	a[i], b[i%64] = x[i], x[i]
	x[0] = a[i+1] + b[(i+1)%64]
}

//kiln:kernel
func Double(t dsl.Thread, x []float64) {
	i := t.ThreadX()
	x[i] *= 2 // ERROR 3 "K0403: .*f64.* is not available on msl:3.0; of the instance k.Double"
}

//kiln:kernel
func Unused(t dsl.Thread, x []float64, y []float32) { // ERROR 1 "K0403: .*f64.* is not available on msl:3.0"
	y[t.ThreadX()] = 1
}

//kiln:kernel
func Large(t dsl.Thread, x []float32) {
	dsl.LaunchBounds(t, 2048, 0) // ERROR 18 "K0402: the kernel is for blocks of 2048 threads, ptx:sm_75 runs up to 1024" ERROR 18 "K0402: the kernel is for blocks of 2048 threads, hip:gfx942 runs up to 1024" ERROR 18 "K0402: the kernel is for blocks of 2048 threads, msl:3.0 runs up to 1024" ERROR 18 "K0402: the kernel is for blocks of 2048 threads, cpu:x86-64-v3 runs up to 1024"
	x[t.ThreadX()] = 1
}

//kiln:kernel
func Clusters(t dsl.Thread, x []float32) {
	dsl.Cluster(t, 2) // ERROR 13 "K0402: the kernel is for clusters of 2 blocks, ptx:sm_75 has none" ERROR 13 "K0402: the kernel is for clusters of 2 blocks, hip:gfx942 has none" ERROR 13 "K0402: the kernel is for clusters of 2 blocks, msl:3.0 has none" ERROR 13 "K0402: the kernel is for clusters of 2 blocks, cpu:x86-64-v3 has none"
	x[t.ThreadX()] = 1
}

//kiln:kernel
func Warps(t dsl.Thread, x []float32) {
	dsl.LaunchBounds(t, 96, 0) // ERROR 18 "K0404: blocks of 96 threads are not whole warps of 64 on hip:gfx942, and the kernel has warp operations"
	i := t.Global()
	v := x[i]
	v += dsl.ShuffleXor(t, v, 16) // ERROR 21 "K0404: shuffle over 16 lanes, cpu:x86-64-v3 has warps of 8"
	x[i] = dsl.WarpSum(t, v)
}

//kiln:kernel
func WholeGrid(t dsl.Thread, x []float32) {
	x[t.Global()] = 1
	t.SyncGrid() // ERROR 12 "K0403: a barrier of the grid is not available on msl:3.0"
	x[t.Global()] += x[0]
}
