package matmul

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/elementwise"
	core "github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/matmul/kernels"
	"github.com/gokiln/kiln/runtime"
)

// Epilogue is what becomes of the sums of a product before they are stored:
//
//	act(Scale·(a·b) + Bias) · (a·Up) + Residual
//
// It is computed in the type of the sums, float32 for types of fewer bits, and rounded to the type
// of the result once. What is left out costs nothing. Strategies that have no epilogue in their
// kernel store sums as they are, and another kernel makes results of these; so do those that divide
// sums. The bits of the result do not depend on that, but a product with Up is two products then.
//
// Bias, Up and Residual have the type of the result, and share no memory with it.
type Epilogue struct {
	Scale    dtype.Scalar             // a number, 1 if it is left out; not for integers
	Bias     ops.View                 // is broadcast to the result: of shape (n) it has a number for each column, of (m, 1) for each row
	Act      *elementwise.Elementwise // an activation, of one operand, such as elementwise.Gelu
	Up       ops.View                 // the second factor of gated linear units, of b's shape
	Residual ops.View                 // is broadcast to the result
}

// empty reports whether sums are only rounded.
func (e *Epilogue) empty() bool {
	return e.Scale == dtype.Scalar{} && !present(e.Bias) && e.Act == nil && !present(e.Up) && !present(e.Residual)
}

// present reports whether a view was given.
func present(v ops.View) bool { return v.DType != dtype.Invalid }

// epilogue is an Epilogue for a problem: as it lies, with the activation for the type of the
// result.
type epilogue struct {
	on      bool
	act     *jit.Fn
	scale   dtype.Scalar
	addends [3]addend // bias, factor and residual, in the order of their places in a walk
}

// The addends of an epilogue.
const (
	bias = iota
	factor
	residual
)

// addend is an operand of an epilogue, with an element for each of the result.
type addend struct {
	view     ops.View      // of no type if it is absent
	batch    layout.Layout // dimensions that count matrices
	row, col int           // strides
}

// newEpilogue checks an epilogue for a result. by is what results are multiplied by, of the type of
// sums.
func newEpilogue(e *Epilogue, out, by ops.View) (made epilogue, err error) {
	if e.empty() && !present(by) {
		return made, nil
	}
	d := out.DType
	made.on, made.scale = true, e.Scale
	if e.Scale != (dtype.Scalar{}) {
		if d.IsInt() {
			return made, ops.Unsupported("matmul with a scale", d, ops.Floats.String())
		}
		made.scale = e.Scale.Convert(d.Compute())
	}
	act := e.Act
	if act == nil {
		act = elementwise.Identity
	}
	if act.Operands() != 1 || act.Params() != 0 || act.Result(d) != d {
		return made, fmt.Errorf("%w: %s is no activation: it is not of one number, or not a number", ops.ErrDType, act.Name())
	}
	if made.act, err = act.Function(d); err != nil {
		return made, fmt.Errorf("matmul with an activation: %w", err)
	}
	for i, v := range []ops.View{bias: e.Bias, factor: by, residual: e.Residual} {
		if !present(v) {
			continue
		}
		if want := d; i != factor && v.DType != want {
			return made, fmt.Errorf("%w: matmul of %v with a %s of %v", ops.ErrDType, want, addendNames[i], v.DType)
		}
		if made.addends[i], err = newAddend(v, out.Layout.Shape()); err != nil {
			return made, fmt.Errorf("matmul with a %s: %w", addendNames[i], err)
		}
	}
	return made, nil
}

var addendNames = [...]string{bias: "bias", factor: "factor", residual: "residual"}

// newAddend broadcasts an operand to the shape of the result.
func newAddend(v ops.View, shape layout.Shape) (a addend, err error) {
	if v.Layout, err = v.Layout.BroadcastTo(shape); err != nil {
		return a, err
	}
	a = addend{view: v, row: strideOf(v, -2), col: strideOf(v, -1)}
	lead := len(shape) - 2
	a.batch, err = layout.New(shape[:lead], v.Layout.Strides()[:lead], 0)
	return a, err
}

// present reports whether the operand was given.
func (a *addend) present() bool { return present(a.view) }

// each calls f for the addends that there are.
func (e *epilogue) each(f func(a *addend)) {
	for i := range e.addends {
		if a := &e.addends[i]; a.present() {
			f(a)
		}
	}
}

// batches are the layouts of products in out, a, b and the addends of the epilogue.
func (p *Problem) batches() []*layout.Layout {
	list := []*layout.Layout{&p.Batches[0], &p.Batches[1], &p.Batches[2]}
	p.then.each(func(a *addend) { list = append(list, &a.batch) })
	return list
}

// fusedWalk is the walk over products of a kernel with an epilogue.
func (p *Problem) fusedWalk(s *runtime.Stream) (w core.Walk, err error) {
	all := slices.Clone(p.Batches[:])
	for i := range p.then.addends {
		batch := ops.BroadcastAlong(p.Batches[0].Shape(), nil)
		if a := &p.then.addends[i]; a.present() {
			batch = a.batch
		}
		all = append(all, batch)
	}
	var unused runtime.Grid
	_, err = ops.PlanWalk(s, &w, &unused, all...)
	ops.RandomAccess(&w, p.Batch)
	return w, err
}

// fusedArgs are the arguments of a kernel with an epilogue, besides those of one without.
type fusedArgs struct {
	bias, factor, residual, scale any
	walk                          core.Walk
	e                             kernels.Epilogue
}

// fused returns the arguments of a kernel with an epilogue of sums of a type; ok is false if it
// does not go through one there.
func (p *Problem) fused(s *runtime.Stream, sum dtype.DType) (f fusedArgs, ok bool, err error) {
	if !p.then.on || !p.fuses {
		return f, false, nil
	}
	f.walk, err = p.fusedWalk(s)
	addends := p.then.args(p.Out.DType)
	f.bias, f.factor, f.residual, f.scale = addends[bias], addends[factor], addends[residual], p.then.scaleArg(sum)
	f.e = p.then.kernel(func(a *addend) kernels.Addend { return a.ofMatrix(p.N) })
	return f, true, err
}

// single makes the epilogue one of a kernel that has one sum at a time.
func (f *fusedArgs) single() {
	f.e.Bias.Pairs, f.e.Factor.Pairs, f.e.Residual.Pairs = false, false, false
	numbered(&f.walk)
}

// kernel is the epilogue as kernels take it; f says where an addend is.
func (e *epilogue) kernel(f func(a *addend) kernels.Addend) kernels.Epilogue {
	k := kernels.Epilogue{Scaled: dsl.ConstBool(e.scale != dtype.Scalar{})}
	for i, to := range []*kernels.Addend{bias: &k.Bias, factor: &k.Factor, residual: &k.Residual} {
		if a := &e.addends[i]; a.present() {
			*to = f(a)
		}
	}
	return k
}

// ofMatrix is where an addend is for results with n columns.
func (a *addend) ofMatrix(n int) kernels.Addend {
	k := kernels.Addend{Row: a.row, Col: a.col}
	switch {
	case a.row == 0 && a.col == 1:
		k.Kind = kernels.PerColumn
	case a.col == 0:
		k.Kind = kernels.PerRow
	case a.col == 1:
		k.Kind = kernels.Unit
	default:
		k.Kind = kernels.Strided
	}
	k.Pairs = dsl.ConstBool(vectors(2, a.batch, a.col, a.row, n) && a.view.Addr()%uint64(2*a.view.DType.Size()) == 0)
	return k
}

// args are the addends as arguments of a launch, for results of type d.
func (e *epilogue) args(d dtype.DType) [3]any {
	var list [3]any
	for i := range e.addends {
		a := &e.addends[i]
		h, t := runtime.SliceHeader{}, d
		if i == factor {
			t = d.Compute()
		}
		if a.present() {
			h = a.view.Header()
		}
		list[i] = ops.SliceArg(t, &h)
	}
	return list
}

// scaleArg is the scale as an argument of a launch.
func (e *epilogue) scaleArg(c dtype.DType) any {
	word := e.scale.Bits()
	return ops.ScalarArg(c, &word)
}

// transpose makes the epilogue that of the transposed results.
func (e *epilogue) transpose() {
	e.each(func(a *addend) { a.row, a.col = a.col, a.row })
}

// apart reports whether so many parts of sums are stored in memory of their own: the kernel has no
// epilogue for one.
func (p *Problem) apart(parts int) bool { return parts > 1 || p.then.on && !p.fuses }

var finishParts = ops.NewGeneric("matmul", kernels.FinishParts[ops.T, ops.C])

// finish stores what the epilogue makes of the sums of n numbers, step apart, in a layout of the
// result that has dimensions for products, rows and columns; the first part lies in row-major
// order.
func (p *Problem) finish(s *runtime.Stream, final layout.Layout, room ops.View, n, step int) error {
	shape := final.Shape()
	all := []layout.Layout{final, layout.Contiguous(shape)}
	for i := range p.then.addends {
		l := ops.BroadcastAlong(shape, nil)
		if a := &p.then.addends[i]; a.present() {
			var err error
			if l, err = layout.New(shape, slices.Concat(a.batch.Strides(), []int{a.row, a.col}), a.view.Layout.Offset()); err != nil {
				return err
			}
		}
		all = append(all, l)
	}
	var w core.Walk
	var g runtime.Grid
	if ok, err := ops.PlanWalk(s, &w, &g, all...); !ok {
		return err
	}
	d, c := p.Out.DType, room.DType
	to, from, addends := p.Out.Header(), room.Header(), p.then.args(d)
	return finishParts.Launch(s, ops.TypeArgs{T: d, C: c}, g, ops.SliceArg(d, &to), ops.SliceArg(c, &from), addends[bias], addends[factor], addends[residual],
		w, n, step, p.then.scaleArg(c), p.then.kernel(func(*addend) kernels.Addend { return kernels.Addend{Kind: kernels.Strided} }), ops.MulAddFn(c), ops.Add.In(c), p.then.act)
}
