package rows

import (
	"fmt"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/elementwise"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/rows/kernels"
	"github.com/gokiln/kiln/runtime"
)

// Status words are how blocks of a launch publish values to each other, see package dsl/block. They
// are zero before it.

// ZeroWords clears words. It is a kernel, which starts while the one before it ends, and
// the next one while it does: a memset of the driver does neither.
func ZeroWords(s *runtime.Stream, h *runtime.SliceHeader) error {
	at, err := layout.New(layout.Shape{h.Len}, []int{1}, h.Off)
	if err != nil {
		return err
	}
	return elementwise.Fill(s, ops.View{Buf: h.Buf, DType: dtype.U32, Layout: at}, dtype.FromInt(dtype.U32, 0))
}

// WithStatusWords calls f with so many status words behind [kernels.HeadWords], all zero.
func WithStatusWords(s *runtime.Stream, name string, n int, f func(words any) error) error {
	var scratch ops.Scratch
	n += kernels.HeadWords
	if err := scratch.Alloc(s, 4*n); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer scratch.Free(s)
	h := scratch.Take(4, n)
	if err := ZeroWords(s, &h); err != nil {
		return err
	}
	return f(ops.SliceArg(dtype.U32, &h))
}
