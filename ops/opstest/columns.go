package opstest

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

// RunColumns tests what goes down as many long columns as a device of four units wants.
func RunColumns(t *testing.T, dev *runtime.Device) {
	b := &bench{dev: dev, s: dev.DefaultStream(), rng: rand.New(rand.NewPCG(1, 2))}
	shape, dims := layout.Shape{1100, 128}, []int{0}
	draw := func(d dtype.DType) *value {
		return b.value(t, d, layout.Contiguous(shape), func() dtype.Scalar { return b.moderate(d) })
	}
	for _, d := range []dtype.DType{dtype.F32, dtype.BF16} {
		for _, name := range []string{"sum", "max", "argmax", "var", "log_sum_exp"} {
			t.Run(name+"/"+d.String(), func(t *testing.T) {
				r, x := b.reduction(t, name), draw(d)
				to, rows := along(shape, dims)
				out := b.result(t, r.Result(d), layout.Contiguous(to))
				require.NoError(t, r.Run(b.s, out.View, x.View, dims))
				b.folded(t, r, reduced[name], out, x, rows)
			})
		}
		for _, op := range rowOps {
			t.Run(op.name+"/"+d.String(), func(t *testing.T) {
				x, out := draw(d), b.result(t, d, layout.Contiguous(shape))
				require.NoError(t, op.run(b, out.View, x.View, [2]ops.View{}, 0))
				b.rowsAre(t, op, out, x, [2]*value{}, fold{shape, dims})
			})
		}
	}
}
