package rows

import (
	"fmt"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/rows/kernels"
	"github.com/gokiln/kiln/runtime"
)

var normGrad = ops.NewGeneric("norm gradient", kernels.NormGrad[ops.T, ops.C])

// NormGrad is the gradient of a norm along the last dimension of a contiguous x, as one kernel.
type NormGrad struct {
	Center bool    // of a [LayerNorm], not of an [RMSNorm]
	Scaled bool    // the norm has a scale, which gets a gradient
	Shift  bool    // the norm has a shift, which gets a gradient
	Eps    float64 // of the norm

	plan normGradPlan
}

// normGradPlan is how the kernel goes over rows.
type normGradPlan struct {
	reduction kernels.RowReduction
	grid      runtime.Grid
}

// normGradLimits are blocks of a gradient. A thread keeps an element, its gradient, and the sums of
// two weights in registers, of which more threads would not have enough.
var normGradLimits = blockLimits{threads: 512, items: 24, registers: 128, reserved: 1024}

// Parts plans the gradient of rows of n elements, and returns how many parts the gradients of the
// weights have, 0 if rows are too few and long for it.
func (k *NormGrad) Parts(dev *runtime.Device, d dtype.DType, rows, n int) int {
	info := ops.DeviceInfo(dev)
	if rows == 0 || n == 0 || rows < info.Units && n >= tuned.laneRow {
		return 0
	}
	w := kernels.RowReduction{Contiguous: true, Ins: 1, Outs: 1, N: n, Rows: rows, Vec: 1}
	w.OutSize[0], w.XStep[0], w.OutStep[0], w.InSize[0], w.InStep[0], w.OutIn = rows, n, n, n, 1, 1
	w.OutDiv[0] = ops.Divisor(rows)
	k.plan.reduction = w
	switch traits := ops.TraitsOf(&info); {
	case traits.WarpBlocks:
		k.lanes(&info)
	case traits.BlockTiles:
		k.blocks(&info, d)
	default:
		return 0
	}
	return k.plan.grid.Blocks.X
}

// lanes is as for norms: a block is a warp.
func (k *NormGrad) lanes(info *runtime.Info) {
	w, warp := &k.plan.reduction, info.WarpSize
	w.Group, w.Whole, w.Runs = dsl.ConstInt(warp), true, true
	if items := w.N / warp; items*warp == w.N && items <= tuned.laneItems/2 && items&(items-1) == 0 {
		w.Items, w.Full = dsl.ConstInt(items), true
	}
	k.plan.grid = rowGrid(min(w.Rows, 4*info.Units), warp)
}

// blocks has lanes of a warp, or a block, for a row in registers; blocks are persistent.
func (k *NormGrad) blocks(info *runtime.Info, d dtype.DType) {
	w, b := &k.plan.reduction, normGradLimits
	if d.Compute().Size() > 4 {
		b.items /= 2
	}
	group := 1
	for most := min(b.threads, info.MaxThreads); group*b.items < w.N && group*2 <= most; {
		group *= 2
	}
	threads, per := group, 1
	if group <= info.WarpSize {
		threads = min(4*info.WarpSize, info.MaxThreads)
		per = threads / group
		w.Group = dsl.ConstInt(group)
	}
	w.Block = dsl.ConstInt(threads)
	vec := 16 / d.Size()
	for vec > 1 && w.N%vec != 0 {
		vec /= 2
	}
	if items := ops.RoundUp((w.N+group-1)/group, vec); items <= b.items {
		w.Items, w.Vec, w.Full = dsl.ConstInt(items), dsl.ConstInt(vec), items*group == w.N
	} else {
		w.Group = 0
	}
	resident := max(1, min(info.ThreadsPerUnit/threads, info.RegistersPerUnit/(threads*b.registers)))
	k.plan.grid = rowGrid(min((w.Rows+per-1)/per, resident*info.Units), threads)
}

// Run stores the gradient of x, given that of the result, g, plus also if that has memory. Parts has
// what is summed over rows: of the shape (2, [NormGrad.Parts], n), first that of the scale, if there
// is a scale and a shift, and (1, …) if there is one of them; it is of the type that is computed in.
func (k *NormGrad) Run(s *runtime.Stream, dx, x, g, also, scale, parts ops.View) error {
	if err := k.check(dx, x, g, also, scale); err != nil {
		return err
	}
	d, c := x.DType, x.DType.Compute()
	f := kernels.RowFn{Norm: true, Center: dsl.ConstBool(k.Center), Scaled: dsl.ConstBool(k.Scaled), Shifted: dsl.ConstBool(k.Shift), Added: also.Buf != nil}
	h := [6]runtime.SliceHeader{dx.Header(), x.Header(), g.Header(), {}, {}, {}}
	for i, v := range []ops.View{also, scale, parts} {
		if v.Buf != nil {
			h[3+i] = v.Header()
		}
	}
	eps := dtype.FromFloat(c, k.Eps).Bits()
	return normGrad.Launch(s, ops.TypeArgs{T: d}, k.plan.grid, ops.SliceArg(d, &h[0]), ops.SliceArg(d, &h[1]), ops.SliceArg(d, &h[2]),
		ops.SliceArg(d, &h[3]), ops.SliceArg(d, &h[4]), ops.SliceArg(c, &h[5]), k.plan.reduction, f, ops.ScalarArg(c, &eps))
}

// check reports operands that the kernel does not take.
func (k *NormGrad) check(dx, x, g, also, scale ops.View) error {
	for _, v := range []ops.View{dx, x, g, also, scale} {
		switch {
		case v.Buf == nil:
		case v.DType != x.DType:
			return fmt.Errorf("%w: norm gradient of %s with %s", ops.ErrDType, x.DType, v.DType)
		case !v.Layout.IsContiguous():
			return fmt.Errorf("%w: norm gradient of strides %v, want contiguous", layout.ErrShape, v.Layout.Strides())
		}
	}
	for _, v := range []ops.View{dx, g, also} {
		if v.Buf != nil && !v.Layout.Shape().Equal(x.Layout.Shape()) {
			return fmt.Errorf("%w: norm gradient of %v with %v", layout.ErrShape, x.Layout.Shape(), v.Layout.Shape())
		}
	}
	if n := x.Layout.Shape()[x.Layout.Rank()-1]; k.plan.reduction.N != n || k.plan.reduction.Rows*n != x.Layout.Count() {
		return fmt.Errorf("%w: norm gradient of %v, planned for %d rows of %d", layout.ErrShape, x.Layout.Shape(), k.plan.reduction.Rows, k.plan.reduction.N)
	}
	return nil
}
