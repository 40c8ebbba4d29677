package rows

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/elementwise"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/rows/kernels"
	"github.com/gokiln/kiln/runtime"
)

// Reduction is an operation whose result has one element for all elements of its
// operand along some dimensions. Numbers are computed in the type that kernels compute
// in, which is F32 for halves, and integers wrap. The order is fixed for a device, a
// shape and strides, so that the same call has the same bits.
type Reduction struct {
	name     string
	form     int
	takes    ops.Types
	fns      [4]*ops.GenericFunc // init, step, merge, finish
	result   dtype.DType         // that of the result, Invalid for that of the operand
	empty    float64             // the result of no elements
	needs    bool                // no elements have no result
	ordered  bool                // elements are numbered
	wide     bool                // integers are computed in I64, of which the result is
	corrects bool                // it divides by the number of elements less the correction
	totals   bool                // of floating-point numbers it is the mean of one element: sums and means share kernels
	adds     bool                // it adds, so that long chains of steps add errors up
	halves   *ops.GenericFunc    // step for types of 16 bits and less, nil for that of others
	index    bool                // finish returns an index

	made  [32]atomic.Pointer[reducer]
	plans ops.PlanCache[reductionPlan]
}

// reducer is a reduction for one element type.
type reducer struct {
	rows, cols, down, partRows, partCols, parts *jit.Kernel
	fns                                         [4]*jit.Fn
}

var reductions []*Reduction

func reduction(name string, form int, t ops.Types, init, step, merge, finish any) *Reduction {
	r := &Reduction{name: name, form: form, takes: t, fns: [4]*ops.GenericFunc{ops.NewGenericFunc(init), ops.NewGenericFunc(step), ops.NewGenericFunc(merge), ops.NewGenericFunc(finish)}}
	reductions = append(reductions, r)
	return r
}

func (r *Reduction) of(empty float64) *Reduction { r.empty = empty; return r }
func (r *Reduction) some() *Reduction            { r.needs = true; return r }
func (r *Reduction) truth() *Reduction           { r.result = dtype.U8; return r }
func (r *Reduction) widened() *Reduction         { r.wide = true; return r }
func (r *Reduction) corrected() *Reduction       { r.corrects = true; return r }
func (r *Reduction) sums() *Reduction            { r.adds = true; return r }
func (r *Reduction) total() *Reduction           { r.totals = true; return r }
func (r *Reduction) quick(step any) *Reduction   { r.halves = ops.NewGenericFunc(step); return r }
func (r *Reduction) position() *Reduction {
	r.result, r.ordered, r.index = dtype.U32, true, true
	return r.some()
}

// The reductions. Those that compare take NaN for larger and for smaller than any
// number: it is the result if there is one. Of several elements that are largest, and of
// several NaN, ArgMax and ArgMin give the first one in row-major order of the dimensions
// that are reduced.
var (
	Sum       = reduction("sum", kernels.Single, ops.Numbers, kernels.FromZero[ops.C], kernels.AddStep[ops.C], kernels.Plus[ops.C], kernels.Value[ops.C]).sums().total()
	Prod      = reduction("prod", kernels.Single, ops.Numbers, kernels.FromOne[ops.C], kernels.MulStep[ops.C], kernels.Times[ops.C], kernels.Value[ops.C]).of(1)
	Max       = reduction("max", kernels.Single, ops.Numbers, kernels.FromFirst[ops.C], kernels.MaxStep[ops.C], kernels.Larger[ops.C], kernels.Value[ops.C]).some()
	Min       = reduction("min", kernels.Single, ops.Numbers, kernels.FromFirst[ops.C], kernels.MinStep[ops.C], kernels.Smaller[ops.C], kernels.Value[ops.C]).some()
	AnyOf     = reduction("any", kernels.Single, ops.Numbers, kernels.FromTruth[ops.C], kernels.AnyStep[ops.C], kernels.Larger[ops.C], kernels.Value[ops.C]).truth()
	AllOf     = reduction("all", kernels.Single, ops.Numbers, kernels.FromTruth[ops.C], kernels.AllStep[ops.C], kernels.Smaller[ops.C], kernels.Value[ops.C]).of(1).truth()
	ArgMax    = reduction("argmax", kernels.Indexed, ops.Numbers, kernels.FromFirst[ops.C], kernels.MaxStep[ops.C], kernels.Larger[ops.C], kernels.Index[ops.C]).position()
	ArgMin    = reduction("argmin", kernels.Indexed, ops.Numbers, kernels.FromFirst[ops.C], kernels.MinStep[ops.C], kernels.Smaller[ops.C], kernels.Index[ops.C]).position()
	Average   = reduction("mean", kernels.Single, ops.Floats, kernels.FromZero[ops.C], kernels.AddStep[ops.C], kernels.Plus[ops.C], kernels.Mean[ops.C]).of(math.NaN()).sums()
	SumSqr    = reduction("sumsqr", kernels.Single, ops.Numbers, kernels.FromZero[ops.C], kernels.SquareStep[ops.C], kernels.Plus[ops.C], kernels.Value[ops.C]).sums()
	Norm2     = reduction("norm", kernels.Single, ops.Floats, kernels.FromZero[ops.C], kernels.SquareStep[ops.C], kernels.Plus[ops.C], kernels.Root[ops.C]).sums()
	Var       = reduction("var", kernels.Triple, ops.Floats, kernels.FromZero[ops.C], kernels.MomentStep[ops.C], kernels.Moments[ops.C], kernels.Variance[ops.C]).of(math.NaN()).corrected().sums()
	Std       = reduction("std", kernels.Triple, ops.Floats, kernels.FromZero[ops.C], kernels.MomentStep[ops.C], kernels.Moments[ops.C], kernels.Deviation[ops.C]).of(math.NaN()).corrected().sums()
	LogSumExp = reduction("log_sum_exp", kernels.Pair, ops.Floats, kernels.FromBottom[ops.C], kernels.AddExp[ops.C], kernels.JoinExp[ops.C], kernels.LogSum[ops.C]).of(math.Inf(-1)).quick(kernels.AddExpQuick[ops.C]).sums()
)

// The reductions that give I64 of integers, and are as those of their names of other types.
var (
	SumWide    = reduction("sum", kernels.Single, ops.Ints, kernels.FromZero[ops.C], kernels.AddStep[ops.C], kernels.Plus[ops.C], kernels.Value[ops.C]).widened()
	ProdWide   = reduction("prod", kernels.Single, ops.Ints, kernels.FromOne[ops.C], kernels.MulStep[ops.C], kernels.Times[ops.C], kernels.Value[ops.C]).of(1).widened()
	SumSqrWide = reduction("sumsqr", kernels.Single, ops.Ints, kernels.FromZero[ops.C], kernels.SquareStep[ops.C], kernels.Plus[ops.C], kernels.Value[ops.C]).widened()
)

// Reductions returns all of them, in the order of the table.
func Reductions() []*Reduction { return reductions }

// Name is the operation's name.
func (r *Reduction) Name() string { return r.name }

// Takes reports whether the operation is for elements of a type.
func (r *Reduction) Takes(d dtype.DType) bool { return r.takes.Has(d) }

// Check reports why the operation does not take elements of a type, nil if it does.
func (r *Reduction) Check(d dtype.DType) error {
	if !r.takes.Has(d) {
		return ops.Unsupported(r.name, d, r.takes.String())
	}
	return nil
}

// Result is the element type of the result for an operand of a type.
func (r *Reduction) Result(d dtype.DType) dtype.DType {
	switch {
	case r.result != dtype.Invalid:
		return r.result
	case r.wide:
		return dtype.I64
	}
	return d
}

// computes is the type that elements of a type are computed in.
func (r *Reduction) computes(d dtype.DType) dtype.DType {
	if r.wide {
		return dtype.I64
	}
	return d.Compute()
}

func init() {
	ops.RegisterStructs(kernels.Acc[uint8]{}, kernels.Acc[uint32]{}, kernels.Acc[int8]{}, kernels.Acc[int16]{}, kernels.Acc[int32]{}, kernels.Acc[int64]{}, kernels.Acc[float32]{}, kernels.Acc[float64]{})
}

var (
	mean = ops.NewGenericFunc(kernels.Mean[ops.C])

	// What finishes a reduction returns a number, or the index of one.
	ofNumbers = reduceKernels{
		ops.NewGeneric("reduction", kernels.ReduceRows[ops.T, ops.C, ops.C, ops.O]), ops.NewGeneric("reduction", kernels.ReduceCols[ops.T, ops.C, ops.C, ops.O]),
		ops.NewGeneric("reduction", kernels.ReduceStrips[ops.T, ops.C, ops.C, ops.O]), ops.NewGeneric("reduction", kernels.ReduceParts[ops.C, ops.C, ops.O]),
	}
	ofIndices = reduceKernels{
		ops.NewGeneric("reduction", kernels.ReduceRows[ops.T, ops.C, int, ops.O]), ops.NewGeneric("reduction", kernels.ReduceCols[ops.T, ops.C, int, ops.O]),
		ops.NewGeneric("reduction", kernels.ReduceStrips[ops.T, ops.C, int, ops.O]), ops.NewGeneric("reduction", kernels.ReduceParts[ops.C, int, ops.O]),
	}
	partRows = ops.NewGeneric("reduction", kernels.PartRows[ops.T, ops.C])
	partCols = ops.NewGeneric("reduction", kernels.PartCols[ops.T, ops.C])
)

// reduceKernels are the kernels that store results.
type reduceKernels struct{ rows, cols, down, parts *ops.Generic }

// instance returns the reduction for an element type.
func (r *Reduction) instance(d dtype.DType) (*reducer, error) {
	if in := r.made[d&31].Load(); in != nil {
		return in, nil
	}
	if err := r.Check(d); err != nil {
		return nil, err
	}
	of := ops.TypeArgs{T: d, O: r.Result(d), C: r.computes(d)}
	in := new(reducer)
	for i, f := range r.fns {
		in.fns[i] = f.Of(of)
	}
	if r.totals && d.IsFloat() {
		in.fns[3] = mean.Of(of)
	}
	if r.halves != nil && d.Size() <= 2 {
		in.fns[1] = r.halves.Of(of)
	}
	k := &ofNumbers
	if r.index {
		k = &ofIndices
	}
	for _, g := range []struct {
		of *ops.Generic
		in **jit.Kernel
	}{{k.rows, &in.rows}, {k.cols, &in.cols}, {k.down, &in.down}, {k.parts, &in.parts}, {partRows, &in.partRows}, {partCols, &in.partCols}} {
		var err error
		if *g.in, err = g.of.Of(of); err != nil {
			return nil, err
		}
	}
	r.made[d].Store(in)
	return in, nil
}

// Run stores in out the reduction of x along dims. Out has the other dimensions of x, or
// all of them with size 1 for those of dims. No dims at all reduce each element for
// itself. Var and Std divide by the number of elements less one.
func (r *Reduction) Run(s *runtime.Stream, out, x ops.View, dims []int) error {
	return r.RunCorrected(s, out, x, dims, 1)
}

// RunCorrected is [Reduction.Run] with what Var and Std subtract from the number of
// elements; others ignore it.
func (r *Reduction) RunCorrected(s *runtime.Stream, out, x ops.View, dims []int, correction int) error {
	in, err := r.instance(x.DType)
	if err != nil {
		return err
	}
	if want := r.Result(x.DType); out.DType != want {
		return fmt.Errorf("%w: %s of %s gives %s, not %s", ops.ErrDType, r.name, x.DType, want, out.DType)
	}
	info := ops.DeviceInfo(s.Device())
	call := ops.PlanKey{Device: ops.LimitsOf(&info), DType: x.DType, X: x.Layout, Out: out.Layout, Dims: dims, Number: correction}
	if kept := r.plans.Find(&call); kept != nil {
		p := *kept
		p.out, p.x = out, x
		return p.run(s)
	}
	kept, reduced, err := SplitDims(r.name, out.Layout, x.Layout, dims)
	if err != nil {
		return err
	}
	n := reduced.Count()
	switch {
	case n == 0 && r.needs:
		return fmt.Errorf("%w: %s along dimensions %v of shape %v", ops.ErrEmpty, r.name, dims, x.Layout.Shape())
	case r.ordered && n > math.MaxUint32:
		return fmt.Errorf("%w: %s of %d elements, positions are %s", layout.ErrTooLarge, r.name, n, dtype.U32)
	case out.Layout.Count() == 0:
		return nil
	case n == 0:
		return elementwise.Fill(s, out, dtype.FromFloat(out.DType, r.empty))
	}
	p := reductionPlan{r: r, in: in, out: out, x: x}
	p.reduction.Div = n
	switch {
	case r.corrects:
		p.reduction.Div = n - correction
	case r.totals:
		p.reduction.Div = 1
	}
	if err := p.make(s.Device(), kept, reduced); err != nil {
		return err
	}
	p.goDown(&info)
	p.out, p.x = ops.View{DType: out.DType}, ops.View{DType: x.DType} // a plan refers to no memory
	r.plans.Put(call, p)
	p.out, p.x = out, x
	return p.run(s)
}

// SplitDims returns the layout of the dimensions of out, as x and out have them, and that of
// dims in x.
func SplitDims(op string, out, x layout.Layout, dims []int) (kept [2]layout.Layout, reduced layout.Layout, err error) {
	dims, err = layout.Dims(dims, x.Rank())
	if err != nil {
		return kept, reduced, fmt.Errorf("%s: %w", op, err)
	}
	keep := out.Rank() == x.Rank()
	var shapes [3]layout.Shape // kept by x, of out, reduced
	var strides [3][]int
	add := func(k, n, stride int) { shapes[k], strides[k] = append(shapes[k], n), append(strides[k], stride) }
	o := 0
	for d, n := range x.Shape() {
		in := len(dims) > 0 && dims[0] == d
		if in {
			dims = dims[1:]
			add(2, n, x.Strides()[d])
		} else {
			add(0, n, x.Strides()[d])
		}
		if in && !keep {
			continue
		}
		if in {
			n = 1
		}
		if o >= out.Rank() || out.Shape()[o] != n {
			return kept, reduced, fmt.Errorf("%w: %s of %v into %v", layout.ErrShape, op, x.Shape(), out.Shape())
		}
		if !in {
			add(1, n, out.Strides()[o])
		}
		o++
	}
	if o != out.Rank() {
		return kept, reduced, fmt.Errorf("%w: %s of %v into %v", layout.ErrShape, op, x.Shape(), out.Shape())
	}
	var all [3]layout.Layout
	for k := range all {
		if all[k], err = layout.New(shapes[k], strides[k], 0); err != nil {
			return kept, reduced, err
		}
	}
	return [2]layout.Layout{all[0], all[1]}, all[2], nil
}
