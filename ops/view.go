package ops

import (
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

// View is elements in memory.
type View struct {
	Buf    *runtime.Buffer // which begins where offset 0 of the layout is; nil if there are no elements
	DType  dtype.DType
	Layout layout.Layout
}

// Addr is where the element at the offset of the layout is.
func (v *View) Addr() uint64 { return v.Buf.Addr() + uint64(v.Layout.Offset()*v.DType.Size()) }

// Header is the part of the buffer that the layout reaches over.
func (v *View) Header() runtime.SliceHeader {
	return runtime.SliceHeader{Buf: v.Buf, Off: v.Layout.Offset(), Len: v.Layout.Span()}
}
