package gguf_test

import (
	"testing"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/tensor/file/filetest"
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
		if filetest.Refused(t, err, len(b)) {
			return
		}
		if set.Alignment < 1<<16 { // otherwise padding takes long
			rewrite(t, set)
		}
	})
}
