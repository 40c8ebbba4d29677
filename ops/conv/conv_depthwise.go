package conv

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/conv/kernels"
	"github.com/gokiln/kiln/runtime"
)

var convDepthwise = ops.NewGeneric("convolution", kernels.DepthwiseConv[ops.T, ops.C])

const (
	// stagedBytes is how much of a channel is staged at once: half of what a processor's nearest
	// cache has.
	stagedBytes = 16 << 10
	// smallKernel is how many positions a kernel has at most whose loops are unrolled.
	smallKernel = 49
)

// depthwise plans a convolution in which each channel of the input is a group. The numbers of rows
// of a band are 0 where it does not go so.
func (v *convolution) depthwise() (cfg kernels.Depthwise) {
	w := &v.window
	positions := w.Kernel[1] * w.Kernel[2]
	if w.Channels != 1 || w.Kernel[0] != 1 || w.Out[0] != 1 || w.In[0] != 1 || w.Pad[0] != 0 || positions > smallKernel || w.Stride[2] != 1 || bool(w.Transposed) && w.Stride[1] != 1 {
		return cfg
	}
	cfg = kernels.Depthwise{
		Rows: dsl.ConstInt(w.Kernel[1]), Cols: dsl.ConstInt(w.Kernel[2]), Flip: w.Transposed, Batch: v.weights.Batch,
		Staged: dsl.ConstInt(stagedBytes / v.A.DType.Compute().Size()), Unit: w.X[2] == 1 && v.weights.OutAt[2] == 1,
	}
	for i := range cfg.Pad {
		cfg.Pad[i] = w.Pad[i+1]
		if w.Transposed {
			cfg.Pad[i] = (w.Kernel[i+1]-1)*w.Dilation[i+1] - w.Pad[i+1]
		}
	}
	cfg.Near = w.Stride[1] == 1 && w.Dilation[1] == 1 && w.Dilation[2] == 1
	switch cfg.Down = 1; {
	case bool(cfg.Near) && positions <= 9:
		cfg.Down = 4
	case bool(cfg.Near):
		cfg.Down = 2
	}
	wide := w.Out[2] + (w.Kernel[2]-1)*w.Dilation[2]
	rows := int(cfg.Staged)/wide - (w.Kernel[1]-1)*w.Dilation[1] // without those that only the last one meets
	cfg.Band = min(w.Out[1], max(0, (rows+w.Stride[1]-1)/w.Stride[1]))
	return cfg
}

// isDepthwise reports whether most of the rows that a block stages are of its own results.
func (v *convolution) isDepthwise() bool {
	cfg, w := v.depthwise(), &v.window
	return cfg.Band > 0 && (cfg.Band == w.Out[1] || cfg.Band*w.Stride[1] >= 2*(w.Kernel[1]-1)*w.Dilation[1])
}

// runDepthwise stages channels and goes over each of them with its kernels.
func runDepthwise(s *runtime.Stream, v *convolution) error {
	cfg := v.depthwise()
	if cfg.Band == 0 {
		return v.unfit("depthwise", "it has several channels in a group, a third dimension, a stride along rows or a large kernel")
	}
	const each = 16 // blocks for each processor: they put zeros around what they stage once
	g := runtime.Grid{
		Blocks:  runtime.Dim3{X: (v.window.Out[1] + cfg.Band - 1) / cfg.Band, Y: min(cfg.Batch, each*v.Info.Units)},
		Threads: runtime.Dim3{X: v.Info.WarpSize},
	}
	t := v.Out.DType
	to, weights, x := v.Out.Header(), v.A.Header(), v.B.Header()
	return convDepthwise.Launch(s, ops.TypeArgs{T: t}, g, ops.SliceArg(t, &to), ops.SliceArg(t, &weights), ops.SliceArg(t, &x), v.BatchWalk, v.window, v.weights, cfg, ops.MulAddFn(t.Compute()))
}
