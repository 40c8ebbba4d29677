package irconf

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/gokiln/kiln/compiler/interp"
)

// TestInterp runs every case on the interpreter.
func TestInterp(t *testing.T) {
	for _, c := range append(Cases(), NarrowUpdates()...) {
		t.Run(c.Name, func(t *testing.T) {
			p, err := interp.Load(c.Name, []byte(c.Text))
			if err != nil {
				t.Fatal(err)
			}
			got := make([][]byte, len(c.Bufs))
			memory := make([][]uint64, len(c.Bufs)) // aligned
			var pin runtime.Pinner
			defer pin.Unpin()
			for i, b := range c.Bufs {
				memory[i] = make([]uint64, len(b)/8+1)
				got[i] = unsafe.Slice((*byte)(unsafe.Pointer(&memory[i][0])), len(b))
				copy(got[i], b)
				pin.Pin(&memory[i][0])
			}
			args := c.Pack(func(i int) uint64 { return uint64(uintptr(unsafe.Pointer(&memory[i][0]))) })
			if err := p.Run(interp.Launch{Grid: c.Grid, Block: c.Block, Args: args}); err != nil {
				t.Fatal(err)
			}
			if err := c.Check(got); err != nil {
				t.Error(err)
			}
		})
	}
}
