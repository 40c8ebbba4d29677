package kernels

import (
	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
)

// Acc is the accumulator of a reduction. Which of its fields mean something is
// said by [RowReduction.Form].
type Acc[C core.Computed] struct {
	V, W, N C
	I       int
}

// Forms of an Acc.
const (
	Single  = iota // V
	Pair           // V and W
	Triple         // V, W and N
	Indexed        // V and I
)

// RowReduction says where the elements of the rows are that a reduction goes through: the
// elements that share a result, in any number of dimensions. Dimensions are
// numbered from the innermost.
type RowReduction struct {
	Form       dsl.ConstInt
	Group      dsl.ConstInt  // how many threads share a row, a power of two up to the warp size, or 0: those of the block
	Whole      dsl.ConstBool // the Group is the block
	Block      dsl.ConstInt  // how many threads the block has, where Group is 0 or Twice
	InFlight   dsl.ConstInt  // loads in flight: how many elements a thread loads before it uses them
	Vec        dsl.ConstInt  // vector width: how many contiguous elements a thread loads at once: 1, 2, 4, 8 or 16
	Twice      dsl.ConstBool // a thread has twice as many loads of a row in flight
	Runs       dsl.ConstBool // a block goes through neighbouring rows, not through those that are apart by the size of the grid
	Contiguous dsl.ConstBool // neighbours in a row, or the columns of neighbours, are contiguous
	Nested     dsl.ConstBool // innermost dimensions of rows are long: the others are gone through one after the other
	Wide       dsl.ConstBool // indices of 31 bits are not enough for Div
	Outs       dsl.ConstInt  // dimensions of the results
	Ins        dsl.ConstInt  // dimensions of a row
	Cols       dsl.ConstInt  // how many columns a thread has
	Items      dsl.ConstInt  // how many elements of a row a thread keeps, 0 if it reads them again
	Full       dsl.ConstBool // the Group keeps just the elements of a row; parts of a reduction are whole iterations of the threads
	Tree       dsl.ConstBool // a thread takes many steps: the sums of each [core.TreeSteps] of them are merged, so that errors do not add up
	N          int           // elements in a row; in its innermost dimension if Nested
	Outer      int           // how many innermost dimensions there are if Nested
	Part       int           // how much of a row, or of Outer, a block goes through
	Rows       int           // how many rows there are; how many rows of columns
	Width      int           // how many columns there are in a row of them
	Div        int           // what finish divides by
	OutIn      int           // the stride of results along rows too

	OutDiv, InDiv   [core.MaxRank]core.Divisor // the sizes of the dimensions
	OutSize, InSize [core.MaxRank]int
	OutStep         [core.MaxRank]int // the strides of the results
	XStep           [core.MaxRank]int // the strides of the operand in the dimensions of the results
	InStep          [core.MaxRank]int // the strides of the operand in the dimensions of a row
}

// Row returns where row r of the operand begins, and where its result is. from is the
// first dimension that counts.
func (w *RowReduction) Row(r, from int) (x, out int) {
	for d := from; d < int(w.Outs); d++ {
		q, i := 0, r
		if d < int(w.Outs)-1 {
			q, i = w.split(w.OutDiv[d], w.OutSize[d], r)
		}
		r = q
		x += i * w.XStep[d]
		out += i * w.OutStep[d]
	}
	return x, out
}

// in returns where element i of the dimensions of a row from one on is.
func (w *RowReduction) in(i, from int) (at int) {
	for d := from; d < int(w.Ins); d++ {
		q, x := 0, i
		if d < int(w.Ins)-1 {
			q, x = w.split(w.InDiv[d], w.InSize[d], i)
		}
		i = q
		at += x * w.InStep[d]
	}
	return at
}

// rows returns the first row of a block, of which it has so many at a time, what comes after
// its last one, and the distance to the next ones. One block after the other goes through
// neighbouring rows where a processor that runs it prefetches what is contiguous.
func (w *RowReduction) rows(t dsl.Thread, per int) (first, end, step int) {
	step = t.GridDimX() * per
	if !w.Runs {
		return t.BlockX() * per, w.Rows, step
	}
	each := (w.Rows + step - 1) / step * per
	return t.BlockX() * each, min(t.BlockX()*each+each, w.Rows), per
}

func (w *RowReduction) split(by core.Divisor, size, i int) (q, r int) {
	if w.Wide {
		q = i / size
		return q, i - q*size
	}
	return by.DivMod(i)
}

// at returns where element i of a row is, of its innermost dimension if they are
// Nested.
func (w *RowReduction) at(i int) int {
	switch {
	case bool(w.Contiguous) && (int(w.Ins) == 1 || bool(w.Nested)):
		return i
	case bool(w.Nested):
		return i * w.InStep[0]
	}
	return w.in(i, 0)
}

// The functions of a reduction: init is the accumulator of no element, given the first of
// them; step adds some elements; merge joins two accumulators. An Indexed
// reduction has functions of the values alone, of which one has to be the result, and the
// kernels keep its index.

// MaxInFlight bounds the loads in flight of a thread.
const MaxInFlight = 32

// part is what a group of threads goes through of a row.
type part struct {
	base       int // where the row begins
	first, end int // of the innermost dimension
	lane       int
	group      int
}

// reduceRows reduces parts of rows by threads along a row, and passes their
// accumulators to emit in one thread each.
func reduceRows[T dsl.Number, C core.Computed](t dsl.Thread, x []T, w RowReduction, init func(C) Acc[C], step func(a Acc[C], v *[MaxInFlight]C, from, by, n, has int) Acc[C], merge func(a, b Acc[C]) Acc[C], emit func(r int, a Acc[C])) {
	g, per, lane, sub := int(w.Group), 1, t.ThreadX(), 0
	if g == 0 {
		g = int(w.Block)
	} else if !w.Whole {
		lane, sub, per = t.ThreadX()%g, t.ThreadX()/g, t.BlockDimX()/g
	}
	if w.Whole {
		lane = t.Lane() // which is known to be below the Group
	}
	if w.Twice {
		dsl.LaunchBounds(t, w.Block, dsl.ConstInt(RowThreads(w.Form))/w.Block)
	}
	p := part{first: t.BlockY() * w.Part, end: min(t.BlockY()*w.Part+w.Part, w.N), lane: lane, group: g}
	outer, outers := 0, 1
	if w.Nested {
		p.first, p.end = 0, w.N
		outer, outers = t.BlockY()*w.Part, min(t.BlockY()*w.Part+w.Part, w.Outer)
	}
	reduce := func(r int) (base int, a Acc[C]) {
		base, _ = w.Row(r, 0)
		none := init(dsl.Convert[C](x[base]))
		none.I = ^0 // element 0 and no other
		a = none
		all, steps := none, 0
		merged := func(a Acc[C]) Acc[C] {
			all, steps = merge(all, a), 0
			return none
		}
		for o := outer; o < outers; o++ {
			p.base = base
			if w.Nested {
				p.base = base + w.in(o, 1)
			}
			a = reducePart(x, w, p, o*w.N, a, step, merged)
			if bool(w.Tree) && bool(w.Nested) {
				if steps += 1 + w.N/(int(w.InFlight)*g); steps > core.TreeSteps {
					a = merged(a)
				}
			}
		}
		if w.Tree {
			a = merge(all, a)
		}
		return base, a
	}
	first, last, next := w.rows(t, per)
	if w.transposes() {
		transposeRows(t, w, first, last, func(r int) C { _, a := reduce(r); return a.V }, merge, emit)
		return
	}
	for r0 := first; r0 < last; r0 += next {
		r := min(r0+sub, w.Rows-1)
		base, a := reduce(r)
		switch w.Form {
		case Indexed:
			a = reduceIndexed(t, x, w, p, base, outer, outers, a, merge)
		case Triple:
			a = reduceMoments(t, w, a, dsl.Convert[C](x[base]))
		default:
			a = reduceGroup(t, w, a, merge)
		}
		if lane == 0 && r0+sub < w.Rows {
			emit(r, a)
		}
	}
}

// transposes reports whether a warp reduces as many rows at once as it has lanes, by a transposition
// of their partial results: where blocks are single warps that go through neighbouring rows.
func (w *RowReduction) transposes() bool {
	return bool(w.Runs) && bool(w.Whole) && w.Form == Single && w.Group > 1
}

// transposeRows reduces the rows in [first, last), as many at a time as a warp has lanes. Each lane has a
// partial result of every row. Butterfly shuffles exchange half of them in each step, until a lane has the
// result of one row, which emit gets. The order of merges is that of [reduceGroup], with a third of
// the shuffles for eight lanes, and one store serves all rows.
func transposeRows[C core.Computed](t dsl.Thread, w RowReduction, first, last int, reduce func(r int) C, merge func(a, b Acc[C]) Acc[C], emit func(r int, a Acc[C])) {
	g, lane := int(w.Group), t.Lane()
	partial := dsl.SharedSlice[C](t, w.Group*w.Group) // each lane reads what it has written
	for r0 := first; r0 < last; r0 += g {
		n := min(g, last-r0)
		for k := range n {
			partial[k*g+lane] = reduce(r0 + k)
		}
		for k := n; k < g; k++ {
			partial[k*g+lane] = 0
		}
		var v [maxLanes]C
		for k := range g {
			v[k] = partial[k*g+lane]
		}
		for d := 1; d < g; d *= 2 {
			for k := range g / 2 / d {
				kept, sent := v[2*k], v[2*k+1]
				if lane&d != 0 {
					kept, sent = sent, kept
				}
				v[k] = merge(Acc[C]{V: kept}, Acc[C]{V: dsl.ShuffleXor(t, sent, d)}).V
			}
		}
		if r := r0 + lane; lane < n {
			emit(r, Acc[C]{V: v[0]})
		}
	}
}

// maxLanes bounds the lanes of a warp.
const maxLanes = 64

// RowThreads bounds the resident threads of a multiprocessor where they go along rows, so that
// what each loads at once stays in registers.
func RowThreads(form dsl.ConstInt) int {
	if form == Triple {
		return 768
	}
	return 1024
}

// reducePart adds the thread's elements of a part to a. number is the index of the first
// element of the innermost dimension. Of many steps, merged takes the sums of some, and
// returns what the next ones begin with.
func reducePart[T dsl.Number, C core.Computed](x []T, w RowReduction, p part, number int, a Acc[C], step func(a Acc[C], v *[MaxInFlight]C, from, by, n, has int) Acc[C], merged func(a Acc[C]) Acc[C]) Acc[C] {
	many, g := int(w.InFlight), p.group
	if !w.Nested {
		number = 0
	}
	add := func(j int, x *[MaxInFlight]T) {
		var v [MaxInFlight]C
		for u := range many {
			v[u] = dsl.Convert[C](x[u])
		}
		b := step(a, &v, 0, 1, many, many)
		if w.Form == Indexed {
			// Which of the elements it is, is found out at the end.
			b.I = a.I
			if b.V != a.V {
				b.I = number + j
			}
		}
		a = b
	}
	j := p.first
	for {
		end := p.end
		if w.Tree {
			end = min(end, j+core.TreeSteps*many*g)
		}
		if w.Twice {
			for ; j+2*many*g <= end; j += 2 * many * g {
				var u, v [MaxInFlight]T // as they are: all loads come first so
				loadInFlight(x, w, p, j, &u)
				loadInFlight(x, w, p, j+many*g, &v)
				add(j, &u)
				add(j+many*g, &v)
			}
		}
		for ; j+many*g <= end; j += many * g {
			var v [MaxInFlight]T
			loadInFlight(x, w, p, j, &v)
			add(j, &v)
		}
		if bool(!w.Tree) || j+many*g > p.end {
			break
		}
		a = merged(a)
	}
	if bool(w.Full) || j >= p.end {
		return a
	}
	// The rest, loaded at once too. What is past the end is some other element, or 0.
	var v [MaxInFlight]C
	has := loadRest(x, w, p, j, &v)
	if w.Form != Indexed {
		return step(a, &v, 0, 1, many, has)
	}
	for u := range many {
		if u < has {
			b := step(a, &v, u, 1, 1, 1)
			b.I = a.I
			if b.V != a.V {
				b.I = ^(number + p.index(w, j, u))
			}
			a = b
		}
	}
	return a
}

// loadRest is loadInFlight at the end of a part, where there are fewer elements: it returns how
// many the thread has, which are the first ones of v.
func loadRest[T dsl.Number, C core.Computed](x []T, w RowReduction, p part, j int, v *[MaxInFlight]C) (has int) {
	many, g, vec := int(w.InFlight), p.group, int(w.Vec)
	switch {
	case vec > 1:
		for q := range many / vec {
			at := p.index(w, j, q*vec)
			if at+vec <= p.end {
				loadVec(x, w, (p.base+j)/vec+p.lane+q*g, v, q*vec)
				has = q*vec + vec
			} else if at < p.end {
				has += p.end - at
				for k := range vec {
					if at+k < p.end {
						v[q*vec+k] = dsl.Convert[C](x[p.base+at+k])
					}
				}
			}
		}
		return has
	case w.near():
		xs := x[p.base+min(j+p.lane, p.end-1):]
		for u := range many {
			if j+u*g+p.lane < p.end {
				v[u] = dsl.Convert[C](xs[u*g])
			}
		}
	default:
		for u := range many {
			v[u] = dsl.Convert[C](x[p.base+w.at(min(j+u*g+p.lane, p.end-1))])
		}
	}
	return min(many, max(0, p.end-j-p.lane+g-1)/g)
}

// near reports whether a row is contiguous, so that there is one address for what is
// loaded at once. A CPU sees by itself that lanes are neighbours.
func (w *RowReduction) near() bool {
	return bool(w.Contiguous) && !bool(w.Whole) && (int(w.Ins) == 1 || bool(w.Nested))
}

// loadInFlight loads the elements from j on that are the thread's: w.InFlight of them, w.Vec side
// by side.
func loadInFlight[T, C dsl.Number](x []T, w RowReduction, p part, j int, v *[MaxInFlight]C) {
	g, many := p.group, int(w.InFlight)
	switch {
	case w.Vec > 1:
		at := (p.base+j)/int(w.Vec) + p.lane
		for q := range many / int(w.Vec) {
			loadVec(x, w, at+q*g, v, q*int(w.Vec))
		}
	case w.near():
		xs := x[p.base+j+p.lane:]
		for u := range many {
			v[u] = dsl.Convert[C](xs[u*g])
		}
	case bool(w.Contiguous) && (int(w.Ins) == 1 || bool(w.Nested)):
		xs := x[p.base+j:][:many*g] // there is nothing to check of each lane
		for u := range many {
			v[u] = dsl.Convert[C](xs[u*g+p.lane])
		}
	default:
		for u := range many {
			v[u] = dsl.Convert[C](x[p.base+w.at(j+u*g+p.lane)])
		}
	}
}

// loadVec loads vector i of x, of w.Vec elements, into v from one on.
func loadVec[T, C dsl.Number](x []T, w RowReduction, i int, v *[MaxInFlight]C, from int) {
	for k := range int(w.Vec) {
		v[from+k] = dsl.Convert[C](x[i*int(w.Vec)+k])
	}
}

// storeVec stores elements of v from one on as vector i of out, of w.Vec elements.
func storeVec[T dsl.Number, C core.Computed](out []T, w RowReduction, i int, v []C, from int) {
	for k := range int(w.Vec) {
		out[i*int(w.Vec)+k] = dsl.Convert[T](v[from+k])
	}
}

// index returns which element from j on is element u of what loadInFlight loads.
func (p *part) index(w RowReduction, j, u int) int {
	v := int(w.Vec)
	return j + (u/v)*(v*p.group) + p.lane*v + u%v
}

// reduceIndexed returns the accumulator of a Group for a part, with the first index of the result: only
// threads that have it look for that.
func reduceIndexed[T dsl.Number, C core.Computed](t dsl.Thread, x []T, w RowReduction, p part, base, outer, outers int, a Acc[C], merge func(a, b Acc[C]) Acc[C]) Acc[C] {
	v := allReduce(t, w, a.V, func(a, b C) C { return merge(Acc[C]{V: a}, Acc[C]{V: b}).V })
	i := ^uint32(0) // more than any: positions fit
	if a.V == v || a.V != a.V {
		i = uint32(indexOf(x, w, p, base, outer, outers, a))
	}
	return Acc[C]{V: v, I: int(allReduce(t, w, i, func(a, b uint32) uint32 { return min(a, b) }))}
}

// reduceMoments returns the mean and the squares of a Group, by sums: [Moments] of
// pairs divides for each. Means are taken as distances from an element of the row, so that
// those far from 0 lose nothing: the square of its own distance is among the squares.
func reduceMoments[C core.Computed](t dsl.Thread, w RowReduction, a Acc[C], element C) Acc[C] {
	n := allReduce(t, w, a.N, plus[C])
	d := C(0)
	if a.N != 0 {
		d = a.V - element
	}
	m := allReduce(t, w, d*(a.N/n), plus[C])
	d -= m
	return Acc[C]{V: element + m, W: allReduce(t, w, a.W+d*d*a.N, plus[C]), N: n}
}

// indexOf returns the index of the thread's result: the first of equal
// ones, the first NaN.
func indexOf[T dsl.Number, C core.Computed](x []T, w RowReduction, p part, base, outer, outers int, a Acc[C]) int {
	many := int(w.InFlight)
	switch {
	case a.V != a.V:
		return firstNaN[T, C](x, w, p, base, outer, outers)
	case a.I < 0:
		return ^a.I
	}
	number, j := 0, a.I
	p.base = base
	if w.Nested {
		o := a.I / w.N
		number = o * w.N
		j = a.I - number
		p.base = base + w.in(o, 1)
	}
	var v [MaxInFlight]C
	loadInFlight(x, w, p, j, &v)
	at := 0
	for u := range many {
		if v[many-1-u] == a.V {
			at = p.index(w, j, many-1-u)
		}
	}
	return number + at
}

// firstNaN returns the index of the thread's first NaN, which is there. It is rare.
func firstNaN[T dsl.Number, C core.Computed](x []T, w RowReduction, p part, base, outer, outers int) int {
	many := int(w.InFlight)
	for o := outer; o < outers; o++ {
		number := 0
		p.base = base
		if w.Nested {
			number, p.base = o*w.N, base+w.in(o, 1)
		}
		for k := 0; ; k++ {
			at := p.index(w, p.first+k/many*(many*p.group), k%many)
			if at >= p.end {
				break
			}
			v := dsl.Convert[C](x[p.base+w.at(at)])
			if v != v {
				return number + at
			}
		}
	}
	return 0
}

// both joins two accumulators.
func both[C core.Computed](w RowReduction, a, b Acc[C], merge func(a, b Acc[C]) Acc[C]) Acc[C] {
	if w.Form != Indexed {
		return merge(a, b)
	}
	c := merge(Acc[C]{V: a.V}, Acc[C]{V: b.V})
	fromA := a.V == c.V || a.V != a.V
	fromB := b.V == c.V || b.V != b.V
	if fromA && !(fromB && b.I < a.I) {
		return Acc[C]{V: c.V, I: a.I}
	}
	return Acc[C]{V: c.V, I: b.I}
}

// reduceGroup is a tree reduction over the threads of a Group; the first one has the result.
func reduceGroup[C core.Computed](t dsl.Thread, w RowReduction, a Acc[C], merge func(a, b Acc[C]) Acc[C]) Acc[C] {
	g := int(w.Group)
	if g == 0 {
		g = t.WarpSize()
	}
	for d := 1; d < g; d *= 2 {
		a = both(w, a, shuffled(t, w, a, d), merge)
	}
	if w.Group > 0 {
		return a
	}
	v := dsl.Shared[[maxWarps]C](t)
	m := dsl.Shared[[maxWarps]C](t)
	n := dsl.Shared[[maxWarps]C](t)
	k := dsl.Shared[[maxWarps]int](t)
	t.Sync() // an earlier row may still be read
	if t.Lane() == 0 {
		i := t.Warp()
		v[i] = a.V
		if w.Form == Pair || w.Form == Triple {
			m[i] = a.W
		}
		if w.Form == Triple {
			n[i] = a.N
		}
		if w.Form == Indexed {
			k[i] = a.I
		}
	}
	t.Sync()
	if t.Warp() == 0 {
		warps := t.BlockDimX() / t.WarpSize()
		lanes := min(warps, t.WarpSize())
		join := func(from int) Acc[C] {
			a := accAt(w, v[:], m[:], n[:], k[:], from+t.Lane()%lanes)
			for d := 1; d < lanes; d *= 2 {
				a = both(w, a, shuffled(t, w, a, d), merge)
			}
			return a
		}
		a = join(0)
		if t.WarpSize() < 32 {
			// A block of 1024 threads has more warps than such a warp has lanes.
			for from := lanes; from < warps; from += lanes {
				a = both(w, a, join(from), merge)
			}
		}
	}
	return a
}

// maxWarps bounds the warps of a block: 1024 threads in warps of eight.
const maxWarps = 128

// shuffled returns the accumulator of the lane whose number differs in the bits of d (butterfly).
func shuffled[C core.Computed](t dsl.Thread, w RowReduction, a Acc[C], d int) Acc[C] {
	b := Acc[C]{V: dsl.ShuffleXor(t, a.V, d)}
	if w.Form == Pair || w.Form == Triple {
		b.W = dsl.ShuffleXor(t, a.W, d)
	}
	if w.Form == Triple {
		b.N = dsl.ShuffleXor(t, a.N, d)
	}
	if w.Form == Indexed {
		b.I = dsl.ShuffleXor(t, a.I, d)
	}
	return b
}

// reduceCols reduces parts of rows by threads across them: each has its own
// columns, which are rows for all others, and the threads of a block that differ in Y
// have parts of them. emit gets the row of columns, the column, and the accumulator.
func reduceCols[T dsl.Number, C core.Computed](t dsl.Thread, x []T, w RowReduction, init func(C) Acc[C], step func(a Acc[C], v *[MaxInFlight]C, from, by, n, has int) Acc[C], merge func(a, b Acc[C]) Acc[C], emit func(r, c int, a Acc[C])) {
	tile := t.BlockDimX() * int(w.Cols)
	for r := t.BlockZ(); r < w.Rows; r += t.GridDimZ() {
		base, _ := w.Row(r, 1)
		for c := t.BlockX() * tile; c < w.Width; c += t.GridDimX() * tile {
			// Columns past the end are the last one, but only where there are some: the
			// addresses are those of neighbours then.
			if c+tile <= w.Width {
				reduceTile(t, x, w, base, c, false, init, step, merge, func(c int, a Acc[C]) { emit(r, c, a) })
			} else {
				reduceTile(t, x, w, base, c, true, init, step, merge, func(c int, a Acc[C]) { emit(r, c, a) })
			}
		}
	}
}

// column returns column k of a thread, of those of a block from c on.
func (w *RowReduction) column(t dsl.Thread, c, k int) int {
	if w.Vec > 1 {
		return c + t.ThreadX()*int(w.Cols) + k
	}
	return c + k*t.BlockDimX() + t.ThreadX()
}

// reduceTile reduces the columns of a block from column c on.
func reduceTile[T dsl.Number, C core.Computed](t dsl.Thread, x []T, w RowReduction, base, c int, clamp bool, init func(C) Acc[C], step func(a Acc[C], v *[MaxInFlight]C, from, by, n, has int) Acc[C], merge func(a, b Acc[C]) Acc[C], emit func(c int, a Acc[C])) {
	cols := int(w.Cols)
	var at [MaxInFlight]int
	var acc, none, all [MaxInFlight]Acc[C]
	for k := range cols {
		col := w.column(t, c, k)
		if clamp {
			col = min(col, w.Width-1)
		}
		at[k] = base + col
		if !w.Contiguous {
			at[k] = base + col*w.XStep[0]
		}
		none[k] = init(dsl.Convert[C](x[at[k]]))
		none[k].I = ^0 // element 0 and no other
		acc[k], all[k] = none[k], none[k]
	}
	first, end := t.BlockY()*w.Part, min(t.BlockY()*w.Part+w.Part, w.N)
	high, deep := t.BlockDimY(), int(w.InFlight)/cols
	load := func(v *[MaxInFlight]C, u, j int) {
		off := w.in(j, 0)
		if w.Vec > 1 && !clamp {
			loadVec(x, w, (at[0]+off)/cols, v, u*cols)
			return
		}
		for k := range cols {
			v[u*cols+k] = dsl.Convert[C](x[at[k]+off])
		}
	}
	j := first + t.ThreadY()
	for {
		stop := end
		if w.Tree {
			stop = min(end, j+core.TreeSteps*deep*high)
		}
		for ; j+(deep-1)*high < stop; j += deep * high {
			var v [MaxInFlight]C
			for u := range deep {
				load(&v, u, j+u*high)
			}
			for k := range cols {
				b := step(acc[k], &v, k, cols, deep, deep)
				if w.Form == Indexed {
					// Which of the elements it is, is found out at the end.
					b.I = acc[k].I
					if b.V != acc[k].V {
						b.I = j
					}
				}
				acc[k] = b
			}
		}
		if bool(!w.Tree) || j+(deep-1)*high >= end {
			break
		}
		for k := range cols {
			all[k], acc[k] = merge(all[k], acc[k]), none[k]
		}
	}
	for ; j < end; j += high {
		var v [MaxInFlight]C
		load(&v, 0, j)
		for k := range cols {
			b := step(acc[k], &v, k, 1, 1, 1)
			if w.Form == Indexed {
				b.I = acc[k].I
				if b.V != acc[k].V {
					b.I = ^j
				}
			}
			acc[k] = b
		}
	}
	for k := range cols {
		col := w.column(t, c, k)
		if w.Tree {
			acc[k] = merge(all[k], acc[k])
		}
		if w.Form == Indexed {
			acc[k].I = indexIn(x, w, at[k], first+t.ThreadY(), end, high, deep, acc[k])
		}
		a := reduceY(t, w, acc[k], merge)
		if t.ThreadY() == 0 && (!clamp || col < w.Width) {
			emit(col, a)
		}
	}
}

// indexIn is [indexOf] for a column that begins at base, of which the thread has every
// high-th element from one on, and loaded so many deep at once.
func indexIn[T dsl.Number, C core.Computed](x []T, w RowReduction, base, first, end, high, deep int, a Acc[C]) int {
	i := a.I
	switch {
	case a.V != a.V:
		i = first
	case a.I < 0:
		return ^a.I
	}
	for ; i < end; i += high {
		v := dsl.Convert[C](x[base+w.in(i, 0)])
		if v == a.V || v != v {
			return i
		}
	}
	return i
}

// reduceY merges the accumulators of threads that differ in Y; the first one has the result.
func reduceY[C core.Computed](t dsl.Thread, w RowReduction, a Acc[C], merge func(a, b Acc[C]) Acc[C]) Acc[C] {
	v := dsl.Shared[[colThreads]C](t)
	m := dsl.Shared[[colThreads]C](t)
	n := dsl.Shared[[colThreads]C](t)
	k := dsl.Shared[[colThreads]int](t)
	if t.BlockDimY() == 1 {
		return a
	}
	t.Sync() // earlier columns may still be read
	i := t.ThreadIndex()
	v[i] = a.V
	if w.Form == Pair || w.Form == Triple {
		m[i] = a.W
	}
	if w.Form == Triple {
		n[i] = a.N
	}
	if w.Form == Indexed {
		k[i] = a.I
	}
	t.Sync()
	if t.ThreadY() == 0 {
		for y := 1; y < t.BlockDimY(); y++ {
			i += t.BlockDimX()
			a = both(w, a, accAt(w, v[:], m[:], n[:], k[:], i), merge)
		}
	}
	return a
}

// colThreads bounds the threads of a block of columns.
const colThreads = 256
