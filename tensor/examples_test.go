package tensor_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/safetensors"
)

// cpu is the device of the examples: they print the same on every other.
func cpu() *tensor.Device {
	dev, err := tensor.Open("cpu")
	if err != nil {
		panic(err)
	}
	return dev
}

func Example_constructors() {
	dev := cpu()
	fmt.Println(tensor.New(dev, [][]float32{{1, 2}, {3, 4}}))
	fmt.Println(tensor.From(dev, []int64{1, 2, 3, 4, 5, 6}, 2, tensor.Inferred))
	fmt.Println(tensor.Zeros(dev, tensor.BF16, 2))
	fmt.Println(tensor.ArangeStep(dev, float32(1), 2, 0.25))
	fmt.Println(tensor.Linspace(dev, tensor.F32, 0, 1, 5))
	fmt.Println(tensor.Eye(dev, tensor.U8, 2))
	// Output:
	// [[1., 2.],
	//  [3., 4.]]
	// Tensor[[2, 2], f32]
	// [[1, 2, 3],
	//  [4, 5, 6]]
	// Tensor[[2, 3], i64]
	// [0., 0.]
	// Tensor[[2], bf16]
	// [1.0000, 1.2500, 1.5000, 1.7500]
	// Tensor[[4], f32]
	// [0.0000, 0.2500, 0.5000, 0.7500, 1.0000]
	// Tensor[[5], f32]
	// [[1, 0],
	//  [0, 1]]
	// Tensor[[2, 2], u8]
}

// Views share memory with what they are views of: nothing is copied.
func Example_views() {
	x := tensor.Arange(cpu(), int32(0), 6).Reshape(2, 3)
	fmt.Println(x.T())
	fmt.Println(x.Narrow(1, 1, 2).Unsqueeze(0).Shape(), x.Permute(1, 0).Strides())
	fmt.Println(x.Get(0).BroadcastTo(2, 3))
	fmt.Println(x.FlattenAll().Unfold(0, 3, 2))
	fmt.Println(x.Get(1).Buffer() == x.Buffer())
	// Output:
	// [[0, 3],
	//  [1, 4],
	//  [2, 5]]
	// Tensor[[3, 2], i32]
	// [1, 2, 2] [1 3]
	// [[0, 1, 2],
	//  [0, 1, 2]]
	// Tensor[[2, 3], i32]
	// [[0, 1, 2],
	//  [2, 3, 4]]
	// Tensor[[2, 3], i32]
	// true
}

// Shapes are broadcast, and comparisons give numbers of 0 and 1.
func Example_elementwise() {
	dev := cpu()
	x := tensor.New(dev, [][]float32{{-1, 0, 1}, {2, 3, 4}})
	row := tensor.From(dev, []float32{10, 20, 30})
	fmt.Println(x.Mul(row).AddScalar(1))
	fmt.Println(x.Clamp(0, 2).Sqrt())
	fmt.Println(x.GtScalar(0).Where(x, x.ZerosLike()).Cast(tensor.I32))
	// Output:
	// [[ -9.,   1.,  31.],
	//  [ 21.,  61., 121.]]
	// Tensor[[2, 3], f32]
	// [[0.0000, 0.0000, 1.0000],
	//  [1.4142, 1.4142, 1.4142]]
	// Tensor[[2, 3], f32]
	// [[0, 0, 1],
	//  [2, 3, 4]]
	// Tensor[[2, 3], i32]
}

// Reductions go over the dimensions that are named, or over all.
func Example_reductions() {
	x := tensor.New(cpu(), [][]float32{{3, 1, 4}, {1, 5, 9}})
	fmt.Println(x.Sum(), x.Mean(0))
	fmt.Println(x.SumKeep(1))
	fmt.Println(x.ArgMax(-1))
	fmt.Println(x.CumSum(1))
	// Output:
	// [23.]
	// Tensor[[], f32] [2.0000, 3.0000, 6.5000]
	// Tensor[[3], f32]
	// [[ 8.],
	//  [15.]]
	// Tensor[[2, 1], f32]
	// [2, 2]
	// Tensor[[2], u32]
	// [[ 3.,  4.,  8.],
	//  [ 1.,  6., 15.]]
	// Tensor[[2, 3], f32]
}

// Indices are tensors of any integer type.
func Example_indices() {
	dev := cpu()
	table := tensor.Arange(dev, float32(0), 8).Reshape(4, 2)
	ids := tensor.From(dev, []int64{3, 0, 3})
	fmt.Println(table.IndexSelect(ids, 0))
	fmt.Println(tensor.Zeros(dev, tensor.F32, 4).IndexAdd(ids, tensor.Ones(dev, tensor.F32, 3), 0))
	values, places := tensor.From(dev, []float32{3, 1, 4, 1, 5}).TopK(2, 0, false)
	fmt.Println(values, places)
	// Output:
	// [[6., 7.],
	//  [0., 1.],
	//  [6., 7.]]
	// Tensor[[3, 2], f32]
	// [1., 0., 0., 2.]
	// Tensor[[4], f32]
	// [5., 4.]
	// Tensor[[2], f32] [4, 2]
	// Tensor[[2], u32]
}

func ExampleTensor_MatMul() {
	x := tensor.Arange(cpu(), float32(0), 12).Reshape(2, 2, 3)
	fmt.Println(x.MatMul(x.Get(0).T())) // dimensions in front are broadcast
	// Output:
	// [[[  5.,  14.],
	//   [ 14.,  50.]],
	//
	//  [[ 23.,  86.],
	//   [ 32., 122.]]]
	// Tensor[[2, 2, 2], f32]
}

func ExampleEinsum() {
	x := tensor.Arange(cpu(), float32(0), 6).Reshape(2, 3)
	fmt.Println(tensor.Einsum("ij,kj->ik", x, x))
	fmt.Println(tensor.Einsum("ij->", x))
	// Output:
	// [[ 5., 14.],
	//  [14., 50.]]
	// Tensor[[2, 2], f32]
	// [15.]
	// Tensor[[], f32]
}

func ExampleTensor_Conv() {
	dev := cpu()
	image := tensor.Arange(dev, float32(0), 16).Reshape(1, 1, 4, 4) // inputs, channels, rows, columns
	edges := tensor.New(dev, [][]float32{{-1, 1}, {-1, 1}}).Reshape(1, 1, 2, 2)
	fmt.Println(image.Conv(edges, tensor.Convolution{Stride: []int{2, 2}}))
	fmt.Println(image.MaxPool(tensor.Pooling{Kernel: []int{2, 2}}).FlattenAll())
	// Output:
	// [[[[2., 2.],
	//    [2., 2.]]]]
	// Tensor[[1, 1, 2, 2], f32]
	// [ 5.,  7., 13., 15.]
	// Tensor[[4], f32]
}

// A seed gives the same numbers on every device.
func ExampleRandn() {
	dev := cpu()
	dev.SetSeed(42)
	a := tensor.Randn(dev, tensor.F32, 0, 1, 1000)
	dev.SetSeed(42)
	b := tensor.Randn(dev, tensor.F32, 0, 1, 1000)
	same, err := a.Eq(b).All().Item()
	fmt.Println(same, err, dev.Seed())
	// Output: 1 <nil> 42
}

// The gradient of a gradient: of x³ it is 6x.
func ExampleTensor_BackwardBy() {
	x := tensor.NewVar(tensor.From(cpu(), []float32{1, 2, 3})).Tensor()
	first, err := x.PowScalar(3).BackwardBy(tensor.BackwardOptions{Graph: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	second, err := first.Of(x).Backward()
	fmt.Println(first.Of(x), second.Of(x), err)
	// Output:
	// [ 3., 12., 27.]
	// Tensor[[3], f32] [ 6., 12., 18.]
	// Tensor[[3], f32] <nil>
}

// What is computed inside is not kept for the gradient, but computed again.
func ExampleCheckpoint() {
	x := tensor.NewVar(tensor.From(cpu(), []float32{1, 2, 3})).Tensor()
	y := tensor.Checkpoint(func(in ...*tensor.Tensor) *tensor.Tensor {
		return in[0].Sqr().MulScalar(2).AddScalar(1).Sqr()
	}, x)
	grads, err := y.Backward()
	fmt.Println(grads.Of(x), err)
	// Output:
	// [ 24., 144., 456.]
	// Tensor[[3], f32] <nil>
}

// What changes a tensor changes its memory, and so all views of it.
func ExampleTensor_Assign() {
	dev := cpu()
	x := tensor.Zeros(dev, tensor.F32, 2, 3)
	err := x.Index(tensor.All, tensor.SliceFrom(1)).Assign(tensor.From(dev, []float32{7, 8}))
	fmt.Println(x, err)
	// Output:
	// [[0., 7., 8.],
	//  [0., 7., 8.]]
	// Tensor[[2, 3], f32] <nil>
}

func ExampleLoad() {
	dir, err := os.MkdirTemp("", "tensors")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.safetensors")
	dev := cpu()
	e, err := tensor.New(dev, [][]float32{{1, 2}, {3, 4}}).Entry("weight")
	if err == nil {
		err = safetensors.WriteFile(path, nil, e)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	set, err := safetensors.Open(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer set.Close()
	e, err = set.Get("weight")
	fmt.Println(tensor.Load(dev, e), err)
	// Output:
	// [[1., 2.],
	//  [3., 4.]]
	// Tensor[[2, 2], f32] <nil>
}

func ExampleDevice_PeakBytes() {
	dev := cpu()
	dev.ResetPeak()
	x := tensor.Zeros(dev, tensor.F32, 1<<20)
	fmt.Println(dev.PeakBytes() >= 4<<20)
	fmt.Println(x.Free()) // at once, and not when x is collected
	fmt.Println(errors.Is(x.Exp().Err(), tensor.ErrFreed))
	// Output:
	// true
	// <nil>
	// true
}

func ExampleTensor_Format() {
	x := tensor.From(cpu(), []float32{1.0 / 3, -20, 1e-9})
	fmt.Println(x)
	fmt.Printf("%.2f\n%g\n%#v\n", x, x, x)
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	log.Info("step", "x", x)
	// Output:
	// [3.3333e-1, -2.0000e1, 1.0000e-9]
	// Tensor[[3], f32]
	// [  0.33, -20.00,   0.00]
	// Tensor[[3], f32]
	// [0.33333334,        -20,      1e-09]
	// Tensor[[3], f32]
	// Tensor[0.33333334, -20, 1e-09; f32]
	// level=INFO msg=step x.shape=[3] x.dtype=f32 x.device=cpu
}
