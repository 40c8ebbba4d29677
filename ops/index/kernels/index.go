package kernels

import (
	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
)

// Operations whose indices are checked, for the message.
const (
	OpGather = iota
	OpIndexSelect
	OpTake
	OpScatter
	OpScatterAdd
	OpIndexAdd
	OpOneHot
	OpScatterReduce
	OpBincount
	OpEmbedding
	OpIndexPut
	OpMaxUnpool
)

// Axis is the dimension that indices are for.
type Axis struct {
	Op   dsl.ConstInt // whose message
	None int          // the index that stands for none
	Size int          // indices are below
	Step int          // distance of neighbours
}

// Find returns an index, and whether there is one. The thread ends with an error if it is
// out of range; at is its position among the indices.
func (a *Axis) Find(t dsl.Thread, i, at int) bool {
	if i == a.None {
		return false
	}
	ok := i >= 0 && i < a.Size
	a.check(t, ok, i, at)
	return ok
}

// check ends the thread with an error if an index is not as it should be.
func (a *Axis) check(t dsl.Thread, ok bool, i, at int) {
	switch a.Op {
	case OpGather:
		dsl.Assert(t, ok, "gather: index %d at position %d is out of range", i, at)
	case OpIndexSelect:
		dsl.Assert(t, ok, "index_select: index %d at position %d is out of range", i, at)
	case OpTake:
		dsl.Assert(t, ok, "take: index %d at position %d is out of range", i, at)
	case OpScatter:
		dsl.Assert(t, ok, "scatter: index %d at position %d is out of range", i, at)
	case OpScatterAdd:
		dsl.Assert(t, ok, "scatter_add: index %d at position %d is out of range", i, at)
	case OpIndexAdd:
		dsl.Assert(t, ok, "index_add: index %d at position %d is out of range", i, at)
	case OpScatterReduce:
		dsl.Assert(t, ok, "scatter_reduce: index %d at position %d is out of range", i, at)
	case OpBincount:
		dsl.Assert(t, ok, "bincount: index %d at position %d is out of range", i, at)
	case OpOneHot:
		dsl.Assert(t, ok, "one_hot: index %d at position %d is out of range", i, at)
	case OpEmbedding:
		dsl.Assert(t, ok, "embedding: index %d at position %d is out of range", i, at)
	case OpIndexPut:
		dsl.Assert(t, ok, "index_put: index %d at position %d is out of range", i, at)
	case OpMaxUnpool:
		dsl.Assert(t, ok, "max_unpool: index %d at position %d is out of range", i, at)
	}
}

// FromEnd stores indices with those that count from the end as others do. The last operand
// of the walk is the position among ids.
//
//kiln:kernel
func FromEnd[I dsl.Int | dsl.Uint](t dsl.Thread, out []int64, ids []I, w core.Walk, a Axis) {
	w.Each(t, func(at [core.Operands]int) {
		i := int64(ids[at[1]])
		ok := i >= -int64(a.Size) && i < int64(a.Size)
		a.check(t, ok, int(i), at[2])
		if i < 0 {
			i += int64(a.Size)
		}
		out[at[0]] = i
	})
}

// Gather stores the elements of x at the indices of ids, and 0 for those that are none.
// The walk has x without the dimension of the indices; its last operand is the
// position among ids. If vec is not 0, elements are so many neighbours that are moved at
// once and that the walk takes for one, and a thread loads several before it stores one.
//
//kiln:kernel
//kiln:const vec=0,2
func Gather[T dsl.Number, I dsl.Int | dsl.Uint](t dsl.Thread, out []T, ids []I, x []T, w core.Walk, a Axis, vec dsl.ConstInt) {
	if vec > 0 {
		gatherMany(t, out, ids, x, &w, &a, vec)
		return
	}
	w.Each(t, func(at [core.Operands]int) {
		var v T
		if i := int(ids[at[1]]); a.Find(t, i, at[3]) {
			v = x[at[2]+i*a.Step]
		}
		out[at[0]] = v
	})
}

// gatherMany loads what is at index 0 where an index is none: x is not empty.
func gatherMany[T dsl.Number, I dsl.Int | dsl.Uint](t dsl.Thread, out []T, ids []I, x []T, w *core.Walk, a *Axis, vec dsl.ConstInt) {
	w.Several(t, func(at [core.LoadsInFlight][core.Operands]int, in [core.LoadsInFlight]bool) {
		var i [core.LoadsInFlight]int
		var none [core.LoadsInFlight]bool
		for u := range core.LoadsInFlight {
			i[u] = int(ids[at[u][1]])
		}
		for u := range core.LoadsInFlight {
			if none[u] = !a.Find(t, i[u], at[u][3]); none[u] {
				i[u] = 0
			}
		}
		var v, zeros [core.LoadsInFlight][MaxFlipped]T
		for u := range core.LoadsInFlight {
			v[u] = VectorAt(x, at[u][2]+i[u]*a.Step, vec)
		}
		for u := range core.LoadsInFlight {
			if none[u] {
				v[u] = zeros[u]
			}
			if in[u] {
				StoreVector(out, at[u][0], vec, v[u])
			}
		}
	})
}

// Take stores the elements of x, of which the second walk has the dimensions, that the
// indices of ids count in row-major order, and 0 for those that are none. The last
// operand of the walk is the position among ids.
//
//kiln:kernel
func Take[T dsl.Number, I dsl.Int | dsl.Uint](t dsl.Thread, out []T, ids []I, x []T, w, of core.Walk, a Axis) {
	w.Each(t, func(at [core.Operands]int) {
		var v T
		if i := int(ids[at[1]]); a.Find(t, i, at[3]) {
			v = x[of.At(i)[0]]
		}
		out[at[0]] = v
	})
}

// Lines says how the indices of a [Scatter] lie along the lines that it walks over.
type Lines struct {
	N    int                // how many there are in a line
	Step [core.Operands]int // distance of neighbours in a line
}

// Scatter stores f of an element of out and one of src at the indices of ids. The
// walk goes over lines along the dimension of the indices, with out at its first
// element; its last operand is the position among ids.
//
// The indices of a line are taken in order, so that results do not depend on chance
// and the last one counts where f is its second operand. Blocks in z share a line: each
// has part of the elements of out, and passes over what is for others.
//
//kiln:kernel
func Scatter[O, T, C dsl.Number, I dsl.Int | dsl.Uint](t dsl.Thread, out []O, ids []I, src []T, w core.Walk, l Lines, a Axis, f func(a, b C) C) {
	part := (a.Size + t.GridDimZ() - 1) / t.GridDimZ()
	lo := t.BlockZ() * part
	part = min(part, a.Size-lo)
	own := func(at [core.Operands]int, k int) (i int, ok bool) {
		i = int(ids[at[1]+k*l.Step[1]])
		if i >= lo && i < lo+part {
			return i, true
		}
		a.Find(t, i, at[3]+k*l.Step[3])
		return i, false
	}
	put := func(at [core.Operands]int, k, i int) {
		to := at[0] + i*a.Step
		out[to] = dsl.Convert[O](f(dsl.Convert[C](out[to]), dsl.Convert[C](src[at[2]+k*l.Step[2]])))
	}
	if w.Mode != core.Rows {
		w.Each(t, func(at [core.Operands]int) {
			for k := range l.N {
				if i, ok := own(at, k); ok {
					put(at, k, i)
				}
			}
		})
		return
	}
	// Elements of a row have their turn of each index together, as they are contiguous.
	first := t.BlockX() * w.Part
	end := min(first+w.Part, w.N)
	for r := t.BlockY(); r < w.Rows; r += t.GridDimY() {
		base := w.Find(r, 1)
		for k := range l.N {
			if sharesIndex(&w) { // one index for all of them
				i, ok := own(base, k)
				switch {
				case !ok:
				case w.Kind[0] == core.Contiguous && w.Kind[2] == core.Contiguous:
					to, from := base[0]+i*a.Step, base[2]+k*l.Step[2]
					combineRow(t, out[to+first:to+end], src[from+first:from+end], f)
				default:
					for j := first + t.ThreadX(); j < end; j += t.BlockDimX() {
						put(w.Along(base, j), k, i)
					}
				}
				continue
			}
			for j := first + t.ThreadX(); j < end; j += t.BlockDimX() {
				at := w.Along(base, j)
				if i, ok := own(at, k); ok {
					put(at, k, i)
				}
			}
		}
	}
}

// combineRow stores f of the elements of out and those of src, of which there are as many.
func combineRow[O, T, C dsl.Number](t dsl.Thread, out []O, src []T, f func(a, b C) C) {
	n := len(out)
	src = src[:n]
	put := func(i int) { out[i] = dsl.Convert[O](f(dsl.Convert[C](out[i]), dsl.Convert[C](src[i]))) }
	i := t.ThreadX()
	if t.BlockDimX() == t.WarpSize() {
		// A vector for each warp: addresses of several differ by constants.
		for ; i+(core.LoadsInFlight-1)*t.WarpSize() < n; i += core.LoadsInFlight * t.WarpSize() {
			for u := range core.LoadsInFlight {
				put(i + u*t.WarpSize())
			}
		}
	}
	for ; i < n; i += t.BlockDimX() {
		put(i)
	}
}

// sharesIndex reports whether the elements of a row have one index, at one position.
func sharesIndex(w *core.Walk) bool { return w.Kind[1] == core.Same && w.Kind[3] == core.Same }

// Second is y: what Scatter computes that stores.
func Second[C dsl.Number](_, y C) C { return y }

// OneHot stores on where the index of ids is the one of the element along the last
// dimension, the third operand of the walk, and else off. The last operand is the
// position among ids.
//
//kiln:kernel
func OneHot[T dsl.Number, I dsl.Int | dsl.Uint](t dsl.Thread, out []T, ids []I, w core.Walk, a Axis, on, off T) {
	w.Each(t, func(at [core.Operands]int) {
		v := off
		if i := int(ids[at[1]]); a.Find(t, i, at[3]) && i == at[2] {
			v = on
		}
		out[at[0]] = v
	})
}

// MaskedFill stores v where the element of mask is not 0, and else the element of x.
//
//kiln:kernel
func MaskedFill[M dsl.Int | dsl.Uint, T dsl.Number](t dsl.Thread, out []T, mask []M, x []T, w core.Walk, v T) {
	w.Each(t, func(at [core.Operands]int) {
		y := x[at[2]]
		if mask[at[1]] != 0 {
			y = v
		}
		out[at[0]] = y
	})
}

// Flip stores the elements of x with some dimensions backwards. The second operand of
// the walk has these dimensions, the third the others, and last is where the last
// index of all of them is.
//
//kiln:kernel
func Flip[T dsl.Number](t dsl.Thread, out, x []T, w core.Walk, last int) {
	w.Each(t, func(at [core.Operands]int) { out[at[0]] = x[last-at[1]+at[2]] })
}

// FlipVec is [Flip] of elements that lie where vec of them are moved at once, and that the
// walk takes for one; back says that those of one are turned around as well.
//
//kiln:kernel
//kiln:const vec=2,8
func FlipVec[T dsl.Number](t dsl.Thread, out, x []T, w core.Walk, last int, vec dsl.ConstInt, back dsl.ConstBool) {
	w.Several(t, func(at [core.LoadsInFlight][core.Operands]int, in [core.LoadsInFlight]bool) {
		var v [core.LoadsInFlight][MaxFlipped]T
		for u := range core.LoadsInFlight {
			v[u] = VectorAt(x, last-at[u][1]+at[u][2], vec)
		}
		for u := range core.LoadsInFlight {
			if in[u] {
				if back {
					for k := range int(vec) / 2 {
						v[u][k], v[u][int(vec)-1-k] = v[u][int(vec)-1-k], v[u][k]
					}
				}
				StoreVector(out, at[u][0], vec, v[u])
			}
		}
	})
}

// MaxFlipped bounds the elements that are moved at once.
const MaxFlipped = 16

// VectorAt returns vector i of x seen as vectors of n elements.
func VectorAt[T dsl.Number](x []T, i int, n dsl.ConstInt) (v [MaxFlipped]T) {
	switch n {
	case 1:
		v[0] = x[i]
	case 2:
		p := dsl.LoadVec[[2]T](x, i)
		v[0], v[1] = p[0], p[1]
	case 4:
		p := dsl.LoadVec[[4]T](x, i)
		v[0], v[1], v[2], v[3] = p[0], p[1], p[2], p[3]
	case 8:
		p := dsl.LoadVec[[8]T](x, i)
		v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7] = p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]
	default:
		v = dsl.LoadVec[[16]T](x, i)
	}
	return v
}

// StoreVector stores vector i of out.
func StoreVector[T dsl.Number](out []T, i int, n dsl.ConstInt, v [MaxFlipped]T) {
	switch n {
	case 1:
		out[i] = v[0]
	case 2:
		dsl.StoreVec(out, i, [2]T{v[0], v[1]})
	case 4:
		dsl.StoreVec(out, i, [4]T{v[0], v[1], v[2], v[3]})
	case 8:
		dsl.StoreVec(out, i, [8]T{v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]})
	default:
		dsl.StoreVec(out, i, v)
	}
}

// Triangle stores the elements of x on one side of a diagonal, where the column minus
// the row is at least from and at most to, and else 0. The last operands of the walk
// are row and column.
//
//kiln:kernel
func Triangle[T dsl.Number](t dsl.Thread, out, x []T, w core.Walk, from, to int) {
	w.Each(t, func(at [core.Operands]int) {
		var v T
		if d := at[3] - at[2]; d >= from && d <= to {
			v = x[at[1]]
		}
		out[at[0]] = v
	})
}

// CountTrue stores how many elements of mask are not zero in the part of each block.
//
//kiln:kernel
func CountTrue[M dsl.Number, C core.Computed](t dsl.Thread, out []int64, mask []M, w core.Walk, zero C) {
	first := t.BlockX() * w.Part
	end := min(first+w.Part, w.N)
	n := int64(0)
	for i := first + t.ThreadX(); i < end; i += t.BlockDimX() {
		if dsl.Convert[C](mask[w.At(i)[0]]) != zero {
			n++
		}
	}
	n = dsl.BlockSum(t, n)
	if t.ThreadX() == 0 {
		out[t.BlockX()] = n
	}
}

// SelectTrue stores the elements of x where mask is not 0, in order. The part of a
// block begins at its element of starts.
//
//kiln:kernel
func SelectTrue[M dsl.Int | dsl.Uint, T dsl.Number](t dsl.Thread, out []T, mask []M, x []T, w core.Walk, starts []int64) {
	var zero M
	eachTrue(t, mask, zero, &w, starts, func(to int, at [core.Operands]int, _ int) { out[to] = x[at[1]] })
}

// Nonzero stores the indices of the elements of mask that are not zero, in order, rank
// of them for each. The part of a block begins at its element of starts. The
// dimensions are numbered from the innermost.
//
//kiln:kernel
func Nonzero[M dsl.Number, C core.Computed](t dsl.Thread, out []int64, mask []M, w core.Walk, starts []int64, rank dsl.ConstInt, size [core.MaxRank]int, zero C) {
	eachTrue(t, mask, zero, &w, starts, func(to int, _ [core.Operands]int, i int) {
		for d := range int(rank) {
			q := i / size[d]
			out[to*int(rank)+int(rank)-1-d] = int64(i - q*size[d])
			i = q
		}
	})
}

// eachTrue calls f for the elements of mask in the block's part that are not zero: with
// their number among all of these, where they are, and their number among all.
func eachTrue[M dsl.Number, C core.Computed](t dsl.Thread, mask []M, zero C, w *core.Walk, starts []int64, f func(to int, at [core.Operands]int, i int)) {
	first := t.BlockX() * w.Part
	end := min(first+w.Part, w.N)
	to := int(starts[t.BlockX()])
	for base := first; base < end; base += t.BlockDimX() { // as often for all threads, which meet
		i := base + t.ThreadX()
		var at [core.Operands]int
		n := int32(0)
		if i < end {
			at = w.At(i)
			if dsl.Convert[C](mask[at[0]]) != zero {
				n = 1
			}
		}
		before := dsl.BlockScanExclusive(t, n)
		if n != 0 {
			f(to+int(before), at, i)
		}
		to += int(dsl.BlockSum(t, n))
	}
}
