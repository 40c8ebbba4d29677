package tensor_test

import (
	"fmt"
	"math"

	"github.com/gokiln/kiln/tensor"
)

// A gradient is clipped on its way.
func ExampleTensor_OnGradient() {
	x := tensor.NewVar(tensor.From(cpu(), []float32{1, -5, 3})).Tensor()
	remove, err := x.OnGradient(func(g *tensor.Tensor) *tensor.Tensor { return g.Clamp(-4, 4) })
	if err != nil {
		fmt.Println(err)
		return
	}
	defer remove()
	grads, err := x.Sqr().Backward()
	fmt.Println(grads.Of(x), err)
	// Output:
	// [ 2., -4.,  4.]
	// Tensor[[3], f32] <nil>
}

func ExampleTensor_TensorDot() {
	dev := cpu()
	x := tensor.Arange(dev, float32(0), 12).Reshape(2, 3, 2)
	y := tensor.Arange(dev, float32(0), 6).Reshape(2, 3)
	fmt.Println(x.TensorDot(y, []int{0, 1}, []int{0, 1})) // sums over the first two dimensions
	// Output:
	// [110., 125.]
	// Tensor[[2], f32]
}

// Windows of an image as columns, and the image again of windows that do not overlap.
func ExampleTensor_Im2Col() {
	image := tensor.Arange(cpu(), float32(0), 8).Reshape(1, 2, 4) // channels, rows, columns
	w := tensor.Windows{Kernel: []int{2, 2}, Stride: []int{2, 2}}
	columns := image.Im2Col(w)
	fmt.Println(columns)
	fmt.Println(columns.Col2Im(w, 2, 4))
	// Output:
	// [[0., 2.],
	//  [1., 3.],
	//  [4., 6.],
	//  [5., 7.]]
	// Tensor[[4, 2], f32]
	// [[[0., 1., 2., 3.],
	//   [4., 5., 6., 7.]]]
	// Tensor[[1, 2, 4], f32]
}

// An image, rotated by the positions that are read.
func ExampleTensor_GridSample() {
	dev := cpu()
	image := tensor.Arange(dev, float32(0), 6).Reshape(1, 1, 2, 3)
	edge := tensor.Linspace(dev, tensor.F32, 1, -1, 3)
	grid := tensor.Stack(-1, tensor.Meshgrid(true, edge, edge)...).Unsqueeze(0) // (1, 3, 3, 2): across, down
	fmt.Println(image.GridSample(grid, tensor.Sampling{AlignCorners: true}))
	// Output:
	// [[[[5.0000, 4.0000, 3.0000],
	//    [3.5000, 2.5000, 1.5000],
	//    [2.0000, 1.0000, 0.0000]]]]
	// Tensor[[1, 1, 3, 3], f32]
}

// A system of equations, the factors of its matrix, and what they say of it.
func ExampleTensor_Solve() {
	dev := cpu()
	a := tensor.New(dev, [][]float64{{4, 2}, {2, 3}})
	x := a.Solve(tensor.New(dev, [][]float64{{8}, {8}}))
	fmt.Println(x.FlattenAll())
	l := a.Cholesky()
	fmt.Printf("%.1f\n%.1f\n", a.Det(), l.MatMul(l.T()))
	// Output:
	// [1., 2.]
	// Tensor[[2], f64]
	// [8.0]
	// Tensor[[], f64]
	// [[4.0, 2.0],
	//  [2.0, 3.0]]
	// Tensor[[2, 2], f64]
}

// The spectrum of a wave: twice around in eight numbers.
func ExampleTensor_RFFT() {
	dev := cpu()
	wave := tensor.From(dev, []float32{1, 0, -1, 0, 1, 0, -1, 0})
	spectrum := wave.RFFT(0) // (5, 2): real and imaginary parts
	fmt.Println(spectrum.SumSqr(-1).Sqrt())
	fmt.Println(spectrum.IRFFT(8, 0))
	// Output:
	// [0., 0., 4., 0., 0.]
	// Tensor[[5], f32]
	// [ 1.,  0., -1.,  0.,  1.,  0., -1.,  0.]
	// Tensor[[8], f32]
}

// The spectra of frames of a sound, and the sound again: what a short-time Fourier transform and its
// inverse are. The squares of the window add up to 1 where frames overlap.
func ExampleTensor_IRFFT() {
	dev := cpu()
	sound := tensor.Arange(dev, float32(0), 16).Sin()
	window := tensor.Arange(dev, float32(0), 8).AddScalar(0.5).MulScalar(math.Pi / 8).Sin()
	frames := sound.Pad(0, 4, 4, tensor.PadConstant, 0).Unfold(0, 8, 4).Mul(window)
	spectra := frames.RFFT(-1) // (5, 5, 2): frames, frequencies, pairs
	parts := spectra.IRFFT(8, 1).Mul(window)
	again := parts.T().Col2Im(tensor.Windows{Kernel: []int{8}, Stride: []int{4}}, 24).FlattenAll().Narrow(0, 4, 16)
	fmt.Println(spectra.Shape(), again.Sub(sound).Abs().LtScalar(1e-6).All())
	// Output:
	// [5, 5, 2] [1]
	// Tensor[[], u8]
}
