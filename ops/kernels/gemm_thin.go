package kernels

import "github.com/gokiln/kiln/dsl"

// Thin says how the products of a matrix with few columns are divided.
type Thin struct {
	Cols   dsl.ConstInt  // columns of y and out
	Vec    dsl.ConstInt  // elements that a thread reads at once: 1, 4 or 8
	YVec   dsl.ConstBool // y can be read so too
	XUnit  dsl.ConstBool // the stride of x along k, or across it for [ThinCols], is 1
	YUnit  dsl.ConstBool // the stride of y along k is 1
	Unroll dsl.ConstInt  // how often, before they are used
	Steps  dsl.ConstInt  // places along k that a thread of [ThinCols] reads before it uses them
}

// ThinRows computes products of matrices with few columns where rows of x lie side by
// side along k: a warp sums a row. Blocks in y go over products, in z over parts of k.
//
//kiln:kernel
//kiln:const cfg.Cols=1,2 cfg.Vec=1,4 cfg.Unroll=2
func ThinRows[O, T, C dsl.Number](t dsl.Thread, out []O, x, y []T, w Walk, p Product, cfg Thin, mad func(a, b, c C) C, add func(a, b C) C) {
	warps := t.BlockDimX() / t.WarpSize()
	row := t.BlockX()*warps + t.Warp()
	lo := t.BlockZ() * p.Part
	hi := min(lo+p.Part, p.K)
	vec, step := int(cfg.Vec), t.WarpSize()*int(cfg.Vec)
	for z := t.BlockY(); z < p.Batch && row < p.M; z += t.GridDimY() {
		at := w.place(z)
		acc := dsl.LocalSlice[C](cfg.Cols * cfg.Unroll)
		k := lo
		for ; k+step*int(cfg.Unroll) <= hi; k += step * int(cfg.Unroll) {
			for u := range int(cfg.Unroll) {
				thin(acc[u*int(cfg.Cols):], x, y, at, row, k+u*step+t.Lane()*vec, &p, &cfg, mad)
			}
		}
		for k += t.Lane() * vec; k < hi; k += step {
			thin(acc, x, y, at, row, k, &p, &cfg, mad)
		}
		for c := range int(cfg.Cols) {
			sum := acc[c]
			for u := 1; u < int(cfg.Unroll); u++ {
				sum = add(sum, acc[u*int(cfg.Cols)+c])
			}
			sum = dsl.WarpReduce(t, sum, add)
			if t.Lane() == 0 {
				out[at[0]+t.BlockZ()*p.Parts+row*p.OutM+c*p.OutN] = dsl.Convert[O](sum)
			}
		}
	}
}

// times is i·stride, which is i where that is known to be 1: then neighbouring threads
// are known to read what lies side by side.
func times(i, stride int, unit dsl.ConstBool) int {
	if unit {
		return i
	}
	return i * stride
}

// thin adds the products of a run of x, in some row from k on, with all columns of y
// to acc.
func thin[T, C dsl.Number](acc []C, x, y []T, at [Operands]int, row, k int, p *Product, cfg *Thin, mad func(a, b, c C) C) {
	xs := dsl.LocalSlice[C](cfg.Vec)
	run(xs, x, at[1]+row*p.XM+times(k, p.XK, cfg.XUnit), p.XK, cfg.Vec, cfg.Vec > 1)
	yat := at[2] + times(k, p.YK, cfg.YUnit)
	for c := range int(cfg.Cols) {
		ys := dsl.LocalSlice[C](cfg.Vec)
		run(ys, y, yat+c*p.YN, p.YK, cfg.Vec, bool(cfg.YVec))
		for i := range int(cfg.Vec) {
			acc[c] = mad(xs[i], ys[i], acc[c])
		}
	}
}

// run loads n elements, step apart, at once if they are a vector.
func run[T, C dsl.Number](to []C, from []T, at, step int, n dsl.ConstInt, vec bool) {
	switch {
	case vec && n == 4:
		v := dsl.LoadVec[[4]T](from, at>>2)
		for i := range v {
			to[i] = dsl.Convert[C](v[i])
		}
	case vec && n == 8:
		v := dsl.LoadVec[[8]T](from, at>>3)
		for i := range v {
			to[i] = dsl.Convert[C](v[i])
		}
	default:
		for i := range int(n) {
			to[i] = dsl.Convert[C](from[at+i*step])
		}
	}
}

// ThinCols computes products of matrices with few columns where columns of x lie side
// by side across k: neighbouring threads sum neighbouring vectors of rows, Unroll of them
// each. Blocks are as those of [ThinRows].
//
//kiln:kernel
//kiln:const cfg.Cols=1,2 cfg.Vec=1,4 cfg.Unroll=2 cfg.Steps=1,2
func ThinCols[O, T, C dsl.Number](t dsl.Thread, out []O, x, y []T, w Walk, p Product, cfg Thin, mad func(a, b, c C) C) {
	each := int(cfg.Unroll * cfg.Vec)
	first := t.BlockX() * t.BlockDimX() * each
	for z := t.BlockY(); z < p.Batch; z += t.GridDimY() {
		at := w.place(z)
		// Where all rows are there, none is asked for.
		if first+t.BlockDimX()*each <= p.M {
			thinColumn(t, out, x, y, at, first+t.ThreadX()*int(cfg.Vec), true, &p, &cfg, mad)
		} else {
			thinColumn(t, out, x, y, at, first+t.ThreadX()*int(cfg.Vec), false, &p, &cfg, mad)
		}
	}
}

// thinColumn sums the rows of a thread, from first on. If not whole, some are not there.
func thinColumn[O, T, C dsl.Number](t dsl.Thread, out []O, x, y []T, at [Operands]int, first int, whole bool, p *Product, cfg *Thin, mad func(a, b, c C) C) {
	each, cols, steps := int(cfg.Unroll*cfg.Vec), int(cfg.Cols), int(cfg.Steps)
	acc := dsl.LocalSlice[C](cfg.Cols * cfg.Unroll * cfg.Vec)
	xs := dsl.LocalSlice[C](cfg.Steps * cfg.Unroll * cfg.Vec)
	lo := t.BlockZ() * p.Part
	hi := min(lo+p.Part, p.K)
	k := lo
	for ; k+steps <= hi; k += steps {
		for s := range steps { // all loads first
			thinLoad(t, xs[s*each:], x, at[1]+(k+s)*p.XK, first, whole, p, cfg)
		}
		for s := range steps {
			thinAdd(acc, xs[s*each:], y, at[2]+(k+s)*p.YK, p.YN, each, cols, mad)
		}
	}
	for ; k < hi && steps > 1; k++ {
		thinLoad(t, xs, x, at[1]+k*p.XK, first, whole, p, cfg)
		thinAdd(acc, xs, y, at[2]+k*p.YK, p.YN, each, cols, mad)
	}
	for i := range each {
		row := first + i/int(cfg.Vec)*(t.BlockDimX()*int(cfg.Vec)) + i%int(cfg.Vec)
		for c := range cols {
			if whole || row < p.M {
				out[at[0]+t.BlockZ()*p.Parts+row*p.OutM+c*p.OutN] = dsl.Convert[O](acc[i*cols+c])
			}
		}
	}
}

// thinLoad loads a thread's rows of a column of x.
func thinLoad[T, C dsl.Number](t dsl.Thread, to []C, x []T, at, first int, whole bool, p *Product, cfg *Thin) {
	for u := range int(cfg.Unroll) {
		row := first + u*(t.BlockDimX()*int(cfg.Vec))
		if whole || row < p.M {
			run(to[u*int(cfg.Vec):], x, at+times(row, p.XM, cfg.XUnit), p.XM, cfg.Vec, cfg.Vec > 1)
		}
	}
}

// thinAdd adds the products of a column of x with those of y.
func thinAdd[T, C dsl.Number](acc, xs []C, y []T, at, apart, each, cols int, mad func(a, b, c C) C) {
	for c := range cols {
		v := dsl.Convert[C](y[at+c*apart])
		for i := range each {
			acc[i*cols+c] = mad(xs[i], v, acc[i*cols+c])
		}
	}
}
