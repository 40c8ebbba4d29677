package gguf

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"

	"github.com/gokiln/kiln/tensor/file"
)

// Split says how a model is divided into several files, in the order of its tensors. At least one
// limit is wanted; a tensor that exceeds MaxBytes by itself has a file of its own.
type Split struct {
	MaxTensors int   // of a file, 0 for any number
	MaxBytes   int64 // of the tensors of a file with their padding, without the header; 0 for any
	EmptyFirst bool  // the first file has metadata and no tensors
}

// Part is one of the files of a model.
type Part struct {
	Path    string // name-00001-of-00003.gguf
	Meta    *Metadata
	Tensors []*file.Entry
}

// Write writes the file, see [Write].
func (p *Part) Write(w io.Writer) error { return Write(w, p.Meta, p.Tensors...) }

// Parts returns the files that a model becomes, as llama.cpp names and reads them: name, which may
// end with .gguf and be in a folder, the number of the file and how many there are. All metadata is
// in the first file. Each has split.no, split.count and split.tensors.count, in place of those that
// the metadata has, and general.alignment if the metadata has it. Nothing is read or written.
func (s Split) Parts(name string, m *Metadata, tensors ...*file.Entry) ([]Part, error) {
	if s.MaxTensors < 0 || s.MaxBytes < 0 || s.MaxTensors == 0 && s.MaxBytes == 0 {
		return nil, fmt.Errorf("split: %w: %d tensors and %d bytes in a file: want a limit of one",
			file.ErrUnsupported, s.MaxTensors, s.MaxBytes)
	}
	align, err := m.writtenAlignment()
	if err != nil {
		return nil, err
	}
	if _, err := infosOf(tensors, align); err != nil { // of all files: names are unique
		return nil, err
	}
	lists := s.divide(tensors, align)
	if n := len(lists); n > math.MaxUint16 {
		return nil, fmt.Errorf("split: %w: %d files, want %d at most", file.ErrUnsupported, n,
			math.MaxUint16)
	}
	if n := len(tensors); n > math.MaxInt32 {
		return nil, fmt.Errorf("split: %w: %d tensors", file.ErrUnsupported, n)
	}
	parts := make([]Part, len(lists))
	for i, list := range lists {
		path := partName(strings.TrimSuffix(name, ".gguf"), uint64(i), uint64(len(lists)))
		parts[i] = Part{path, partMeta(m, i, len(lists), len(tensors)), list}
	}
	return parts, nil
}

// divide returns the tensors of each file.
func (s Split) divide(tensors []*file.Entry, align int64) [][]*file.Entry {
	lists := [][]*file.Entry{nil}
	if s.EmptyFirst && len(tensors) > 0 {
		lists = append(lists, nil)
	}
	bytes := int64(0)
	for _, e := range tensors {
		last := &lists[len(lists)-1]
		n := roundUp(e.Size(), align)
		full := s.MaxTensors > 0 && len(*last) == s.MaxTensors ||
			s.MaxBytes > 0 && n > s.MaxBytes-bytes
		if full && len(*last) > 0 {
			lists, bytes = append(lists, nil), 0
			last = &lists[len(lists)-1]
		}
		*last = append(*last, e)
		bytes += n
	}
	return lists
}

// partMeta is the metadata of file i of n. The keys of the split come last and in the order that
// llama.cpp writes, so that files are the same byte for byte.
func partMeta(m *Metadata, i, n, tensors int) *Metadata {
	out := &Metadata{}
	for k, v := range m.All() {
		if (i == 0 || k == KeyAlignment) && !isSplitKey(k) {
			out.Set(k, v)
		}
	}
	out.Set(keySplitNo, Of(uint16(i)))
	out.Set(keySplitTensors, Of(int32(tensors)))
	out.Set(keySplitCount, Of(uint16(n)))
	return out
}

// isSplitKey reports whether a key is about the files that a model is split into.
func isSplitKey(k string) bool {
	return k == keySplitNo || k == keySplitCount || k == keySplitTensors
}

// partName is the name of file i, from 0, of n.
func partName(base string, i, n uint64) string {
	return fmt.Sprintf("%s-%05d-of-%05d.gguf", base, i+1, n)
}

// WriteSplit writes the files of [Split.Parts] and returns their paths. Each replaces one of its
// name when it is whole. If one fails those that were not there before are removed. Files of
// another number of parts stay.
func WriteSplit(name string, s Split, m *Metadata, tensors ...*file.Entry) ([]string, error) {
	parts, err := s.Parts(name, m, tensors...)
	if err != nil {
		return nil, err
	}
	return WriteParts(parts, nil)
}

// WriteParts is [WriteSplit] of what Parts returned. Wrap, which may be nil, returns a writer in
// front of that of each file, to see what is written.
func WriteParts(parts []Part, wrap func(io.Writer) io.Writer) ([]string, error) {
	var paths, added []string
	for i := range parts {
		p := &parts[i]
		_, there := os.Lstat(p.Path)
		err := file.Create(p.Path, func(w io.Writer) error {
			if wrap != nil {
				w = wrap(w)
			}
			return p.Write(w)
		})
		if err != nil {
			for _, path := range added {
				err = errors.Join(err, os.Remove(path))
			}
			return nil, err
		}
		paths = append(paths, p.Path)
		if errors.Is(there, fs.ErrNotExist) {
			added = append(added, p.Path)
		}
	}
	return paths, nil
}
