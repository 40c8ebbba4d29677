package tensorfile

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/quantized/gguf"
	"github.com/gokiln/kiln/quantized/imatrix"
	"github.com/gokiln/kiln/quantized/recipe"
	"github.com/gokiln/kiln/tensor/file"
)

// QuantizeOptions say how a model is quantized.
type QuantizeOptions struct {
	Recipe     recipe.Recipe
	Imatrix    *imatrix.Matrix // importance of columns, or nil
	ImatrixOf  string          // the name of its file
	Requantize bool            // tensors of other quantized types are dequantized and quantized again
	Wrote      func(bytes int64)
}

// Step is what becomes of a tensor.
type Step struct {
	From, To *file.Entry
}

// Plan returns what becomes of each tensor, in the order of the file that [Quantize] writes, which
// is that of llama.cpp: by layers, and by names. Nothing but headers is read.
func Plan(m *Model, o QuantizeOptions) ([]Step, error) {
	entries := slices.Collect(m.All())
	slices.SortStableFunc(entries, func(a, b *file.Entry) int {
		return cmp.Or(cmp.Compare(recipe.LayerOf(a.Name), recipe.LayerOf(b.Name)), cmp.Compare(a.Name,
			b.Name))
	})
	tensors := make([]recipe.Tensor, len(entries))
	for i, e := range entries {
		tensors[i] = recipe.Tensor{Name: e.Name, Shape: e.Shape()}
	}
	types, changed := o.Recipe.Plan(m.shape(o.Imatrix != nil), tensors)
	steps := make([]Step, len(entries))
	for i, e := range entries {
		steps[i] = Step{e, e}
		if !changed[i] || !e.DType.IsFloat() && !e.Encoding().Quantized() {
			continue
		}
		to, err := o.become(e, types[i])
		if err != nil {
			return nil, err
		}
		steps[i].To = to
	}
	return steps, nil
}

// shape is what recipes ask of a model, as far as its metadata has it.
func (m *Model) shape(important bool) recipe.Model {
	arch, _ := gguf.Get[string](m.Meta, gguf.KeyArchitecture)
	number := func(key string) int {
		key = arch + "." + key
		if n, err := gguf.Get[uint32](m.Meta, key); err == nil {
			return int(n)
		}
		if list, err := gguf.GetList[uint32](m.Meta, key); err == nil && len(list) > 0 {
			return int(list[0]) // one number for each layer
		}
		return 0
	}
	s := recipe.Model{Architecture: arch, Imatrix: important, Layers: number("block_count"),
		Heads: number("attention.head_count"), KVHeads: number("attention.head_count_kv"),
		Experts: number("expert_count")}
	if s.KVHeads == 0 {
		s.KVHeads = s.Heads
	}
	if s.Layers == 0 {
		for e := range m.All() {
			s.Layers = max(s.Layers, recipe.LayerOf(e.Name)+1)
		}
	}
	return s
}

// become is a tensor in a type.
func (o *QuantizeOptions) become(e *file.Entry, t format.Type) (*file.Entry, error) {
	if have, err := gguf.TypeOf(e); err == nil && have == t {
		return e, nil
	}
	fault := func(text string, args ...any) error {
		return fmt.Errorf("tensor %q: %w: %s", e.Name, file.ErrUnsupported, fmt.Sprintf(text, args...))
	}
	if e.Encoding().Quantized() && !o.Requantize {
		return nil, fault("it has type %s, and is to have %s: errors add up, -requantize does it",
			e.Stored, t)
	}
	enc, err := gguf.Encoding(t)
	if err != nil {
		return nil, err
	}
	if !enc.Quantized() {
		return Convert(e, enc.DType)
	}
	weights, err := o.weights(e)
	if err != nil {
		return nil, err
	}
	if !t.Quantizes(weights != nil) {
		return nil, fault("%s is made with the importance of columns, and there is none: -imatrix has it", t)
	}
	return file.FromBlocks(e.Name, enc, e.Shape(), func() ([]byte, error) {
		return quantize(e, t,
			weights)
	})
}

// weights is the importance of the columns of each matrix of a tensor, nil if it is not known.
func (o *QuantizeOptions) weights(e *file.Entry) ([]float32, error) {
	if o.Imatrix == nil {
		return nil, nil
	}
	entry, ok := o.Imatrix.Get(e.Name)
	if !ok {
		return nil, nil
	}
	w := entry.Weights()
	cols, matrices := columnsOf(e)
	if len(w) != cols && len(w) != cols*matrices {
		return nil, fmt.Errorf("tensor %q: importance of %d columns, and it has %d matrices of %d",
			e.Name, len(w), matrices, cols)
	}
	return w, nil
}

// columnsOf is the last dimension of a tensor, and how many matrices it is.
func columnsOf(e *file.Entry) (cols, matrices int) {
	s := e.Shape()
	cols, matrices = s[len(s)-1], 1
	for _, n := range s[:max(len(s)-2, 0)] {
		matrices *= n
	}
	return cols, matrices
}

// quantize returns a tensor as blocks.
func quantize(e *file.Entry, t format.Type, weights []float32) ([]byte, error) {
	x := make([]float32, 0, e.Layout.Count())
	err := Each(e, func(values []float64) error {
		for _, v := range values {
			x = append(x, float32(v))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	n, err := t.RowBytes(int64(len(x)))
	if err != nil || n == 0 {
		return nil, err
	}
	dst := make([]byte, n)
	cols, matrices := columnsOf(e)
	parts := 1
	if len(weights) > cols {
		parts = matrices // each has its own importance
	}
	for i := range parts {
		var w []float32
		if weights != nil {
			w = weights[i*cols:][:cols]
		}
		xs, ds := len(x)/parts, len(dst)/parts
		if err := format.Quantize(dst[i*ds:][:ds], x[i*xs:][:xs], cols, t, w); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", e.Name, err)
		}
	}
	return dst, nil
}

// Quantize writes a plan as a GGUF file, which replaces one of the name when it is whole. One
// tensor at a time is in memory.
func Quantize(path string, m *Model, steps []Step, o QuantizeOptions) error {
	meta := metaOf(m).Clone()
	set := func(key string, v gguf.Value) { // behind the others, as llama.cpp does
		meta.Delete(key)
		meta.Set(key, v)
	}
	set("general.quantization_version", gguf.Of(uint32(2)))
	set(keyFileType, gguf.Of(o.Recipe.FileType))
	if i := o.Imatrix; i != nil {
		set("quantize.imatrix.file", gguf.Of(filepath.Base(o.ImatrixOf)))
		if n := len(i.Datasets); n > 0 {
			set("quantize.imatrix.dataset", gguf.Of(i.Datasets[n-1]))
		}
		set("quantize.imatrix.entries_count", gguf.Of(uint32(i.Len())))
		set("quantize.imatrix.chunks_count", gguf.Of(uint32(i.Chunks)))
	}
	var tensors []*file.Entry
	for _, s := range steps {
		tensors = append(tensors, s.To)
	}
	return file.Create(path, func(w io.Writer) error {
		if o.Wrote != nil {
			w = &counter{w: w, report: o.Wrote}
		}
		return gguf.Write(w, meta, tensors...)
	})
}
