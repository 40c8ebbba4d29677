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
		t.Sync() // ERROR 9 "K0301: .* depends on what is read at .*:15:8, and that on t.ThreadX\(\) at .*:14:15"
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
	for {
		if t.Warp() == 3 {
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
		t.Sync() // ERROR 9 "K0301: .* depends on t.ThreadZ\(\) at .*:82:14"
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
