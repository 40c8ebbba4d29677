package gguf

import (
	"errors"
	"io"
	"os"

	"github.com/gokiln/kiln/tensor/file"
)

// Edit changes the metadata of one file. If tensors can stay where they are in the file, because
// the new header ends in front of them and its padding begins with the same multiple of the
// alignment, the header alone is written, in place; otherwise the file is written anew and replaces
// the old one when it is whole, as version 3, without gaps and what is behind the last tensor.
//
// What is written in place is lost in part if the system stops meanwhile, and other programs must
// not read the file; [Open] and [WriteFile] always replace it. Edit reports whether it wrote in
// place. If change returns an error, nothing is written.
func Edit(path string, change func(*Metadata) error) (inPlace bool, err error) {
	src, err := file.Open(path)
	if err != nil {
		return false, err
	}
	f, err := Read(src)
	if err != nil {
		return false, errors.Join(err, src.Close())
	}
	defer f.Close()
	m := f.Meta.Clone()
	if err := change(m); err != nil {
		return false, err
	}
	head, err := f.newHeader(m)
	if err != nil {
		return false, err
	}
	if head != nil {
		return true, errors.Join(f.Close(), writeHeader(path, head))
	}
	var all []*file.Entry
	for e := range f.All() {
		all = append(all, e)
	}
	return false, file.Create(path, func(w io.Writer) error {
		// Closed before the file is replaced, which Windows wants.
		return errors.Join(Write(w, m, all...), f.Close())
	})
}

// newHeader is the header with other metadata, up to the tensors, nil if these cannot stay.
func (f *File) newHeader(m *Metadata) ([]byte, error) {
	align, err := m.alignment()
	if err != nil {
		return nil, err
	}
	if f.Version == 1 || f.BigEndian || align != f.Alignment || f.Len() == 0 {
		return nil, nil
	}
	var list []info
	at := int64(0)
	for e := range f.All() {
		t, err := TypeOf(e)
		if err != nil {
			return nil, err
		}
		if e.Offset >= 0 { // it is not if there are no elements, and they are behind the end
			at = e.Offset - f.DataOffset
		}
		list = append(list, info{name: e.Name, shape: e.Shape(), typ: t, offset: uint64(at)})
		at = roundUp(at+e.Size(), align)
	}
	head, err := appendHeader(nil, m, list)
	if err != nil || roundUp(int64(len(head)), align) != f.DataOffset {
		return nil, err
	}
	return pad(head, f.DataOffset), nil
}

// writeHeader writes the first bytes of a file.
func writeHeader(path string, head []byte) error {
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = w.WriteAt(head, 0)
	return errors.Join(err, w.Sync(), w.Close())
}
