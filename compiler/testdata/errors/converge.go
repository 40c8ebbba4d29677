package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func Plain(t dsl.Thread, x []float32) {
	if t.ThreadX() < 16 {
		t.Sync() // ERROR 9 "K0301: barrier is not reached by all threads together; the threads part at .*:7:17, because the condition depends on t.ThreadX\(\) at .*:7:14"
	}
}

//kiln:kernel
func Loaded(t dsl.Thread, x []int) {
	i := t.Global()
	v := x[i]
	n := 0
	if v > 3 {
		n = 5
	}
	for k := 0; k < n; k++ {
		t.Sync() // ERROR 9 "K0301: .* depends on the way taken at .*:17:7, and that on what is read at .*:15:8, and that on t.ThreadX\(\) at .*:14:15"
	}
}

//kiln:kernel
func Early(t dsl.Thread, x []int) {
	if t.Global() >= len(x) {
		return
	}
	t.Sync() // ERROR 8 "K0301: .*:27:16, because the condition depends on t.ThreadX"
}

//kiln:kernel
func Counted(t dsl.Thread, x []int32) {
	old := dsl.AtomicAdd(&x[0], 1)
	for old > 3 {
		old--
		if dsl.Any(t, old > 2) { // ERROR 13 "K0302: warp operation is not reached by all threads together; .* depends on the result of an atomic operation at .*:35:22"
			x[1] = 2
		}
	}
}

func helper(t dsl.Thread, on bool) float32 {
	if on {
		return dsl.WarpSum(t, float32(1)) // ERROR 21 "K0302: .*the threads part at .*:45:5, because the condition depends on the iteration in which the loop is left at .*:54:23, and that on t.Lane\(\) at .*:54:17"
	}
	return 0
}

//kiln:kernel
func Helped(t dsl.Thread, x []float32) {
	k := 0
	for i := t.Lane(); i < 100; i += 7 {
		k++
	}
	x[0] = helper(t, k == 5)
	var a [4]int
	a[t.ThreadY()&3] = 4
	if a[1] > 2 {
		t.Sync() // ERROR 9 "K0301: .* depends on t.ThreadY\(\) at .*:59:13"
	}
	if dsl.Shuffle(t, x[t.ThreadX()], t.Lane()+1) > 2 {
		x[1] = dsl.BlockSum(t, x[1]) // ERROR 22 "K0301: .*"
	}
}

//kiln:kernel
func Left(t dsl.Thread, x []float32) {
	for i := 0; ; i++ {
		if t.Warp() == i {
			break
		}
		t.SyncWarp()
		t.Sync() // ERROR 9 "K0301: .* depends on t.Warp\(\)"
	}
}

//kiln:kernel
func Ways(t dsl.Thread, x []float32) {
	near := false
	if t.ThreadZ() == 0 {
		near = true
	}
	votes := dsl.Ballot(t, near)
	for votes&1 == 0 {
		votes >>= 1
		t.Sync() // ERROR 9 "K0301: .* depends on the way taken at .*:82:17, and that on t.ThreadZ\(\) at .*:82:14"
	}
	v := dsl.Shuffle(t, x[t.Lane()], t.ThreadX()^1)
	if v > 2 {
		t.SyncWarp() // ERROR 13 "K0302"
	}
}

// The branch on a parameter has the place of the test, not of the parameter.
func tests(t dsl.Thread, x []float32, even, odd bool) {
	if even {
		x[0] = 1
	}
	if odd && !even {
		t.Sync() // ERROR 9 "K0301: .*the threads part at .*:101:"
	}
	for k := 0; k < 3; k++ {
		if odd {
			x[1] = 2
		}
		if !even {
			t.Sync() // ERROR 10 "K0301: .*the threads part at .*:108:7,"
		}
	}
}

//kiln:kernel
func Tests(t dsl.Thread, x []float32) {
	tests(t, x, t.ThreadX() == 5, t.ThreadY() == 6)
}

// The result is not used: the lanes do not meet all the same.
//
//kiln:kernel
func Unused(t dsl.Thread, x []float32) {
	if t.Lane() < 5 {
		dsl.WarpSum(t, x[0]) // ERROR 14 "K0302: .*the threads part at .*:123:14"
	}
	if t.Global() < len(x) {
		_ = dsl.Ballot(t, true) // ERROR 17 "K0302: .*the threads part at .*:126:16"
	}
}

// What is uniform in blocks whose rows are whole warps is no mistake.
//
//kiln:kernel
func Rows(t dsl.Thread, x []float32) {
	if t.ThreadX()/t.WarpSize() == 2 || t.ThreadY() == 1 || t.Global()%(2*t.WarpSize()) < t.WarpSize() {
		x[t.Global()] = dsl.WarpSum(t, x[t.Global()])
	}
	for i := t.GlobalX() / t.WarpSize(); i < len(x); i += t.GlobalSize() / t.WarpSize() {
		t.SyncWarp()
	}
	for i := t.Global(); i < len(x)/t.WarpSize()*t.WarpSize(); i += t.GlobalSize() {
		t.SyncWarp()
	}
}

// Half a warp, other sums than with multiples, and rounding towards zero are not.
//
//kiln:kernel
func NoRows(t dsl.Thread, x []float32) {
	if t.ThreadX()/(t.WarpSize()/2) == 2 {
		t.SyncWarp() // ERROR 13 "K0302: .* t.ThreadX\(\)"
	}
	if (t.ThreadX()+1)/t.WarpSize() == 2 {
		t.SyncWarp() // ERROR 13 "K0302: .* t.ThreadX\(\)"
	}
	if (t.Global()-64)/t.WarpSize() == 0 {
		t.SyncWarp() // ERROR 13 "K0302: .* t.ThreadX\(\)"
	}
	for i := t.Global(); i < len(x); i += t.GlobalSize() {
		t.SyncWarp() // ERROR 13 "K0302: .* t.ThreadX\(\)"
	}
	if t.ThreadX() <= t.WarpSize() {
		t.SyncWarp() // ERROR 13 "K0302: .* t.ThreadX\(\)"
	}
	if t.ThreadX()/t.WarpSize() == 2 {
		t.Sync() // ERROR 9 "K0301: .* t.ThreadX\(\)"
	}
}

// A branch that threads take differently at the end of a loop's body says nothing
// about the counter.
//
//kiln:kernel
func LastInLoop(t dsl.Thread, x []float32, n int) {
	for i := 0; i < n; i++ {
		t.Sync()
		if x[t.ThreadX()] > 2 {
			x[t.ThreadX()] = float32(i)
		}
	}
	i := 0
	for i < n {
		i++
		t.Sync()
		if x[t.ThreadX()] > 2 {
			x[t.ThreadX()] = float32(i)
			continue
		}
		x[t.ThreadX()+1] = 1
	}
}

//kiln:kernel
func Bound(t dsl.Thread, x []float32) {
	sync := t.Sync
	sync()
	if t.ThreadX() < 16 {
		sync()             // ERROR 7 "K0301: barrier is not reached by all threads together"
		dsl.Thread.Sync(t) // ERROR 18 "K0301: barrier is not reached by all threads together"
	}
	h := dsl.To[dsl.F16](x[0])
	half := h.Float32
	x[0] = half() + dsl.F16.Float32(h)
}

//kiln:kernel
func OneBlock(t dsl.Thread, x []float32) {
	if t.BlockX() == 0 {
		t.SyncGrid() // ERROR 13 "K0301: barrier of the grid is not reached by all threads together; the threads part at .*, because the condition depends on t.BlockX\(\) at"
	}
}

//kiln:kernel
func Shared(t dsl.Thread, x []float32) {
	n := dsl.Shared[[1]int](t)
	n[0] = 3
	t.Sync()
	for range n[0] {
		t.SyncGrid() // ERROR 13 "K0301: barrier of the grid is not reached by all threads together; .* what is read at .*, and that on shared memory at"
	}
}

//kiln:kernel
func Strided(t dsl.Thread, x []float32) {
	for i := t.Global(); i < len(x); i += t.GlobalSize() {
		t.SyncGrid() // ERROR 13 "K0301: barrier of the grid is not reached by all threads together"
	}
}

//kiln:kernel
func WholeGrid(t dsl.Thread, x []float32, steps int) {
	for range steps {
		if x[0] < 0 {
			return
		}
		t.SyncGrid()
	}
}
