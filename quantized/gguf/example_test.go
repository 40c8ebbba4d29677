package gguf_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/quantized/gguf"
	"github.com/gokiln/kiln/tensor/file"
)

func Example() {
	dir, err := os.MkdirTemp("", "kiln")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.gguf")

	enc, err := gguf.Encoding(format.Q8_0)
	if err != nil {
		panic(err)
	}
	w, err := file.FromBlocks("blk.0.attn_q.weight", enc, layout.Shape{2, 64}, func() ([]byte,
		error) {
		return make([]byte, 4*34), nil
	})
	if err != nil {
		panic(err)
	}
	m := &gguf.Metadata{}
	m.Set(gguf.KeyArchitecture, gguf.Of("llama"))
	m.Set("llama.block_count", gguf.Of(uint32(1)))
	if err := gguf.WriteFile(path, m, w); err != nil {
		panic(err)
	}

	f, err := gguf.Open(path)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	n, err := gguf.Get[uint64](f.Meta, "llama.block_count")
	fmt.Println(n, err)
	for e := range f.All() {
		t, err := gguf.TypeOf(e)
		fmt.Println(e.Name, e.Shape(), t, e.Size(), "bytes", err)
	}
	// Output:
	// 1 <nil>
	// blk.0.attn_q.weight [2, 64] Q8_0 136 bytes <nil>
}

func ExampleEdit() {
	path := filepath.Join(os.TempDir(), "kiln-example.gguf")
	defer os.Remove(path)
	if err := gguf.WriteFile(path, nil); err != nil {
		panic(err)
	}
	_, err := gguf.Edit(path, func(m *gguf.Metadata) error {
		m.Set("general.name", gguf.Of("a model"))
		return nil
	})
	if err != nil {
		panic(err)
	}
	f, err := gguf.Open(path)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	name, err := gguf.Get[string](f.Meta, "general.name")
	fmt.Println(name, err)
	// Output: a model <nil>
}
