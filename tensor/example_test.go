package tensor_test

import (
	"errors"
	"fmt"

	"github.com/gokiln/kiln/tensor"
)

func Example() {
	dev, err := tensor.Open("cpu") // "auto" for the first GPU
	if err != nil {
		fmt.Println(err)
		return
	}
	x := tensor.From(dev, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	y := x.Mul(x).AddScalar(1).T()
	rows, err := tensor.To2[float32](y)
	fmt.Println(rows, err)
	// Output: [[2 17] [5 26] [10 37]] <nil>
}

// An error stays in what comes of it, and is looked at once.
func Example_errors() {
	dev, _ := tensor.Open("cpu")
	x, w := tensor.Ones(dev, tensor.F32, 2, 3), tensor.Ones(dev, tensor.F32, 4)
	y := x.Add(w).Gelu().Sum()
	fmt.Println(errors.Is(y.Err(), tensor.ErrBroadcast))
	// Output: true
}

// The gradient of a formula for its variables.
func ExampleTensor_Backward() {
	dev, _ := tensor.Open("cpu")
	x := tensor.NewVar(tensor.From(dev, []float32{3, 1, 4}))
	y := x.Tensor().Sqr().Add(x.Tensor().MulScalar(5)).AddScalar(4)
	grads, err := y.Backward()
	if err != nil {
		fmt.Println(err)
		return
	}
	g, err := tensor.To1[float32](grads.Of(x.Tensor()))
	fmt.Println(g, err)
	// Output: [11 7 13] <nil>
}

func ExampleTensor_Where() {
	dev, _ := tensor.Open("cpu")
	x := tensor.From(dev, []float32{-2, -1, 0, 1, 2})
	y, err := tensor.To1[float32](x.LtScalar(0).Where(x.ZerosLike(), x.Sqr()))
	fmt.Println(y, err)
	// Output: [0 0 0 1 4] <nil>
}

func ExampleTensor_Narrow() {
	dev, _ := tensor.Open("cpu")
	x := tensor.Arange(dev, int32(0), 12).Reshape(3, tensor.Inferred)
	y, err := tensor.To2[int32](x.Narrow(1, 1, 2))
	fmt.Println(y, err)
	// Output: [[1 2] [5 6] [9 10]] <nil>
}

func ExampleTensor_Max() {
	dev, _ := tensor.Open("cpu")
	x := tensor.New(dev, [][]float32{{3, 1, 4}, {1, 5, 9}})
	most, _ := tensor.To1[float32](x.Max(-1))
	at, err := tensor.To1[uint32](x.ArgMax(-1))
	fmt.Println(most, at, err)
	// Output: [4 9] [2 2] <nil>
}
