package tensorfile

import (
	"fmt"
	"io"
	"strings"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/quantized/gguf"
	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/npy"
	"github.com/gokiln/kiln/tensor/safetensors"
	"github.com/gokiln/kiln/tensor/torch"
)

// Options say how a file is written.
type Options struct {
	DType      dtype.DType       // of all floating-point tensors; Invalid: as they are
	Dequantize bool              // tensors of quantized types become DType, or f32
	Wrote      func(bytes int64) // called now and then with the number of bytes; may be nil
}

// Write writes the tensors of a model in a format, or in that of the ending of the path if the name
// is "". The file replaces one of the name when it is whole.
func Write(path, name string, m *Model, o Options) error {
	f := ofEnding(path)
	if name != "" {
		var err error
		if f, err = named(name); err != nil {
			return err
		}
	}
	switch {
	case f == nil:
		return fmt.Errorf("%s: %w Name one of %s", path, ErrFormat, strings.Join(Writable(), ", "))
	case f.write == nil:
		return fmt.Errorf("%s: %w: %s files are read and not written; there are %s",
			path, file.ErrUnsupported, f.name, strings.Join(Writable(), ", "))
	}
	var tensors []*file.Entry
	quantized := false
	for e := range m.All() {
		e, err := o.convert(e)
		if err != nil {
			return err
		}
		quantized = quantized || e.Encoding().Quantized()
		tensors = append(tensors, e)
	}
	if m.Meta != nil && (o.Dequantize || o.DType.Valid()) && !quantized {
		copied := *m
		copied.Meta = plainMeta(m.Meta, o.DType)
		m = &copied
	}
	return file.Create(path, func(w io.Writer) error {
		if o.Wrote != nil {
			w = &counter{w: w, report: o.Wrote}
		}
		return f.write(w, m, tensors)
	})
}

// keyFileType says of which type most tensors are, as llama.cpp numbers it.
const keyFileType = "general.file_type"

// Keys that say how tensors were quantized.
const (
	keyQuantization = "general.quantization_version"
	prefixImatrix   = "quantize.imatrix."
)

// plainMeta is metadata of tensors that were converted and of which none is quantized: with their
// file type, and without how they were quantized.
func plainMeta(m *gguf.Metadata, d dtype.DType) *gguf.Metadata {
	m = m.Clone()
	for k := range m.All() {
		if k == keyQuantization || strings.HasPrefix(k, prefixImatrix) {
			m.Delete(k)
		}
	}
	if !m.Delete(keyFileType) {
		return m
	}
	types := map[dtype.DType]uint32{dtype.Invalid: 0, dtype.F32: 0, dtype.F16: 1, dtype.BF16: 32}
	if n, ok := types[d]; ok {
		m.Set(keyFileType, gguf.Of(n))
	}
	return m
}

// Writable is the names of the formats that can be written.
func Writable() []string {
	var names []string
	for _, f := range formats {
		if f.write != nil {
			names = append(names, f.name)
		}
	}
	return names
}

// convert is a tensor as it is written.
func (o *Options) convert(e *file.Entry) (*file.Entry, error) {
	switch {
	case o.Dequantize && e.Encoding().Quantized():
		d := o.DType
		if !d.Valid() {
			d = dtype.F32
		}
		return Convert(e, d)
	case o.DType.Valid() && e.DType.IsFloat() && e.DType != o.DType:
		return Convert(e, o.DType)
	}
	return e, nil
}

// counter reports how many bytes were written.
type counter struct {
	w      io.Writer
	n      int64
	report func(int64)
}

func (c *counter) Write(b []byte) (int, error) {
	total := 0
	for len(b) > 0 { // in parts, so that something is seen of large tensors
		n, err := c.w.Write(b[:min(len(b), 1<<22)])
		total += n
		c.n += int64(n)
		c.report(c.n)
		if err != nil {
			return total, err
		}
		b = b[n:]
	}
	return total, nil
}

func writeGGUF(w io.Writer, m *Model, tensors []*file.Entry) error {
	return gguf.Write(w, metaOf(m), tensors...)
}

// metaOf is the metadata of a model: that of other files as texts.
func metaOf(m *Model) *gguf.Metadata {
	if m.Meta != nil {
		return m.Meta
	}
	meta := &gguf.Metadata{}
	for _, f := range m.Facts() {
		if f.Key != "" {
			meta.Set(f.Key, gguf.Of(f.Text))
		}
	}
	meta.Delete(gguf.KeyAlignment) // which is no text
	return meta
}

func writeSafetensors(w io.Writer, m *Model, tensors []*file.Entry) error {
	meta := m.Metadata()
	if m.Meta != nil { // which may be other than the file's
		meta = map[string]string{}
		for k, v := range m.Meta.All() {
			if v.Type() != gguf.Array {
				meta[k] = v.String()
			}
		}
	}
	if len(meta) == 0 {
		meta = nil
	}
	return safetensors.Write(w, meta, tensors...)
}

func writeNPZ(w io.Writer, _ *Model, tensors []*file.Entry) error {
	return npy.WriteNPZ(w, tensors...)
}

func writeNPY(w io.Writer, _ *Model, tensors []*file.Entry) error {
	if len(tensors) != 1 {
		return fmt.Errorf("a .npy file has one tensor, and there are %d; write .npz", len(tensors))
	}
	return npy.Write(w, tensors[0])
}

func writeTorch(w io.Writer, _ *Model, tensors []*file.Entry) error {
	return torch.Write(w, tensors...)
}
