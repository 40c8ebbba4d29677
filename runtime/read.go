package runtime

import (
	"errors"
	"fmt"
	"io"
	goruntime "runtime"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// CopyFromReader fills the slice with the bytes of r from off on, in the order of the stream. Several
// goroutines read parts at a time, in any order: of a GPU into page-locked memory from which the
// device copies while the next parts are read, so that the memory of the host that it takes does not
// depend on the length; of a CPU into the slice itself. It returns when all is read. The last copies
// may still be in flight.
//
// An error of r, or its end before the slice is full, [io.ErrUnexpectedEOF], leaves a content that is
// undefined.
func (s Slice[T]) CopyFromReader(st *Stream, r io.ReaderAt, off int64) error {
	const op = "copy from a reader"
	if ok, err := s.ready(op, st, s.n); !ok {
		return err
	}
	if err := st.patience(); err != nil {
		return err
	}
	read := func(p []byte, at int64) error {
		n, err := r.ReadAt(p, off+at)
		switch {
		case n == len(p):
			return nil
		case err == nil || errors.Is(err, io.EOF):
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("%s: %d bytes from byte %d on: %w", op, len(p), off+at, err)
	}
	err := st.noting(op, s.written(), use{}, func() error {
		return uploadFrom(st.drv, driver.Addr(s.Addr()), s.bytes(), read)
	})
	goruntime.KeepAlive(s.buf)
	return err
}

// readAtOnce is how much is read into memory of Go for a driver that cannot read itself.
const readAtOnce = 4 << 20

// uploadFrom copies what is read to a device, by way of memory of Go where the driver has no other.
func uploadFrom(st driver.Stream, dst driver.Addr, size int64, read func(p []byte, at int64) error) error {
	if u, ok := st.(driver.Uploader); ok {
		return u.UploadFrom(dst, size, read)
	}
	mem := make([]byte, min(size, readAtOnce))
	for at := int64(0); at < size; {
		p := mem[:min(size-at, readAtOnce)]
		if err := read(p, at); err != nil {
			return err
		}
		if err := st.Upload(dst+driver.Addr(at), p); err != nil {
			return err
		}
		at += int64(len(p))
	}
	return nil
}
