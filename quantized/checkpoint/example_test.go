package checkpoint_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gokiln/kiln/quantized/checkpoint"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/safetensors"
)

// A layer is quantized to NF4, written to a file, and multiplied with activations as it is read
// again.
func Example() {
	dev, err := tensor.Open("cpu")
	if err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "kiln")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.safetensors")

	w := checkpoint.QuantizeNF4(tensor.Ones(dev, tensor.F32, 3, 64), 64, false)
	list, err := w.Entries("up_proj")
	if err != nil {
		panic(err)
	}
	if err := safetensors.WriteFile(path, nil, list...); err != nil {
		panic(err)
	}

	set, err := safetensors.Open(path)
	if err != nil {
		panic(err)
	}
	defer set.Close()
	c, err := checkpoint.ParseConfig([]byte(`{"quantization_config": {"quant_method": "bitsandbytes"}}`))
	if err != nil {
		panic(err)
	}
	read, err := checkpoint.Load(dev, set, "up_proj", c)
	if err != nil {
		panic(err)
	}
	fmt.Println(read.Method(), read.Shape())
	fmt.Println(read.Linear(tensor.Ones(dev, tensor.F32, 2, 64)).Float64s())
	// Output:
	// bitsandbytes [3, 64]
	// [64 64 64 64 64 64] <nil>
}
