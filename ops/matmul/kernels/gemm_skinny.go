package kernels

import (
	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
)

// Skinny says how the products of a matrix with few columns are divided.
type Skinny struct {
	Cols    dsl.ConstInt  // columns of y and out
	Rows    dsl.ConstInt  // rows that a warp of [SkinnyRows], or a block, sums at once
	Share   dsl.ConstBool // the warps of a block of [SkinnyRows] share its rows: each has parts of k
	Vec     dsl.ConstInt  // elements that a thread reads at once: 1, 2, 4 or 8
	YVec    dsl.ConstBool // y can be read so too
	XUnit   dsl.ConstBool // the stride of x along k, or across it for [SkinnyCols], is 1
	YUnit   dsl.ConstBool // the stride of y along k is 1
	Unroll  dsl.ConstInt  // how often, before they are used
	Wide    dsl.ConstInt  // rows of a block of [SkinnyCols]
	OutUnit dsl.ConstBool // the stride of out across k is 1
	Warps   dsl.ConstInt  // of a block, for Share and [SkinnyWarps]
	Lanes   dsl.ConstInt  // of a warp, for [SkinnyWarps]
}

// SkinnyRows computes products of matrices with few columns where rows of x are
// contiguous along k: a warp sums some rows, or the warps of a block do. Blocks in y go over
// products, in z over parts of k.
//
//kiln:kernel
//kiln:const cfg.Cols=1,2 cfg.Rows=1,2 cfg.Share=false,true cfg.Vec=1,4 cfg.Unroll=2 cfg.Warps=2
func SkinnyRows[O, T, C dsl.Number](t dsl.Thread, out []O, x, y []T, w core.Walk, p Product, cfg Skinny, mad func(a, b, c C) C, add func(a, b C) C) {
	skinnyRows(t, x, y, &w, &p, &cfg, mad, add, func(at [core.Operands]int, row, col int, sum C) {
		out[at[0]+t.BlockZ()*p.Parts+row*p.OutM+col*p.OutN] = dsl.Convert[O](sum)
	})
}

// SkinnyRowsThen is [SkinnyRows] whose sums go through an epilogue.
//
//kiln:kernel
//kiln:const cfg.Cols=1,2 cfg.Rows=1,2 cfg.Share=false,true cfg.Vec=1,4 cfg.Unroll=2 cfg.Warps=2 e.Bias.Kind=1,2 e.Factor.Kind=0 e.Residual.Kind=0,3 e.Scaled=false
func SkinnyRowsThen[O, T, C dsl.Number](t dsl.Thread, out []O, x, y []T, bias []O, factor []C, residual []O, w core.Walk, p Product, cfg Skinny, scale C, e Epilogue, mad func(a, b, c C) C, add func(a, b C) C, act func(x C) C) {
	skinnyRows(t, x, y, &w, &p, &cfg, mad, add, func(at [core.Operands]int, row, col int, sum C) {
		out[at[0]+row*p.OutM+col*p.OutN] = finishOne(&e, bias, factor, residual, at, row, col, sum, scale, act, mad)
	})
}

// skinnyRows is [SkinnyRows] with a function that stores the sum of a row and a column of the product at a
// place.
func skinnyRows[T, C dsl.Number](t dsl.Thread, x, y []T, w *core.Walk, p *Product, cfg *Skinny, mad func(a, b, c C) C, add func(a, b C) C, store func(at [core.Operands]int, row, col int, sum C)) {
	rows, cols := int(cfg.Rows), int(cfg.Cols)
	first, lane, lanes := (t.BlockX()*(t.BlockDimX()/t.WarpSize())+t.Warp())*rows, t.Lane(), t.WarpSize()
	if cfg.Share {
		first, lane, lanes = t.BlockX()*rows, t.ThreadX(), t.BlockDimX()
	}
	lo := t.BlockZ() * p.Part
	hi := min(lo+p.Part, p.K)
	vec, step := int(cfg.Vec), lanes*int(cfg.Vec)
	for z := t.BlockY(); z < p.Batch && first < p.M; z += t.GridDimY() {
		at := w.At(z)
		acc := dsl.LocalSlice[C](cfg.Rows * cfg.Cols * cfg.Unroll)
		k := lo
		for ; k+step*int(cfg.Unroll) <= hi; k += step * int(cfg.Unroll) {
			for u := range int(cfg.Unroll) {
				skinny(acc[u*rows*cols:], x, y, at, first, k+u*step+lane*vec, p, cfg, mad)
			}
		}
		for k += lane * vec; k < hi; k += step {
			skinny(acc, x, y, at, first, k, p, cfg, mad)
		}
		for i := range rows * cols {
			for u := 1; u < int(cfg.Unroll); u++ {
				acc[i] = add(acc[i], acc[u*rows*cols+i])
			}
			acc[i] = dsl.WarpReduce(t, acc[i], add)
		}
		if cfg.Share {
			skinnyShare(t, acc, first, p, cfg, add, func(row, col int, sum C) { store(at, row, col, sum) })
			continue
		}
		for i := range rows * cols {
			if row := first + i/cols; t.Lane() == 0 && row < p.M {
				store(at, row, i%cols, acc[i])
			}
		}
	}
}

// skinnyShare stores the sums of what the warps of a block have.
func skinnyShare[C dsl.Number](t dsl.Thread, acc []C, first int, p *Product, cfg *Skinny, add func(a, b C) C, store func(row, col int, sum C)) {
	n, cols := int(cfg.Rows*cfg.Cols), int(cfg.Cols)
	sums := dsl.SharedSlice[C](t, cfg.Warps*cfg.Rows*cfg.Cols)
	t.Sync() // an earlier product may still be read
	if t.Lane() == 0 {
		for i := range n {
			sums[t.Warp()*n+i] = acc[i]
		}
	}
	t.Sync()
	i := t.ThreadX()
	if row := first + i/cols; i < n && row < p.M {
		sum := sums[i]
		for k := 1; k < int(cfg.Warps); k++ {
			sum = add(sum, sums[k*n+i])
		}
		store(row, i%cols, sum)
	}
}

// TimesStride is i·stride, which is i where that is known to be 1: then neighbouring threads
// are known to read what is contiguous.
func TimesStride(i, stride int, unit dsl.ConstBool) int {
	if unit {
		return i
	}
	return i * stride
}

// skinny adds the products of runs of x, in some rows from k on, with all columns of y to
// acc. A row behind the last is that one again.
func skinny[T, C dsl.Number](acc []C, x, y []T, at [core.Operands]int, first, k int, p *Product, cfg *Skinny, mad func(a, b, c C) C) {
	rows, cols, vec := int(cfg.Rows), int(cfg.Cols), int(cfg.Vec)
	xs, ys := dsl.LocalSlice[C](cfg.Rows*cfg.Vec), dsl.LocalSlice[C](cfg.Cols*cfg.Vec)
	xat, yat := at[1]+TimesStride(k, p.XK, cfg.XUnit), at[2]+TimesStride(k, p.YK, cfg.YUnit)
	run(xs, x, xat+first*p.XM, p.XK, cfg.Vec, cfg.Vec > 1)
	for r := 1; r < rows; r++ {
		run(xs[r*vec:], x, xat+min(first+r, p.M-1)*p.XM, p.XK, cfg.Vec, cfg.Vec > 1)
	}
	for c := range cols {
		run(ys[c*vec:], y, yat+c*p.YN, p.YK, cfg.Vec, bool(cfg.YVec))
	}
	for r := range rows {
		for c := range cols {
			for i := range vec {
				acc[r*cols+c] = mad(xs[r*vec+i], ys[c*vec+i], acc[r*cols+c])
			}
		}
	}
}

// run loads n elements, step apart, at once if they are a vector.
func run[T, C dsl.Number](to []C, from []T, at, step int, n dsl.ConstInt, vec bool) {
	switch {
	case vec && n == 2:
		v := dsl.LoadVec[[2]T](from, at>>1)
		for i := range v {
			to[i] = dsl.Convert[C](v[i])
		}
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

// SkinnyCols computes products of matrices with few columns where columns of x are contiguous
// across k. A block sums Wide rows, in shared memory: each pass over them reads so much of Unroll
// columns of x, few long streams, which processors prefetch. Blocks are as those of [SkinnyRows].
//
//kiln:kernel
//kiln:const cfg.Cols=1,2 cfg.Unroll=2 cfg.Wide=64
func SkinnyCols[O, T, C dsl.Number](t dsl.Thread, out []O, x, y []T, w core.Walk, p Product, cfg Skinny, mad func(a, b, c C) C) {
	cols, deep := int(cfg.Cols), int(cfg.Unroll)
	sums := dsl.SharedSlice[C](t, cfg.Cols*cfg.Wide)
	first := t.BlockX() * int(cfg.Wide)
	rows := min(int(cfg.Wide), p.M-first)
	lo := t.BlockZ() * p.Part
	hi := min(lo+p.Part, p.K)
	for z := t.BlockY(); z < p.Batch; z += t.GridDimY() {
		at := w.At(z)
		at[1] += TimesStride(first, p.XM, cfg.XUnit)
		// A thread has the same rows in all passes, so nothing waits for others.
		for i := t.ThreadX(); i < rows; i += t.BlockDimX() {
			for c := range cols {
				sums[c*int(cfg.Wide)+i] = 0
			}
		}
		k := lo
		for ; k+deep <= hi; k += deep {
			skinnyPass(t, sums, x, y, at, k, rows, cfg.Unroll, &p, &cfg, mad)
		}
		for ; k < hi; k++ {
			skinnyPass(t, sums, x, y, at, k, rows, 1, &p, &cfg, mad)
		}
		to := at[0] + t.BlockZ()*p.Parts + first*p.OutM
		for i := t.ThreadX(); i < rows; i += t.BlockDimX() {
			for c := range cols {
				out[to+TimesStride(i, p.OutM, cfg.OutUnit)+c*p.OutN] = dsl.Convert[O](sums[c*int(cfg.Wide)+i])
			}
		}
	}
}

// skinnyPass adds the products of some columns of x, from k on, with those of y to the sums of a
// block's rows.
func skinnyPass[T, C dsl.Number](t dsl.Thread, sums []C, x, y []T, at [core.Operands]int, k, rows int, deep dsl.ConstInt, p *Product, cfg *Skinny, mad func(a, b, c C) C) {
	cols := int(cfg.Cols)
	ys := dsl.LocalSlice[C](cfg.Cols * deep)
	for u := range int(deep) {
		for c := range cols {
			ys[u*cols+c] = dsl.Convert[C](y[at[2]+(k+u)*p.YK+c*p.YN])
		}
	}
	xs := dsl.LocalSlice[C](deep)
	from := at[1] + k*p.XK
	for i := t.ThreadX(); i < rows; i += t.BlockDimX() {
		for u := range int(deep) {
			xs[u] = dsl.Convert[C](x[from+u*p.XK+TimesStride(i, p.XM, cfg.XUnit)])
		}
		for c := range cols {
			sum := sums[c*int(cfg.Wide)+i]
			for u := range int(deep) {
				sum = mad(xs[u], ys[u*cols+c], sum)
			}
			sums[c*int(cfg.Wide)+i] = sum
		}
	}
}

// skinnyAdd adds the products of a column of x with those of y.
func skinnyAdd[T, C dsl.Number](acc, xs []C, y []T, at, apart, each, cols int, mad func(a, b, c C) C) {
	for c := range cols {
		v := dsl.Convert[C](y[at+c*apart])
		for i := range each {
			acc[i*cols+c] = mad(xs[i], v, acc[i*cols+c])
		}
	}
}

// SkinnyWarps is [SkinnyCols] for blocks of several warps: these have the same rows, vectors of
// them contiguous, and every Warps-th place along k. A thread reads Unroll of these
// before it uses them.
//
//kiln:kernel
//kiln:const cfg.Cols=1,2 cfg.Vec=1,4 cfg.Unroll=2 cfg.Warps=2 cfg.Lanes=64
func SkinnyWarps[O, T, C dsl.Number](t dsl.Thread, out []O, x, y []T, w core.Walk, p Product, cfg Skinny, mad func(a, b, c C) C, add func(a, b C) C) {
	skinnyWarps(t, x, y, &w, &p, &cfg, mad, add, func(at [core.Operands]int, row, col int, sum C) {
		out[at[0]+t.BlockZ()*p.Parts+row*p.OutM+col*p.OutN] = dsl.Convert[O](sum)
	})
}

// SkinnyWarpsThen is [SkinnyWarps] whose sums go through an epilogue.
//
//kiln:kernel
//kiln:const cfg.Cols=1,2 cfg.Vec=1,4 cfg.Unroll=2 cfg.Warps=2 cfg.Lanes=64 e.Bias.Kind=1,2 e.Factor.Kind=0 e.Residual.Kind=0,3 e.Scaled=false
func SkinnyWarpsThen[O, T, C dsl.Number](t dsl.Thread, out []O, x, y []T, bias []O, factor []C, residual []O, w core.Walk, p Product, cfg Skinny, scale C, e Epilogue, mad func(a, b, c C) C, add func(a, b C) C, act func(x C) C) {
	skinnyWarps(t, x, y, &w, &p, &cfg, mad, add, func(at [core.Operands]int, row, col int, sum C) {
		out[at[0]+row*p.OutM+col*p.OutN] = finishOne(&e, bias, factor, residual, at, row, col, sum, scale, act, mad)
	})
}

// skinnyWarps is [SkinnyWarps] with a function that stores the sum of a row and a column of the product at
// a place.
func skinnyWarps[T, C dsl.Number](t dsl.Thread, x, y []T, w *core.Walk, p *Product, cfg *Skinny, mad func(a, b, c C) C, add func(a, b C) C, store func(at [core.Operands]int, row, col int, sum C)) {
	vec, cols, warps := int(cfg.Vec), int(cfg.Cols), int(cfg.Warps)
	row := (t.BlockX()*t.WarpSize() + t.Lane()) * vec
	from := TimesStride(min(row, p.M-vec), p.XM, cfg.XUnit)
	lo := t.BlockZ() * p.Part
	hi := min(lo+p.Part, p.K)
	for z := t.BlockY(); z < p.Batch; z += t.GridDimY() {
		at := w.At(z)
		acc := dsl.LocalSlice[C](cfg.Cols * cfg.Vec)
		xs := dsl.LocalSlice[C](cfg.Unroll * cfg.Vec)
		k := lo + t.Warp()
		for ; k+(int(cfg.Unroll)-1)*warps < hi; k += int(cfg.Unroll) * warps {
			for u := range int(cfg.Unroll) { // all loads first
				run(xs[u*vec:], x, at[1]+from+(k+u*warps)*p.XK, p.XM, cfg.Vec, vec > 1)
			}
			for u := range int(cfg.Unroll) {
				skinnyAdd(acc, xs[u*vec:], y, at[2]+(k+u*warps)*p.YK, p.YN, vec, cols, mad)
			}
		}
		for ; k < hi; k += warps {
			run(xs, x, at[1]+from+k*p.XK, p.XM, cfg.Vec, vec > 1)
			skinnyAdd(acc, xs, y, at[2]+k*p.YK, p.YN, vec, cols, mad)
		}
		mergeWarps(t, acc, p, cfg, add, func(row, col int, sum C) { store(at, row, col, sum) })
	}
}

// mergeWarps stores the sums of what the warps of a block have of the same rows.
func mergeWarps[C dsl.Number](t dsl.Thread, acc []C, p *Product, cfg *Skinny, add func(a, b C) C, store func(row, col int, sum C)) {
	vec, cols, n := int(cfg.Vec), int(cfg.Cols), t.WarpSize()*int(cfg.Cols*cfg.Vec)
	sums := dsl.SharedSlice[C](t, cfg.Warps*cfg.Lanes*cfg.Cols*cfg.Vec)
	t.Sync() // an earlier product may still be read
	for i := range vec * cols {
		sums[t.Warp()*n+i*t.WarpSize()+t.Lane()] = acc[i]
	}
	t.Sync()
	for i := t.ThreadX(); i < n; i += t.BlockDimX() {
		sum := sums[i]
		for k := 1; k < int(cfg.Warps); k++ {
			sum = add(sum, sums[k*n+i])
		}
		lane, e := i%t.WarpSize(), i/t.WarpSize()
		if row := (t.BlockX()*t.WarpSize()+lane)*vec + e/cols; row < p.M {
			store(row, e%cols, sum)
		}
	}
}
