package kernels

import (
	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
	matmulkernels "github.com/gokiln/kiln/ops/matmul/kernels"
)

// Patch says what a thread computes of a window that moves over two axes: results below
// each other and next to each other in rows.
type Patch struct {
	Down, Side dsl.ConstInt    // so many, Side 1 or [patchSide]
	High, Long dsl.ConstInt    // the sizes of the window
	Stride     [2]dsl.ConstInt // its strides
	Left       dsl.ConstInt    // the padding along the last axis
	Clip       dsl.ConstBool   // windows reach over the edges of the input
	Contiguous dsl.ConstBool   // neighbours in a row are contiguous, in the input and in the result
	XVec       dsl.ConstBool   // the elements of the input from where a window begins without padding can be moved at once, and are there
	OutVec     dsl.ConstBool   // and the results
	N          int             // patches
	Across     core.Divisor    // patches in a row
	Rows       core.Divisor    // rows of patches of a plane of the result
	In         [2]int          // the sizes of the input
	X          [2]int          // and its strides
}

// patchSide is how many neighbouring results a thread has, which are moved at once.
const patchSide = 4

// place returns which plane patch i is of, and its first result.
func (c *Patch) place(i int) (plane, down, side int) {
	q, side := c.Across.DivMod(i)
	plane, down = c.Rows.DivMod(q)
	return plane, down * int(c.Down), side * int(c.Side)
}

// rows is how many rows of the input the results of a patch meet, and span how many
// elements of each.
func (c *Patch) rows() int          { return int((c.Down-1)*c.Stride[0] + c.High) }
func (c *Patch) span() dsl.ConstInt { return (c.Side-1)*c.Stride[1] + c.Long }

// ConvPatch is a convolution over two axes of which each group has one channel of the
// result. A thread loads a row of what its results meet, and adds it to all of these.
//
//kiln:kernel
//kiln:const cfg.Down=1,2 cfg.Side=1,4 cfg.High=1,2 cfg.Long=3 cfg.Stride[0]=1 cfg.Stride[1]=1,2 cfg.Left=1 cfg.XVec=false cfg.OutVec=false
func ConvPatch[T, C dsl.Number](t dsl.Thread, out, weights, x []T, w core.Walk, v Window, u Weights, cfg Patch, mad func(a, b, c C) C) {
	for i := t.Global(); i < cfg.N; i += t.GlobalSize() {
		plane, down, side := cfg.place(i)
		at := w.At(plane)
		acc := dsl.LocalSlice[C](cfg.Down * cfg.Side)
		for range v.Channels {
			ws := dsl.LocalSlice[C](cfg.High * cfg.Long)
			for k := range int(cfg.High * cfg.Long) {
				ws[k] = dsl.Convert[C](weights[at[1]+k/int(cfg.Long)*u.Kernel[1]+k%int(cfg.Long)*u.Kernel[2]])
			}
			for r := range cfg.rows() {
				xs := dsl.LocalSlice[C](cfg.span())
				patchRow(xs, x, at[2], down*int(cfg.Stride[0])-v.Pad[1]+r, side, &cfg)
				for d := range int(cfg.Down) {
					if k := r - d*int(cfg.Stride[0]); k >= 0 && k < int(cfg.High) {
						patchAdd(acc[d*int(cfg.Side):], xs, ws[k*int(cfg.Long):], &cfg, mad)
					}
				}
			}
			at[1], at[2] = at[1]+u.In, at[2]+v.XChannel
		}
		for d := range int(cfg.Down) {
			if down+d < v.Out[1] {
				patchStore[T](out, acc[d*int(cfg.Side):], at[0]+(down+d)*u.OutAt[1], side, v.Out[2], u.OutAt[2], &cfg)
			}
		}
	}
}

// patchRow loads what results from side on meet in row y of the input, or 0: it asks for
// some element where there is none, so that all loads are in flight at once. If not cfg.Clip
// that is only for results that are not there.
func patchRow[T, C dsl.Number](to []C, x []T, at, y, side int, cfg *Patch) {
	row, first := int32(y), int32(side)*int32(cfg.Stride[1])
	there := uint32(row) < uint32(cfg.In[0])
	at += int(min(max(row, 0), int32(cfg.In[0])-1)) * cfg.X[0]
	left, vecs := int(cfg.Left), 0
	if cfg.XVec {
		vecs = int(cfg.Stride[1])
	}
	var zero C
	for c := range int(cfg.span()) {
		if c >= left && c < left+vecs*patchSide {
			continue
		}
		z := first + int32(c-left)
		to[c] = dsl.Convert[C](x[at+matmulkernels.TimesStride(int(min(max(z, 0), int32(cfg.In[1])-1)), cfg.X[1], cfg.Contiguous)])
		if bool(cfg.Clip) && (!there || uint32(z) >= uint32(cfg.In[1])) {
			to[c] = zero
		}
	}
	for i := range vecs {
		p := dsl.LoadVec[[patchSide]T](x, int(uint(at+int(first)+i*patchSide)/patchSide))
		for k := range p {
			if c := left + i*patchSide + k; c < int(cfg.span()) {
				if to[c] = dsl.Convert[C](p[k]); bool(cfg.Clip) && !there {
					to[c] = zero
				}
			}
		}
	}
}

// patchAdd adds the products of a row of the kernel.
func patchAdd[C dsl.Number](acc, xs, ws []C, cfg *Patch, mad func(a, b, c C) C) {
	for k := range int(cfg.Long) {
		for s := range int(cfg.Side) {
			acc[s] = mad(xs[s*int(cfg.Stride[1])+k], ws[k], acc[s])
		}
	}
}

// patchStore stores a row of results, of so many in all, which lie step apart.
func patchStore[T, C dsl.Number](out []T, acc []C, at, side, n, step int, cfg *Patch) {
	if cfg.OutVec {
		var p [patchSide]T
		for k := range p {
			p[k] = dsl.Convert[T](acc[k])
		}
		dsl.StoreVec(out, int(uint(at+side)/patchSide), p)
		return
	}
	for s := range int(cfg.Side) {
		if side+s < n {
			out[at+matmulkernels.TimesStride(side+s, step, cfg.Contiguous)] = dsl.Convert[T](acc[s])
		}
	}
}
