package tensorfile

import (
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/gokiln/kiln/quantized/gguf"
	"github.com/gokiln/kiln/tensor/file"
)

// Split returns the GGUF files that a model becomes, see [gguf.Split.Parts].
func Split(name string, m *Model, s gguf.Split) ([]gguf.Part, error) {
	return s.Parts(name, metaOf(m), slices.Collect(m.All())...)
}

// WriteParts writes the files of [Split], and returns their paths. Wrote is called now and then
// with the number of bytes of all, and may be nil.
func WriteParts(parts []gguf.Part, wrote func(bytes int64)) ([]string, error) {
	if wrote == nil {
		return gguf.WriteParts(parts, nil)
	}
	all := &counter{report: wrote}
	return gguf.WriteParts(parts, func(w io.Writer) io.Writer {
		all.w = w
		return all
	})
}

// Merge writes the tensors of the GGUF files of a model as one file, which must be new.
func Merge(path string, m *Model, wrote func(bytes int64)) error {
	if m.Format != "gguf" {
		return fmt.Errorf("%s: %w: a %s file, want one of several GGUF files; 'kiln tensors convert' "+
			"reads models in several files of other formats", m.Path, file.ErrUnsupported, m.Format)
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s is there already, and is not replaced", path)
	}
	meta := m.Meta.Clone()
	for _, k := range []string{"split.no", "split.count", "split.tensors.count"} {
		meta.Delete(k) // of a model that is split into one file
	}
	merged := *m
	merged.Meta = meta
	return Write(path, "gguf", &merged, Options{Wrote: wrote})
}
