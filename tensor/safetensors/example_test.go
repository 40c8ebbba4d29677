package safetensors_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/safetensors"
)

func Example() {
	dir, err := os.MkdirTemp("", "kiln")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.safetensors")

	w, err := file.FromMemory("layer.weight", dtype.I16, layout.Shape{2, 3}, []byte{1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0})
	if err != nil {
		panic(err)
	}
	if err := safetensors.WriteFile(path, map[string]string{"format": "pt"}, w); err != nil {
		panic(err)
	}

	set, err := safetensors.Open(path)
	if err != nil {
		panic(err)
	}
	defer set.Close()
	for e := range set.All() {
		fmt.Println(e.Name, e.DType, e.Shape(), e.Size(), "bytes")
	}
	e, err := set.Get("layer.weight")
	if err != nil {
		panic(err)
	}
	row, err := e.Narrow(0, 1, 1)
	if err != nil {
		panic(err)
	}
	values, err := file.Values[int16](row)
	fmt.Println(values, err, set.Metadata())
	// Output:
	// layer.weight i16 [2, 3] 12 bytes
	// [4 5 6] <nil> map[format:pt]
}
