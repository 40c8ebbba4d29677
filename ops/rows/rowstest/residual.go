package rowstest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/elementwise"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/opstest"
	"github.com/gokiln/kiln/ops/rows"
)

// residualNorm is a norm of the sum of two tensors.
type residualNorm struct {
	norm rowOp
	run  func(b *opstest.Bench, out, sum, x, residual ops.View, weights [2]ops.View, dim int) error
}

var residualNorms = []residualNorm{
	{rowOps[2], func(b *opstest.Bench, out, sum, x, residual ops.View, w [2]ops.View, dim int) error {
		return rows.RMSNormResidual(b.Stream, out, sum, x, residual, w[0], dim, testEps)
	}},
	{rowOps[3], func(b *opstest.Bench, out, sum, x, residual ops.View, w [2]ops.View, dim int) error {
		return rows.LayerNormResidual(b.Stream, out, sum, x, residual, w[0], w[1], dim, testEps)
	}},
}

// residuals tests norms of sums: both results have the bits of an addition and a norm.
func residuals(t *testing.T, b *opstest.Bench) {
	long := opstest.ReductionCase{Shape: layout.Shape{1, 140001}, Dims: []int{1}}
	many := 2
	if info := b.Device.Info(); info.SharedPerBlock > 64<<10 && info.Cooperative {
		many = 2*info.Units + 1
	}
	for _, op := range residualNorms {
		name := op.norm.name + "_residual"
		for _, f := range append([]opstest.ReductionCase{long}, rowShapes...) {
			b.Part(t, func(t *testing.T, b *opstest.Bench) {
				checkResidual(t, b, op, dtype.F32, f, b.Rand.IntN(3), op.norm.weights)
				if d := dtype.Floats()[b.Rand.IntN(len(dtype.Floats()))]; b.Has(d) {
					checkResidual(t, b, op, d, f, b.Kind(), b.Rand.IntN(op.norm.weights+1))
				}
			}, "%s/%v", name, f)
		}
		b.Part(t, func(t *testing.T, b *opstest.Bench) {
			for _, n := range []int{1500, 2048, 4096, 20000} {
				checkResidual(t, b, op, dtype.BF16, opstest.ReductionCase{Shape: layout.Shape{3, n}, Dims: []int{1}}, 0, op.norm.weights)
			}
		}, "%s/Halves", name)
		b.Part(t, func(t *testing.T, b *opstest.Bench) {
			for _, n := range []int{8200, 8203} {
				for _, d := range []dtype.DType{dtype.F32, dtype.BF16} {
					checkResidual(t, b, op, d, opstest.ReductionCase{Shape: layout.Shape{many, n}, Dims: []int{1}}, 0, op.norm.weights)
				}
			}
		}, "%s/Many", name)
		b.Part(t, func(t *testing.T, b *opstest.Bench) { residualErrors(t, b, op) }, "%s/Errors", name)
	}
}

// checkResidual compares a norm of a sum with an addition and a norm.
func checkResidual(t *testing.T, b *opstest.Bench, op residualNorm, d dtype.DType, f opstest.ReductionCase, kind, weights int) {
	t.Helper()
	of := func(kind int) layout.Layout {
		return opstest.LayoutOf(t, opstest.Kinds[kind%len(opstest.Kinds)], f.Shape)
	}
	draw := func() dtype.Scalar { return dtype.FromFloat(d, b.Rand.Float64()*8-3) }
	x, residual := b.Value(t, d, of(kind), draw), b.Value(t, d, of(kind), draw)
	dim, err := layout.Dim(f.Dims[0], len(f.Shape))
	require.NoError(t, err)
	w := [2]ops.View{}
	for i := range weights {
		w[i] = b.Value(t, d, opstest.LayoutOf(t, opstest.Kinds[(kind+i)%4], layout.Shape{f.Shape[dim]}), func() dtype.Scalar { return b.Moderate(d) }).View
	}
	out, sum := b.Result(t, d, of((kind+1)%4)), b.Result(t, d, of((kind+1)%4))
	require.NoError(t, op.run(b, out.View, sum.View, x.View, residual.View, w, f.Dims[0]))
	wantSum, want := b.Result(t, d, of((kind+1)%4)), b.Result(t, d, of((kind+1)%4))
	require.NoError(t, elementwise.Add.Run(b.Stream, wantSum.View, []ops.View{x.View, residual.View}))
	require.NoError(t, op.norm.run(b, want.View, wantSum.View, w, f.Dims[0]))
	require.Equal(t, b.Read(t, wantSum), b.Read(t, sum), "sum of %s %v", d, f)
	require.Equal(t, b.Read(t, want), b.Read(t, out), "norm of %s %v", d, f)
}

// residualErrors are operands that do not fit each other.
func residualErrors(t *testing.T, b *opstest.Bench, op residualNorm) {
	x := b.Cycle(t, dtype.F32, layout.Shape{4, 3}, 1, 2)
	out, sum := b.Result(t, dtype.F32, x.Layout), b.Result(t, dtype.F32, x.Layout)
	run := func(sum, residual ops.View) error {
		return op.run(b, out.View, sum, x.View, residual, [2]ops.View{}, 1)
	}
	require.NoError(t, run(sum.View, x.View))
	other := b.Cycle(t, dtype.F32, layout.Shape{3, 4}, 1)
	require.ErrorIs(t, run(sum.View, other.View), layout.ErrShape)
	require.ErrorIs(t, run(other.View, x.View), layout.ErrShape)
	flipped := other.View
	var err error
	flipped.Layout, err = flipped.Layout.Permute(1, 0)
	require.NoError(t, err)
	require.ErrorContains(t, run(sum.View, flipped), "strides")
	number := b.Cycle(t, dtype.F64, layout.Shape{4, 3}, 1)
	require.ErrorIs(t, run(sum.View, number.View), ops.ErrDType)
}
