package main

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/gokiln/kiln/bench/figure"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

const (
	pinnedRow = "page-locked memory to the device"
	most      = 256 << 20 // copied at a time
	pieces    = 8
	part      = 4 << 20 // read at a time
	readers   = 8
)

// piece is how much is copied at a time.
func (c *config) piece() int { return int(min(c.size, most)) }

// pinned copies from page-locked memory.
func (c *config) pinned(d *tensor.Device, _ string) (r figure.Row, err error) {
	to, err := runtime.Alloc[byte](d.Runtime(), c.piece())
	if err != nil {
		return r, err
	}
	from, err := runtime.AllocPinned[byte](d.Runtime(), c.piece())
	if err != nil {
		return r, err
	}
	for i := range from.Data() {
		from.Data()[i] = byte(i)
	}
	copies := func() (err error) {
		for range pieces {
			err = errors.Join(err, to.CopyFromPinned(d.Stream(), from))
		}
		return errors.Join(err, d.Synchronize())
	}
	r, err = c.rate(pinnedRow, int64(pieces*c.piece()), copies)
	return r, errors.Join(err, from.Free(), to.Free())
}

// ordinary copies from memory of Go.
func (c *config) ordinary(d *tensor.Device, _ string) (r figure.Row, err error) {
	to, err := runtime.Alloc[byte](d.Runtime(), c.piece())
	if err != nil {
		return r, err
	}
	from := make([]byte, c.piece())
	for i := range from {
		from[i] = byte(i)
	}
	r, err = c.rate("ordinary memory to the device", int64(pieces*c.piece()), func() (err error) {
		for range pieces {
			err = errors.Join(err, to.CopyFrom(from))
		}
		return errors.Join(err, d.Synchronize())
	})
	return r, errors.Join(err, to.Free())
}

// readOnly reads the file by several goroutines into memory of each.
func (c *config) readOnly(_ *tensor.Device, path string) (r figure.Row, err error) {
	f, err := os.Open(path)
	if err != nil {
		return r, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return r, err
	}
	var buffers [readers][]byte
	for i := range buffers {
		buffers[i] = make([]byte, part)
	}
	return c.rate("reading the file", info.Size(), func() error {
		var next atomic.Int64
		var wg sync.WaitGroup
		var errs [readers]error
		for i, b := range buffers {
			wg.Go(func() {
				for errs[i] == nil {
					_, err := f.ReadAt(b, next.Add(part)-part)
					errs[i] = err
				}
			})
		}
		wg.Wait()
		for _, err := range errs {
			if err != io.EOF {
				return err
			}
		}
		return nil
	})
}
