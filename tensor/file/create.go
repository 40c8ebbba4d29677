package file

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
)

// Create writes a file as a whole: under another name first, so that whoever opens the
// path sees the old file, the new one, or none, and a failed write leaves nothing.
func Create(path string, write func(io.Writer) error) (err error) {
	tmp := fmt.Sprintf("%s.%08x.tmp", path, rand.Uint32())
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp))
		}
	}()
	w := bufio.NewWriterSize(f, 1<<20)
	if err = write(w); err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
