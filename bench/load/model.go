package main

import (
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/quantized/gguf"
	"github.com/gokiln/kiln/tensor/file"
)

// weight is a tensor of a layer.
type weight struct {
	name string
	of   format.Type
	n, k int
}

// layer are the weights of one layer of a network of 8 G parameters in the recipe Q4_K_M, and its
// norms.
var layer = []weight{
	{"attn_q", format.Q4_K, 4096, 4096}, {"attn_k", format.Q4_K, 1024, 4096}, {"attn_v", format.Q6_K, 1024, 4096},
	{"attn_output", format.Q4_K, 4096, 4096}, {"ffn_gate", format.Q4_K, 14336, 4096}, {"ffn_up", format.Q4_K, 14336, 4096},
	{"ffn_down", format.Q6_K, 4096, 14336}, {"attn_norm", format.F32, 1, 4096}, {"ffn_norm", format.F32, 1, 4096},
}

// embedding is the table of tokens, the largest tensor.
var embedding = weight{"token_embd", format.Q4_K, 128256, 4096}

// model lists tensors of so many bytes together, or a few more: the table if it is less than half of
// them, and layers.
func model(size int64) (list []weight, largest int64) {
	sum := int64(0)
	add := func(w weight, name string) {
		w.name = name + w.name + ".weight"
		list = append(list, w)
		n := w.bytes()
		sum, largest = sum+n, max(largest, n)
	}
	if 2*embedding.bytes() < size {
		add(embedding, "")
	}
	for i := 0; sum < size; i++ {
		add(layer[i%len(layer)], fmt.Sprintf("blk.%d.", i/len(layer)))
	}
	return list, largest
}

func (w *weight) bytes() int64 {
	row, _ := w.of.RowBytes(int64(w.k)) // of whole blocks
	return int64(w.n) * row
}

// write writes a file of tensors, whose bytes are drawn at random.
func write(path string, list []weight) error {
	rng, most := rand.NewChaCha8([32]byte{1}), int64(0)
	for _, w := range list {
		most = max(most, w.bytes())
	}
	random := make([]byte, most)
	if _, err := io.ReadFull(rng, random); err != nil {
		return err
	}
	var entries []*file.Entry
	for _, w := range list {
		e, err := w.entry(random)
		if err != nil {
			return err
		}
		entries = append(entries, e)
	}
	meta := &gguf.Metadata{}
	meta.Set("general.architecture", gguf.Of("llama"))
	return gguf.WriteFile(path, meta, entries...)
}

func (w *weight) entry(random []byte) (*file.Entry, error) {
	b := func() ([]byte, error) { return random[:w.bytes()], nil }
	if !w.of.IsQuantized() {
		return file.FromFunc(w.name, dtype.F32, layout.Shape{w.k}, b)
	}
	enc, err := gguf.Encoding(w.of)
	if err != nil {
		return nil, err
	}
	return file.FromBlocks(w.name, enc, layout.Shape{w.n, w.k}, b)
}
