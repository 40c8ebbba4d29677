package gguf_test

import (
	"errors"
	"testing"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/tensor/file"
)

// FuzzRead reads anything. What is a file is written again and must be the same; what is none is an
// error with its position.
func FuzzRead(f *testing.F) {
	files, err := golden()
	if err != nil {
		f.Fatal(err)
	}
	for name, b := range files {
		if name != "index.json" && len(b) < 4096 {
			f.Add(b)
		}
	}
	f.Add(write(f, sample(), memory(f, "a", dtype.F32, layout.Shape{2}, numbers(8)), blocks(f, "b",
		format.Q8_0, layout.Shape{32}, numbers(34))))
	f.Fuzz(func(t *testing.T, b []byte) {
		set, err := read(b)
		var fault *file.Error
		switch {
		case errors.As(err, &fault):
			if fault.Offset < 0 || fault.Offset > int64(len(b)) {
				t.Fatalf("byte %d of %d: %v", fault.Offset, len(b), err)
			}
			return
		case err != nil:
			t.Fatalf("an error without a place: %v", err)
		}
		if set.Alignment < 1<<16 { // otherwise padding takes long
			rewrite(t, set)
		}
	})
}
