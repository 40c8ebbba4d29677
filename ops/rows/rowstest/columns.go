package rowstest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/opstest"
)

// LongColumns tests what goes down as many long columns as a device of four units wants.
func LongColumns(t *testing.T, b *opstest.Bench) {
	shape, dims := layout.Shape{1100, 128}, []int{0}
	draw := func(t *testing.T, b *opstest.Bench, d dtype.DType) *opstest.Value {
		return b.Value(t, d, layout.Contiguous(shape), func() dtype.Scalar { return b.Moderate(d) })
	}
	for _, d := range []dtype.DType{dtype.F32, dtype.BF16} {
		for _, name := range []string{"sum", "max", "argmax", "var", "log_sum_exp"} {
			b.Part(t, func(t *testing.T, b *opstest.Bench) {
				r, x := Reduction(t, b, name), draw(t, b, d)
				to, rows := opstest.Along(shape, dims)
				out := b.Result(t, r.Result(d), layout.Contiguous(to))
				require.NoError(t, r.Run(b.Stream, out.View, x.View, dims))
				checkReduced(t, b, r, References[name], out, x, rows)
			}, "%s/%v", name, d)
		}
		for _, op := range rowOps {
			b.Part(t, func(t *testing.T, b *opstest.Bench) {
				x, out := draw(t, b, d), b.Result(t, d, layout.Contiguous(shape))
				require.NoError(t, op.run(b, out.View, x.View, [2]ops.View{}, 0))
				rowsAre(t, b, op, out, x, [2]*opstest.Value{}, opstest.ReductionCase{Shape: shape, Dims: dims})
			}, "%s/%v", op.name, d)
		}
	}
}
