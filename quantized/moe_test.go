package quantized_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/quantized"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tests/sim/devices"
)

// experts returns random weights in a format, quantized on the CPU.
func experts(t *testing.T, d *tensor.Device, of format.Type, shape ...int) *quantized.Tensor {
	t.Helper()
	cpu, err := tensor.Open("cpu")
	require.NoError(t, err)
	w := tensor.Randn(cpu, tensor.F32, 0, 1, shape...)
	if of.Quantizes(false) {
		return quantized.Quantize(w, of).To(d)
	}
	return quantized.QuantizeImportant(w, of, tensor.Ones(cpu, tensor.F32, shape[len(shape)-1])).To(d)
}

// eachExpert is the products with dequantized weights in float64, and the sums of magnitudes.
func eachExpert(
	t *testing.T, q *quantized.Tensor, x *tensor.Tensor, ids []int32, topk int,
) (want, most []float64) {
	t.Helper()
	n, k := q.Shape()[1], q.Shape()[2]
	w, v := products(t, q.Dequantize(tensor.F32)), products(t, x)
	for i, id := range ids {
		from := v[(i/topk*x.Size(1)+i%topk%x.Size(1))*k:][:k]
		for row := range n {
			var sum, abs float64
			for j, a := range from {
				p := a * w[(int(id)*n+row)*k+j]
				sum, abs = sum+p, abs+math.Abs(p)
			}
			want, most = append(want, sum), append(most, abs)
		}
	}
	return want, most
}

// TestIndexedMoE compares few products and many, of every format, with those of one expert after
// another. Simulated GPUs, whose compiler takes long for the operations of many products, have one
// format unless KILN_SWEEP=all asks for all.
func TestIndexedMoE(t *testing.T) {
	devices.OnEach(t, func(t *testing.T, d *tensor.Device) {
		d.SetSeed(3)
		list := formats(d)
		if d.Kind() != "cpu" && !tooltest.Sweeps() {
			list = []format.Type{format.Q4_0}
		}
		for _, of := range list {
			q := experts(t, d, of, 3, 5, 256)
			for _, dt := range some(d, tensor.F32, tensor.F16, tensor.BF16, tensor.F64) {
				few := []int32{2, 0, 0, 2, 1, 2}
				many := slices.Repeat(few, 5)
				indexedCase(t, q, dt, few[:2], 2, 1)
				indexedCase(t, q, dt, few, 3, 3)
				indexedCase(t, q, dt, few, 2, 1)
				indexedCase(t, q, dt, many, 3, 1)
				indexedCase(t, q, dt, many, 2, 2)
			}
			if of != format.Q4_0 {
				continue
			}
			for _, c := range []int{1, 2} { // experts at a time
				end := quantized.SetScratch(c * 5 * 256)
				indexedCase(t, q, tensor.F32, slices.Repeat([]int32{2, 2, 0, 2}, 8), 2, 2)
				end()
			}
		}
	})
}

// indexedCase multiplies tokens that are not contiguous.
func indexedCase(t *testing.T, q *quantized.Tensor, dt tensor.DType, ids []int32, topk, slots int) {
	t.Helper()
	d, tokens, k := q.Device(), len(ids)/topk, q.Shape()[2]
	cpu, err := tensor.Open("cpu")
	require.NoError(t, err)
	x := tensor.Randn(cpu, dt, 0, 1, k, slots, tokens).To(d).Permute(2, 1, 0)
	at := tensor.From(d, ids, tokens, topk)
	want, most := eachExpert(t, q, x, ids, topk)
	got := q.IndexedMoE(x, at)
	require.NoError(t, got.Err())
	require.Equal(t, tensor.Shape{tokens, topk, q.Shape()[1]}, got.Shape())
	require.Equal(t, dt, got.DType())
	for i, y := range products(t, got) {
		allowed := roundings[dt]
		if dt != tensor.F64 {
			allowed += 2 * eightBits // weights of 3 values are sparse
		}
		if off := math.Abs(y - want[i]); off > allowed*most[i] {
			t.Fatalf("%v in %v, %d ids, %d of a token, x of %v: element %d is %v, not %v: %v of sum |w·x|",
				q.Format(), dt, len(ids), topk, x.Shape(), i, y, want[i], off/most[i])
		}
	}
}

// Few products are the bits of those of each expert alone.
func TestIndexedMoEBits(t *testing.T) {
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	for _, of := range []format.Type{format.Q4_0, format.Q5_K, format.IQ4_NL} {
		for _, k := range []int{256, 4096} {
			q := experts(t, d, of, 3, 7, k)
			raw, err := q.Bytes()
			require.NoError(t, err)
			x := tensor.Randn(d, tensor.F32, 0, 1, 2, 1, k)
			ids := []int32{2, 0, 1, 2}
			got := products(t, q.IndexedMoE(x, tensor.From(d, ids, 2, 2)))
			for i, id := range ids {
				size := len(raw) / 3
				one := quantized.FromBytes(d, of, raw[int(id)*size:][:size], 7, k)
				want := products(t, one.LinearBy("rounded activations", x.Narrow(0, i/2, 1).Reshape(k)))
				require.Equal(t, want, got[7*i:][:7], "%v of %d columns", of, k)
			}
		}
	}
}

// Ids are of any integer type and any layout.
func TestIndexedMoEIDs(t *testing.T) {
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	q := experts(t, d, format.Q8_0, 4, 3, 64)
	for _, tokens := range []int{2, 40} {
		ids := make([]int32, 3*tokens)
		for i := range ids {
			ids[i] = int32(i * 7 % 4)
		}
		x := tensor.Randn(d, tensor.F32, 0, 1, tokens, 1, 64)
		at := tensor.From(d, ids, 3, tokens).T()
		want := products(t, q.IndexedMoE(x, at.Contiguous()))
		for _, dt := range []tensor.DType{tensor.U8, tensor.I32, tensor.U32, tensor.I64} {
			require.Equal(t, want, products(t, q.IndexedMoE(x, at.Cast(dt))), dt)
		}
	}
}

// TestIndexedMoEGradient compares with gradients through dequantized weights that are gathered for
// each token.
func TestIndexedMoEGradient(t *testing.T) {
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	q := experts(t, d, format.Q5_1, 7, 4, 32)
	w := q.Dequantize(tensor.F32)
	for _, tokens := range []int{2, 3, 4, 30} { // fewer products than experts, or not
		for _, slots := range []int{1, 2} {
			ids := make([]int32, 2*tokens)
			for i := range ids {
				ids[i] = int32((i*i + 6) % 7)
			}
			at := tensor.From(d, ids, tokens, 2)
			x := tensor.NewVar(tensor.Randn(d, tensor.F32, 0, 1, tokens, slots, 32))
			up := tensor.Randn(d, tensor.F32, 0, 1, tokens, 2, 4)
			grad := func(y *tensor.Tensor) []float64 {
				g, err := y.Mul(up).Sum().Backward()
				require.NoError(t, err)
				return products(t, g.Of(x.Tensor()))
			}
			of := w.IndexSelect(at.FlattenAll(), 0).Reshape(tokens, 2, 4, 32)
			want := grad(x.Tensor().Unsqueeze(2).Mul(of).Sum(-1))
			got := grad(q.IndexedMoE(x.Tensor(), at))
			require.Len(t, got, len(want))
			for i := range want {
				require.InDelta(t, want[i], got[i], 2e-3, "%d tokens, %d slots", tokens, slots)
			}
		}
	}
}

// The gradient has a gradient: of half the square of |∂y/∂x · u|, for a linear y that of Wᵀ.
func TestIndexedMoESecondGradient(t *testing.T) {
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	q := experts(t, d, format.Q8_0, 2, 4, 32)
	at := tensor.From(d, []int32{1, 0, 1}, 3, 1)
	x := tensor.NewVar(tensor.Randn(d, tensor.F32, 0, 1, 3, 1, 32))
	g, err := q.IndexedMoE(x.Tensor(), at).Sqr().Sum().BackwardBy(tensor.BackwardOptions{Graph: true})
	require.NoError(t, err)
	second, err := g.Of(x.Tensor()).Sum().Backward()
	require.NoError(t, err)
	w := q.Dequantize(tensor.F32).IndexSelect(at.FlattenAll(), 0) // 2·WᵀW·1
	want := products(t, w.T().MatMul(w).SumKeep(-1).MulScalar(2).Reshape(3, 32))
	for i, y := range products(t, second.Of(x.Tensor())) {
		require.InDelta(t, want[i], y, 1e-2)
	}
}

func TestIndexedMoEMistakes(t *testing.T) {
	for _, name := range []string{"cpu", "cpu:interp"} {
		d, err := tensor.Open(name)
		require.NoError(t, err)
		q, one := experts(t, d, format.Q4_0, 3, 5, 64), tensor.Zeros(d, tensor.F32, 4, 1, 64)
		x := func(dt tensor.DType, shape ...int) *tensor.Tensor { return tensor.Zeros(d, dt, shape...) }
		ids := x(tensor.I64, 4, 2)
		for what, c := range map[string]struct {
			y    *tensor.Tensor
			kind error
		}{
			"matrix":    {experts(t, d, format.Q4_0, 5, 64).IndexedMoE(one, ids), tensor.ErrRank},
			"vector":    {q.IndexedMoE(x(tensor.F32, 4, 64), ids), tensor.ErrRank},
			"slots":     {q.IndexedMoE(x(tensor.F32, 4, 3, 64), ids), tensor.ErrShape},
			"tokens":    {q.IndexedMoE(x(tensor.F32, 5, 1, 64), ids), tensor.ErrShape},
			"columns":   {q.IndexedMoE(x(tensor.F32, 4, 1, 32), ids), tensor.ErrShape},
			"type":      {q.IndexedMoE(x(tensor.I32, 4, 1, 64), ids), tensor.ErrDType},
			"float ids": {q.IndexedMoE(one, x(tensor.F32, 4, 2)), tensor.ErrDType},
			"none":      {experts(t, d, format.Q4_0, 0, 5, 64).IndexedMoE(one, ids), tensor.ErrRange},
			"sticky":    {q.IndexedMoE(tensor.Fail("a", tensor.ErrArgument), ids), tensor.ErrArgument},
			"nil":       {(*quantized.Tensor)(nil).IndexedMoE(one, ids), tensor.ErrArgument},
		} {
			require.ErrorIs(t, c.y.Err(), c.kind, what)
		}
		empty := q.IndexedMoE(x(tensor.F32, 0, 2, 64), x(tensor.U32, 0, 2))
		require.NoError(t, empty.Err())
		require.Equal(t, tensor.Shape{0, 2, 5}, empty.Shape())
		for _, tokens := range []int{2, 40} {
			for _, bad := range []int32{3, -1} {
				list := make([]int32, 2*tokens)
				list[3] = bad
				_, err := q.IndexedMoE(x(tensor.F32, tokens, 1, 64), tensor.From(d, list, tokens, 2)).Bytes()
				require.ErrorContains(t, err, fmt.Sprintf("expert %d at position 3 is out of range", bad))
			}
		}
	}
}
