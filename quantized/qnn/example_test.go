package qnn_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/loss"
	"github.com/gokiln/kiln/nn/optim"
	"github.com/gokiln/kiln/quantized"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/quantized/gguf"
	"github.com/gokiln/kiln/quantized/qnn"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
)

// Adapters are trained over the blocks of a file (QLoRA).
func ExampleFile() {
	dir, err := os.MkdirTemp("", "kiln")
	check(err)
	defer os.RemoveAll(dir)
	dev, err := tensor.Open("cpu")
	check(err)
	dev.SetSeed(1)
	path := filepath.Join(dir, "model.gguf")
	check(writeModel(dev, path))

	f, err := gguf.Open(path)
	check(err)
	defer f.Close()
	net := &struct {
		Up   *nn.Linear `nn:"ffn_up"`
		Down *nn.Linear `nn:"ffn_down"`
	}{nn.NewLinearNoBias(64, 128), nn.NewLinearNoBias(128, 64)}
	on := nn.On{Device: dev, DType: tensor.F32}
	_, err = nn.Load(net, qnn.File(f.Set), nn.LoadOptions{On: on, Prefix: "blk.0"})
	check(err)
	_, err = nn.Adapt(net, nn.LoRAOptions{Rank: 4}, nil)
	check(err)
	check(nn.Init(net, on)) // the adapters
	params, err := nn.Trainable(net)
	check(err)
	fmt.Println(net.Up.Weight.Quantized().(*quantized.Tensor).Format(), len(params), "parameters to train")

	opt := optim.NewAdamW(params, optim.AdamW{LR: 0.01})
	x, target := tensor.Randn(dev, tensor.F32, 0, 1, 16, 64), tensor.Zeros(dev, tensor.F32, 16, 64)
	var first, last float64
	for step := range 20 {
		l := loss.MSE(net.Down.Forward(net.Up.Forward(x).Silu()), target, loss.Options{})
		list, err := l.Float64s()
		check(err)
		if last = list[0]; step == 0 {
			first = last
		}
		grads, err := l.Backward()
		check(err)
		check(opt.Step(grads))
	}
	fmt.Println("the loss is less than half of the first:", last < first/2)
	// Output:
	// Q4_0 4 parameters to train
	// the loss is less than half of the first: true
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// writeModel writes two random weights as blocks.
func writeModel(dev *tensor.Device, path string) error {
	enc, err := gguf.Encoding(format.Q4_0)
	if err != nil {
		return err
	}
	var entries []*file.Entry
	for name, shape := range map[string][]int{
		"blk.0.ffn_up.weight": {128, 64}, "blk.0.ffn_down.weight": {64, 128},
	} {
		w := quantized.Quantize(tensor.Randn(dev, tensor.F32, 0, 0.2, shape...), format.Q4_0)
		e, err := file.FromBlocks(name, enc, w.Shape(), w.Bytes)
		if err != nil {
			return err
		}
		entries = append(entries, e)
	}
	return gguf.WriteFile(path, nil, entries...)
}
