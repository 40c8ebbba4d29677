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

// TestHalvesAtTheEndOfMemory loads and stores f16 in front of a page that must not
// be touched: conversions in memory, too, keep to the lanes of their mask.
func TestHalvesAtTheEndOfMemory(t *testing.T) {
	if all := levels(t); len(all) < 2 {
		t.Skip("needs a processor with x86-64-v4 (AVX-512)")
	}
	page := os.Getpagesize()
	mem, err := unix.Mmap(-1, 0, 2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	require.NoError(t, err)
	defer func() { _ = unix.Munmap(mem) }()
	require.NoError(t, unix.Mprotect(mem[page:], unix.PROT_NONE))
	const lanes, first, third = 3, 0x3c00, 0x4200
	at := page - 2*lanes
	for i := range lanes {
		mem[at+2*i+1] = first >> 8
	}
	c := newCode(v4, &poolOf{at: map[string]int64{}})
	c.bind(c.newLabel())
	p, n, m := c.gpr(), c.gpr(), c.mask()
	c.op(asm.MOV, 64, asm.R(p), ctxAt(testData))
	c.op(asm.MOV, 64, asm.R(n), asm.I(1<<lanes-1))
	c.op(asm.KMOVW, 32, asm.R(m), asm.R(n))
	x := val{reg: [2]asm.Reg{c.vec()}, n: 1}
	e := &emitter{code: c}
	e.loadVector4(x, ir.F16, asm.M(p, 0), m)
	y := c.convert(ir.F32, ir.F16, x)
	sum := one(c.vop(asm.VADDPS, asm.R(y.reg[0]), c.floatArg(false, 2)))
	e.storeVector4(c.convert(ir.F16, ir.F32, sum), ir.F16, asm.M(p, 0), m)
	code := assembled(t, c)
	defer code.close()
	require.NotContains(t, code.text, "vpmov", "words go straight through conversions")
	code.put(testData, 8, uint64(uintptr(unsafe.Pointer(&mem[at]))))
	code.run()
	for i := range lanes {
		require.Equal(t, third, int(mem[at+2*i])|int(mem[at+2*i+1])<<8)
	}
}
