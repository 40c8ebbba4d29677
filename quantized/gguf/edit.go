package gguf

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gokiln/kiln/internal/atomicfile"
	"github.com/gokiln/kiln/tensor/file"
)

// editWait is how long an edit waits for others of the same file.
const editWait = time.Minute

// ErrChanged is that of an [Edit] of a file that another program changed meanwhile.
var ErrChanged = errors.New("the file was changed meanwhile")

// Edit changes the metadata of one file. If tensors can stay where they are in the file, because
// the new header ends in front of them and its padding begins with the same multiple of the
// alignment, the header alone is written, in place; otherwise the file is written anew and replaces
// the old one when it is whole, as version 3, without gaps and what is behind the last tensor.
//
// Either way the file must be writable and its folder too, a symbolic link is followed, and the
// file keeps its permissions. Edits of one file take turns, by a lock beside it if the system has
// locks; if anything else changes the file before the edit writes, it is an error of kind
// [ErrChanged].
//
// What is written in place is lost in part if the system stops meanwhile, and other programs must
// not read the file; [WriteFile] always replaces it. Edit reports whether it wrote in place, which
// is false with an error. If change returns an error, nothing is written.
func Edit(path string, change func(*Metadata) error) (inPlace bool, err error) {
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return false, err
	}
	unlock, err := atomicfile.Lock(path+".lock", editWait)
	switch {
	case err == nil:
		defer unlock()
	case !errors.Is(err, atomicfile.ErrNoLock):
		return false, err
	}
	e, err := openEdit(path)
	if err != nil {
		return false, err
	}
	inPlace, err = e.run(change)
	err = errors.Join(err, e.close())
	return inPlace && err == nil, err
}

// edit is a file whose metadata is changed.
type edit struct {
	*File
	path string
	os   *os.File // nil when it is closed
	was  fs.FileInfo
}

// openEdit opens a file for reading and writing.
func openEdit(path string) (*edit, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	e := &edit{path: path, os: f}
	if e.was, err = f.Stat(); err == nil && !e.was.Mode().IsRegular() {
		err = file.Fault(path, -1, file.ErrUnsupported, "not a regular file")
	}
	if err == nil {
		// Not mapped: an open mapping keeps Windows from replacing the file.
		e.File, err = Read(file.FromReader(path, f, e.was.Size()))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return e, nil
}

func (e *edit) close() error {
	if e.os == nil {
		return nil
	}
	err := errors.Join(e.File.Close(), e.os.Close())
	e.os = nil
	return err
}

// run changes the metadata.
func (e *edit) run(change func(*Metadata) error) (inPlace bool, err error) {
	m := e.Meta.Clone()
	if err := change(m); err != nil {
		return false, err
	}
	head, err := e.newHeader(m)
	if err != nil {
		return false, err
	}
	if head == nil {
		return false, e.replace(m)
	}
	if err := e.unchanged(); err != nil {
		return false, err
	}
	_, err = e.os.WriteAt(head, 0)
	return true, errors.Join(err, e.os.Sync())
}

// unchanged reports whether the file is the one of its path and is as it was when it was opened.
func (e *edit) unchanged() error {
	now, err := os.Stat(e.path)
	if err != nil {
		return err
	}
	same := os.SameFile(now, e.was) && now.Size() == e.was.Size() &&
		now.ModTime().Equal(e.was.ModTime())
	if !same {
		return fmt.Errorf("%s: %w; edit it again", e.path, ErrChanged)
	}
	return nil
}

// replace writes the file anew, with the permissions of the old one.
func (e *edit) replace(m *Metadata) error {
	out, err := atomicfile.Create(e.path, e.was.Mode().Perm())
	if err != nil {
		return err
	}
	defer out.Abort()
	w := bufio.NewWriterSize(out, 1<<20)
	if err := errors.Join(Write(w, m, slices.Collect(e.All())...), w.Flush()); err != nil {
		return err
	}
	// Create has taken the umask away; and Windows wants the old file closed.
	err = errors.Join(os.Chmod(out.Temp(), e.was.Mode().Perm()), e.unchanged(), e.close())
	if err != nil {
		return err
	}
	if err := out.Commit(); err != nil {
		return err
	}
	atomicfile.Sweep(e.path, out.Time())
	return nil
}

// newHeader is the header with other metadata, up to the tensors, nil if these cannot stay.
func (e *edit) newHeader(m *Metadata) ([]byte, error) {
	align, err := m.writtenAlignment()
	if err != nil {
		return nil, err
	}
	if e.Version == 1 || e.BigEndian || align != e.Alignment || e.Len() == 0 ||
		e.DataOffset > e.was.Size() { // where padding is left out in front of empty tensors
		return nil, nil
	}
	var list []info
	at := int64(0)
	for t := range e.All() {
		typ, err := TypeOf(t)
		if err != nil {
			return nil, err
		}
		if t.Offset >= 0 { // it is not if there are no elements, and they are behind the end
			at = t.Offset - e.DataOffset
		}
		list = append(list, info{name: t.Name, shape: t.Shape(), typ: typ, offset: uint64(at)})
		at = roundUp(at+t.Size(), align)
	}
	head, err := appendHeader(nil, m, list)
	if err != nil || roundUp(int64(len(head)), align) != e.DataOffset {
		return nil, err
	}
	return append(head, make([]byte, e.DataOffset-int64(len(head)))...), nil
}
