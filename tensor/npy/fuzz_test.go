package npy_test

import (
	"archive/zip"
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"testing"

	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/npy"
)

// FuzzRead reads anything as an array, at once and as a stream, and writes what is one
// again.
func FuzzRead(f *testing.F) {
	f.Add(image(1, header("<i2", "True", "(2, 3)"), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12))
	f.Add(image(2, header(">u8", "False", "()"), 1, 2, 3, 4, 5, 6, 7, 8))
	f.Add(image(3, header("|b1", "False", "(3L, 0)")))
	f.Add(image(2, "{'descr': [('a', '<i4'), ('b', '<f8', (2, 3))], \"fortran_order\": False, 'shape': (1,)}", 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := read(b)
		if checkError(t, err, len(b)) {
			return
		}
		want, err := e.Bytes()
		if err != nil {
			if !errors.Is(err, file.ErrUnsupported) {
				t.Fatal(err)
			}
			return
		}
		stream, err := npy.Decode(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := npy.Write(&out, e); err != nil {
			t.Fatal(err)
		}
		again, err := read(out.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range []*file.Entry{stream, again} {
			if got, err := g.Bytes(); err != nil || !bytes.Equal(got, want) || g.DType != e.DType || !g.Shape().Equal(e.Shape()) {
				t.Fatalf("%v %s %v, want %v %s %v: %v", got, g.DType, g.Shape(), want, e.DType, e.Shape(), err)
			}
		}
	})
}

// checkError reports whether there is an error, which must have a position.
func checkError(t *testing.T, err error, size int) bool {
	t.Helper()
	var fault *file.Error
	if err != nil && (!errors.As(err, &fault) || fault.Offset > int64(size)) {
		t.Fatalf("in %d bytes: %v", size, err)
	}
	return err != nil
}

// FuzzNPZ reads anything as an archive.
func FuzzNPZ(f *testing.F) {
	if b, err := hex.DecodeString(byNumPy); err == nil {
		f.Add(b)
	}
	arr := image(1, header("|u1", "False", "(2,)"), 1, 2)
	f.Add(pack(f, zip.Store, "a.npy", arr, "b", arr, "c", []byte("x")))
	f.Add(pack(f, zip.Deflate, "a.npy", arr))
	f.Fuzz(func(t *testing.T, b []byte) {
		set, err := readNPZ(b)
		var fault *file.Error
		if err != nil {
			if !errors.As(err, &fault) {
				t.Fatal(err)
			}
			return
		}
		for e := range set.All() {
			if _, err := e.WriteTo(io.Discard); err != nil && !errors.As(err, &fault) {
				t.Fatal(err)
			}
		}
	})
}
