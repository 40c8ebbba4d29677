package optim_test

import (
	"fmt"

	"github.com/gokiln/kiln/nn/optim"
	"github.com/gokiln/kiln/tensor"
)

// A line is fitted to points, with a learning rate that grows first and falls then.
func Example() {
	dev, err := tensor.Open("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	x := tensor.Linspace(dev, tensor.F32, -1, 1, 50)
	y := x.MulScalar(2).AddScalar(1)
	slope, offset := tensor.NewVar(tensor.Zeros(dev, tensor.F32)), tensor.NewVar(tensor.Zeros(dev, tensor.F32))

	opt := optim.NewAdamW([]*tensor.Var{slope, offset}, optim.AdamW{})
	plan := optim.Warmup{Steps: 20, Then: optim.Cosine{From: 0.1, Steps: 180}}
	for opt.Steps() < 200 {
		opt.SetLR(plan.At(opt.Steps()))
		loss := x.Mul(slope.Tensor()).Add(offset.Tensor()).Sub(y).Sqr().Mean()
		grads, err := loss.Backward()
		if err != nil {
			fmt.Println(err)
			return
		}
		if _, err := opt.StepClipped(grads, 1); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Printf("%.2f\n%.2f\n", slope.Tensor(), offset.Tensor())
	// Output:
	// [2.00]
	// Tensor[[], f32]
	// [1.00]
	// Tensor[[], f32]
}

// A variable that is not to decay is in a group of its own.
func ExampleGroup() {
	dev, err := tensor.Open("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	weight, bias := tensor.NewVar(tensor.Ones(dev, tensor.F32, 2)), tensor.NewVar(tensor.Ones(dev, tensor.F32, 2))
	opt := optim.NewSGD([]optim.Group{
		{Params: []*tensor.Var{weight}},
		{Params: []*tensor.Var{bias}, WeightDecay: -1},
	}, optim.SGD{LR: 0.5, WeightDecay: 0.5})
	grads, err := weight.Tensor().Add(bias.Tensor()).Sum().Backward()
	if err == nil {
		err = opt.Step(grads)
	}
	fmt.Println(err)
	fmt.Println(weight.Tensor())
	fmt.Println(bias.Tensor())
	// Output:
	// <nil>
	// [0.2500, 0.2500]
	// Tensor[[2], f32]
	// [0.5000, 0.5000]
	// Tensor[[2], f32]
}
