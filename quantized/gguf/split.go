package gguf

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"

	"github.com/gokiln/kiln/tensor/file"
)

// splitName is the name of one of several files of a model.
var splitName = regexp.MustCompile(`^(.*)-([0-9]{5})-of-([0-9]{5})\.gguf$`)

// openSplit opens the n files of a model, of which one is open.
func openSplit(path string, one *File, n uint64) (*File, error) {
	parts := splitName.FindStringSubmatch(filepath.Base(path))
	no, err := Get[uint64](one.Meta, keySplitNo)
	if err != nil {
		err = file.Fault(path, -1, file.ErrFormat, "%v", err)
	} else if parts == nil || n > 99999 || parts[3] != fmt.Sprintf("%05d", n) || no >= n {
		err = file.Fault(path, -1, file.ErrFormat,
			"it says that it is file %d of %d of a model, and so must be called as %s", no+1, n,
			partName("name", no, n))
	}
	if err != nil {
		return nil, errors.Join(err, one.Close())
	}
	out := &File{Set: file.NewSet(), Meta: &Metadata{}}
	base := filepath.Join(filepath.Dir(path), parts[1])
	for i := range n {
		f := one
		if i != no {
			f, err = openPart(partName(base, i, n), i, n)
		}
		if err == nil {
			err = out.join(f, i == 0)
		}
		if err != nil {
			return nil, errors.Join(err, out.Close(), one.Close())
		}
	}
	if all, err := Get[uint64](one.Meta, keySplitTensors); err == nil && all != uint64(out.Len()) {
		err := file.Fault(path, -1, file.ErrFormat,
			"the model has %d tensors, and its %d files have %d", all, n, out.Len())
		return nil, errors.Join(err, out.Close())
	}
	return out, nil
}

// openPart opens file i of n.
func openPart(path string, i, n uint64) (*File, error) {
	src, err := file.Open(path)
	if err != nil {
		return nil, err
	}
	f, err := Read(src)
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	no, _ := Get[uint64](f.Meta, keySplitNo)
	count, _ := Get[uint64](f.Meta, keySplitCount)
	if no != i || count != n {
		err := file.Fault(path, -1, file.ErrFormat, "it says that it is file %d of %d, want %d of %d",
			no+1, count, i+1, n)
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// join adds the tensors of a file, which is closed with the others. Metadata is that of the first.
func (f *File) join(part *File, first bool) error {
	f.Own(part)
	for e := range part.All() {
		if err := f.Add(e); err != nil {
			return err
		}
	}
	if !first {
		return nil
	}
	for k, v := range part.Meta.All() {
		if !isSplitKey(k) {
			f.Meta.Set(k, v)
		}
	}
	for k, v := range part.Set.Metadata() {
		if !isSplitKey(k) {
			f.Set.Metadata()[k] = v
		}
	}
	f.Version, f.BigEndian, f.Alignment, f.DataOffset = part.Version, part.BigEndian, part.Alignment,
		part.DataOffset
	return nil
}
