package kernels

import "github.com/gokiln/kiln/dsl"

// Acc is what a reduction knows of some elements. Which of it means something is
// said by [Fold.Form].
type Acc[C Computed] struct {
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

// Fold says where the elements of the rows are that a reduction goes through: the
// elements that share a result, in any number of dimensions. Dimensions are
// numbered from the innermost.
type Fold struct {
	Form   dsl.ConstInt
	Group  dsl.ConstInt  // how many threads share a row, a power of two up to the warp size, or 0: those of the block
	Whole  dsl.ConstBool // the Group is the block
	Block  dsl.ConstInt  // how many threads the block has, where Group is 0
	Ahead  dsl.ConstInt  // how many elements a thread of a reduction loads before it looks at them
	Unit   dsl.ConstBool // neighbours in a row, or the columns of neighbours, are side by side
	Nested dsl.ConstBool // innermost dimensions of rows are long: the others are gone through one after the other
	Wide   dsl.ConstBool // indices of 31 bits are not enough for Div
	Outs   dsl.ConstInt  // dimensions of the results
	Ins    dsl.ConstInt  // dimensions of a row
	Cols   dsl.ConstInt  // how many columns a thread has
	Keep   dsl.ConstInt  // how many elements of a row a thread keeps, 0 if it reads them again
	Full   dsl.ConstBool // the Group keeps just the elements of a row
	N      int           // elements in a row; in its innermost dimension if Nested
	Outer  int           // how many innermost dimensions there are if Nested
	Part   int           // how much of a row, or of Outer, a block goes through
	Rows   int           // how many rows there are; how many rows of columns
	Width  int           // how many columns there are in a row of them
	Div    int           // what finish divides by
	OutIn  int           // the stride of results that lie in rows too

	OutDiv, InDiv   [MaxRank]Divisor // the sizes of the dimensions
	OutSize, InSize [MaxRank]int
	OutStep         [MaxRank]int // the strides of the results
	XStep           [MaxRank]int // the strides of the operand in the dimensions of the results
	InStep          [MaxRank]int // the strides of the operand in the dimensions of a row
}

// row returns where row r of the operand begins, and where its result is. from is the
// first dimension that counts.
func (w *Fold) row(r, from int) (x, out int) {
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
func (w *Fold) in(i, from int) (at int) {
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

func (w *Fold) split(by Divisor, size, i int) (q, r int) {
	if w.Wide {
		q = i / size
		return q, i - q*size
	}
	return by.split(i)
}

// at returns where element i of a row is, of its innermost dimension if they are
// Nested.
func (w *Fold) at(i int) int {
	switch {
	case bool(w.Unit) && (int(w.Ins) == 1 || bool(w.Nested)):
		return i
	case bool(w.Nested):
		return i * w.InStep[0]
	}
	return w.in(i, 0)
}

// The functions of a reduction: init is what it knows of no element, given the first of
// them; step adds an element and its index; merge joins what is known of two parts.

// ahead is how many elements a thread loads before it looks at them, and mostAhead how
// many where a Fold says so.
const (
	ahead     = 8
	mostAhead = 16
)

// foldRows reduces parts of rows by threads that lie along a row, and gives what is
// known of them to emit in one thread each.
func foldRows[T dsl.Number, C Computed](t dsl.Thread, x []T, w Fold, init func(C) Acc[C], step func(Acc[C], C, int) Acc[C], merge func(a, b Acc[C]) Acc[C], emit func(r int, a Acc[C])) {
	g, per, lane, sub := int(w.Group), 1, t.ThreadX(), 0
	if g == 0 {
		g = int(w.Block)
	} else if !w.Whole {
		lane, sub, per = t.ThreadX()%g, t.ThreadX()/g, t.BlockDimX()/g
	}
	many := int(w.Ahead)
	first, end := t.BlockY()*w.Part, min(t.BlockY()*w.Part+w.Part, w.N)
	outer, outers := 0, 1
	if w.Nested {
		first, end = 0, w.N
		outer, outers = t.BlockY()*w.Part, min(t.BlockY()*w.Part+w.Part, w.Outer)
	}
	for r0 := t.BlockX() * per; r0 < w.Rows; r0 += t.GridDimX() * per {
		r := min(r0+sub, w.Rows-1)
		base, _ := w.row(r, 0)
		zero := init(dsl.Convert[C](x[base]))
		var acc [mostAhead]Acc[C]
		for u := range many {
			acc[u] = zero
		}
		for o := outer; o < outers; o++ {
			at, number := base, 0
			if w.Nested {
				at, number = base+w.in(o, 1), o*w.N
			}
			// Where a row lies side by side there is one address for what is loaded at once. A
			// CPU sees by itself that lanes are neighbours.
			near := bool(w.Unit) && !bool(w.Whole) && (int(w.Ins) == 1 || bool(w.Nested))
			j := first
			for ; j+many*g <= end; j += many * g {
				var v [mostAhead]C
				if near {
					xs := x[at+j+lane:]
					for u := range many {
						v[u] = dsl.Convert[C](xs[u*g])
					}
				} else {
					for u := range many {
						v[u] = dsl.Convert[C](x[at+w.at(j+u*g+lane)])
					}
				}
				for u := range many {
					acc[u] = step(acc[u], v[u], number+j+u*g+lane)
				}
			}
			if j < end {
				// The rest, loaded at once too.
				var v [mostAhead]C
				if near {
					xs := x[at+min(j+lane, end-1):]
					for u := range many {
						if j+u*g+lane < end {
							v[u] = dsl.Convert[C](xs[u*g])
						}
					}
				} else {
					for u := range many { // what is past the end is some other element
						v[u] = dsl.Convert[C](x[at+w.at(min(j+u*g+lane, end-1))])
					}
				}
				for u := range many {
					if j+u*g+lane < end {
						acc[u] = step(acc[u], v[u], number+j+u*g+lane)
					}
				}
			}
		}
		a := join(acc, many, merge)
		a = together(t, w, a, merge)
		if lane == 0 && r0+sub < w.Rows {
			emit(r, a)
		}
	}
}

// join merges what a thread knows.
func join[C Computed](acc [mostAhead]Acc[C], n int, merge func(a, b Acc[C]) Acc[C]) Acc[C] {
	for n /= 2; n > 0; n /= 2 {
		for u := range n {
			acc[u] = merge(acc[u], acc[u+n])
		}
	}
	return acc[0]
}

// together merges what the threads of a Group know; the first one has the result.
func together[C Computed](t dsl.Thread, w Fold, a Acc[C], merge func(a, b Acc[C]) Acc[C]) Acc[C] {
	g := int(w.Group)
	if g == 0 {
		g = t.WarpSize()
	}
	for d := g / 2; d > 0; d /= 2 {
		a = merge(a, across(t, w, a, d))
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
	if t.ThreadX() == 0 {
		for i := 1; i < t.BlockDimX()/t.WarpSize(); i++ {
			b := Acc[C]{V: v[i]}
			if w.Form == Pair || w.Form == Triple {
				b.W = m[i]
			}
			if w.Form == Triple {
				b.N = n[i]
			}
			if w.Form == Indexed {
				b.I = k[i]
			}
			a = merge(a, b)
		}
	}
	return a
}

// maxWarps bounds the warps of a block: 1024 threads in warps of eight.
const maxWarps = 128

// across returns what the lane knows whose number differs in the bits of d.
func across[C Computed](t dsl.Thread, w Fold, a Acc[C], d int) Acc[C] {
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

// foldCols reduces parts of rows by threads that lie across them: each has its own
// columns, which are rows for all others, and the threads of a block that differ in Y
// have parts of them. emit gets the row of columns, the column, and what is known.
func foldCols[T dsl.Number, C Computed](t dsl.Thread, x []T, w Fold, init func(C) Acc[C], step func(Acc[C], C, int) Acc[C], merge func(a, b Acc[C]) Acc[C], emit func(r, c int, a Acc[C])) {
	tile := t.BlockDimX() * int(w.Cols)
	for r := t.BlockZ(); r < w.Rows; r += t.GridDimZ() {
		base, _ := w.row(r, 1)
		for c := t.BlockX() * tile; c < w.Width; c += t.GridDimX() * tile {
			// Columns past the end are the last one, but only where there are some: the
			// addresses are those of neighbours then.
			if c+tile <= w.Width {
				foldTile(t, x, w, base, c, false, init, step, merge, func(c int, a Acc[C]) { emit(r, c, a) })
			} else {
				foldTile(t, x, w, base, c, true, init, step, merge, func(c int, a Acc[C]) { emit(r, c, a) })
			}
		}
	}
}

// foldTile reduces the columns of a block from column c on.
func foldTile[T dsl.Number, C Computed](t dsl.Thread, x []T, w Fold, base, c int, clamp bool, init func(C) Acc[C], step func(Acc[C], C, int) Acc[C], merge func(a, b Acc[C]) Acc[C], emit func(c int, a Acc[C])) {
	cols := int(w.Cols)
	var at [mostAhead]int
	var acc [mostAhead]Acc[C]
	for k := range cols {
		col := c + k*t.BlockDimX() + t.ThreadX()
		if clamp {
			col = min(col, w.Width-1)
		}
		at[k] = base + col
		if !w.Unit {
			at[k] = base + col*w.XStep[0]
		}
		acc[k] = init(dsl.Convert[C](x[at[k]]))
	}
	first, end := t.BlockY()*w.Part, min(t.BlockY()*w.Part+w.Part, w.N)
	high, deep := t.BlockDimY(), int(w.Ahead)/cols
	j := first + t.ThreadY()
	for ; j+(deep-1)*high < end; j += deep * high {
		var v [mostAhead]C
		for u := range deep {
			off := w.in(j+u*high, 0)
			for k := range cols {
				v[u*cols+k] = dsl.Convert[C](x[at[k]+off])
			}
		}
		for u := range deep {
			for k := range cols {
				acc[k] = step(acc[k], v[u*cols+k], j+u*high)
			}
		}
	}
	for ; j < end; j += high {
		off := w.in(j, 0)
		for k := range cols {
			acc[k] = step(acc[k], dsl.Convert[C](x[at[k]+off]), j)
		}
	}
	for k := range cols {
		col := c + k*t.BlockDimX() + t.ThreadX()
		a := stacked(t, w, acc[k], merge)
		if t.ThreadY() == 0 && (!clamp || col < w.Width) {
			emit(col, a)
		}
	}
}

// stacked merges what the threads know that differ in Y; the first one has the result.
func stacked[C Computed](t dsl.Thread, w Fold, a Acc[C], merge func(a, b Acc[C]) Acc[C]) Acc[C] {
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
			b := Acc[C]{V: v[i]}
			if w.Form == Pair || w.Form == Triple {
				b.W = m[i]
			}
			if w.Form == Triple {
				b.N = n[i]
			}
			if w.Form == Indexed {
				b.I = k[i]
			}
			a = merge(a, b)
		}
	}
	return a
}

// colThreads bounds the threads of a block of columns.
const colThreads = 256
