package safetensors

import (
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"

	"github.com/gokiln/kiln/tensor/file"
)

// OpenIndex opens a model in several files by its index, mostly called
// model.safetensors.index.json, in whose folder or below it the files must be. It has
// the tensors that the index names, each from the file that the index says; what else
// is in the files is left out. Metadata is that of the files and the index.
func OpenIndex(path string) (*file.Set, error) { return OpenIndexWith(path, Open) }

// OpenIndexWith is [OpenIndex] of files that are opened by open: PyTorch's have indexes of this
// form, too.
func OpenIndexWith(path string, open func(path string) (*file.Set, error)) (*file.Set, error) {
	text, err := readIndex(path)
	if err != nil {
		return nil, err
	}
	ix, err := parseIndex(path, text)
	if err != nil {
		return nil, err
	}
	out := file.NewSet()
	closing := func(err error) error { return errors.Join(err, out.Close()) }
	for _, f := range ix.files {
		s, err := open(filepath.Join(filepath.Dir(path), filepath.FromSlash(f)))
		if err != nil {
			return nil, closing(err)
		}
		out.Own(s)
		maps.Copy(out.Metadata(), s.Metadata())
		for e := range s.All() {
			if at, ok := ix.tensors[e.Name]; !ok || at.file != f {
				continue
			}
			if err := out.Add(e); err != nil {
				return nil, closing(err)
			}
		}
	}
	if err := ix.missing(path, out); err != nil {
		return nil, closing(err)
	}
	maps.Copy(out.Metadata(), ix.meta)
	return out, nil
}

// missing reports the first tensor of the index that no file has.
func (ix *index) missing(path string, have *file.Set) error {
	var first *file.Error
	for name, t := range ix.tensors {
		if !have.Has(name) && (first == nil || t.at < first.Offset) {
			first = file.Fault(path, t.at, file.ErrFormat, "%s does not have it", t.file)
			first.Tensor = name
		}
	}
	if first == nil {
		return nil
	}
	return first
}

func readIndex(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxHeader+1))
	if err == nil && len(text) > MaxHeader {
		err = file.Fault(path, MaxHeader, file.ErrFormat, "the index has more than %d bytes", MaxHeader)
	}
	return text, err
}

// index is what an index says.
type index struct {
	files   []string // in the order in which they come first
	tensors map[string]entry
	meta    map[string]string
}

// entry is the file that a tensor is in, and where the index says so.
type entry struct {
	file string
	at   int64
}

func parseIndex(path string, text []byte) (*index, error) {
	s, err := newScanner(path, 0, text)
	if err != nil {
		return nil, err
	}
	ix := &index{tensors: map[string]entry{}, meta: map[string]string{}}
	known := map[string]bool{}
	mapped := false
	err = s.object("the index", "", func(_ int64, key string) error {
		switch key {
		case "metadata":
			return s.texts("metadata", true, ix.meta)
		case "weight_map":
			mapped = true
			return s.object("weight_map", "", func(at int64, name string) error {
				pos := s.pos()
				f, err := s.str("the file of " + name)
				if err != nil {
					return err
				}
				if !filepath.IsLocal(filepath.FromSlash(f)) {
					return s.fault(pos, "%q is no file beside or below the index", f)
				}
				if ix.tensors[name] = (entry{f, at}); !known[f] {
					known[f] = true
					ix.files = append(ix.files, f)
				}
				return nil
			})
		}
		return s.skip()
	})
	if err == nil && !mapped {
		err = s.fault(0, "there is no weight_map; is this an index of safetensors files?")
	}
	if err == nil {
		err = s.end()
	}
	return ix, err
}
