package filetest

import (
	"errors"
	"testing"

	"github.com/gokiln/kiln/tensor/file"
)

// Refused reports whether a reader refused a file of so many bytes. Its error has to be a
// [file.Error] with a byte of the file, or the one behind it.
func Refused(t testing.TB, err error, size int) bool {
	t.Helper()
	var fault *file.Error
	switch {
	case err == nil:
		return false
	case !errors.As(err, &fault):
		t.Fatalf("an error without a position: %v", err)
	case fault.Offset < 0 || fault.Offset > int64(size):
		t.Fatalf("byte %d of %d: %v", fault.Offset, size, err)
	}
	return true
}
