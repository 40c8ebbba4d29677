package attention

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/attention/kernels"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

// of is a contiguous operand without memory: what is refused is not read.
func of(d dtype.DType, shape ...int) ops.View {
	return ops.View{DType: d, Layout: layout.Contiguous(shape)}
}

// transposed is a view of the transposed last two dimensions, which is not contiguous.
func transposed(t *testing.T, v ops.View) ops.View {
	var err error
	v.Layout, err = v.Layout.Transpose(-1, -2)
	require.NoError(t, err)
	return v
}

// Operands that a kernel would read or write past the end of, or take for others, are refused by
// each function that has them.
func TestProblemErrors(t *testing.T) {
	d, err := runtime.Open("cpu:interp")
	require.NoError(t, err)
	defer d.Close() //nolint:errcheck // nothing to do about it
	s := d.DefaultStream()
	for _, c := range []struct {
		text   string
		kind   error
		change func(p *Problem)
	}{
		{"queries of type i32", ops.ErrDType, func(p *Problem) { p.Q.DType, p.K.DType = dtype.I32, dtype.I32 }},
		{"keys f32", ops.ErrDType, func(p *Problem) { p.K.DType = dtype.F32 }},
		{"values f32", ops.ErrDType, func(p *Problem) { p.V.DType = dtype.F32 }},
		{"queries [4, 6, 8] of 5 dim", layout.ErrRank, func(p *Problem) { p.Q = of(dtype.F16, 4, 6, 8) }},
		{"keys [2, 9, 8]", layout.ErrRank, func(p *Problem) { p.K = of(dtype.F16, 2, 9, 8) }},
		{"values [9]", layout.ErrRank, func(p *Problem) { p.V = of(dtype.F16, 9) }},
		{"keys [1, 2, 9, 7]", layout.ErrShape, func(p *Problem) { p.K = of(dtype.F16, 1, 2, 9, 7) }},
		{"keys [1, 2, 8, 8]", layout.ErrShape, func(p *Problem) { p.K = of(dtype.F16, 1, 2, 8, 8) }},
		{"keys [1, 3, 9, 8]", layout.ErrShape, func(p *Problem) {
			p.K, p.V = of(dtype.F16, 1, 3, 9, 8), of(dtype.F16, 1, 3, 9, 5)
		}},
		{"of other batches", layout.ErrShape, func(p *Problem) {
			p.K, p.V = of(dtype.F16, 3, 2, 9, 8), of(dtype.F16, 3, 2, 9, 5)
		}},
		{"slopes of type f16", ops.ErrDType, func(p *Problem) { p.Slopes.DType = dtype.F16 }},
		{"sinks of type u8", ops.ErrDType, func(p *Problem) { p.Sinks.DType = dtype.U8 }},
		{"mask of type f16", ops.ErrDType, func(p *Problem) { p.Mask.DType = dtype.F16 }},
		{"slopes [4]", layout.ErrRank, func(p *Problem) { p.Slopes = of(dtype.F32, 4) }},
		{"sinks [1, 2, 2, 6, 1]", layout.ErrBroadcast, func(p *Problem) { p.Sinks = of(dtype.F32, 1, 2, 2, 6, 1) }},
		{"mask [1, 1, 1, 6, 8]", layout.ErrBroadcast, func(p *Problem) { p.Mask = of(dtype.U8, 1, 1, 1, 6, 8) }},
		{"pages or packed queries without sequences", layout.ErrShape, func(p *Problem) { p.PageTokens = 9 }},
		{"pages or packed queries without sequences", layout.ErrShape, func(p *Problem) {
			p.Packed, p.Q = true, of(dtype.F16, 2, 6, 2, 8)
		}},
	} {
		p := &Problem{
			Q: of(dtype.F16, 1, 2, 2, 6, 8), K: of(dtype.F16, 1, 2, 9, 8), V: of(dtype.F16, 1, 2, 9, 5),
			Slopes: of(dtype.F32, 1, 2, 2, 1, 1), Sinks: of(dtype.F32, 1, 1, 1, 1, 1), Mask: of(dtype.U8, 1, 1, 1, 6, 9),
			MaskFunc: jit.Func(kernels.AnyKey), Scale: 1,
		}
		require.NoError(t, p.check())
		c.change(p)
		_, ofShape := SeenShape(d, p)
		errs := map[string]error{
			"Forward": Forward(s, ops.View{}, ops.View{}, p), "SeenShape": ofShape, "Seen": Seen(s, ops.View{}, p),
		}
		p.MaskFunc = nil
		errs["Backward"] = Backward(s, &Gradients{}, p)
		for name, err := range errs {
			require.ErrorIs(t, err, c.kind, "%s: %s", name, c.text)
			require.ErrorContains(t, err, c.text, name)
		}
	}
}

// Results of other types and shapes are refused, as are those that are not contiguous.
func TestResultErrors(t *testing.T) {
	d, err := runtime.Open("cpu:interp")
	require.NoError(t, err)
	defer d.Close() //nolint:errcheck // nothing to do about it
	s := d.DefaultStream()
	p := &Problem{Q: of(dtype.F16, 1, 2, 2, 6, 8), K: of(dtype.F16, 1, 2, 9, 8), V: of(dtype.F16, 1, 2, 9, 5), Scale: 1}
	out, logs := of(dtype.F16, 1, 2, 2, 6, 5), of(dtype.F32, 1, 2, 2, 6)
	for _, c := range []struct {
		out, logs ops.View
		kind      error
		text      string
	}{
		{of(dtype.F32, 1, 2, 2, 6, 5), logs, ops.ErrDType, "the result is of type f32, want f16"},
		{of(dtype.F16, 1, 2, 2, 6, 8), logs, layout.ErrShape, "the result is"},
		{transposed(t, of(dtype.F16, 1, 2, 2, 5, 6)), logs, layout.ErrShape, "contiguous"},
		{out, of(dtype.F16, 1, 2, 2, 6), ops.ErrDType, "the log-sum-exp is of type f16, want f32"},
		{out, of(dtype.F32, 1, 2, 2, 5), layout.ErrShape, "the log-sum-exp is"},
		{out, ops.View{}, ops.ErrDType, "the log-sum-exp is of type"},
	} {
		err := Forward(s, c.out, c.logs, p)
		require.ErrorIs(t, err, c.kind)
		require.ErrorContains(t, err, c.text)
	}
	require.ErrorContains(t, Seen(s, of(dtype.U8, 1, 1), p), "without a MaskFunc")
	p.MaskFunc = jit.Func(kernels.AnyKey)
	require.ErrorIs(t, Seen(s, ops.View{}, p), ops.ErrDType)
	require.ErrorIs(t, Seen(s, of(dtype.U8, 99, 1), p), layout.ErrShape)
	require.ErrorIs(t, Seen(s, of(dtype.F32, 1, 1), p), ops.ErrDType)
}

// So are the operands of Delta.
func TestDeltaErrors(t *testing.T) {
	d, err := runtime.Open("cpu:interp")
	require.NoError(t, err)
	defer d.Close() //nolint:errcheck // nothing to do about it
	rows, row, none := of(dtype.F16, 2, 3, 8), of(dtype.F32, 2, 3), ops.View{}
	for _, c := range []struct {
		out, grad, result, ofLSE ops.View
		kind                     error
		text                     string
	}{
		{row, rows, none, none, ops.ErrDType, "a result of type"},
		{row, rows, of(dtype.F16), none, layout.ErrRank, "has no rows"},
		{row, of(dtype.F32, 2, 3, 8), rows, none, ops.ErrDType, "the gradient of the result is of type f32"},
		{row, of(dtype.F16, 2, 3, 7), rows, none, layout.ErrShape, "the gradient of the result"},
		{row, rows, transposed(t, of(dtype.F16, 2, 8, 3)), none, layout.ErrShape, "the result is"},
		{of(dtype.F16, 2, 3), rows, rows, none, ops.ErrDType, "the delta is of type f16"},
		{of(dtype.F32, 3, 3), rows, rows, none, layout.ErrShape, "the delta is"},
		{row, rows, rows, of(dtype.F32, 2, 4), layout.ErrShape, "the gradient of the log-sum-exp is"},
		{row, rows, rows, of(dtype.F16, 2, 3), ops.ErrDType, "the gradient of the log-sum-exp is of type f16"},
	} {
		err := Delta(d.DefaultStream(), c.out, c.grad, c.result, c.ofLSE)
		require.ErrorIs(t, err, c.kind)
		require.ErrorContains(t, err, c.text)
	}
}
