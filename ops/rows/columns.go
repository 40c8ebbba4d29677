package rows

import (
	"math"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/rows/kernels"
	"github.com/gokiln/kiln/runtime"
)

// Softmax and its relatives along a dimension whose elements are not contiguous, where
// those of another do: the accumulators of the columns first, and then the results.

var (
	keepStrips  = ops.NewGeneric("reduction", kernels.KeepStrips[ops.T, ops.C])
	shareStrips = ops.NewGeneric("softmax", kernels.ShareStrips[ops.T, ops.C])
)

const (
	shareLanes = 32  // threads of a block that are contiguous
	shareRows  = 128 // of a block
)

// columns is for softmax of contiguous columns: threads go down them.
func (r *rowShape) columns() (p rowPlan, ok bool) {
	x, w := &r.op.X, &p.reduction
	vec := min(16/r.dtype.Size(), downMost)
	if r.norm || !ops.TraitsOf(r.info).BlockTiles || r.info.MaxThreads < ops.MaxThreads ||
		!x.Layout.IsContiguous() || !r.op.out.Layout.IsContiguous() || KeepDims(w, r.op.Kept) != nil {
		return p, false
	}
	stride := x.Layout.Strides()[r.op.Dim]
	if w.Outs == 0 || w.OutSize[0] != stride || stride%vec != 0 {
		return p, false
	}
	w.Ins, w.N, w.Contiguous, w.Width = 1, r.n, true, stride
	w.InSize[0], w.InStep[0], w.OutIn = r.n, stride, stride
	w.Rows /= stride
	w.Wide = w.Rows > math.MaxInt32
	w.Block, w.Group, w.Vec, w.Part = ops.MaxThreads, shareLanes, dsl.ConstInt(vec), shareRows
	p.grid = runtime.Grid{Threads: runtime.Dim3{X: ops.MaxThreads}, Blocks: runtime.Dim3{
		X: (stride + shareLanes*vec - 1) / (shareLanes * vec), Y: (r.n + shareRows - 1) / shareRows, Z: min(w.Rows, ops.MaxBlocks()),
	}}
	return p, p.grid.Blocks.Y <= ops.MaxGridY
}

func (c *rowCall) launchColumns(s *runtime.Stream, p *rowPlan) error {
	d := c.X.DType.Compute()
	k, err := shareStrips.Of(ops.TypeArgs{T: c.X.DType})
	if err != nil {
		return err
	}
	log := dsl.ConstBool(c.log)
	location, factor, memory, err := c.stats(s, func() jit.Wanted {
		return jit.Wanted{Kernel: k, Consts: []any{p.reduction, log, c.fn.Quick}}
	})
	if err != nil {
		return err
	}
	defer memory.Free(s)
	out, x, _, _, _, _ := c.args()
	lh, fh := location.Header(), factor.Header()
	return k.Launch(s, p.grid, out, x, ops.SliceArg(d, &lh), ops.SliceArg(d, &fh), p.reduction, log, c.fn.Quick)
}
