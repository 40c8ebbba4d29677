package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/block"
	core "github.com/gokiln/kiln/ops/kernels"
)

// Each row of a scan is gone through in tiles: the threads of a Group have so many
// neighbours each, and are combined with what came before.

const mostScanned = 8

// ScanRows stores op of the elements of a row up to each one. init is what op changes
// nothing with, given the first element of the row. With carried, carry has what to
// begin each part of a row with. A thread has w.Items neighbours, which with vectors are
// where it can move them at once.
//
//kiln:kernel
func ScanRows[T dsl.Number, C core.Computed](t dsl.Thread, out, x []T, carry []C, w RowReduction, carried, vectors dsl.ConstBool, init func(C) C, op func(a, b C) C) {
	first, end := t.BlockY()*w.Part, min(t.BlockY()*w.Part+w.Part, w.N)
	per := int(w.Items)
	eachLine(t, w, func(l line, store bool) {
		none := init(dsl.Convert[C](x[l.x]))
		before, earlier := none, none // of the last tiles, if there are many, and of those before
		if carried {
			before = carry[l.row*t.GridDimY()+t.BlockY()]
		}
		if w.Tree {
			before, earlier = none, before
		}
		j := first
		for {
			stop := end
			if w.Tree {
				stop = min(end, j+core.TreeSteps*l.group*per)
			}
			for ; j+l.group*per <= stop; j += l.group * per {
				v := neighbours[T, C](x, w, l.x, j+l.lane*per, vectors)
				below, all := scanTile(t, w, &v, none, op)
				if w.Tree {
					below = op(op(earlier, before), below)
				} else {
					below = op(before, below)
				}
				for k := range per {
					v[k] = op(below, v[k])
				}
				if store {
					storeNeighbours(out, w, l.out, j+l.lane*per, v, vectors)
				}
				before = op(before, all)
			}
			if bool(!w.Tree) || j+l.group*per > end {
				break
			}
			before, earlier = none, op(earlier, before)
		}
		if w.Tree {
			before = op(earlier, before)
		}
		if j < end {
			at := j + l.lane*per
			var v [mostScanned]C
			for k := range per {
				v[k] = none
				if at+k < end {
					v[k] = dsl.Convert[C](x[l.x+w.at(at+k)])
				}
			}
			below, _ := scanTile(t, w, &v, none, op)
			below = op(before, below)
			for k := range per {
				if store && at+k < end {
					out[l.out+w.to(at+k)] = dsl.Convert[T](op(below, v[k]))
				}
			}
		}
	})
}

// scanTile makes each of a thread's neighbours op of those up to it, and returns op of
// what the threads of the Group before have, and of what all have.
func scanTile[C core.Computed](t dsl.Thread, w RowReduction, v *[mostScanned]C, none C, op func(a, b C) C) (below, all C) {
	for k := 1; k < int(w.Items); k++ {
		v[k] = op(v[k-1], v[k])
	}
	return scanGroup(t, w, v[w.Items-1], none, op)
}

// neighbours returns the elements of a row from one on.
func neighbours[T dsl.Number, C core.Computed](x []T, w RowReduction, base, at int, vectors dsl.ConstBool) (v [mostScanned]C) {
	switch {
	case bool(vectors) && w.Items == 4:
		p := dsl.LoadVec[[4]T](x, (base+at)/4)
		for k := range p {
			v[k] = dsl.Convert[C](p[k])
		}
	case bool(vectors) && w.Items == 8:
		p := dsl.LoadVec[[8]T](x, (base+at)/8)
		for k := range p {
			v[k] = dsl.Convert[C](p[k])
		}
	default:
		for k := range int(w.Items) {
			v[k] = dsl.Convert[C](x[base+w.at(at+k)])
		}
	}
	return v
}

// storeNeighbours stores the elements of a row from one on.
func storeNeighbours[T dsl.Number, C core.Computed](out []T, w RowReduction, base, at int, v [mostScanned]C, vectors dsl.ConstBool) {
	switch {
	case bool(vectors) && w.Items == 4:
		var p [4]T
		for k := range p {
			p[k] = dsl.Convert[T](v[k])
		}
		dsl.StoreVec(out, (base+at)/4, p)
	case bool(vectors) && w.Items == 8:
		var p [8]T
		for k := range p {
			p[k] = dsl.Convert[T](v[k])
		}
		dsl.StoreVec(out, (base+at)/8, p)
	default:
		for k := range int(w.Items) {
			out[base+w.to(at+k)] = dsl.Convert[T](v[k])
		}
	}
}

// scanGroup returns op of what the threads of the Group have that come before, none for
// the first, and of what all have.
func scanGroup[C core.Computed](t dsl.Thread, w RowReduction, v, none C, op func(a, b C) C) (below, all C) {
	if w.Group > 0 {
		return block.ScanWarp(t, v, none, op)
	}
	return block.Scan(t, w.threads(t), v, none, op)
}

// ScanCols is [ScanRows] by threads across rows, each with w.Cols columns.
//
//kiln:kernel
func ScanCols[T dsl.Number, C core.Computed](t dsl.Thread, out, x []T, carry []C, w RowReduction, carried, vectors dsl.ConstBool, init func(C) C, op func(a, b C) C) {
	tile := t.BlockDimX() * int(w.Cols)
	for r := t.BlockZ(); r < w.Rows; r += t.GridDimZ() {
		base, to := w.Row(r, 1)
		for c := t.BlockX() * tile; c < w.Width; c += t.GridDimX() * tile {
			if c+tile <= w.Width {
				scanCols(t, out, x, carry, w, carried, r, base, to, c, int(w.Cols), init, op)
				continue
			}
			for ; c < w.Width; c += t.BlockDimX() {
				if c+t.ThreadX() < w.Width {
					scanCols(t, out, x, carry, w, carried, r, base, to, c, 1, init, op)
				}
			}
		}
	}
}

// scanCols scans columns from c on, so many for each thread.
func scanCols[T dsl.Number, C core.Computed](t dsl.Thread, out, x []T, carry []C, w RowReduction, carried dsl.ConstBool, r, base, to, c, cols int, init func(C) C, op func(a, b C) C) {
	first, end := t.BlockY()*w.Part, min(t.BlockY()*w.Part+w.Part, w.N)
	var at, put [mostScanned]int
	var before, earlier, none [mostScanned]C // of the last rows, if there are many, and of those before
	for k := range cols {
		col := c + k*t.BlockDimX() + t.ThreadX()
		at[k], put[k] = base+col, to+col
		if !w.Contiguous {
			at[k], put[k] = base+col*w.XStep[0], to+col*w.OutStep[0]
		}
		none[k] = init(dsl.Convert[C](x[at[k]]))
		before[k] = none[k]
		if carried {
			before[k] = carry[(r*w.Width+col)*t.GridDimY()+t.BlockY()]
		}
		if w.Tree {
			before[k], earlier[k] = none[k], before[k]
		}
	}
	store := func(k, j int, v C) {
		before[k] = op(before[k], v)
		if w.Tree {
			out[put[k]+j*w.OutIn] = dsl.Convert[T](op(earlier[k], before[k]))
		} else {
			out[put[k]+j*w.OutIn] = dsl.Convert[T](before[k])
		}
	}
	deep := mostScanned / cols
	j := first
	for {
		stop := end
		if w.Tree {
			stop = min(end, j+core.TreeSteps)
		}
		for ; j+deep <= stop; j += deep {
			var v [mostScanned]C
			for u := range deep {
				for k := range cols {
					v[u*cols+k] = dsl.Convert[C](x[at[k]+(j+u)*w.InStep[0]])
				}
			}
			for u := range deep {
				for k := range cols {
					store(k, j+u, v[u*cols+k])
				}
			}
		}
		if bool(!w.Tree) || j+deep > end {
			break
		}
		for k := range cols {
			before[k], earlier[k] = none[k], op(earlier[k], before[k])
		}
	}
	for ; j < end; j++ {
		for k := range cols {
			store(k, j, dsl.Convert[C](x[at[k]+j*w.InStep[0]]))
		}
	}
}

// ScanParts replaces the accumulator of each part of a row, of which there are w.N, by op
// of those before it.
//
//kiln:kernel
func ScanParts[T dsl.Number, C core.Computed](t dsl.Thread, part []C, x []T, w RowReduction, init func(C) C, op func(a, b C) C) {
	for r := t.Global(); r < w.Rows; r += t.GlobalSize() {
		at, _ := w.Row(r, 0)
		none := init(dsl.Convert[C](x[at]))
		earlier := none
		for i := 0; i < w.N; i += core.TreeSteps {
			before := none
			for k := i; k < min(i+core.TreeSteps, w.N); k++ {
				v := part[r*w.N+k]
				part[r*w.N+k] = op(earlier, before)
				before = op(before, v)
			}
			earlier = op(earlier, before)
		}
	}
}

// Nothing is 0, which adding changes nothing with.
func Nothing[C core.Computed](C) C { return 0 }

// Once is 1, which multiplying changes nothing with.
func Once[C core.Computed](C) C { return 1 }
