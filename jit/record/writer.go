package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/gokiln/kiln/internal/atomicfile"
)

// Writer adds specialisations to the record in a file, as [Update] does, each by a line at the end:
// what a program uses is written in time that is proportional to it. Now and then, and with the
// first addition of a program, the file is written anew, sorted and each specialisation once.
type Writer struct {
	name  string
	begun bool
	have  Set   // what the file had at the beginning, and what was added
	head  int64 // bytes of the file when it was last sorted
}

// NewWriter returns a Writer for a file.
func NewWriter(name string) *Writer { return &Writer{name: name} }

// appended is how many bytes are appended at least before the file is sorted.
const appended = 64 << 10

// errSort says that a line cannot be appended, or should not be.
var errSort = errors.New("the file is to be sorted")

// Add adds a specialisation, unless it is there.
func (w *Writer) Add(s Spec) error {
	if !w.have.Add(s) {
		return nil
	}
	err := errSort
	if w.begun {
		err = w.append(s)
	}
	switch {
	case errors.Is(err, atomicfile.ErrNoLock), errors.Is(err, fs.ErrNotExist), errors.Is(err, errSort):
		return w.sort()
	case err != nil:
		return fmt.Errorf("record: %w", err)
	}
	return nil
}

// sort has the file hold all that was added.
func (w *Writer) sort() error {
	err := Update(w.name, &w.have)
	if err == nil && !w.begun {
		err = w.have.Load(w.name)
	}
	if err != nil {
		return err
	}
	info, err := os.Stat(w.name)
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	w.begun, w.head = true, info.Size()
	return nil
}

// append writes a line at the end.
func (w *Writer) append(s Spec) (err error) {
	unlock, err := atomicfile.Lock(w.name+".lock", lockWait)
	if err != nil {
		return err
	}
	defer unlock()
	f, err := os.OpenFile(w.name, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() == 0 || info.Size() > w.head+max(w.head, appended) {
		return errSort
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], info.Size()-1); err != nil || last[0] != '\n' {
		return errors.Join(err, errSort) // a process was killed in the middle of its line
	}
	_, err = f.Write([]byte(s.String() + "\n"))
	return err
}

// whole is the text of a record without its end if that is the beginning of a line, left by a
// process that was killed.
func whole(text []byte) []byte {
	end := bytes.LastIndexByte(text, '\n') + 1
	if line := bytes.TrimSpace(text[end:]); len(line) > 0 && line[0] == '{' {
		var v any
		if err := json.NewDecoder(bytes.NewReader(line)).Decode(&v); errors.Is(err, io.ErrUnexpectedEOF) {
			return text[:end]
		}
	}
	return text
}
