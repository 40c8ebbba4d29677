package ggml_test

import (
	"fmt"

	"github.com/gokiln/kiln/quantized/ggml"
	"github.com/gokiln/kiln/tensor/file"
)

func Example() {
	f, err := ggml.Read(file.FromBytes("ggml-model.bin", model()))
	if err != nil {
		panic(err)
	}
	defer f.Close()
	fmt.Println(f.Magic, f.Version, f.Params.Layers, "layers,", len(f.Vocab), "tokens")
	for e := range f.All() {
		fmt.Println(e.Name, e.Shape(), e.Stored)
	}
	// Output:
	// ggjt 3 1 layers, 2 tokens
	// tok. [3, 64] Q4_0
	// norm.w [3] F32
}
