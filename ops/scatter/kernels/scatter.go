package kernels

import (
	"math/bits"

	"github.com/gokiln/kiln/dsl"
	indexkernels "github.com/gokiln/kiln/ops/index/kernels"
	core "github.com/gokiln/kiln/ops/kernels"
	sortkernels "github.com/gokiln/kiln/ops/sort/kernels"
)

// Where many threads write by indices, what several indices of one position give must not
// depend on which thread comes first. Elements that are only stored ask for the largest
// of their numbers in a line; others are sorted by position, so that
// one thread has all of a position, and those in the order of their numbers.

// ScatterLast stores in last, for each position of a line that an index names, the number of
// the last one that does, from 1 on. The walk has the indices, their positions for the
// message, their numbers in the line, and where the line begins in last.
//
//kiln:kernel
func ScatterLast[I dsl.Int | dsl.Uint](t dsl.Thread, last []uint32, ids []I, w core.Walk, a indexkernels.Axis) {
	w.Each(t, func(at [core.Operands]int) {
		if i := int(ids[at[0]]); a.Find(t, i, at[1]) {
			dsl.AtomicMax(&last[at[3]+i], uint32(at[2]+1))
		}
	})
}

// ScatterSet stores the elements of src at the indices of ids whose number is in last.
// The walk has the first element of the line of out, the index, the element of src, the
// number, and where the line begins in last. Elements are vec neighbours, as for [indexkernels.Gather].
//
//kiln:kernel
//kiln:const vec=1,2
func ScatterSet[T dsl.Number, I dsl.Int | dsl.Uint](t dsl.Thread, out []T, ids []I, src []T, last []uint32, w core.Walk, a indexkernels.Axis, vec dsl.ConstInt) {
	w.Several(t, func(at [core.LoadsInFlight][core.Operands]int, in [core.LoadsInFlight]bool) {
		var v [core.LoadsInFlight][indexkernels.MaxFlipped]T
		var i [core.LoadsInFlight]int
		for u := range core.LoadsInFlight {
			v[u], i[u] = indexkernels.VectorAt(src, at[u][2], vec), int(ids[at[u][1]])
		}
		for u := range core.LoadsInFlight {
			// Indices out of range have been reported.
			in[u] = in[u] && i[u] >= 0 && i[u] < a.Size && last[at[u][4]+i[u]] == uint32(at[u][3]+1)
		}
		for u := range core.LoadsInFlight {
			if in[u] {
				indexkernels.StoreVector(out, at[u][0]+i[u]*a.Step, vec, v[u])
			}
		}
	})
}

// ScatterKeys stores the positions that indices name, counted over all lines, by which their
// elements are put in order, and the largest number for those that are none. The walk has
// the indices, their positions for the message, what the positions of their line are
// counted from, and their own number among all. It also clears masks.
//
//kiln:kernel
func ScatterKeys[I dsl.Int | dsl.Uint, K sortkernels.Key](t dsl.Thread, keys []K, masks []uint32, ids []I, w core.Walk, a indexkernels.Axis) {
	for i := t.Global(); i < len(masks); i += t.GlobalSize() {
		masks[i] = 0
	}
	w.Each(t, func(at [core.Operands]int) {
		var none K
		none = ^none
		keys[at[3]] = none // stays if the index is out of range
		if i := int(ids[at[0]]); a.Find(t, i, at[1]) {
			keys[at[3]] = K(at[2] + i)
		}
	})
}

// Chunks is how many parts a line of keys is sorted in at most by ScatterChunks.
const Chunks = 64

// ScatterChunks sorts parts of keys, of chunk of them each, and stores which element each
// was. In the mask of a position, of two words, it sets the bits of the parts that have it.
// The size of a part is given as a variable, too, for loops that are not to be unrolled.
//
//kiln:kernel
//kiln:const chunk=256,512
func ScatterChunks(t dsl.Thread, sorted, from, masks, keys []uint32, chunk dsl.ConstInt, size int) {
	pair := dsl.SharedSlice[uint64](t, chunk)
	base := t.BlockX() * size
	for e := t.ThreadX(); e < size; e += t.BlockDimX() {
		p := ^uint64(0)
		if base+e < len(keys) {
			p = uint64(keys[base+e])<<32 | uint64(base+e)
		}
		pair[e] = p
	}
	t.Sync()
	for k := 2; k <= size; k *= 2 {
		for j := k / 2; j > 0; j /= 2 {
			for p := t.ThreadX(); p < size/2; p += t.BlockDimX() {
				a := 2*p - p&(j-1)
				x, y := pair[a], pair[a+j]
				if up := a&k == 0; x > y == up {
					pair[a], pair[a+j] = y, x
				}
			}
			t.Sync()
		}
	}
	for e := t.ThreadX(); e < size; e += t.BlockDimX() {
		p := pair[e]
		key := uint32(p >> 32)
		sorted[base+e], from[base+e] = key, uint32(p)
		if key != ^uint32(0) && (e == 0 || uint32(pair[e-1]>>32) != key) {
			dsl.AtomicOr(&masks[2*int(key)+t.BlockX()/32], 1<<uint(t.BlockX()%32))
		}
	}
}

// Runs says where the elements of a [ScatterReduce] are. The walk of the kernel has what
// has the same index, in out and in src.
type Runs struct {
	Chunk dsl.ConstInt  // size of the parts that are sorted, 0 if all are
	Lines dsl.ConstBool // there is more than one line of indices
	Self  dsl.ConstBool // the elements of out are operands
	Mean  dsl.ConstBool // the result is divided by the number of operands
	Vec   dsl.ConstInt  // elements that a thread moves at once
	Each  dsl.ConstInt  // how often
	N     int           // how many keys
	Line  int           // keys of a line
	Size  int           // positions of a line
	Step  [2]int        // distance of neighbours along a line, in out and in src
}

// each calls f for the elements of the position of key p, in order, until there are no more, but
// for the first one.
func (r *Runs) each(p int, key uint64, after uint64, get func(p int) uint64, f func(p int)) {
	end := r.N
	if r.Chunk > 0 {
		end = min((p/int(r.Chunk)+1)*int(r.Chunk), r.N)
	}
	for q := p + 1; ; q++ {
		if q >= end || get(q) != key {
			if r.Chunk == 0 || after == 0 {
				return
			}
			q, end = r.next(after, key, get)
			after &= after - 1
		}
		f(q)
	}
}

// next returns where the elements of a key begin in the first of some parts, and where
// the part ends.
func (r *Runs) next(parts, key uint64, get func(p int) uint64) (at, end int) {
	part := bits.TrailingZeros64(parts)
	at, end = part*int(r.Chunk), min((part+1)*int(r.Chunk), r.N)
	for last := end; at < last; { // the first that is not smaller
		if m := (at + last) / 2; get(m) < key {
			at = m + 1
		} else {
			last = m
		}
	}
	return at, end
}

// ScatterReduce combines, by f, what is at each position with the elements of src that go
// there, in the order of their numbers. Threads in X have what has the same index, those
// in Y and the blocks in Y keys. With several lines the second walk has these, in out and
// in src.
//
//kiln:kernel
//kiln:const r.Chunk=0,256 r.Lines=false r.Vec=1,4 r.Each=1,2
func ScatterReduce[T, C dsl.Number, K sortkernels.Key](t dsl.Thread, out, src []T, keys []K, from, masks []uint32, w, lines core.Walk, r Runs, f, div func(a, b C) C) {
	var none K
	none = ^none
	for p := t.BlockY()*t.BlockDimY() + t.ThreadY(); p < r.N; p += t.GridDimY() * t.BlockDimY() {
		// What is next to each other is asked for at once: a load takes long.
		key, start, next, first := keys[p], p == 0, none, from[p]
		if p+1 < r.N && (r.Chunk == 0 || (p+1)%int(r.Chunk) != 0) {
			next = keys[p+1]
		}
		if r.Chunk > 0 {
			start = p%int(r.Chunk) == 0
		}
		if key == none || !start && keys[p-1] == key {
			continue // not the first of a run
		}
		after := uint64(0)
		if r.Chunk > 0 {
			after = uint64(masks[2*int(key)]) | uint64(masks[2*int(key)+1])<<32
			part := uint(p / int(r.Chunk))
			if after&(1<<part-1) != 0 {
				continue // an earlier part has the first
			}
			after &^= 1 << part
		}
		i, line := int(key), 0
		var at [core.Operands]int
		if r.Lines {
			line = i / r.Size
			i -= line * r.Size
			at = lines.At(line)
		}
		to, of := at[0]+i*r.Step[0], at[1]-line*r.Line*r.Step[1]
		reduceRun(t, out, src, &w, &r, to, of, func(each func(at int)) {
			each(int(first) * r.Step[1])
			if next == key || after != 0 {
				r.each(p, uint64(key), after, func(q int) uint64 { return uint64(keys[q]) }, func(q int) { each(int(from[q]) * r.Step[1]) })
			}
		}, f, div)
	}
}

// most is how many elements of a vector a thread of a reduction moves at once.
const most = 8

// reduceRun combines the elements of a position for all that has its index, which begins at
// to. Each calls a function with where the elements of src are, from of on.
func reduceRun[T, C dsl.Number](t dsl.Thread, out, src []T, w *core.Walk, r *Runs, to, of int, each func(func(at int)), f, div func(a, b C) C) {
	vec, times := int(r.Vec), int(r.Each)
	for e := (t.BlockX()*t.BlockDimX()*times + t.ThreadX()) * vec; e < w.N; e += t.GridDimX() * t.BlockDimX() * times * vec {
		var at [most][2]int
		var acc [most][most]C
		for u := range times {
			k := w.At(min(e+u*t.BlockDimX()*vec, w.N-vec))
			at[u] = [2]int{to + k[0], of + k[1]}
			if bool(r.Self) && e+u*t.BlockDimX()*vec < w.N { // past the end is what another thread stores
				acc[u] = loadRun[T, C](out, at[u][0], r.Vec)
			}
		}
		n := 0
		if r.Self {
			n = 1
		}
		each(func(from int) {
			var v [most][most]C
			for u := range times {
				v[u] = loadRun[T, C](src, at[u][1]+from, r.Vec)
			}
			for u := range times {
				for k := range vec {
					if bool(r.Self) || n > 0 {
						acc[u][k] = f(acc[u][k], v[u][k])
					} else {
						acc[u][k] = v[u][k]
					}
				}
			}
			n++
		})
		for u := range times {
			if r.Mean {
				for k := range vec {
					acc[u][k] = div(acc[u][k], dsl.Convert[C](n))
				}
			}
			if e+u*t.BlockDimX()*vec < w.N {
				storeRun(out, at[u][0], r.Vec, acc[u])
			}
		}
	}
}

// loadRun returns n neighbours, which begin at a multiple of n.
func loadRun[T, C dsl.Number](x []T, at int, n dsl.ConstInt) (v [most]C) {
	switch n {
	case 2:
		p := dsl.LoadVec[[2]T](x, at/2)
		for k := range p {
			v[k] = dsl.Convert[C](p[k])
		}
	case 4:
		p := dsl.LoadVec[[4]T](x, at/4)
		for k := range p {
			v[k] = dsl.Convert[C](p[k])
		}
	case 8:
		p := dsl.LoadVec[[8]T](x, at/8)
		for k := range p {
			v[k] = dsl.Convert[C](p[k])
		}
	default:
		v[0] = dsl.Convert[C](x[at])
	}
	return v
}

// storeRun stores n neighbours, which begin at a multiple of n.
func storeRun[T, C dsl.Number](out []T, at int, n dsl.ConstInt, v [most]C) {
	switch n {
	case 2:
		var p [2]T
		for k := range p {
			p[k] = dsl.Convert[T](v[k])
		}
		dsl.StoreVec(out, at/2, p)
	case 4:
		var p [4]T
		for k := range p {
			p[k] = dsl.Convert[T](v[k])
		}
		dsl.StoreVec(out, at/4, p)
	case 8:
		var p [8]T
		for k := range p {
			p[k] = dsl.Convert[T](v[k])
		}
		dsl.StoreVec(out, at/8, p)
	default:
		out[at] = dsl.Convert[T](v[0])
	}
}
