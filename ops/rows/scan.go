package rows

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	elementwisekernels "github.com/gokiln/kiln/ops/elementwise/kernels"
	core "github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/rows/kernels"
	"github.com/gokiln/kiln/runtime"
)

// Scan is an operation that stores at each index the reduction of the elements of a
// dimension up to there. The work is linear and the order fixed, as for a
// [Reduction].
type Scan struct {
	name   string
	reduce *Reduction // of parts
	takes  ops.Types
	init   *ops.GenericFunc
	op     *ops.GenericFunc
}

var scans []*Scan

func scan(name string, r *Reduction, init, op any) *Scan {
	c := &Scan{name: name, reduce: r, takes: ops.Numbers, init: ops.NewGenericFunc(init), op: ops.NewGenericFunc(op)}
	scans = append(scans, c)
	return c
}

// The scans. From the first NaN on, all is NaN.
var (
	CumSum  = scan("cumsum", Sum, kernels.Nothing[ops.C], core.Add[ops.C])
	CumProd = scan("cumprod", Prod, kernels.Once[ops.C], elementwisekernels.Mul[ops.C])
	CumMax  = scan("cummax", Max, elementwisekernels.Identity[ops.C], elementwisekernels.Maximum[ops.C])
	CumMin  = scan("cummin", Min, elementwisekernels.Identity[ops.C], elementwisekernels.Minimum[ops.C])

	LogCumSumExp = scan("logcumsumexp", ofLogs, kernels.Never[ops.C], elementwisekernels.LogAddExp[ops.C]).of(ops.Floats)
)

// ofLogs is what [LogSumExp] computes, with the accumulators of a scan: one number.
var ofLogs = &Reduction{name: "log_sum_exp", form: kernels.Single, takes: ops.Floats, fns: [4]*ops.GenericFunc{
	ops.NewGenericFunc(kernels.FromNever[ops.C]), ops.NewGenericFunc(kernels.LogAddStep[ops.C]), ops.NewGenericFunc(kernels.LogAdd[ops.C]), ops.NewGenericFunc(kernels.Value[ops.C]),
}}

func (c *Scan) of(t ops.Types) *Scan {
	c.takes = t
	return c
}

// Scans returns all of them.
func Scans() []*Scan { return scans }

// Name is the operation's name.
func (c *Scan) Name() string { return c.name }

// Takes reports whether the operation is for elements of a type.
func (c *Scan) Takes(d dtype.DType) bool { return c.takes.Has(d) }

var (
	scanRows  = ops.NewGeneric("scan", kernels.ScanRows[ops.T, ops.C])
	scanCols  = ops.NewGeneric("scan", kernels.ScanCols[ops.T, ops.C])
	scanParts = ops.NewGeneric("scan", kernels.ScanParts[ops.T, ops.C])
)

// Run stores in out, of the shape and type of x, the scan of x along dim.
func (c *Scan) Run(s *runtime.Stream, out, x ops.View, dim int) error {
	if !c.takes.Has(x.DType) {
		return ops.Unsupported(c.name, x.DType, c.takes.String())
	}
	l, err := newRows(c.name, out, x, dim)
	if err != nil || x.Layout.Count() == 0 {
		return err
	}
	in, err := c.reduce.instance(x.DType)
	if err != nil {
		return err
	}
	reduced, err := layout.New(layout.Shape{l.Len()}, []int{x.Layout.Strides()[l.Dim]}, 0)
	if err != nil {
		return err
	}
	p := reductionPlan{r: c.reduce, in: in, out: out, x: x, scans: true}
	if err := p.make(s.Device(), l.Kept, reduced); err != nil {
		return err
	}
	if done, err := c.runTiles(s, &l, &p); done || err != nil {
		return err
	}
	return c.run(s, &l, &p)
}

// run launches the kernels.
func (c *Scan) run(s *runtime.Stream, l *RowOp, p *reductionPlan) error {
	d := l.X.DType.Compute()
	init, op := c.init.In(d), c.op.In(d)
	var sums *reductionPlan // of the partial sums, which are carried into the parts
	if p.parts > 1 {
		first := *p
		sums = &first
	}
	f, info := &rowScan, ops.DeviceInfo(s.Device())
	if p.across {
		f = &colScan
	}
	k, grid, err := f.plan(&info, l, p)
	if err != nil {
		return err
	}
	if steps := p.reduction.Part / f.step(&p.reduction); p.across {
		p.reduction.Tree = dsl.ConstBool(p.adds() && steps > core.TreeSteps) // short columns are faster without
	} else {
		p.tree(&info, steps)
	}
	carried, vectors := dsl.ConstBool(p.parts > 1), l.vectors(&p.reduction)
	carry := ops.SliceArg(d, new(runtime.SliceHeader))
	if sums != nil {
		if !k.Loaded(s.Device(), nil, nil, nil, p.reduction, carried, vectors, init, op) {
			if err := sums.prefetchScan(s.Device(), l, init, op, jit.Wanted{Kernel: k, Consts: []any{p.reduction, carried, vectors, init, op}}); err != nil {
				return err
			}
		}
		var scratch ops.Scratch
		if carry, err = sums.carries(s, l, init, op, &scratch); err != nil {
			return err
		}
		defer scratch.Free(s)
	}
	xh, oh := l.X.Header(), l.out.Header()
	return k.Launch(s, grid, ops.SliceArg(l.out.DType, &oh), ops.SliceArg(l.X.DType, &xh), carry, p.reduction, carried, vectors, init, op)
}

// prefetchScan has all three kernels compiled at the same time.
func (p *reductionPlan) prefetchScan(dev *runtime.Device, l *RowOp, init, op *jit.Fn, last jit.Wanted) error {
	k, err := scanParts.Of(ops.TypeArgs{T: l.X.DType})
	if err != nil {
		return err
	}
	f := p.in.fns
	return jit.Prefetch(dev,
		jit.Wanted{Kernel: p.partial(), Consts: []any{p.reduction, f[0], f[1], f[2]}},
		jit.Wanted{Kernel: k, Consts: []any{p.second, init, op}}, last)
}

// carries computes what is carried into each part.
func (p *reductionPlan) carries(s *runtime.Stream, l *RowOp, init, op *jit.Fn, scratch *ops.Scratch) (any, error) {
	args, err := p.runParts(s, scratch)
	if err != nil {
		return nil, err
	}
	k, err := scanParts.Of(ops.TypeArgs{T: l.X.DType})
	if err == nil {
		xh := l.X.Header()
		err = k.Launch(s, runtime.Cover(p.second.Rows, ops.DeviceInfo(s.Device()).WarpSize), args[0], ops.SliceArg(l.X.DType, &xh), p.second, init, op)
	}
	if err != nil {
		scratch.Free(s)
	}
	return args[0], err
}

// scanShape is how threads are arranged for a scan.
type scanShape struct {
	family *ops.Generic
	grid   func(info *runtime.Info, l *RowOp, p *reductionPlan) runtime.Grid
	step   func(w *kernels.RowReduction) int // how much of a row is one iteration
}

func (f *scanShape) plan(info *runtime.Info, l *RowOp, p *reductionPlan) (*jit.Kernel, runtime.Grid, error) {
	p.reduction.OutIn = l.out.Layout.Strides()[l.Dim]
	k, err := f.family.Of(ops.TypeArgs{T: l.X.DType})
	return k, f.grid(info, l, p), err
}

const mostScanned = 8 // elements that a thread of a scan has at once

// vectors reports whether a thread can load and store its neighbours at once.
func (l *RowOp) vectors(w *kernels.RowReduction) dsl.ConstBool {
	n := int(w.Items)
	if n < 4 || !w.Contiguous || n*l.X.DType.Size() > 16 || w.Part%n != 0 {
		return false
	}
	for d := range int(w.Outs) {
		if w.XStep[d]%n != 0 || w.OutStep[d]%n != 0 {
			return false
		}
	}
	return true
}

var rowScan = scanShape{scanRows, func(info *runtime.Info, l *RowOp, p *reductionPlan) runtime.Grid {
	w := &p.reduction
	w.Contiguous = w.InStep[0] == 1 && w.OutIn == 1
	threads, per := info.WarpSize, 1
	w.Items = 1
	if v := 16 / l.X.DType.Size(); ops.TraitsOf(info).VectorAccess {
		w.Items = dsl.ConstInt(min(max(v, 4), mostScanned))
		if !l.vectors(w) {
			w.Items = 1
		}
	}
	w.Group, w.Whole = dsl.ConstInt(threads), true
	if ops.TraitsOf(info).BlockTiles {
		w.Whole = false
		threads = min(ops.MaxThreads, info.MaxThreads)
		per = threads / int(w.Group)
		if w.N > 8*int(w.Items)*info.WarpSize || w.Rows*info.WarpSize < info.Units*info.ThreadsPerUnit/4 {
			w.Group, w.Block, per = 0, dsl.ConstInt(threads), 1
		}
	}
	blocks := (w.Rows + per - 1) / per
	return runtime.Grid{Blocks: runtime.Dim3{X: min(blocks, ops.RowBlocks(info, threads)), Y: p.parts}, Threads: runtime.Dim3{X: threads}}
}, func(w *kernels.RowReduction) int { return int(max(w.Group, w.Block) * w.Items) }}

var colScan = scanShape{scanCols, func(info *runtime.Info, l *RowOp, p *reductionPlan) runtime.Grid {
	w := &p.reduction
	w.Contiguous = w.XStep[0] == 1 && w.OutStep[0] == 1
	threads := info.WarpSize
	w.Cols = 1
	if ops.TraitsOf(info).WarpBlocks {
		for w.Cols < mostScanned && int(w.Cols)*2*threads*info.Units <= w.Width*w.Rows {
			w.Cols *= 2
		}
	} else {
		for threads < ops.MaxThreads && threads < w.Width && w.Width*w.Rows > 2*threads*info.Units {
			threads *= 2
		}
	}
	return runtime.Grid{
		Blocks:  runtime.Dim3{X: (w.Width + threads*int(w.Cols) - 1) / (threads * int(w.Cols)), Y: p.parts, Z: min(w.Rows, ops.MaxBlocks())},
		Threads: runtime.Dim3{X: threads},
	}
}, func(*kernels.RowReduction) int { return 1 }}
