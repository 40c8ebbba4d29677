package tensor_test

import (
	"fmt"

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
