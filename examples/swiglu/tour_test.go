package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/dsltest"
	"github.com/gokiln/kiln/examples/swiglu/kernels"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/loss"
	"github.com/gokiln/kiln/nn/optim"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// The functions below stand in the README, word for word.

func gated(device string, gate, up []float32) ([]float32, error) {
	dev, err := runtime.Open(device) // "auto", "cpu", "cuda:0", …
	if err != nil {
		return nil, err
	}
	defer dev.Close()
	g, err := runtime.From(dev, gate) // copies to the device
	if err != nil {
		return nil, err
	}
	u, err := runtime.From(dev, up)
	if err != nil {
		return nil, err
	}
	swiglu := jit.Of(kernels.SwiGLU[float32])
	// 256 threads a block, enough blocks for one thread an element. The first
	// launch compiles, or loads what an earlier run compiled.
	if err := swiglu.Launch(dev.DefaultStream(), runtime.Cover(g.Len(), 256), g, g, u); err != nil {
		return nil, err
	}
	return g.Host() // waits, and reports what went wrong in the kernel
}

func step(w *tensor.Var, x, y *tensor.Tensor) error {
	grads, err := x.MatMul(w.Tensor()).Sub(y).Sqr().Mean().Backward()
	if err != nil {
		return err // names the operation that failed and its line, such as step.go:12
	}
	return w.Set(w.Tensor().Sub(grads.Of(w.Tensor()).MulScalar(0.1)))
}

type Net struct{ Hidden, Out *nn.Linear } // hidden.weight, hidden.bias, out.weight, out.bias

func (n *Net) Forward(x *tensor.Tensor) *tensor.Tensor {
	return n.Out.Forward(n.Hidden.Forward(x).Gelu())
}

func (n *Net) Learn(opt *optim.Optimizer, x, labels *tensor.Tensor) error {
	grads, err := loss.CrossEntropy(n.Forward(x), labels, loss.CrossEntropyOptions{}).Backward()
	if err != nil {
		return err
	}
	return opt.Step(grads)
}

func TestSwiGLUAsPlainGo(t *testing.T) {
	out := make([]float32, 2)
	err := dsltest.Run(dsl.D1(1), dsl.D1(32), func(th dsl.Thread) {
		kernels.SwiGLU(th, out, []float32{0, 1}, []float32{5, 2})
	})
	if err != nil || out[0] != 0 || out[1] != 1.4621172 {
		t.Fatal(out, err)
	}
}

func Example_tour() {
	fmt.Println(gated("cpu", []float32{0, 1}, []float32{5, 2}))
	// Output: [0 1.4621172] <nil>
}

func TestStep(t *testing.T) {
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	defer d.Close()
	x := tensor.From(d, []float32{1, 0, 0, 1, 1, 1, 1, -1}, 4, 2)
	y := x.MatMul(tensor.From(d, []float32{3, -2}, 2, 1))
	w := tensor.NewVar(tensor.Zeros(d, tensor.F32, 2, 1))
	for range 200 {
		require.NoError(t, step(w, x, y))
	}
	got, err := tensor.ToSlice[float32](w.Tensor())
	require.NoError(t, err)
	require.InDeltaSlice(t, []float32{3, -2}, got, 1e-4)
	err = step(w, x, tensor.Zeros(d, tensor.F32, 3, 1))
	require.ErrorIs(t, err, tensor.ErrBroadcast)
	require.ErrorContains(t, err, "tour_test.go:")
}

// TestNet has the network learn exclusive or.
func TestNet(t *testing.T) {
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	defer d.Close()
	net := &Net{nn.NewLinear(2, 8), nn.NewLinear(8, 2)}
	require.NoError(t, nn.Init(net, nn.On{Device: d}))
	params, err := nn.Trainable(net)
	require.NoError(t, err)
	opt := optim.NewAdamW(params, optim.AdamW{LR: 0.05})
	x := tensor.New(d, [][]float32{{0, 0}, {0, 1}, {1, 0}, {1, 1}})
	labels := []uint32{0, 1, 1, 0}
	for range 100 {
		require.NoError(t, net.Learn(opt, x, tensor.From(d, labels, 4)))
	}
	got, err := tensor.To1[uint32](net.Forward(x).ArgMax(1).Cast(tensor.U32))
	require.NoError(t, err)
	require.Equal(t, labels, got)
}

// TestReadme keeps the README's Go code and this folder's the same.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	var code strings.Builder
	for _, name := range []string{"kernels/swiglu.go", "tour_test.go"} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		code.Write(text)
	}
	blocks := strings.Split(string(readme), "```go\n")[1:]
	require.Len(t, blocks, 6)
	for _, b := range blocks {
		b, _, closed := strings.Cut(b, "```")
		require.True(t, closed)
		require.Contains(t, code.String(), b)
	}
}
