package kernels

import (
	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
)

// Packing says how [Pack] writes a matrix.
type Packing struct {
	Rows, K       int           // size of the matrix
	Across, Along int           // its strides
	Batch         int           // how many matrices there are
	MR            dsl.ConstInt  // rows of a band
	Axis          dsl.ConstInt  // whether threads go along k or across it
	Contiguous    dsl.ConstBool // the stride there is 1

	// Transpose is how many vectors lanes transpose at once, so that what they store is contiguous: of rows
	// along k, or across it of elements of as many bands. With 0 each lane stores what it has loaded.
	Transpose dsl.ConstInt
}

// Pack writes matrices as bands of MR rows, each of them column after column, so that
// [Packed] reads it from end to end. Rows that the last band lacks are 0. Blocks in x
// go over bands, or as many as are transposed at once, in y over matrices.
//
//kiln:kernel
//kiln:const p.MR=8 p.Axis=0,1 p.Transpose=0,2
func Pack[T, C dsl.Number](t dsl.Thread, out []C, x []T, w core.Walk, p Packing) {
	high, bands := int(p.MR), (p.Rows+int(p.MR)-1)/int(p.MR)
	for z := t.BlockY(); z < p.Batch; z += t.GridDimY() {
		at := w.At(z)[0]
		if p.Transpose > 0 && p.Axis == AcrossK {
			first := t.BlockX() * int(p.Transpose)
			packBands(t, out[(z*bands+first)*p.K*high:], x, at, first*high, &p)
			continue
		}
		first := t.BlockX() * high
		to := out[(z*bands+t.BlockX())*p.K*high:][:p.K*high]
		if p.Transpose > 0 {
			packTransposed(t, to, x, at, first, &p)
			continue
		}
		if p.Axis == AlongK {
			for k := t.ThreadX(); k < p.K; k += t.BlockDimX() {
				for r := range high {
					to[k*high+r] = packedElement[T, C](x, at, first+r, k, &p)
				}
			}
			continue
		}
		for k := range p.K {
			for r := t.ThreadX(); r < high; r += t.BlockDimX() {
				to[k*high+r] = packedElement[T, C](x, at, first+r, k, &p)
			}
		}
	}
}

// packedElement is an element of a matrix that begins at a place, 0 where it has none.
func packedElement[T, C dsl.Number](x []T, at, row, k int, p *Packing) (v C) {
	across, along := p.Axis == AcrossK && p.Contiguous, p.Axis == AlongK && p.Contiguous
	if row < p.Rows && k < p.K {
		v = dsl.Convert[C](x[at+TimesStride(row, p.Across, across)+TimesStride(k, p.Along, along)])
	}
	return v
}

// packTransposed writes a band of rows that are contiguous along k: lanes load neighbours there, and
// store neighbouring rows.
func packTransposed[T, C dsl.Number](t dsl.Thread, to []C, x []T, at, first int, p *Packing) {
	high, turn := int(p.MR), int(p.Transpose)
	each := t.WarpSize() / turn // elements along k of which a vector has all rows in the end
	lane := t.Lane()
	v := dsl.LocalSlice[C](p.Transpose)
	for k := 0; k < p.K; k += t.WarpSize() {
		for r := 0; r < high; r += turn {
			for i := range turn {
				v[i] = packedElement[T, C](x, at, first+r+i, k+lane, p)
			}
			exchange(t, v, p.Transpose, each)
			for i := range turn {
				if each > 1 { // rows are the upper bits of the lane, and are to be the lower ones
					v[i] = dsl.Shuffle(t, v[i], lane%turn*each+lane/turn)
				}
				if k+i*each+lane/turn < p.K {
					to[(k+i*each)*high+r+lane] = v[i]
				}
			}
		}
	}
}

// packBands writes as many bands as lanes have rows for, which are contiguous across k: lanes load
// neighbouring rows, and store those of a band at as many places along k.
func packBands[T, C dsl.Number](t dsl.Thread, to []C, x []T, at, first int, p *Packing) {
	high, turn := int(p.MR), int(p.Transpose)
	lane := t.Lane()
	v := dsl.LocalSlice[C](p.Transpose)
	for k := 0; k < p.K; k += turn {
		for i := range turn {
			v[i] = packedElement[T, C](x, at, first+lane, k+i, p)
		}
		exchange(t, v, p.Transpose, high)
		for i := range turn {
			if first+i*high < p.Rows && k+lane/high < p.K {
				to[(i*p.K+k)*high+lane] = v[i]
			}
		}
	}
}

// exchange exchanges the bits of the numbers of n vectors with bits of the lanes, from that of a
// value on: element l of vector i is that of vector (l/bit)%n, at the lane which has i in place of
// these bits.
func exchange[C dsl.Number](t dsl.Thread, v []C, n dsl.ConstInt, bit int) {
	for apart := 1; apart < int(n); apart *= 2 {
		mask := apart * bit
		upper := t.Lane()&mask != 0
		for i := range int(n) {
			if i&apart == 0 {
				low, high := v[i], v[i+apart]
				fromLow, fromHigh := dsl.ShuffleXor(t, low, mask), dsl.ShuffleXor(t, high, mask)
				if upper {
					v[i] = fromHigh
				} else {
					v[i+apart] = fromLow
				}
			}
		}
	}
}

// WordBytes is how many factors of 8 bits are in a word that [dsl.Dot4] multiplies.
const WordBytes = 4

// PackWords is [Pack] for factors of 8 bits, of which it writes four that follow each other along k
// into a word. The last word has zeros for those behind K.
//
//kiln:kernel
//kiln:const p.MR=8 p.Axis=0,1
func PackWords[T dsl.Number, C ~int32 | ~uint32](t dsl.Thread, out []C, x []T, w core.Walk, p Packing) {
	high, bands, words := int(p.MR), (p.Rows+int(p.MR)-1)/int(p.MR), (p.K+WordBytes-1)/WordBytes
	for z := t.BlockY(); z < p.Batch; z += t.GridDimY() {
		at := w.At(z)[0]
		first := t.BlockX() * high
		to := out[(z*bands+t.BlockX())*words*high:][:words*high]
		if p.Axis == AlongK {
			// Neighbouring threads have neighbouring bytes; the first of four stores their word.
			byte := t.Lane() % WordBytes
			for k := 0; k < words*WordBytes; k += t.WarpSize() {
				for r := range high {
					var v C
					if e := k + t.Lane(); first+r < p.Rows && e < p.K {
						v = wordByte[C](x[at+(first+r)*p.Across+TimesStride(e, p.Along, p.Contiguous)], byte)
					}
					v |= dsl.ShuffleXor(t, v, 1)
					v |= dsl.ShuffleXor(t, v, 2)
					if e := k + t.Lane(); byte == 0 && e < p.K {
						to[e/WordBytes*high+r] = v
					}
				}
			}
			continue
		}
		for k := range words {
			for r := t.ThreadX(); r < high; r += t.BlockDimX() {
				var v C
				if first+r < p.Rows {
					for i := range min(WordBytes, p.K-k*WordBytes) {
						v |= wordByte[C](x[at+TimesStride(first+r, p.Across, p.Contiguous)+(k*WordBytes+i)*p.Along], i)
					}
				}
				to[k*high+r] = v
			}
		}
	}
}

// wordByte is a factor as byte i of a word.
func wordByte[C ~int32 | ~uint32, T dsl.Number](v T, i int) C {
	return (dsl.Convert[C](v) & 0xff) << (8 * i)
}

// Tiling is what a thread of [Packed] computes, and how many threads a block has.
type Tiling struct {
	MR, NR     dsl.ConstInt  // rows and columns of the result that a thread computes at once
	Threads    dsl.ConstInt  // threads, neighbours in neighbouring columns
	Contiguous dsl.ConstBool // columns of the result are contiguous
	Direct     dsl.ConstBool // y is not packed: rows of whole bands are contiguous in it
	X          dsl.ConstInt  // how x lies: InBands as packed, InRows or InColumns
	Bands      int           // bands of x that a block goes over
}

// How x lies for [Packed].
const (
	InBands   = iota // as Pack writes it
	InRows           // elements along k are contiguous
	InColumns        // elements across k are, of whole bands
)

// packedSteps is how many steps along k [Packed] takes in a turn of its loop: what a turn
// does besides them, its checks above all, takes slots from the multiplications.
const packedSteps = 4

// Packed computes products of matrices, of x in bands of MR rows and y in bands of
// Threads·NR columns. The Threads of a block go over some bands of x with one of y, which
// stays in the cache. Blocks in z go over products and parts of k. Neighbouring threads read x in
// one place and y in a row. It is for processors whose vectors are warps: nothing is in shared
// memory.
//
//kiln:kernel
//kiln:const cfg.MR=6,8 cfg.NR=2 cfg.Threads=8 cfg.Direct=false,true cfg.X=0,1
func Packed[O, C dsl.Number](t dsl.Thread, out []O, x, y []C, w core.Walk, p Product, cfg Tiling, mad func(a, b, c C) C) {
	packedBlock(t, x, y, &w, &p, &cfg, mad, func(_ [core.Operands]int, to, row, col int, sum C) {
		out[to+row*p.OutM+TimesStride(col, p.OutN, cfg.Contiguous)] = dsl.Convert[O](sum)
	})
}

// PackedThen is [Packed] whose sums go through an epilogue.
//
//kiln:kernel
//kiln:const cfg.MR=6,8 cfg.NR=2 cfg.Threads=8 e.Bias.Kind=1,2 e.Factor.Kind=0 e.Residual.Kind=0,3 e.Scaled=false,true
func PackedThen[O, C dsl.Number](t dsl.Thread, out []O, x, y []C, bias []O, factor []C, residual []O, w core.Walk, p Product, cfg Tiling, scale C, e Epilogue, mad func(a, b, c C) C, act func(x C) C) {
	packedBlock(t, x, y, &w, &p, &cfg, mad, func(at [core.Operands]int, to, row, col int, sum C) {
		out[to+row*p.OutM+TimesStride(col, p.OutN, cfg.Contiguous)] = finishOne(&e, bias, factor, residual, at, row, col, sum, scale, act, mad)
	})
}

// packedBlock is [Packed] with a function that stores the sum of a row and a column of the product at
// a place, whose results begin at to.
func packedBlock[C dsl.Number](t dsl.Thread, x, y []C, w *core.Walk, p *Product, cfg *Tiling, mad func(a, b, c C) C, store func(at [core.Operands]int, to, row, col int, sum C)) {
	high, width := int(cfg.MR), int(cfg.Threads*cfg.NR)
	bands, panels := (p.M+high-1)/high, (p.N+width-1)/width
	first, panel, lane := t.BlockY()*cfg.Bands, t.BlockX(), t.ThreadX()
	if lane >= int(cfg.Threads) { // which no lane is: it tells that loads need no masks
		return
	}
	parts := (p.K + p.Part - 1) / p.Part
	for z := t.BlockZ(); z < p.Batch*parts; z += t.GridDimZ() {
		at, lo := w.At(z/parts), z%parts*p.Part
		n := min(p.Part, p.K-lo)
		var ys []C
		if cfg.Direct {
			ys = y[at[2]+lo*p.YK+panel*width:][:(n-1)*p.YK+width]
		} else {
			ys = y[((at[2]*panels+panel)*p.K+lo)*width:][:n*width]
		}
		to := at[0] + z%parts*p.Parts
		for band := first; band < min(first+cfg.Bands, bands); band++ {
			acc := dsl.LocalSlice[C](cfg.MR * cfg.NR)
			rows := dsl.LocalSlice[int](cfg.MR)
			xs, step := packedBand(rows, x, at[1], band, bands, lo, n, p, cfg)
			packedRun(acc, xs, step, rows, ys, p.YK, n, lane, cfg, mad)
			row, col := band*high, panel*width
			if row+high <= p.M && col+width <= p.N {
				packedStore(acc, row, col+lane, true, p, cfg, func(row, col int, sum C) { store(at, to, row, col, sum) })
			} else {
				packedStore(acc, row, col+lane, false, p, cfg, func(row, col int, sum C) { store(at, to, row, col, sum) })
			}
		}
	}
}

// packedBand returns the elements of a band of x for n steps along k from lo on, and how far apart these
// are. It stores where rows begin, if they are InRows.
func packedBand[C dsl.Number](rows []int, x []C, at, band, bands, lo, n int, p *Product, cfg *Tiling) (xs []C, step int) {
	high := int(cfg.MR)
	switch cfg.X {
	case InRows:
		last := min(high, p.M-band*high) - 1
		for h := range high { // what is behind the last one is not stored: it is read in its place
			rows[h] = min(h, last) * p.XM
		}
		return x[at+band*high*p.XM+lo:][:last*p.XM+n], 1
	case InColumns:
		return x[at+band*high+lo*p.XK:][:(n-1)*p.XK+high], p.XK
	}
	return x[((at*bands+band)*p.K+lo)*high:][:n*high], high
}

// packedRun adds the products of bands. Steps of x are step apart and rows of y pitch, where they are
// not packed.
func packedRun[C dsl.Number](acc, xs []C, step int, rows []int, ys []C, pitch, n, lane int, cfg *Tiling, mad func(a, b, c C) C) {
	k := 0
	for ; k+packedSteps <= n; k += packedSteps {
		packedTurn(acc, xs, step, rows, ys, pitch, k, packedSteps, lane, cfg, mad)
	}
	for ; k < n; k++ {
		packedTurn(acc, xs, step, rows, ys, pitch, k, 1, lane, cfg, mad)
	}
}

// packedTurn adds the products of some steps from k on. What is packed is checked once for all of them.
func packedTurn[C dsl.Number](acc, xs []C, step int, rows []int, ys []C, pitch, k, steps, lane int, cfg *Tiling, mad func(a, b, c C) C) {
	high, width := int(cfg.MR), int(cfg.Threads*cfg.NR)
	if cfg.X == InBands {
		xs = xs[k*high:][:steps*high]
	}
	if !cfg.Direct {
		ys = ys[k*width:][:steps*width]
	}
	for i := range steps {
		at := i * width
		if cfg.Direct {
			at = (k + i) * pitch
		}
		row := ys[at:][:width]
		switch cfg.X {
		case InRows:
			packedStep(acc, func(h int) C { return xs[rows[h]+k+i] }, row, lane, cfg, mad)
		case InColumns:
			column := xs[(k+i)*step:][:high]
			packedStep(acc, func(h int) C { return column[h] }, row, lane, cfg, mad)
		default:
			packedStep(acc, func(h int) C { return xs[i*high+h] }, row, lane, cfg, mad)
		}
	}
}

// packedStore stores the sums of a thread. If not whole, some of the tile are not of the result.
func packedStore[C dsl.Number](acc []C, row, col int, whole bool, p *Product, cfg *Tiling, store func(row, col int, sum C)) {
	for h := range int(cfg.MR) {
		for e := range int(cfg.NR) {
			if c := col + e*int(cfg.Threads); whole || row+h < p.M && c < p.N {
				store(row+h, c, acc[h*int(cfg.NR)+e])
			}
		}
	}
}

// packedStep adds the products of a column of x and a row of y.
func packedStep[C dsl.Number](acc []C, column func(h int) C, row []C, lane int, cfg *Tiling, mad func(a, b, c C) C) {
	wide, high, each := int(cfg.Threads), int(cfg.MR), int(cfg.NR)
	v := dsl.LocalSlice[C](cfg.NR)
	for e := range each {
		v[e] = row[e*wide+lane]
	}
	for h := range high {
		x := column(h)
		for e := range each {
			acc[h*each+e] = mad(x, v[e], acc[h*each+e])
		}
	}
}
