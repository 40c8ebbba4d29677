package safetensors_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/file/filetest"
	"github.com/gokiln/kiln/tensor/safetensors"
)

// FuzzRead reads anything. What is a file is written again and must be the same
// tensors; what is none is an error with its position.
func FuzzRead(f *testing.F) {
	f.Add(image(two, 6))
	f.Add(image(`{}`, 0))
	f.Add(image(`{"__metadata__":{"a":"b","\ud800":"\n"},"x":{"dtype":"U64","shape":[1,0],"data_offsets":[0,0]}}`, 0))
	f.Add(image(`{"x":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[0,3]},"y":{"dtype":"BOOL","shape":[],"data_offsets":[3,4]}}`, 4))
	f.Add(image(`{"x":{"dtype":"C64","shape":[1],"data_offsets":[0,8],"new":[{}]}}`, 8))
	f.Fuzz(func(t *testing.T, b []byte) {
		set, err := read(b)
		if filetest.Refused(t, err, len(b)) {
			return
		}
		again(t, set)
	})
}

// again writes the tensors that can be and reads them.
func again(t *testing.T, set *file.Set) {
	t.Helper()
	var of []*file.Entry
	var bits [][]byte
	for e := range set.All() {
		b, err := e.Bytes()
		if err != nil {
			if !errors.Is(err, file.ErrUnsupported) {
				t.Fatal(err)
			}
			continue
		}
		of, bits = append(of, e), append(bits, b)
	}
	var out bytes.Buffer
	if err := safetensors.Write(&out, set.Metadata(), of...); err != nil {
		t.Fatal(err)
	}
	copied, err := read(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if copied.Len() != len(of) {
		t.Fatalf("%d tensors of %d", copied.Len(), len(of))
	}
	for i, e := range of {
		c, err := copied.Get(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := c.Bytes()
		if err != nil || !bytes.Equal(b, bits[i]) || c.DType != e.DType || !c.Shape().Equal(e.Shape()) {
			t.Fatalf("%q: %v %s %v, want %v %s %v: %v", e.Name, b, c.DType, c.Shape(), bits[i], e.DType, e.Shape(), err)
		}
	}
}
