package kernels

import "github.com/gokiln/kiln/dsl"

// Each row of a scan is gone through in tiles: the threads of a Group have so many
// neighbours each, and take on what came before.

const mostScanned = 8

// ScanRows stores op of the elements of a row up to each one. init is what op changes
// nothing with, given the first element of the row. With carried, carry has what to
// begin each part of a row with.
//
//kiln:kernel
func ScanRows[T, C dsl.Number](t dsl.Thread, out, x []T, carry []C, w Fold, carried dsl.ConstBool, init func(C) C, op func(a, b C) C) {
	first, end := t.BlockY()*w.Part, min(t.BlockY()*w.Part+w.Part, w.N)
	per := int(w.Keep)
	eachLine(t, w, func(l line, store bool) {
		none := init(dsl.Convert[C](x[l.x]))
		before := none
		if carried {
			before = carry[l.row*t.GridDimY()+t.BlockY()]
		}
		for j := first; j < end; j += l.group * per {
			var v [mostScanned]C
			at := j + l.lane*per
			if j+l.group*per <= end {
				for k := range per {
					v[k] = dsl.Convert[C](x[l.x+w.at(at+k)])
				}
			} else {
				for k := range per {
					v[k] = none
					if at+k < end {
						v[k] = dsl.Convert[C](x[l.x+w.at(at+k)])
					}
				}
			}
			for k := 1; k < per; k++ {
				v[k] = op(v[k-1], v[k])
			}
			below, all := scanGroup(t, w, v[per-1], none, op)
			below = op(before, below)
			for k := range per {
				if store && at+k < end {
					out[l.out+w.to(at+k)] = dsl.Convert[T](op(below, v[k]))
				}
			}
			before = op(before, all)
		}
	})
}

// scanGroup returns op of what the threads of the Group have that come before, none for
// the first, and of what all have.
func scanGroup[C dsl.Number](t dsl.Thread, w Fold, v, none C, op func(a, b C) C) (below, all C) {
	for d := 1; d < t.WarpSize(); d *= 2 {
		other := dsl.ShuffleUp(t, v, d)
		if t.Lane() >= d {
			v = op(other, v)
		}
	}
	below = dsl.ShuffleUp(t, v, 1)
	if t.Lane() == 0 {
		below = none
	}
	all = dsl.Shuffle(t, v, t.WarpSize()-1)
	if w.Group > 0 {
		return below, all
	}
	part := dsl.Shared[[maxWarps]C](t)
	t.Sync() // an earlier tile may still be read
	if t.Lane() == 0 {
		part[t.Warp()] = all
	}
	t.Sync()
	before := none
	all = none
	for i := range t.BlockDimX() / t.WarpSize() {
		if i == t.Warp() {
			before = all
		}
		all = op(all, part[i])
	}
	return op(before, below), all
}

// ScanCols is [ScanRows] by threads across rows.
//
//kiln:kernel
func ScanCols[T, C dsl.Number](t dsl.Thread, out, x []T, carry []C, w Fold, carried dsl.ConstBool, init func(C) C, op func(a, b C) C) {
	first, end := t.BlockY()*w.Part, min(t.BlockY()*w.Part+w.Part, w.N)
	for r := t.BlockZ(); r < w.Rows; r += t.GridDimZ() {
		base, to := w.row(r, 1)
		for c := t.BlockX() * t.BlockDimX(); c < w.Width; c += t.GridDimX() * t.BlockDimX() {
			col := c + t.ThreadX()
			if col < w.Width {
				at, put := base+col, to+col
				if !w.Unit {
					at, put = base+col*w.XStep[0], to+col*w.OutStep[0]
				}
				before := init(dsl.Convert[C](x[at]))
				if carried {
					before = carry[(r*w.Width+col)*t.GridDimY()+t.BlockY()]
				}
				j := first
				for ; j+ahead <= end; j += ahead {
					var v [ahead]C
					for u := range ahead {
						v[u] = dsl.Convert[C](x[at+(j+u)*w.InStep[0]])
					}
					for u := range ahead {
						before = op(before, v[u])
						out[put+(j+u)*w.OutIn] = dsl.Convert[T](before)
					}
				}
				for ; j < end; j++ {
					before = op(before, dsl.Convert[C](x[at+j*w.InStep[0]]))
					out[put+j*w.OutIn] = dsl.Convert[T](before)
				}
			}
		}
	}
}

// ScanParts replaces what is known of each part of a row, of which there are w.N, by op
// of those before it.
//
//kiln:kernel
func ScanParts[T, C dsl.Number](t dsl.Thread, part []C, x []T, w Fold, init func(C) C, op func(a, b C) C) {
	for r := t.Global(); r < w.Rows; r += t.GlobalSize() {
		at, _ := w.row(r, 0)
		before := init(dsl.Convert[C](x[at]))
		for i := range w.N {
			v := part[r*w.N+i]
			part[r*w.N+i] = before
			before = op(before, v)
		}
	}
}

// Nothing is 0, which adding changes nothing with.
func Nothing[C dsl.Number](C) C { return 0 }

// Once is 1, which multiplying changes nothing with.
func Once[C dsl.Number](C) C { return 1 }
