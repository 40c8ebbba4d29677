//go:build unix && amd64

package amd64

import (
	"os"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/ir"
)

// TestNarrowLoadsBesideMissingMemory loads bytes and words for some lanes of x86-64-v3,
// of which the others would read pages that are not there, or nowhere at all.
func TestNarrowLoadsBesideMissingMemory(t *testing.T) {
	levels(t)
	page := os.Getpagesize()
	mem, err := unix.Mmap(-1, 0, 3*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	require.NoError(t, err)
	defer func() { _ = unix.Munmap(mem) }()
	require.NoError(t, unix.Mprotect(mem[:page], unix.PROT_NONE))
	require.NoError(t, unix.Mprotect(mem[2*page:], unix.PROT_NONE))
	for i := range page {
		mem[page+i] = byte(i%251 + 1)
	}
	for _, ty := range []*ir.Type{ir.U8, ir.I8, ir.U16, ir.I16} {
		code, size := narrowLoad(t, ty), ty.Size()
		for _, c := range []struct {
			at    int // of lane 0, in bytes from the middle page
			lanes uint8
		}{
			{0, 0xff}, {0, 1}, {page / 2, 0x5a}, {page - 8*size, 0x81}, {page - 3*size, 7}, {page - size, 1}, {-5 * size, 0xe0}, {-7 * size, 0x80},
			{2*page - 8*size, 0}, {-3 * page, 0},
		} {
			code.put(testData, 8, uint64(uintptr(unsafe.Pointer(&mem[page]))+uintptr(c.at)))
			for lane := range 8 {
				code.put(testData+64+4*lane, 4, -uint64(c.lanes>>lane&1))
			}
			code.run()
			for lane := range 8 {
				if c.lanes>>lane&1 == 0 {
					continue
				}
				want := int32(0)
				for k := range size {
					want |= int32(mem[page+c.at+lane*size+k]) << (8 * k)
				}
				if ty.IsSigned() {
					want = want << (32 - 8*size) >> (32 - 8*size)
				}
				require.Equal(t, want, int32(code.get(testResult+4*lane, 4)), "%v at %d, lane %d of %08b", ty, c.at, lane, c.lanes)
			}
		}
		code.close()
	}
}

// narrowLoad is code that loads values of a type, from the address in front of the
// operands, for the lanes of the mask in the second of them.
func narrowLoad(t *testing.T, ty *ir.Type) *program {
	c := newCode(v3, &poolOf{at: map[string]int64{}})
	c.bind(c.newLabel())
	p, m := c.gpr(), c.mask()
	c.op(asm.MOV, 64, asm.R(p), ctxAt(testData))
	c.op(asm.VMOVUPS, 256, asm.R(m), ctxAt(testData+64))
	x := val{reg: [2]asm.Reg{c.vec()}, n: 1}
	e := &emitter{code: c}
	e.loadVector3(x, ty, asm.M(p, 0), m)
	c.op(asm.VMOVUPS, 256, ctxAt(testResult), asm.R(x.reg[0]))
	return assembled(t, c)
}
