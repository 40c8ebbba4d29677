package ops_test

import (
	"embed"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/internal/pretend"
	"github.com/gokiln/kiln/nn/attention"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// Attention in one kernel, which GPUs take for types of 16 bits, is that of the CPU in float32, by
// matrix instructions where there are some.
func TestAttention(t *testing.T) {
	list := devices(t)
	cpu := list[0]
	for i, d := range list[2:] {
		dt := []tensor.DType{tensor.BF16, tensor.F16}[i%2]
		draw := func(heads, tokens int) *tensor.Tensor {
			return tensor.Randn(cpu, tensor.F32, 0, 1, 1, heads, tokens, 40).Cast(dt)
		}
		q, k, v := draw(4, 70), draw(2, 90), draw(2, 90)
		sinks := tensor.Randn(cpu, tensor.F32, 0, 1, 4)
		on := func(d *tensor.Device, dt tensor.DType) (out, lse []float32) {
			in := func(x *tensor.Tensor) *tensor.Tensor { return x.Cast(dt).To(d) }
			y, l := attention.SDPAWithLSE(in(q), in(k), in(v), attention.Options{Causal: true, Sinks: sinks.To(d)})
			return values(t, y.To(cpu).Cast(tensor.F32)), values(t, l)
		}
		want, wantLSE := on(cpu, tensor.F32)
		got, gotLSE := on(d, dt)
		require.InDeltaSlice(t, want, got, 3e-2, "%v", d)
		require.InDeltaSlice(t, wantLSE, gotLSE, 1e-3, "%v", d)
	}
}

// TestAttentionSplits has many blocks share the keys of few queries.
func TestAttentionSplits(t *testing.T) {
	list := devices(t)
	cpu := list[0]
	for i, d := range list[2:] {
		dt := []tensor.DType{tensor.BF16, tensor.F16}[i%2]
		draw := func(heads, tokens int) *tensor.Tensor {
			return tensor.Randn(cpu, tensor.F32, 0, 1, 1, heads, tokens, 64).Cast(dt)
		}
		q, k, v := draw(6, 2), draw(2, 1500), draw(2, 1500)
		on := func(d *tensor.Device, dt tensor.DType) (out, lse []float32) {
			in := func(x *tensor.Tensor) *tensor.Tensor { return x.Cast(dt).To(d) }
			y, l := attention.SDPAWithLSE(in(q), in(k), in(v), attention.Options{Causal: true})
			return values(t, y.To(cpu).Cast(tensor.F32)), values(t, l)
		}
		want, wantLSE := on(cpu, tensor.F32)
		end := pretend.Be(func(info *runtime.Info) { info.Units = 30 })
		got, gotLSE := on(d, dt)
		end()
		require.InDeltaSlice(t, want, got, 1e-2, "%v", d)
		require.InDeltaSlice(t, wantLSE, gotLSE, 1e-3, "%v", d)
	}
}

// TestAttentionSequences has keys in pages, and packed sequences.
func TestAttentionSequences(t *testing.T) {
	list := devices(t)
	cpu := list[0]
	const heads, size, page = 2, 40, 8
	lengths := []int{19, 0, 1, 170}
	ends := []int{0, 19, 19, 20, 190}
	k, v := tensor.Randn(cpu, tensor.F32, 0, 1, ends[4], heads, size), tensor.Randn(cpu, tensor.F32, 0, 1, ends[4], heads, size)
	q, packed := tensor.Randn(cpu, tensor.F32, 0, 1, 4, 6, 2, size), tensor.Randn(cpu, tensor.F32, 0, 1, ends[4], 6, size)
	on := func(d *tensor.Device, dt, as tensor.DType) (paged, varLen []float32) {
		in := func(x *tensor.Tensor) *tensor.Tensor { return x.Cast(as).Cast(dt).To(d) }
		c, err := attention.NewPaged(d, dt, attention.Pages{Count: 30, Tokens: page, Heads: heads, KeySize: size, ValueSize: size})
		require.NoError(t, err)
		var all []*attention.Sequence
		for i := range lengths {
			all = append(all, c.Open())
			other := c.Open() // its page is between those of the others
			require.NoError(t, other.Append(in(k).Narrow(0, 0, 1).Transpose(0, 1), in(v).Narrow(0, 0, 1).Transpose(0, 1)))
			of := func(x *tensor.Tensor) *tensor.Tensor { return in(x).Narrow(0, ends[i], lengths[i]).Transpose(0, 1) }
			require.NoError(t, all[i].Append(of(k), of(v)))
			other.Close()
		}
		o := attention.Options{Causal: true}
		y := c.Attend(in(q), all, o).To(cpu).Cast(tensor.F32)
		z := attention.VarLen(in(packed), in(k), in(v), ends, ends, o).To(cpu).Cast(tensor.F32)
		return values(t, y), values(t, z)
	}
	for i, d := range list[2:] {
		dt := []tensor.DType{tensor.BF16, tensor.F16}[i%2]
		paged, varLen := on(cpu, tensor.F32, dt)
		gotPaged, gotVarLen := on(d, dt, dt)
		require.InDeltaSlice(t, paged, gotPaged, 3e-2, "%v", d)
		require.InDeltaSlice(t, varLen, gotVarLen, 3e-2, "%v", d)
	}
}

//go:embed attention_test.go
var attentionSource embed.FS

var _ = dsl.Source(attentionSource) // of functions of positions

// TestAttentionFunctions has functions of positions in the kernel, and tiles of keys that are left
// out.
func TestAttentionFunctions(t *testing.T) {
	list := devices(t)
	cpu := list[0]
	for i, d := range list[2:] {
		dt := []tensor.DType{tensor.BF16, tensor.F16}[i%2]
		draw := func(heads, tokens int) *tensor.Tensor {
			return tensor.Randn(cpu, tensor.F32, 0, 1, 1, heads, tokens, 32).Cast(dt)
		}
		q, k, v := draw(4, 90), draw(2, 300), draw(2, 300)
		o := attention.Options{
			MaskFunc:  func(query, key int32) bool { return query/100 == key/100 },
			ScoreFunc: func(score float32, query, key int32) float32 { return score * dsl.Cos(float32(query-key)) },
			BlockMask: new(attention.BlockMask),
		}
		on := func(d *tensor.Device, dt tensor.DType) []float32 {
			in := func(x *tensor.Tensor) *tensor.Tensor { return x.Cast(dt).To(d) }
			return values(t, attention.SDPA(in(q), in(k), in(v), o).To(cpu).Cast(tensor.F32))
		}
		require.InDeltaSlice(t, on(cpu, tensor.F32), on(d, dt), 3e-2, "%v", d)
	}
}
