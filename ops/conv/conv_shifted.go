package conv

import (
	"errors"
	"fmt"
	"math"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/conv/kernels"
	"github.com/gokiln/kiln/ops/elementwise"
	core "github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/matmul"
	matmulkernels "github.com/gokiln/kiln/ops/matmul/kernels"
	"github.com/gokiln/kiln/runtime"
)

var (
	convPad     = ops.NewGeneric("convolution", kernels.Pad[ops.T, ops.C])
	convShifted = ops.NewGeneric("convolution", kernels.ShiftedConv[ops.T, ops.C])
)

// shifted is a convolution of an input with zeros around it.
type shifted struct {
	*convolution
	pad kernels.Padding
	by  kernels.Shifts
	all int // elements of the padded inputs
}

// shift plans how the input is padded.
func (v *convolution) shift() *shifted {
	w := &v.window
	s := &shifted{convolution: v}
	pad, by := &s.pad, &s.by
	*by = kernels.Shifts{Kernel: w.Kernel, Dilation: w.Dilation, Stride: w.Stride, Channels: w.Channels, Flip: w.Transposed, One: true, Out: w.Out, OutAt: v.weights.OutAt}
	*pad = kernels.Padding{In: w.In, X: w.X, XChannel: w.XChannel}
	size := 1
	for a := kernels.Axes - 1; a >= 0; a-- {
		reach := (w.Kernel[a] - 1) * w.Dilation[a]
		pad.Stride[a], pad.Insert[a], pad.Before[a] = w.Stride[a], 1, w.Pad[a]
		if w.Transposed {
			// The kernel goes backwards over an input that has zeros between its elements.
			pad.Stride[a], pad.Insert[a], pad.Before[a], by.Stride[a] = 1, w.Stride[a], reach-w.Pad[a], 1
		}
		pad.Phases[a] = min(pad.Stride[a], reach+1)
		pad.Size[a] = w.Out[a] + reach/pad.Stride[a]
		by.One = by.One && pad.Stride[a] == 1
		by.Place[a], by.Row[a] = size, ops.Divisor(pad.Size[a])
		size *= pad.Size[a]
		const small = 7
		if w.Kernel[a] <= small {
			by.Small[a] = dsl.ConstInt(w.Kernel[a])
		}
	}
	for a := kernels.Axes - 1; a >= 0; a-- {
		by.Phase[a] = size
		size *= pad.Phases[a]
	}
	by.XChannel = size
	pad.Contiguous = dsl.ConstBool(pad.Stride[2] == 1 && pad.Insert[2] == 1 && w.X[2] == 1)
	inputs := v.Batches[0].Shape()[0]
	groups := v.Batches[0].Shape()[1]
	pad.Channels = w.Channels * groups
	s.all = inputs * pad.Channels * size
	return s
}

// maxPadded is how many elements padded inputs have at most.
const maxPadded = 1 << 27

// fits reports whether there may be a padded copy of the input.
func (v *shifted) fits() bool {
	perInput := v.pad.Channels * v.by.XChannel
	return perInput > 0 && v.Batches[0].Shape()[0] <= maxPadded/perInput
}

// runShifted pads the input, packs the weights and multiplies.
func runShifted(s *runtime.Stream, v *convolution) (err error) {
	h := v.shift()
	if !h.fits() {
		return v.unfit("shifted", fmt.Sprintf("a padded copy of the input has more than %d elements", maxPadded))
	}
	var room []ops.View
	defer func() {
		for _, r := range room {
			err = errors.Join(err, r.Buf.FreeOn(s))
		}
	}()
	c := v.A.DType.Compute()
	h.columns()
	cfg := matmul.Tall(matmul.FitTiling(matmul.VectorTiling(v.Info.WarpSize, c), v.N), v.M)
	for int(cfg.MR) > 1 && int(cfg.MR) >= 2*v.M { // few channels: more positions instead
		cfg.MR, cfg.NR = cfg.MR/2, min(4, cfg.NR*2)
	}
	width := int(cfg.Threads * cfg.NR)
	x := ops.View{DType: c, Layout: layout.Contiguous(layout.Shape{h.all + width})} // what lies behind is read, too
	if x.Buf, err = s.Alloc(x.Layout.Count() * c.Size()); err != nil {
		return err
	}
	room = append(room, x)
	if err := h.fill(s, x); err != nil {
		return err
	}
	ws, err := h.packWeights(s, cfg.MR, &room)
	if err != nil {
		return err
	}
	return h.multiply(s, ws, x, cfg)
}

// columns counts the positions of the padded input from the first to the last that there
// is a result for.
func (v *shifted) columns() {
	by, size, out := &v.by, v.pad.Size, v.window.Out
	by.Dense = dsl.ConstBool(v.OutN != 0 && (size[2] == out[2] || out[0]*out[1] == 1) && (size[1] == out[1] || out[0] == 1))
	if !by.Dense {
		v.N = (out[0]-1)*by.Place[0] + (out[1]-1)*by.Place[1] + out[2]
	}
}

// blocks is how many blocks there are in x, over all columns or row by row, whichever is
// less work: columns of several rows are stored one by one.
func (v *shifted) blocks(cfg *matmulkernels.Tiling) int {
	by, out := &v.by, v.window.Out
	width := int(cfg.Threads * cfg.NR)
	all, row := ops.RoundUp(v.N, width)/width, ops.RoundUp(out[2], width)/width
	rows := out[0] * out[1] * row
	const vector, single = 3, 24 // what it costs to store a vector, beside half of each product
	if by.Dense || rows > math.MaxInt32 || (v.K/2+vector)*rows >= (v.K/2+single)*all {
		return all
	}
	by.Rows, by.Panels, by.OutRows = true, ops.Divisor(row), ops.Divisor(out[1])
	cfg.Contiguous = dsl.ConstBool(by.OutAt[2] == 1)
	return rows
}

// fill writes the padded inputs.
func (v *shifted) fill(s *runtime.Stream, to ops.View) error {
	inputs := v.Batches[2].Shape()[:1]
	from, err := layout.New(inputs, v.Batches[2].Strides()[:1], 0)
	if err != nil {
		return err
	}
	var w core.Walk
	var unused runtime.Grid
	if _, err := ops.PlanWalk(s, &w, &unused, from); err != nil {
		return err
	}
	ops.RandomAccess(&w, inputs[0])
	g := runtime.Grid{Blocks: runtime.Dim3{X: v.pad.Channels, Y: min(inputs[0], ops.MaxBlocks())}, Threads: runtime.Dim3{X: v.Info.WarpSize}}
	dst, src := to.Header(), v.B.Header()
	return convPad.Launch(s, ops.TypeArgs{T: v.B.DType, C: to.DType}, g, ops.SliceArg(to.DType, &dst), ops.SliceArg(v.B.DType, &src), w, inputs[0], v.pad)
}

// packWeights packs the weights of each group, and has them be counted by their numbers.
func (v *shifted) packWeights(s *runtime.Stream, high dsl.ConstInt, room *[]ops.View) (ops.View, error) {
	w, u := &v.window, &v.weights
	inputs, groups := v.Batches[1].Shape()[0], v.Batches[1].Shape()[1]
	p := matmul.Problem{Product: v.Product, A: v.A, Info: v.Info}
	step := v.Batches[1].Strides()[1]
	if !v.joined {
		// They lie so that channels and positions are not one dimension.
		shape := layout.Shape{groups, v.M, w.Channels, w.Kernel[0], w.Kernel[1], w.Kernel[2]}
		from, err := layout.New(shape, []int{step, u.Out, u.In, u.Kernel[0], u.Kernel[1], u.Kernel[2]}, v.A.Layout.Offset())
		if err != nil {
			return v.A, err
		}
		to := ops.View{DType: v.A.DType, Layout: layout.Contiguous(shape)}
		if to.Buf, err = s.Alloc(shape.Count() * to.DType.Size()); err != nil {
			return to, err
		}
		*room = append(*room, to)
		src := v.A
		src.Layout = from
		if err := elementwise.Copy(s, to, src); err != nil {
			return to, err
		}
		p.A, p.XM, p.XK, step = to, v.K, 1, v.M*v.K
	}
	p.Batch = groups
	p.Batches[1], _ = layout.New(layout.Shape{groups}, []int{step}, 0) // of right layouts
	ws, err := p.Packing(s, p.A, 1, p.M, p.XM, p.XK, high)
	if err == nil {
		err = ws.Run(s)
	}
	if err != nil {
		return ws.To, err
	}
	*room = append(*room, ws.To)
	v.Batches[1], err = layout.New(layout.Shape{inputs, groups}, []int{0, p.Batches[1].Strides()[0]}, 0)
	return ws.To, err
}

// multiply multiplies packed weights by padded inputs.
func (v *shifted) multiply(s *runtime.Stream, ws, x ops.View, cfg matmulkernels.Tiling) error {
	w, by := &v.window, &v.by
	shape := v.Batches[2].Shape()
	v.Batches[2], _ = layout.New(shape, []int{v.pad.Channels * by.XChannel, w.Channels * by.XChannel}, 0)
	if err := v.PlanBatches(s); err != nil {
		return err
	}
	cfg.Contiguous = dsl.ConstBool(bool(by.Dense) && v.OutN == 1)
	places := v.K / w.Channels
	by.Chains, by.PerChain = v.long(), max(1, core.Chain/places)
	by.Large = dsl.ConstBool(bool(by.Chains) && places > core.Chain)
	blocks := v.blocks(&cfg)
	const most = 16 // bands that share what they read of the input
	bands := ops.RoundUp(v.M, int(cfg.MR)) / int(cfg.MR)
	cfg.Bands = min(most, bands)
	g := runtime.Grid{
		Blocks:  runtime.Dim3{X: blocks, Y: (bands + cfg.Bands - 1) / cfg.Bands, Z: min(v.Batch, ops.MaxBlocks())},
		Threads: runtime.Dim3{X: int(cfg.Threads)},
	}
	t := v.Out.DType
	to, weights, from := v.Out.Header(), ws.Header(), x.Header()
	return convShifted.Launch(s, ops.TypeArgs{T: t, C: x.DType}, g, ops.SliceArg(t, &to), ops.SliceArg(ws.DType, &weights), ops.SliceArg(x.DType, &from), v.BatchWalk, v.Product, *by, cfg, ops.MulAddFn(x.DType))
}
