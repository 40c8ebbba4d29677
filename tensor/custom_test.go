package tensor_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/internal/testkernels"
)

var blendKernel, doubleKernel = jit.Of(testkernels.Blend), jit.Of(testkernels.Double)

type blended struct{ a float32 }

func (blended) Name() string { return "blend" }

func (o blended) Forward(x, y *tensor.Tensor) *tensor.Tensor {
	out := tensor.Empty(x.Device(), x.DType(), x.Shape()...)
	return tensor.LaunchInto(out, blendKernel, runtime.Cover(x.Count(), 64), x, x.Layout(), y, y.Layout(), o.a)
}

func (o blended) Backward(g, x, y, out *tensor.Tensor) (dx, dy *tensor.Tensor) {
	return g.MulScalar(float64(o.a)), g.MulScalar(1 - float64(o.a))
}

// gradless has no gradient.
type gradless struct{}

func (gradless) Name() string                            { return "gradless" }
func (gradless) Forward(x *tensor.Tensor) *tensor.Tensor { return x.MulScalar(3) }

// sum3 returns one of its operands' sums, with gradients but for the last.
type sum3 struct{}

func (sum3) Name() string                                  { return "sum3" }
func (sum3) Forward(x, y, z *tensor.Tensor) *tensor.Tensor { return x.Add(y).Add(z) }
func (sum3) Backward(g, x, y, z, out *tensor.Tensor) (dx, dy, dz *tensor.Tensor) {
	return g, g.MulScalar(2), nil
}

func TestApply(t *testing.T) {
	d := open(t)
	v := tensor.NewVar(tensor.From(d, []float32{1, 2, 3, 4, 5, 6}, 2, 3))
	w := tensor.NewVar(tensor.From(d, []float32{10, 20, 30, 40, 50, 60, 70, 80}, 4, 2))
	x, y := v.Tensor().T(), w.Tensor().Narrow(0, 1, 3)
	z := tensor.Apply2(blended{0.25}, x, y)
	require.Equal(t, []float32{22.75, 31, 38, 46.25, 53.25, 61.5}, list[float32](t, z))
	g, err := z.Backward()
	require.NoError(t, err)
	require.Equal(t, []float32{0.25, 0.25, 0.25, 0.25, 0.25, 0.25}, list[float32](t, g.Of(v.Tensor())))
	require.Equal(t, []float32{0, 0, 0.75, 0.75, 0.75, 0.75, 0.75, 0.75}, list[float32](t, g.Of(w.Tensor())))

	s := tensor.Apply3(sum3{}, x, y, v.Tensor().T())
	g, err = s.Backward()
	require.NoError(t, err)
	require.Equal(t, []float32{1, 1, 1, 1, 1, 1}, list[float32](t, g.Of(v.Tensor())))

	p := tensor.Apply1(gradless{}, x)
	require.Equal(t, []float32{3, 12, 6, 15, 9, 18}, list[float32](t, p))
	_, err = p.Backward()
	require.ErrorIs(t, err, tensor.ErrNoGradient)
	require.ErrorContains(t, err, "gradless: no gradient: tensor_test.gradless has no method Backward")
	require.False(t, tensor.Apply1(gradless{}, x.Detach()).RequiresGrad())
	require.False(t, tensor.Apply1(gradless{}, x.NoGrad()).RequiresGrad())
}

// broken returns what it is given.
type broken struct{ out *tensor.Tensor }

func (broken) Name() string                              { return "broken" }
func (o broken) Forward(x *tensor.Tensor) *tensor.Tensor { return o.out }

func TestApplyErrors(t *testing.T) {
	d := open(t)
	x := tensor.From(d, []float32{1, 2, 3})
	bad := x.Add(tensor.From(d, []float32{1, 2}))
	require.Equal(t, bad.Err(), tensor.Apply1(gradless{}, bad).Err())
	require.ErrorIs(t, tensor.Apply1(gradless{}, nil).Err(), tensor.ErrArgument)
	require.ErrorContains(t, tensor.Apply1(broken{}, x).Err(), "broken: invalid argument: tensor_test.broken returned no tensor (custom_test.go:")
	reason := errors.New("the moon is full")
	err := tensor.Apply1(broken{tensor.Fail("broken", reason)}, x).Err()
	require.ErrorIs(t, err, reason)
	require.ErrorContains(t, err, "broken: the moon is full")
	require.ErrorIs(t, tensor.Fail("broken", nil).Err(), tensor.ErrArgument)
	err = tensor.Apply2(blended{1}, x.Cast(tensor.F64), x).Err()
	require.ErrorContains(t, err, "argument 1 (out) is runtime.Slice[float64], want runtime.Slice[float32]")
	require.ErrorIs(t, tensor.Launch(doubleKernel, runtime.Cover(1, 64)), tensor.ErrArgument)
	require.ErrorIs(t, tensor.Launch(doubleKernel, runtime.Cover(1, 64), nil, bad), tensor.ErrBroadcast)
	require.ErrorIs(t, tensor.Launch(doubleKernel, runtime.Cover(1, 64), tensor.FromBytes(d, tensor.F4, []byte{1}), x.Layout()), tensor.ErrDType)
	deep := x.Reshape(1, 1, 1, 1, 1, 1, 1, 1, 3)
	require.ErrorIs(t, tensor.Launch(doubleKernel, runtime.Cover(1, 64), deep, deep.Layout()), tensor.ErrRank)
}

// Tensors are passed as the slices of a struct, and all of them count as changed.
func TestLaunchOfTensorsInStructs(t *testing.T) {
	d := open(t)
	x, y := tensor.From(d, []float32{1, 2, 3}), tensor.NewVar(tensor.From(d, []float32{0, 4, 5, 6, 7}))
	part := y.Tensor().Detach().Narrow(0, 1, 3)
	loss := y.Tensor().Sqr().Sum()
	exchange := func(of ...*tensor.Tensor) error {
		return tensor.Launch(jit.Of(testkernels.Exchange), runtime.Cover(3, 64), of)
	}
	require.NoError(t, exchange(x, part))
	require.Equal(t, []float32{4, 5, 6}, list[float32](t, x))
	require.Equal(t, []float32{0, 1, 2, 3, 7}, list[float32](t, y.Tensor()))
	_, err := loss.Backward()
	require.ErrorIs(t, err, tensor.ErrChanged)

	none := tensor.Empty(d, tensor.F32, 0)
	require.NoError(t, exchange(none, none))
	require.ErrorIs(t, exchange(x, tensor.Empty(d, tensor.F16, 3)), tensor.ErrDTypeMismatch)
	require.ErrorIs(t, exchange(), tensor.ErrArgument)
	require.ErrorIs(t, exchange(x, nil), tensor.ErrArgument)
	require.ErrorIs(t, exchange(tensor.FromBytes(d, tensor.F4, []byte{1})), tensor.ErrDType)
	require.ErrorContains(t, exchange(x), "want struct { S0 runtime.Slice[float32]; S1 runtime.Slice[float32] }")
	require.ErrorContains(t, tensor.Launch(jit.Of(testkernels.Exchange), runtime.Cover(3, 64), x), "argument 1 (of) is")
	require.ErrorContains(t, tensor.Launch(doubleKernel, runtime.Cover(3, 64), x, []*tensor.Tensor{}), "argument 2 has no tensors")
}

// What comes behind a struct with slices counts as changed, and the slices do not.
func TestLaunchOfStructs(t *testing.T) {
	d := open(t)
	s, err := runtime.From(d.Runtime(), []float32{1, 2, 3})
	require.NoError(t, err)
	v := tensor.NewVar(tensor.From(d, []float32{5, 5, 5}))
	loss := v.Tensor().Sqr().Sum()
	of := struct{ A, B runtime.Slice[float32] }{s, s}
	require.NoError(t, tensor.Launch(jit.Of(testkernels.Products), runtime.Cover(3, 64), of, v.Tensor()))
	require.Equal(t, []float32{1, 4, 9}, list[float32](t, v.Tensor()))
	_, err = loss.Backward()
	require.ErrorIs(t, err, tensor.ErrChanged)
	require.ErrorContains(t, err, "custom_test.go:")
}

type doubling struct{}

func (doubling) Name() string { return "double" }
func (doubling) Forward(x *tensor.Tensor) error {
	return tensor.Launch(doubleKernel, runtime.Cover(x.Count(), 64), x, x.Layout())
}

type adding struct{}

func (adding) Name() string                      { return "add in place" }
func (adding) Forward(x, y *tensor.Tensor) error { return x.Assign(x.Add(y)) }

type adding2 struct{}

func (adding2) Name() string                         { return "add two in place" }
func (adding2) Forward(x, y, z *tensor.Tensor) error { return x.Assign(x.Add(y).Add(z)) }

func TestInPlace(t *testing.T) {
	d := open(t)
	x := tensor.From(d, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	require.NoError(t, tensor.InPlace1(doubling{}, x.T().Narrow(0, 1, 1)))
	require.Equal(t, []float32{1, 4, 3, 4, 10, 6}, list[float32](t, x))
	require.NoError(t, tensor.InPlace2(adding{}, x.Get(0), x.Get(1)))
	require.Equal(t, []float32{5, 14, 9, 4, 10, 6}, list[float32](t, x))
	require.NoError(t, tensor.InPlace3(adding2{}, x.Get(1), x.Get(0), x.Get(0)))
	require.Equal(t, []float32{5, 14, 9, 14, 38, 24}, list[float32](t, x))
	require.ErrorContains(t, tensor.InPlace1(doubling{}, x.BroadcastTo(2, 2, 3)), "double: invalid argument: indices of the tensor share elements")
	require.ErrorIs(t, tensor.InPlace2(adding{}, x, nil), tensor.ErrArgument)
	require.ErrorIs(t, tensor.InPlace3(adding2{}, x, x, x.Narrow(1, 0, 2)), tensor.ErrBroadcast)
	require.ErrorIs(t, tensor.InPlace1(doubling{}, nil), tensor.ErrArgument)
}

// fill is a kernel in the form that the interpreter takes.
const fill = `
module "m"
kernel @fill(%out: ptr<global,i32>, %n: i64, %v: i32) args(out slice i32 "[]int32", v scalar i32 "int32") {
b0:
  %i = thread 0 : i64
  %po = offset %out, %i : ptr<global,i32>
  store %po, %v
  ret
}
`

// native is an operation with text of its own for one kind of device.
type native struct{ gradless }

func (native) ForwardCPU(x *tensor.Tensor) *tensor.Tensor {
	out := tensor.Empty(x.Device(), tensor.I32, x.Shape()...)
	code, err := x.Device().Code(runtime.Image{Format: "kir", Name: "fill", Code: []byte(fill)}, "fill")
	if err == nil {
		err = code.Launch(runtime.Blocks(1, out.Count()), out, out.Count(), int32(7))
	}
	if err != nil {
		return tensor.Fail("native", err)
	}
	return out
}

// fillPTX is the kernel in the language of another kind of device.
const fillPTX = `
.version 7.0
.target sm_75
.address_size 64
.visible .entry fill(.param .u64 out, .param .u64 n, .param .u32 v)
{
	.reg .u64 %p, %i;
	.reg .u32 %v, %t;
	ld.param.u64 %p, [out];
	cvta.to.global.u64 %p, %p;
	ld.param.u32 %v, [v];
	mov.u32 %t, %tid.x;
	mul.wide.u32 %i, %t, 4;
	add.u64 %p, %p, %i;
	st.global.u32 [%p], %v;
	ret;
}
`

func (native) ForwardCUDA(x *tensor.Tensor) *tensor.Tensor {
	out := tensor.Empty(x.Device(), tensor.I32, x.Shape()...)
	code, err := x.Device().Code(runtime.Image{Format: "ptx", Name: "fill", Code: []byte(fillPTX)}, "fill")
	if err == nil {
		err = code.Launch(runtime.Blocks(1, out.Count()), out, out.Count(), int32(7))
	}
	if err != nil {
		return tensor.Fail("native", err)
	}
	return out
}

// elsewhere is an operation that is different on other devices, and in place.
type elsewhere struct{ gradless }

func (elsewhere) ForwardCUDA(x *tensor.Tensor) *tensor.Tensor  { panic("not here") }
func (elsewhere) ForwardROCm(x *tensor.Tensor) *tensor.Tensor  { panic("not here") }
func (elsewhere) ForwardMetal(x *tensor.Tensor) *tensor.Tensor { panic("not here") }

type inplaceNative struct{ doubling }

func (inplaceNative) ForwardCPU(x *tensor.Tensor) error { return x.OneSet() }

func TestReplacements(t *testing.T) {
	d, err := tensor.Open("cpu") // whose forms these are
	require.NoError(t, err)
	defer d.Close()
	x := tensor.From(d, []float32{1, 2, 3})
	require.Equal(t, []float32{3, 6, 9}, list[float32](t, tensor.Apply1(elsewhere{}, x)))
	require.NoError(t, tensor.InPlace1(inplaceNative{}, x))
	require.Equal(t, []float32{1, 1, 1}, list[float32](t, x))
	for range 2 {
		require.Equal(t, []int32{7, 7, 7}, list[int32](t, tensor.Apply1(native{}, x)))
	}
}

// twisted has methods that look like replacements.
type twisted struct{ gradless }

func (twisted) ForwardCUDA(x *tensor.Tensor) (*tensor.Tensor, error) { return x, nil }

type twistedInPlace struct{ doubling }

func (twistedInPlace) ForwardMetal(x *tensor.Tensor) {}

// A replacement that would never be called is an error, on all devices.
func TestReplacementsMisfit(t *testing.T) {
	d := open(t)
	x := tensor.From(d, []float32{1, 2, 3})
	for range 2 {
		err := tensor.Apply1(twisted{}, x).Err()
		require.ErrorIs(t, err, tensor.ErrArgument)
		require.ErrorContains(t, err, "method ForwardCUDA of tensor_test.twisted is a func(*tensor.Tensor) (*tensor.Tensor, error), and would replace Forward if it were a func(*tensor.Tensor) *tensor.Tensor (custom_test.go:")
		err = tensor.InPlace1(twistedInPlace{}, x)
		require.ErrorIs(t, err, tensor.ErrArgument)
		require.ErrorContains(t, err, "method ForwardMetal of tensor_test.twistedInPlace is a func(*tensor.Tensor), and would replace Forward if it were a func(*tensor.Tensor) error")
	}
}

// Operations of programs and functions run on the GPUs of this machine, too, one of each
// kind, and on the interpreter.
func TestCustomOnEveryDevice(t *testing.T) {
	names, kinds := []string{"cpu:interp"}, map[string]bool{"cpu": true}
	for _, d := range runtime.Devices() {
		if !kinds[d.Kind] {
			names, kinds[d.Kind] = append(names, d.Name), true
		}
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			d, err := tensor.Open(name)
			require.NoError(t, err)
			defer d.Close()
			v := tensor.NewVar(tensor.From(d, []float32{1, 2, 3, 4, 5, 6}, 2, 3))
			x := v.Tensor().T()
			y := tensor.Apply2(blended{0.25}, x, x.MulScalar(2))
			require.Equal(t, []float32{1.75, 7, 3.5, 8.75, 5.25, 10.5}, list[float32](t, y))
			z := tensor.Map2Grad(
				func(a, b float32) float32 { return a * b },
				func(a, b float32) (float32, float32) { return b, a }, y, x)
			g, err := z.Backward()
			require.NoError(t, err)
			require.Equal(t, []float32{3.5, 7, 10.5, 14, 17.5, 21}, list[float32](t, g.Of(v.Tensor())))
			require.NoError(t, tensor.InPlace1(doubling{}, y))
			require.Equal(t, []float32{3.5, 14, 7, 17.5, 10.5, 21}, list[float32](t, y))
			if kind := d.Runtime().Info().Kind; kind == "cuda" {
				require.Equal(t, []int32{7, 7, 7, 7, 7, 7}, list[int32](t, tensor.Apply1(native{}, x)))
				require.Equal(t, "[1., 4.]\nTensor[[2], f32, "+name+"]", x.Get(0).String())
			}
		})
	}
}

func TestCode(t *testing.T) {
	d := onCPU(t)
	img := runtime.Image{Format: "kir", Name: "fill", Code: []byte(fill)}
	a, err := d.Code(img, "fill")
	require.NoError(t, err)
	b, err := d.Code(img, "fill")
	require.NoError(t, err)
	require.Same(t, a, b)
	_, err = d.Code(img, "spill")
	require.ErrorContains(t, err, "load code: ")
	_, err = d.Code(runtime.Image{Format: "runes", Code: []byte("x")}, "fill")
	require.Error(t, err)
	require.ErrorIs(t, a.Launch(runtime.Blocks(1, 1), "text"), tensor.ErrArgument)
	require.ErrorIs(t, a.Launch(runtime.Blocks(1, 1), (*tensor.Tensor)(nil)), tensor.ErrArgument)
	x := tensor.From(d, []int32{1, 2, 3, 4})
	require.NoError(t, a.Launch(runtime.Blocks(1, 2), x.Narrow(0, 1, 2), 2, int32(9)))
	require.Equal(t, []int32{1, 9, 9, 4}, list[int32](t, x))
	require.NoError(t, x.Free())
	require.ErrorIs(t, a.Launch(runtime.Blocks(1, 2), x, 2, int32(9)), tensor.ErrFreed)
}

// swish is x · sigmoid(beta · x), made of other operations, with a gradient.
type swish struct{ beta float64 }

func (swish) Name() string { return "swish" }

func (o swish) Forward(x *tensor.Tensor) *tensor.Tensor {
	return x.Mul(x.MulScalar(o.beta).Sigmoid())
}

func (o swish) Backward(g, x, out *tensor.Tensor) *tensor.Tensor {
	s := x.MulScalar(o.beta).Sigmoid()
	return g.Mul(s.Add(out.Mul(s.SubFrom(1)).MulScalar(o.beta)))
}

func ExampleApply1() {
	dev, err := tensor.Open("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	v := tensor.NewVar(tensor.From(dev, []float32{-1, 0, 2}))
	y := tensor.Apply1(swish{beta: 1}, v.Tensor())
	grads, err := y.Backward()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(y)
	fmt.Println(grads.Of(v.Tensor()))
	// Output:
	// [-0.2689,  0.0000,  1.7616]
	// Tensor[[3], f32]
	// [0.0723, 0.5000, 1.0908]
	// Tensor[[3], f32]
}

// sumN returns the sum of its operands, with the gradients it is told to have.
type sumN struct{ grads int }

func (sumN) Name() string { return "sumN" }
func (sumN) Forward(in ...*tensor.Tensor) *tensor.Tensor {
	out := in[0]
	for _, x := range in[1:] {
		out = out.Add(x)
	}
	return out
}

func (o sumN) Backward(g *tensor.Tensor, in []*tensor.Tensor, out *tensor.Tensor) (grads []*tensor.Tensor) {
	for i := range o.grads {
		grads = append(grads, g.MulScalar(float64(i+1)))
	}
	return grads
}

func TestApplyN(t *testing.T) {
	d := open(t)
	var in []*tensor.Tensor
	for i := range 5 {
		in = append(in, tensor.NewVar(tensor.From(d, []float32{float32(i), 1})).Tensor())
	}
	y := tensor.ApplyN(sumN{5}, in...)
	require.Equal(t, []float32{10, 5}, list[float32](t, y))
	g, err := y.Backward()
	require.NoError(t, err)
	for i, x := range in {
		require.Equal(t, []float32{float32(i + 1), float32(i + 1)}, list[float32](t, g.Of(x)))
	}
	_, err = tensor.ApplyN(sumN{4}, in...).Backward()
	require.ErrorContains(t, err, "tensor_test.sumN returned 4 gradients of 5 operands")
	require.ErrorIs(t, tensor.ApplyN(sumN{}).Err(), tensor.ErrArgument)
	require.ErrorIs(t, tensor.ApplyN(sumN{}, in[0], nil).Err(), tensor.ErrArgument)
}
