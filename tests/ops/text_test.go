package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// scaled is by · x + 1000·k of dense numbers, where k is the language that the kernel was
// written in: 0 is Go.
type scaled struct{ by float64 }

func (scaled) Name() string                              { return "scaled" }
func (o scaled) Forward(x *tensor.Tensor) *tensor.Tensor { return x.MulScalar(o.by) }

func (o scaled) Backward(g, _, _ *tensor.Tensor) *tensor.Tensor { return g.MulScalar(o.by) }

func (o scaled) ForwardROCm(x *tensor.Tensor) *tensor.Tensor {
	return o.text(x, "hip", `
extern "C" __global__ void scaled(float* out, const float* x, long n, float by) {
	long i = (long)__builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
	if (i < n)
		out[i] = by * x[i] + 1000;
}`)
}

func (o scaled) ForwardMetal(x *tensor.Tensor) *tensor.Tensor {
	return o.text(x, "msl", `
#include <metal_stdlib>
struct operands {
	device float* out;
	device const float* x;
	long n;
	float by;
};
kernel void scaled(constant operands& o [[buffer(0)]], metal::uint3 at [[thread_position_in_threadgroup]],
		metal::uint3 block [[threadgroup_position_in_grid]]) {
	long i = (long)block.x * 64 + at.x;
	if (i < o.n)
		o.out[i] = o.by * o.x[i] + 2000;
}`)
}

// text computes the result by a kernel in the vendor's language.
func (o scaled) text(x *tensor.Tensor, format, text string) *tensor.Tensor {
	out := x.EmptyLike()
	code, err := x.Device().Code(runtime.Image{Format: format, Name: "scaled", Code: []byte(text)}, "scaled")
	if err == nil {
		err = code.Launch(runtime.Cover(x.Count(), 64), out, x, int64(x.Count()), float32(o.by))
	}
	if err != nil {
		return tensor.Fail("scaled", err)
	}
	return out
}

// An operation of a program has kernels in AMD's and in Apple's language, for views, too, and
// one gradient for all devices. What does not compile is an error that says so.
func TestVendorText(t *testing.T) {
	for _, d := range devices(t) {
		t.Run(d.Name(), func(t *testing.T) {
			more := map[string]float32{"rocm": 1000, "metal": 2000}[d.Runtime().Info().Kind]
			data := make([]float32, 500)
			for i := range data {
				data[i] = float32(i)
			}
			v := tensor.NewVar(tensor.From(d, data))
			for range 2 { // loaded, and found
				y := tensor.Apply1(scaled{3}, v.Tensor().Narrow(0, 100, 300))
				got := values(t, y)
				for i, x := range got {
					require.Equal(t, 3*float32(100+i)+more, x)
				}
				g, err := y.Backward()
				require.NoError(t, err)
				require.EqualValues(t, 900, values(t, g.Of(v.Tensor()).Sum())[0])
			}
			if format := map[string]string{"rocm": "hip", "metal": "msl"}[d.Runtime().Info().Kind]; format != "" {
				err := scaled{3}.text(v.Tensor(), format, "nonsense;").Err()
				require.ErrorContains(t, err, "load code: "+d.Name()+": ")
				require.ErrorContains(t, err, "error: ")
			}
		})
	}
}
