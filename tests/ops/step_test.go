package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/pretend"
	"github.com/gokiln/kiln/nn/attention"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// TestAttentionStep launches one graph for one token after the other, with splits of keys that are
// as many as there is room for.
func TestAttentionStep(t *testing.T) {
	list := devices(t)
	cpu := list[0]
	const room, first, steps = 1024, 500, 3
	q, k, v := tensor.Randn(cpu, tensor.F32, 0, 1, 1, 6, first+steps, 64), tensor.Randn(cpu, tensor.F32, 0, 1, 1, 2, first+steps, 64),
		tensor.Randn(cpu, tensor.F32, 0, 1, 1, 2, first+steps, 64)
	for i, d := range list[2:] {
		dt := []tensor.DType{tensor.BF16, tensor.F16}[i%2]
		cut := func(x *tensor.Tensor, at, n int) *tensor.Tensor { return x.Narrow(2, at, n).Cast(dt).To(d) }
		c, o := attention.NewCache(room), attention.Options{Causal: true}
		c.Append(cut(k, 0, first), cut(v, 0, first))
		table := tensor.Zeros(d, tensor.I32, 4)
		in := []*tensor.Tensor{cut(q, 0, 1), cut(k, 0, 1), cut(v, 0, 1)}
		end := pretend.Be(func(info *runtime.Info) { info.Units = 12 })
		var y *tensor.Tensor
		g, err := d.Capture(func() error {
			y = c.AttendStep(in[0], in[1], in[2], attention.Step{Table: table, MaxKeys: room}, o)
			return y.Err()
		})
		end()
		require.NoError(t, err)
		for at := first; at < first+steps; at++ {
			numbers := c.Place().Numbers(nil)
			require.NoError(t, table.Assign(tensor.From(d, numbers, 4)))
			for j, x := range []*tensor.Tensor{q, k, v} {
				require.NoError(t, in[j].Assign(cut(x, at, 1)))
			}
			require.NoError(t, g.Launch())
			c.Advance()
			round := func(x *tensor.Tensor, at, n int) *tensor.Tensor { return x.Narrow(2, at, n).Cast(dt).Cast(tensor.F32) }
			want := attention.SDPA(round(q, at, 1), round(k, 0, at+1), round(v, 0, at+1), o)
			require.InDeltaSlice(t, values(t, want), values(t, y.To(cpu).Cast(tensor.F32)), 1e-2, "%v", d)
		}
	}
}
