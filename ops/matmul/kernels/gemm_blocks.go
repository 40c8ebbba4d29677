package kernels

import (
	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
)

// Words says how [PackWordsAlong] writes a matrix: in words of 4 bytes, of elements that follow each
// other along k.
type Words struct {
	Rows, K       int           // size of the matrix
	Across, Along int           // its strides
	Batch         int           // how many matrices there are
	Each          dsl.ConstInt  // elements in a word
	Axis          dsl.ConstInt  // whether threads go along k or across it
	Contiguous    dsl.ConstBool // the stride there is 1
	Columns       dsl.ConstBool // words that follow each other are of neighbouring rows, not along k
}

// wordsOfStep is how many words along k a step of [dsl.PackedMMA] has.
const wordsOfStep = dsl.PackedBytes / 4

// PackWordsAlong writes bands of matrices for [dsl.PackedMMA]: of 32 rows, words along k one after the
// other, with a step between rows, whose cache lines else were of few sets; or as Columns of two for
// each lane, words of neighbouring ones one after the other. Rows and words that the last band and the
// last step lack are 0. Blocks in x go over bands, in y over matrices.
//
//kiln:kernel
//kiln:const p.Each=2,4 p.Axis=0,1 p.Columns=false,true
func PackWordsAlong[T dsl.Number, C ~int32 | ~uint32](t dsl.Thread, out []C, x []T, w core.Walk, p Words) {
	high, words := dsl.PackedRows, wordsOf(p.K, int(p.Each))
	step, next, size := words+wordsOfStep, 1, high*(words+wordsOfStep)
	if p.Columns {
		high = dsl.PackedColumns * t.WarpSize()
		step, next, size = 1, high, high*words
	}
	bands, first := (p.Rows+high-1)/high, t.BlockX()*high
	for z := t.BlockY(); z < p.Batch; z += t.GridDimY() {
		from := w.At(z)[0] + first*p.Across
		to := out[(z*bands+t.BlockX())*size:][:size]
		rows := min(p.Rows-first, high)
		if p.Axis == AlongK {
			for k := t.Lane(); k < words; k += t.WarpSize() { // what neighbouring rows have there is stored next to each other
				for r := range rows {
					to[r*step+k*next] = wordAt[C](x, from+r*p.Across, k, &p)
				}
			}
		} else {
			for k := range words {
				for r := t.Lane(); r < rows; r += t.WarpSize() {
					to[r*step+k*next] = wordAt[C](x, from+TimesStride(r, p.Across, p.Contiguous), k, &p)
				}
			}
		}
		for r := rows; r < high; r++ {
			for k := t.Lane(); k < words; k += t.WarpSize() {
				to[r*step+k*next] = 0
			}
		}
	}
}

// wordsOf is how many words rows of k elements have, with those that the last step lacks.
func wordsOf(k, each int) int {
	return (k + each*wordsOfStep - 1) / (each * wordsOfStep) * wordsOfStep
}

// wordAt returns word k of a row that begins at from, with zeros for what is behind it.
func wordAt[C ~int32 | ~uint32, T dsl.Number](x []T, from, k int, p *Words) (v C) {
	each := int(p.Each)
	if each == 1 {
		if k < p.K {
			v = dsl.Convert[C](x[from+TimesStride(k, p.Along, p.Axis == AlongK && p.Contiguous)])
		}
		return v
	}
	if k < p.K/each {
		return wordOf[C](x, from+k*each*p.Along, each, p)
	}
	return wordOf[C](x, from+k*each*p.Along, p.K-k*each, p)
}

// wordOf returns the word of n elements from a place on.
func wordOf[C ~int32 | ~uint32, T dsl.Number](x []T, from, n int, p *Words) (v C) {
	bits := 32 / int(p.Each)
	for i := range int(p.Each) {
		if i < n {
			v |= dsl.Convert[C](x[from+i*p.Along]) & (1<<bits - 1) << (bits * i)
		}
	}
	return v
}

// Blocks says how [MultiplyBlocks] multiplies.
type Blocks struct {
	Each       dsl.ConstInt  // elements in 4 bytes
	Direct     dsl.ConstBool // x is not packed: its rows are contiguous, of whole bands and steps
	Contiguous dsl.ConstBool // columns of the result are contiguous
	Bands      int           // bands of x that a block goes over
}

// MultiplyBlocks computes products of matrices with what [PackWordsAlong] has written, in blocks that
// [dsl.PackedMMA] computes. A block is a warp, which goes over some bands of x with one of y. Blocks in
// z go over products and parts of k.
//
//kiln:kernel
//kiln:const cfg.Each=2 cfg.Direct=false,true
func MultiplyBlocks[O, T, C dsl.Number](t dsl.Thread, out []O, x, y []T, w core.Walk, p Product, cfg Blocks, mad func(a, b, c C) C) {
	multiplyBlocks(t, x, y, &w, &p, &cfg, mad, func(_ [core.Operands]int, to, row, col int, sum C) {
		out[to+row*p.OutM+TimesStride(col, p.OutN, cfg.Contiguous)] = dsl.Convert[O](sum)
	})
}

// MultiplyBlocksThen is [MultiplyBlocks] whose sums go through an epilogue.
//
//kiln:kernel
//kiln:const cfg.Each=2 cfg.Direct=true e.Bias.Kind=1,2 e.Factor.Kind=0 e.Residual.Kind=0,3 e.Scaled=false,true
func MultiplyBlocksThen[O, T, C dsl.Number](t dsl.Thread, out []O, x, y []T, bias []O, factor []C, residual []O, w core.Walk, p Product, cfg Blocks, scale C, e Epilogue, mad func(a, b, c C) C, act func(x C) C) {
	multiplyBlocks(t, x, y, &w, &p, &cfg, mad, func(at [core.Operands]int, to, row, col int, sum C) {
		out[to+row*p.OutM+TimesStride(col, p.OutN, cfg.Contiguous)] = finishOne(&e, bias, factor, residual, at, row, col, sum, scale, act, mad)
	})
}

// multiplyBlocks is [MultiplyBlocks] with a function that stores the sum of a row and a column of the
// product at a place, whose results begin at to.
func multiplyBlocks[T, C dsl.Number](t dsl.Thread, x, y []T, w *core.Walk, p *Product, cfg *Blocks, mad func(a, b, c C) C, store func(at [core.Operands]int, to, row, col int, sum C)) {
	width, length := dsl.PackedColumns*t.WarpSize(), wordsOf(p.K, int(cfg.Each))*int(cfg.Each)
	bands, panels := (p.M+dsl.PackedRows-1)/dsl.PackedRows, (p.N+width-1)/width
	first, panel := t.BlockY()*cfg.Bands, t.BlockX()
	parts := (p.K + p.Part - 1) / p.Part
	for z := t.BlockZ(); z < p.Batch*parts; z += t.GridDimZ() {
		at, lo := w.At(z/parts), z%parts*p.Part
		steps := wordsOf(min(p.Part, p.K-lo), int(cfg.Each)) / wordsOfStep
		ys := y[((at[2]*panels+panel)*length+lo)*width:]
		to := at[0] + z%parts*p.Parts
		for band := first; band < min(first+cfg.Bands, bands); band++ {
			pitch, from := length+wordsOfStep*int(cfg.Each), at[1]*bands+band
			if cfg.Direct {
				pitch, from = p.XM, at[1]+band*dsl.PackedRows*p.XM
			} else {
				from *= dsl.PackedRows * pitch
			}
			xs := x[from+lo:]
			row := band * dsl.PackedRows
			rows := min(p.M-row, dsl.PackedRows)
			acc := dsl.LocalSlice[C](dsl.PackedSums)
			multiplyBlock(t, acc, xs, pitch, ys, rows, steps, cfg, mad)
			if (panel+1)*width <= p.N {
				storeBlock(t, acc, row, rows, panel*width, true, p, func(row, col int, sum C) { store(at, to, row, col, sum) })
			} else {
				storeBlock(t, acc, row, rows, panel*width, false, p, func(row, col int, sum C) { store(at, to, row, col, sum) })
			}
		}
	}
}

// storeBlock stores the sums of rows of a block. If not whole, some columns are not of the result.
func storeBlock[C dsl.Number](t dsl.Thread, acc []C, row, rows, col int, whole bool, p *Product, store func(row, col int, sum C)) {
	const half = dsl.PackedRows / 2 // whose sums a lane has one after the other
	for i := range dsl.PackedRows / half {
		for e := range dsl.PackedColumns {
			sums := acc[dsl.PackedSum(i*half, e):][:half]
			if c := col + e*t.WarpSize() + t.Lane(); whole || c < p.N {
				for r := range min(rows-i*half, half) {
					store(row+i*half+r, c, sums[r])
				}
			}
		}
	}
}

// multiplyBlock is [dsl.PackedMMA], and what it computes of the first rows where there is none.
func multiplyBlock[T, C dsl.Number](t dsl.Thread, acc []C, x []T, pitch int, y []T, rows, steps int, cfg *Blocks, mad func(a, b, c C) C) {
	if dsl.MatrixShape[T, C](t, dsl.MatrixPacked) > 0 {
		dsl.PackedMMA(t, x, pitch, y, acc, steps)
		return
	}
	each := int(cfg.Each)
	for r := range rows {
		for e := range dsl.PackedColumns {
			var sum C
			for k := range steps * wordsOfStep {
				at := ((k*dsl.PackedColumns+e)*t.WarpSize() + t.Lane()) * each
				for i := range each {
					sum = mad(dsl.Convert[C](x[r*pitch+k*each+i]), dsl.Convert[C](y[at+i]), sum)
				}
			}
			acc[dsl.PackedSum(r, e)] = sum
		}
	}
}
