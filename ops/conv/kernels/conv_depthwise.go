package kernels

import (
	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
	matmulkernels "github.com/gokiln/kiln/ops/matmul/kernels"
)

// Depthwise says how [DepthwiseConv] divides its work. The last axis is that of columns, the one
// before it that of rows.
type Depthwise struct {
	Rows, Cols dsl.ConstInt  // sizes of the kernel
	Flip       dsl.ConstBool // the kernel goes backwards
	Near       dsl.ConstBool // neither stride nor dilation is more than 1
	Down       dsl.ConstInt  // rows of the result that a thread computes at once, 1 if not Near
	Staged     dsl.ConstInt  // elements of the input that a block stages at most
	Unit       dsl.ConstBool // neighbours of a row are contiguous in the input and in the result
	Band       int           // rows of the result that a block computes at most
	Pad        [2]int        // zeros in front of rows and columns
	Batch      int           // inputs times groups
}

// DepthwiseConv computes convolutions in which each channel of the input is a group of its own. A
// block stages some rows of a channel in shared memory, with zeros around them, and goes over them
// with the kernel of each channel of the result. Blocks in x go over bands of rows, in y over
// channels of all inputs. It is for processors whose vectors are warps.
//
//kiln:kernel
//kiln:const cfg.Rows=1,3 cfg.Cols=3 cfg.Near=true cfg.Down=2 cfg.Staged=256 cfg.Flip=false,true cfg.Unit=true
func DepthwiseConv[T dsl.Number, C core.Computed](t dsl.Thread, out []T, weights, x []T, w core.Walk, v Window, u Weights, cfg Depthwise, mad func(a, b, c C) C) {
	tile := dsl.SharedSlice[C](t, cfg.Staged)
	rows, cols := int(cfg.Rows), int(cfg.Cols)
	wide := v.Out[2] + (cols-1)*v.Dilation[2]
	first := t.BlockX() * cfg.Band
	last := min(first+cfg.Band, v.Out[1])
	// Rows of the input from low on; those that are not there stay zeros in all channels.
	low, staged := first*v.Stride[1]-cfg.Pad[0], (last-first-1)*v.Stride[1]+(rows-1)*v.Dilation[1]+1
	for i := t.ThreadX(); i < staged*wide; i += t.BlockDimX() {
		tile[i] = 0
	}
	for z := t.BlockY(); z < cfg.Batch; z += t.GridDimY() {
		at := w.At(z)
		t.Sync() // the channel before is still read
		for r := max(low, 0); r < min(low+staged, v.In[1]); r++ {
			stageRow(t, tile[(r-low)*wide:][:wide], x, at[2]+r*v.X[1], &v, &cfg)
		}
		t.Sync()
		for m := range u.Channels {
			k := dsl.LocalSlice[C](cfg.Rows * cfg.Cols)
			for i := range rows {
				for j := range cols {
					r, c := i, j
					if cfg.Flip {
						r, c = rows-1-i, cols-1-j
					}
					k[i*cols+j] = dsl.Convert[C](weights[at[1]+m*u.Out+r*u.Kernel[1]+c*u.Kernel[2]])
				}
			}
			r, to := first, at[0]+m*u.OutChannel+first*u.OutAt[1]
			for ; r+int(cfg.Down) <= last; r += int(cfg.Down) {
				depthwiseRows(t, out, tile[(r-first)*v.Stride[1]*wide:], k, to, wide, cfg.Down, &v, &u, &cfg, mad)
				to += int(cfg.Down) * u.OutAt[1]
			}
			for ; r < last; r++ {
				depthwiseRows(t, out, tile[(r-first)*v.Stride[1]*wide:], k, to, wide, 1, &v, &u, &cfg, mad)
				to += u.OutAt[1]
			}
		}
	}
}

// depthwiseRows computes some rows of results. Several of them load once what they share.
func depthwiseRows[T dsl.Number, C core.Computed](t dsl.Thread, out []T, x, k []C, to, wide int, down dsl.ConstInt, v *Window, u *Weights, cfg *Depthwise, mad func(a, b, c C) C) {
	rows, cols := int(cfg.Rows), int(cfg.Cols)
	for col := t.ThreadX(); col < v.Out[2]; col += t.BlockDimX() {
		sums := dsl.LocalSlice[C](down)
		for i := range rows + int(down) - 1 {
			for j := range cols {
				at := i*wide + j + col
				if !cfg.Near {
					at = i*v.Dilation[1]*wide + j*v.Dilation[2] + col
				}
				e := x[at]
				for d := range int(down) {
					if d <= i && i < d+rows {
						sums[d] = mad(k[(i-d)*cols+j], e, sums[d])
					}
				}
			}
		}
		for d := range int(down) {
			out[to+d*u.OutAt[1]+matmulkernels.TimesStride(col, u.OutAt[2], cfg.Unit)] = dsl.Convert[T](sums[d])
		}
	}
}

// stageRow stages a row of the input, as far as a result meets it.
func stageRow[T, C dsl.Number](t dsl.Thread, to []C, x []T, from int, v *Window, cfg *Depthwise) {
	left, right := max(0, -cfg.Pad[1]), min(v.In[2], len(to)-cfg.Pad[1])
	for c := left + t.ThreadX(); c < right; c += t.BlockDimX() {
		to[cfg.Pad[1]+c] = dsl.Convert[C](x[from+matmulkernels.TimesStride(c, v.X[2], cfg.Unit)])
	}
}
