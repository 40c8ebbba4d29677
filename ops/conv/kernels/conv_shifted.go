package kernels

import (
	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
	matmulkernels "github.com/gokiln/kiln/ops/matmul/kernels"
)

// Padding says how [Pad] writes an input for [ShiftedConv]: with zeros around it, and in
// phases, each of which has every Stride-th element.
type Padding struct {
	In, Size   [Axes]int     // of the input, and of a phase
	Phases     [Axes]int     // how many there are along each axis
	Stride     [Axes]int     // distance of neighbours in a phase
	Insert     [Axes]int     // distance at which elements of the input are put, with zeros between
	Before     [Axes]int     // zeros in front of the input, or the negative number of elements left out
	X          [Axes]int     // strides of the input
	Channels   int           // of an input
	XChannel   int           // stride of channels
	Contiguous dsl.ConstBool // along the last axis, neighbours in a phase are contiguous in the input
}

// source returns which element of the input is at a position of a phase along an axis, and
// whether there is one.
func (v *Padding) source(axis, phase, place int) (int, bool) {
	i := place*v.Stride[axis] + phase - v.Before[axis]
	if v.Insert[axis] == 1 {
		return i, i >= 0 && i < v.In[axis]
	}
	q := i / v.Insert[axis]
	return q, i >= 0 && q*v.Insert[axis] == i && q < v.In[axis]
}

// Pad writes inputs with zeros around them, channel by channel, phase by phase. Blocks in
// x go over channels, in y over inputs.
//
//kiln:kernel
func Pad[T, C dsl.Number](t dsl.Thread, out []C, x []T, w core.Walk, images int, v Padding) {
	each := v.Size[0] * v.Size[1] * v.Size[2] * v.Phases[0] * v.Phases[1] * v.Phases[2]
	for z := t.BlockY(); z < images; z += t.GridDimY() {
		from := w.At(z)[0] + t.BlockX()*v.XChannel
		to := (z*v.Channels + t.BlockX()) * each
		for f0 := range v.Phases[0] {
			for f1 := range v.Phases[1] {
				for f2 := range v.Phases[2] {
					for p0 := range v.Size[0] {
						i0, ok0 := v.source(0, f0, p0)
						for p1 := range v.Size[1] {
							i1, ok1 := v.source(1, f1, p1)
							padRow(t, out, x, to, from+i0*v.X[0]+i1*v.X[1], f2, ok0 && ok1, &v)
							to += v.Size[2]
						}
					}
				}
			}
		}
	}
}

// padRow writes a row of a phase.
func padRow[T, C dsl.Number](t dsl.Thread, out []C, x []T, to, from, phase int, there bool, v *Padding) {
	for p := t.ThreadX(); p < v.Size[2]; p += t.BlockDimX() {
		i, ok := v.source(2, phase, p)
		if v.Contiguous {
			i = p - v.Before[2]
			ok = i >= 0 && i < v.In[2]
		}
		var e T
		if there && ok {
			e = x[from+matmulkernels.TimesStride(i, v.X[2], v.Contiguous)]
		}
		out[to+p] = dsl.Convert[C](e)
	}
}

// Shifts says what positions of a kernel meet in an input that [Pad] has written, and where
// the results go. Columns are positions of the input, of which the first rows and columns
// are results.
type Shifts struct {
	Kernel   [Axes]int          // its sizes
	Small    [Axes]dsl.ConstInt // these too, or 0 where they are not small
	Dilation [Axes]int
	Stride   [Axes]int
	Place    [Axes]int          // strides of a phase
	Phase    [Axes]int          // strides of phases
	Channels int                // of a group
	XChannel int                // stride of channels
	Flip     dsl.ConstBool      // the kernel goes backwards
	One      dsl.ConstBool      // there is one phase
	Dense    dsl.ConstBool      // all columns are results, Product.OutN apart
	Chains   dsl.ConstBool      // sums are long: they are added in chains
	Large    dsl.ConstBool      // and the positions of a kernel are more than a chain of additions
	PerChain int                // channels of a chain, 1 if that is so
	Rows     dsl.ConstBool      // blocks in x go over rows of results: what a thread stores lies in a row, which columns of several do not
	Panels   core.Divisor       // blocks in a row
	OutRows  core.Divisor       // rows of results along the second axis
	Row      [Axes]core.Divisor // sizes of a phase
	Out      [Axes]int          // sizes of the result
	OutAt    [Axes]int          // its strides
}

// size is the size of the kernel along an axis.
func (v *Shifts) size(axis int) int {
	if v.Small[axis] != 0 {
		return int(v.Small[axis])
	}
	return v.Kernel[axis]
}

// shift returns how far from a column is what a position of the kernel meets, along an axis.
func (v *Shifts) shift(axis, kernel int) int {
	if v.Flip {
		kernel = v.size(axis) - 1 - kernel
	}
	d := kernel * v.Dilation[axis]
	if v.One {
		return d * v.Place[axis]
	}
	return d%v.Stride[axis]*v.Phase[axis] + d/v.Stride[axis]*v.Place[axis]
}

// chain returns behind which channel, after the first ones, a chain of additions is complete.
func (v *Shifts) chain(first int) int {
	if !v.Chains {
		return v.Channels
	}
	return min(first+v.PerChain, v.Channels)
}

// each calls place for the positions of the kernel. Where these are more than a chain of
// additions it calls added after every so many.
func (v *Shifts) each(place func(k0, k1, k2 int), added func(adds int)) {
	for k0 := range v.size(0) {
		for k1 := range v.size(1) {
			if !v.Large {
				for k2 := range v.size(2) {
					place(k0, k1, k2)
				}
				continue
			}
			for low, high := 0, 0; low < v.size(2); low = high {
				high = min(low+core.Chain, v.size(2))
				for k2 := low; k2 < high; k2++ {
					place(k0, k1, k2)
				}
				added(high - low)
			}
		}
	}
}

// ShiftedConv computes convolutions of inputs that [Pad] has written. What a position of the
// kernel meets is then the input itself, some elements further on: neighbouring threads
// read it in a row, and ask for no borders. Weights are in bands of MR channels of the
// result as [matmulkernels.Pack] writes them; blocks are as those of [matmulkernels.Packed].
//
//kiln:kernel
//kiln:const cfg.MR=4,8 cfg.NR=2 cfg.Threads=8 v.Small[0]=0 v.Small[1]=0,2 v.Small[2]=0,3 v.Rows=true,false v.Chains=false,true v.Large=false,true
func ShiftedConv[T dsl.Number, C core.Computed](t dsl.Thread, out []T, weights, x []C, w core.Walk, p matmulkernels.Product, v Shifts, cfg matmulkernels.Tiling, mad func(a, b, c C) C) {
	wide, high, each := int(cfg.Threads), int(cfg.MR), int(cfg.NR)
	bands := (p.M + high - 1) / high
	first := t.BlockX()*(wide*each) + t.ThreadX()
	var row [Axes]int
	if v.Rows {
		q, panel := v.Panels.DivMod(t.BlockX())
		row[0], row[1] = v.OutRows.DivMod(q)
		row[2] = panel*(wide*each) + t.ThreadX()
		first = row[0]*v.Place[0] + row[1]*v.Place[1] + row[2]
	}
	if t.ThreadX() >= wide { // which no lane is: it tells that loads need no masks
		return
	}
	for z := t.BlockZ(); z < p.Batch; z += t.GridDimZ() {
		at := w.At(z)
		for band := t.BlockY() * cfg.Bands; band < min((t.BlockY()+1)*cfg.Bands, bands); band++ {
			acc := dsl.LocalSlice[C](cfg.MR * cfg.NR)
			shiftedBand(acc, weights[(at[1]*bands+band)*p.K*high:][:p.K*high], x, at[2]+first, &v, &cfg, mad)
			for e := range each {
				to, ok := v.result(first+e*wide, row, e*wide, &p, &cfg)
				for h := range high {
					if channel := band*high + h; channel < p.M && ok {
						out[at[0]+channel*p.OutM+to] = dsl.Convert[T](acc[h*each+e])
					}
				}
			}
		}
	}
}

// shiftedBand adds the products of the weights of a band of channels with the input from a column on.
func shiftedBand[C core.Computed](acc, ws, x []C, from int, v *Shifts, cfg *matmulkernels.Tiling, mad func(a, b, c C) C) {
	wide, high, each := int(cfg.Threads), int(cfg.MR), int(cfg.NR)
	positions := v.size(0) * v.size(1) * v.size(2)
	sums, xs := dsl.LocalSlice[C](cfg.MR*cfg.NR*core.ChainDepth), dsl.LocalSlice[C](cfg.NR)
	n, next := core.Chained{Long: bool(v.Chains)}, 0
	for c, end := 0, 0; c < v.Channels; c = end {
		end = v.chain(c)
		for range end - c {
			channel, k := ws[next:][:positions*high], 0
			v.each(func(k0, k1, k2 int) {
				ks := channel[k:][:high]
				here := from + (v.shift(0, k0) + v.shift(1, k1) + v.shift(2, k2))
				for e := range each {
					xs[e] = x[here+e*wide]
				}
				for h := range high {
					a := ks[h]
					for e := range each {
						acc[h*each+e] = mad(a, xs[e], acc[h*each+e])
					}
				}
				k += high
			}, func(adds int) { core.CountAdds(acc, sums, &n, adds) })
			from, next = from+v.XChannel, next+positions*high
		}
		if !v.Large {
			core.CountAdds(acc, sums, &n, core.Chain)
		}
	}
	core.JoinChains(acc, sums, &n)
}

// result returns where the result of a column is, or of one so far from a position in a row,
// and whether it is one.
func (v *Shifts) result(column int, row [Axes]int, further int, p *matmulkernels.Product, cfg *matmulkernels.Tiling) (to int, ok bool) {
	if v.Rows {
		i := row[2] + further
		return row[0]*v.OutAt[0] + row[1]*v.OutAt[1] + matmulkernels.TimesStride(i, v.OutAt[2], cfg.Contiguous), i < v.Out[2]
	}
	if v.Dense {
		return matmulkernels.TimesStride(column, p.OutN, cfg.Contiguous), column < p.N
	}
	q, i2 := v.Row[2].DivMod(column)
	i0, i1 := v.Row[1].DivMod(q)
	return i0*v.OutAt[0] + i1*v.OutAt[1] + i2*v.OutAt[2], i0 < v.Out[0] && i1 < v.Out[1] && i2 < v.Out[2]
}
