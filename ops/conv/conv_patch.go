package conv

import (
	"math"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/conv/kernels"
	"github.com/gokiln/kiln/runtime"
)

var convPatch = ops.NewGeneric("convolution", kernels.ConvPatch[ops.T, ops.C])

const (
	patchKernel = 25 // positions of a kernel that patches are for
	patchSide   = 4  // neighbouring results of a thread, as the kernel has them
	patchDown   = 2  // and below each other, as found on an H200
)

// patches plans a convolution by patches of results, or reports false if it is not one of
// few weights for each group that goes over two axes at most. If not forced, threads have
// several results only where there are enough.
func (v *convolution) patches(forced bool) bool {
	w, u := &v.window, &v.weights
	stride, left := w.Stride[2], w.Pad[2]
	if w.Kernel[1] == 1 && w.Out[1] == 1 {
		w.Stride[1] = stride // of one position
	}
	dense := (w.Dilation[1] == 1 || w.Kernel[1] == 1) && (w.Dilation[2] == 1 || w.Kernel[2] == 1)
	if bool(w.Transposed) || v.M != 1 || w.Kernel[0] != 1 || w.Out[0] != 1 || w.Pad[0] != 0 || !dense || w.Kernel[1]*w.Kernel[2] > patchKernel || w.Stride[1] != stride || stride > 2 {
		return false
	}
	c := kernels.Patch{High: dsl.ConstInt(w.Kernel[1]), Long: dsl.ConstInt(w.Kernel[2]), Stride: [2]dsl.ConstInt{dsl.ConstInt(stride), dsl.ConstInt(stride)}, Left: dsl.ConstInt(left)}
	c.Clip = dsl.ConstBool(w.Pad[1] != 0 || w.Pad[2] != 0)
	c.In, c.X = [2]int{w.In[1], w.In[2]}, [2]int{w.X[1], w.X[2]}
	c.Contiguous = dsl.ConstBool(w.X[2] == 1 && u.OutAt[2] == 1)
	enough := v.Info.Units * v.Info.ThreadsPerUnit
	if forced {
		enough = 1
	}
	patchwork(&c, u.Batch, w.Out[1], w.Out[2], patchDown, enough)
	if c.Contiguous && c.Side == patchSide {
		c.OutVec = dsl.ConstBool(ops.Multiples(patchSide, w.Out[2], u.OutAt[1]) && ops.Multiples(patchSide, v.Batches[0].Strides()...))
		c.XVec = dsl.ConstBool(inVectors(&c, w.Out[2]) && ops.Multiples(patchSide, w.X[1], w.XChannel) && ops.Multiples(patchSide, v.Batches[2].Strides()...))
	}
	v.patch = c
	return max(c.N, c.In[0], c.In[1]) <= math.MaxInt32
}

// patchwork divides planes of results among threads, so that there are enough of these.
func patchwork(c *kernels.Patch, planes, rows, row, down, enough int) {
	c.Down, c.Side = 1, 1
	if results := planes * rows * row; row >= patchSide && results >= patchSide*enough {
		c.Side = patchSide
		for int(c.Down) < down && rows >= 2*int(c.Down) && results >= patchSide*2*int(c.Down)*enough {
			c.Down *= 2
		}
	}
	row, rows = (row+int(c.Side)-1)/int(c.Side), (rows+int(c.Down)-1)/int(c.Down)
	c.N, c.Across, c.Rows = planes*rows*row, ops.Divisor(row), ops.Divisor(rows)
}

// inVectors reports whether what patches of rows of so many results meet from where windows
// begin without padding is whole vectors of the input.
func inVectors(c *kernels.Patch, row int) bool {
	stride := int(c.Stride[1])
	return int(c.Left)+patchSide*stride <= int(c.Long)+(patchSide-1)*stride && ops.Multiples(patchSide, row, c.In[1]) && row*stride <= c.In[1]
}

// runPatches has threads sum patches of results.
func runPatches(s *runtime.Stream, v *convolution) error {
	if v.patch.N == 0 && !v.patches(true) {
		return v.unfit("patches", "groups have several channels of the result, or the kernel is large")
	}
	c := v.patch
	t := v.A.DType
	threads := min(ops.MaxThreads, v.Info.ThreadsPerUnit, v.Info.MaxThreads)
	to, weights, x := v.Out.Header(), v.A.Header(), v.B.Header()
	return convPatch.Launch(s, ops.TypeArgs{T: t}, runtime.Cover(c.N, threads), ops.SliceArg(t, &to), ops.SliceArg(t, &weights), ops.SliceArg(t, &x), v.BatchWalk, v.window, v.weights, c, ops.MulAddFn(t.Compute()))
}
