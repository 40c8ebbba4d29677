package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/block"
)

// RowsSplit stores a [RowFn] of rows in parts of w.Part elements, each of a block of w.Block
// threads, which stages it in shared memory. The blocks of a row exchange their statistics
// through status words, and await all others of the row: these must be resident at the same
// time. Parts are numbered by tickets, so that no block waits for one that cannot begin: the
// blocks of earlier rows end without it. If a row is a single part there are no words.
// A multiprocessor has so many resident blocks, if that is not 0.
//
//kiln:kernel
//kiln:const w.Block=64 w.Vec=4 w.Items=16 w.Full=true,false w.Group=0 w.Whole=false w.Contiguous=true resident=1
func RowsSplit[T dsl.Float](t dsl.Thread, out, x, scale, shift, addend, sum []T, words []uint32, w RowReduction, f RowFn, resident dsl.ConstInt, parts int, param float32, single, log dsl.ConstBool) {
	if resident > 0 {
		dsl.LaunchBounds(t, w.Block, resident)
	}
	o := rowFn[T, float32]{f, scale, shift, bool(log), param, addend, sum}
	l, row, own := w.partOf(t, words, parts, single)
	raw := dsl.SharedSlice[T](t, w.Block*w.Items)
	a := Acc[float32]{V: o.none()}
	o.stage(x, raw, w, l, func(v *[MaxInFlight]float32) { a = o.chunk(a, v, StageUnroll) })
	if f.Center {
		a.V = allReduce(t, w, a.V, plus[float32]) / float32(l.n)
		unrolledVecs(raw, w, l, func(v *[MaxInFlight]float32, _ int) { a = o.spread(a, v, int(w.Vec)) })
		a.W = allReduce(t, w, a.W, plus[float32])
	} else {
		a = o.merge(t, w, a, float32(l.n))
	}
	if !single {
		a = exchange(t, &o, w, words[HeadWords:], row, own, parts, a)
	}
	centre, factor := o.centre(a.V), o.factor(a.V, a.W, float32(w.N))
	unrolledVecs(raw, w, l, func(v *[MaxInFlight]float32, i int) {
		for k := range int(w.Vec) {
			v[k] = o.element(v[k], (l.first/int(w.Vec)+i)*int(w.Vec)+k, centre, a.V, factor)
		}
		storeVec(out, w, l.out/int(w.Vec)+i, v[:], 0)
	})
}

// partOf returns the part of a row of the block's ticket, and the indices of the first status
// word of the row and of the part, which has two.
func (w *RowReduction) partOf(t dsl.Thread, words []uint32, parts int, single dsl.ConstBool) (l line, row, own int) {
	if single {
		return w.rowOf(t, t.BlockX()), 0, 0
	}
	k := block.Ticket(t, &words[0])
	r, i := w.split(w.InDiv[0], parts, k)
	l = w.rowOf(t, r)
	l.first = i * w.Part
	l.x, l.out, l.n = l.x+l.first, l.out+l.first, min(w.Part, w.N-l.first)
	return l, 2 * r * parts, 2 * k
}

// stage loads the thread's elements of a part, stores them in raw as they are, and calls f
// with them, StageUnroll at a time; those past the end are none. They are those of the sum of two
// rows with Added, which is stored.
func (o *rowFn[T, C]) stage(x, raw []T, w RowReduction, l line, f func(v *[MaxInFlight]C)) {
	vec := int(w.Vec)
	for c := 0; c < int(w.Items); c += StageUnroll {
		var v [MaxInFlight]C
		for q := 0; q < StageUnroll; q += vec {
			for k := range vec {
				v[q+k] = o.none()
			}
			if i := l.lane + (c+q)/vec*l.group; l.has(w, c+q) {
				o.stageVec(x, raw, w, l, i, &v, q)
			}
		}
		f(&v)
	}
}

// stageVec loads vector i of a part into v from one on, and stores it in raw.
func (o *rowFn[T, C]) stageVec(x, raw []T, w RowReduction, l line, i int, v *[MaxInFlight]C, from int) {
	vec := int(w.Vec)
	in, to := (l.x/vec+i)*vec, (l.out/vec+i)*vec
	var e [MaxInFlight]T
	for k := range vec {
		e[k] = x[in+k]
	}
	if o.Added {
		for k := range vec {
			e[k] = dsl.Convert[T](dsl.Convert[C](e[k]) + dsl.Convert[C](o.addend[in+k]))
		}
		for k := range vec {
			o.sum[to+k] = e[k]
		}
	}
	for k := range vec {
		raw[i*vec+k] = e[k]
		v[from+k] = dsl.Convert[C](e[k])
	}
}

// exchange publishes the statistics of a part, and returns those of the row: a thread has those
// of one part, which merge as those of threads do.
func exchange[T dsl.Float](t dsl.Thread, o *rowFn[T, float32], w RowReduction, words []uint32, row, own, parts int, a Acc[float32]) Acc[float32] {
	status := block.Status{Words: words, Each: 1}
	if t.ThreadX() == 0 {
		if o.located() {
			status.Publish(own, PackFloat(a.V))
		}
		status.Publish(own+1, PackFloat(a.W))
	}
	a = Acc[float32]{V: o.none()}
	if i := t.ThreadX(); i < parts {
		a.N = float32(min(w.Part, w.N-i*w.Part))
		if o.located() {
			a.V = UnpackFloat(status.Await(row + 2*i))
		}
		a.W = UnpackFloat(status.Await(row + 2*i + 1))
	}
	return o.merge(t, w, a, float32(w.N))
}
