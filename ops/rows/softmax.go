package rows

import (
	"fmt"
	"math"
	"slices"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/elementwise"
	core "github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/rows/kernels"
	"github.com/gokiln/kiln/runtime"
)

var (
	rowsKernel         = ops.NewGeneric("softmax", kernels.Rows[ops.T, ops.C])
	rowsPrefetched     = jit.Of(kernels.RowsPrefetched)
	rowsFetched        = ops.NewGeneric("norm", kernels.RowsFetched[ops.T])
	rowsSplit          = ops.NewGeneric("softmax", kernels.RowsSplit[ops.T])
	rowsKnown          = ops.NewGeneric("softmax", kernels.RowsKnown[ops.T, ops.C])
	inverse, logarithm = ops.NewGenericFunc(kernels.Inverse[ops.C]), ops.NewGenericFunc(kernels.Logarithm[ops.C])
	inverseRoot        = ops.NewGenericFunc(kernels.InverseRoot[ops.C])
)

// Softmax stores exp(x) over the sum of it along a dimension, and the logarithm of that
// if log. A row of which the largest element is infinite is NaN.
func Softmax(s *runtime.Stream, out, x ops.View, dim int, log bool) error {
	c := rowCall{fn: kernels.RowFn{Quick: dsl.ConstBool(x.DType.Size() <= 2)}, log: log, param: math.Inf(-1)}
	return c.run(s, "softmax", out, x, ops.View{}, ops.View{}, dim)
}

// RMSNorm stores x over the root of the mean of its squares and eps along a dimension,
// times scale, one number for each index of it. A scale without memory is none.
func RMSNorm(s *runtime.Stream, out, x, scale ops.View, dim int, eps float64) error {
	c := rowCall{fn: kernels.RowFn{Norm: true}, param: eps}
	return c.run(s, "rms_norm", out, x, scale, ops.View{}, dim)
}

// LayerNorm subtracts the mean of x along a dimension, and stores that over the root of
// its variance and eps, times scale, plus shift, of which there is one number for each
// index of the dimension. A scale or shift without memory is none.
func LayerNorm(s *runtime.Stream, out, x, scale, shift ops.View, dim int, eps float64) error {
	c := rowCall{fn: kernels.RowFn{Norm: true, Center: true}, param: eps}
	return c.run(s, "layer_norm", out, x, scale, shift, dim)
}

// RMSNormResidual is [RMSNorm] of x + residual, which is stored in sum, rounded to the type of x:
// the norm is of what is stored. The residual has the layout of x, and sum that of out.
func RMSNormResidual(s *runtime.Stream, out, sum, x, residual, scale ops.View, dim int, eps float64) error {
	c := rowCall{fn: kernels.RowFn{Norm: true, Added: true}, param: eps, addend: residual, sum: sum}
	return c.run(s, "rms_norm_residual", out, x, scale, ops.View{}, dim)
}

// LayerNormResidual is [LayerNorm] of x + residual, as [RMSNormResidual] has it.
func LayerNormResidual(s *runtime.Stream, out, sum, x, residual, scale, shift ops.View, dim int, eps float64) error {
	c := rowCall{fn: kernels.RowFn{Norm: true, Center: true, Added: true}, param: eps, addend: residual, sum: sum}
	return c.run(s, "layer_norm_residual", out, x, scale, shift, dim)
}

// rowCall is a softmax or normalisation.
type rowCall struct {
	RowOp
	fn      kernels.RowFn
	log     bool
	param   float64                // as the kernels have it
	headers [6]runtime.SliceHeader // of out, x, scale, shift, addend and sum
	addend  ops.View               // of a norm with Added
	sum     ops.View
	scale   ops.View // dense
	shift   ops.View
}

func (c *rowCall) run(s *runtime.Stream, name string, out, x, scale, shift ops.View, dim int) (err error) {
	if !ops.Floats.Has(x.DType) {
		return ops.Unsupported(name, x.DType, ops.Floats.String())
	}
	if c.RowOp, err = newRows(name, out, x, dim); err != nil || x.Layout.Count() == 0 {
		return err
	}
	if c.fn.Added {
		if err := c.pair(); err != nil {
			return err
		}
	}
	c.fn.Scaled, c.fn.Shifted = scale.Buf != nil, shift.Buf != nil
	c.headers[0], c.headers[1] = out.Header(), x.Header()
	var copies [2]ops.Scratch
	for i, v := range []ops.View{scale, shift} {
		if v.Buf == nil {
			continue
		}
		if v, err = c.weights(s, v, &copies[i]); err != nil {
			return err
		}
		defer copies[i].Free(s)
		c.headers[2+i] = v.Header()
		*[]*ops.View{&c.scale, &c.shift}[i] = v
	}
	p := c.plan(s.Device())
	return p.strategy.launch(c, s, p)
}

// pair checks what is added to x, and where the sum is stored.
func (c *rowCall) pair() error {
	for _, v := range []struct {
		of, as *ops.View
		name   string
	}{{&c.addend, &c.X, "the residual"}, {&c.sum, &c.out, "the sum"}} {
		if v.of.DType != v.as.DType {
			return fmt.Errorf("%w: %s: %s of %s, want %s", ops.ErrDType, c.Name, v.name, v.of.DType, v.as.DType)
		}
		if l := v.of.Layout; !l.Shape().Equal(v.as.Layout.Shape()) || !slices.Equal(l.Strides(), v.as.Layout.Strides()) {
			return fmt.Errorf("%w: %s: %s of shape %v and strides %v, want %v and %v", layout.ErrShape, c.Name, v.name,
				l.Shape(), l.Strides(), v.as.Layout.Shape(), v.as.Layout.Strides())
		}
	}
	c.headers[4], c.headers[5] = c.addend.Header(), c.sum.Header()
	return nil
}

// weights checks a vector of weights, and returns it, or a contiguous copy.
func (c *rowCall) weights(s *runtime.Stream, v ops.View, m *ops.Scratch) (ops.View, error) {
	if v.DType != c.X.DType {
		return v, fmt.Errorf("%w: %s of %s with weights of %s", ops.ErrDType, c.Name, c.X.DType, v.DType)
	}
	if !v.Layout.Shape().Equal(layout.Shape{c.Len()}) {
		return v, fmt.Errorf("%w: %s along %d elements with weights of shape %v", layout.ErrShape, c.Name, c.Len(), v.Layout.Shape())
	}
	if v.Layout.IsContiguous() {
		return v, nil
	}
	if err := m.Alloc(s, v.DType.Size()*c.Len()); err != nil {
		return v, fmt.Errorf("%s: %w", c.Name, err)
	}
	dense := ops.View{Buf: m.Buf, DType: v.DType, Layout: layout.Contiguous(v.Layout.Shape())}
	return dense, elementwise.Copy(s, dense, v)
}

// args are the slices that all kernels begin with.
func (c *rowCall) args() (out, x, scale, shift, addend, sum any) {
	d, h := c.X.DType, &c.headers
	return ops.SliceArg(d, &h[0]), ops.SliceArg(d, &h[1]), ops.SliceArg(d, &h[2]), ops.SliceArg(d, &h[3]),
		ops.SliceArg(d, &h[4]), ops.SliceArg(d, &h[5])
}

func (c *rowCall) launchRows(s *runtime.Stream, p *rowPlan) error {
	d := c.X.DType.Compute()
	out, x, scale, shift, addend, sum := c.args()
	param := dtype.FromFloat(d, c.param).Bits()
	return rowsKernel.Launch(s, ops.TypeArgs{T: c.X.DType}, p.grid, out, x, scale, shift, addend, sum, p.reduction, c.fn, ops.ScalarArg(d, &param), c.log)
}

func (c *rowCall) launchPrefetched(s *runtime.Stream, p *rowPlan) error {
	out, x, scale, shift, addend, sum := c.args()
	return rowsPrefetched.Launch(s, p.grid, out, x, scale, shift, addend, sum, p.reduction, c.fn, dsl.ConstInt(p.resident), float32(c.param), c.log)
}

func (c *rowCall) launchFetched(s *runtime.Stream, p *rowPlan) error {
	out, x, scale, shift, addend, sum := c.args()
	return rowsFetched.Launch(s, ops.TypeArgs{T: c.X.DType}, p.grid, out, x, scale, shift, addend, sum, p.reduction, c.fn, dsl.ConstInt(p.resident), float32(c.param))
}

func (c *rowCall) launchSplit(s *runtime.Stream, p *rowPlan) error {
	out, x, scale, shift, addend, sum := c.args()
	launch := func(words any) error {
		return rowsSplit.Launch(s, ops.TypeArgs{T: c.X.DType}, p.grid, out, x, scale, shift, addend, sum, words, p.reduction, c.fn, dsl.ConstInt(p.resident), p.parts, float32(c.param), dsl.ConstBool(p.parts == 1), dsl.ConstBool(c.log))
	}
	if p.parts == 1 {
		return launch(ops.SliceArg(dtype.U32, new(runtime.SliceHeader)))
	}
	return WithStatusWords(s, c.Name, 2*p.parts*p.reduction.Rows, launch)
}

// reduction is the reduction whose results are the statistics of rows, and the function that
// makes factors of them.
func (c *rowCall) reduction() (*Reduction, *ops.GenericFunc) {
	switch {
	case bool(c.fn.Center):
		return Var, inverseRoot
	case bool(c.fn.Norm):
		return SumSqr, inverseRoot
	case c.log:
		return LogSumExp, logarithm
	}
	return LogSumExp, inverse
}

// launchKnown is for rows whose statistics a reduction computes first.
func (c *rowCall) launchKnown(s *runtime.Stream, _ *rowPlan) error {
	if c.fn.Added { // the reduction reads the sums
		if err := elementwise.Add.Run(s, c.sum, []ops.View{c.X, c.addend}); err != nil {
			return err
		}
		of := rowCall{fn: c.fn, param: c.param}
		of.fn.Added = false
		return of.run(s, c.Name, c.out, c.sum, c.scale, c.shift, c.Dim)
	}
	d := c.X.DType.Compute()
	k, err := rowsKnown.Of(ops.TypeArgs{T: c.X.DType})
	if err != nil {
		return err
	}
	views := []ops.View{c.out, c.X, c.spread(d, c.rows(), runtime.SliceHeader{})}
	if c.fn.Scaled || c.fn.Shifted {
		views = append(views, c.indices())
	}
	var walk core.Walk
	var grid runtime.Grid
	if _, err := ops.PlanViews(&walk, &grid, s.Device(), views); err != nil {
		return err
	}
	log := dsl.ConstBool(c.log)
	location, factor, memory, err := c.stats(s, func() jit.Wanted { return jit.Wanted{Kernel: k, Consts: []any{walk, c.fn, log}} })
	if err != nil {
		return err
	}
	defer memory.Free(s)
	out, x, scale, shift, _, _ := c.args()
	lh, fh := location.Header(), factor.Header()
	return k.Launch(s, grid, out, x, scale, shift, ops.SliceArg(d, &lh), ops.SliceArg(d, &fh), walk, c.fn, log)
}

// indices is what a vector along the dimension of the rows looks like in the shape of
// the operand.
func (l *RowOp) indices() ops.View {
	shape := l.X.Layout.Shape()
	stride := make([]int, len(shape))
	stride[l.Dim] = 1
	at, _ := layout.New(shape, stride, 0)
	return ops.View{Layout: at}
}
