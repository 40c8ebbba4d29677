//go:build unix && amd64

package amd64

import (
	"encoding/binary"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/amd64/image"
	"github.com/gokiln/kiln/compiler/amd64/regalloc"
)

// The memory that code under test works on: its context, then operands and the
// result, then its frame.
const (
	testData   = image.ContextSize
	testResult = testData + 3*128
	testFrame  = 4096
	testMemory = 1 << 16
	testSaveG  = 2048
	testSaveBP = 2056
)

// program is code under test in executable memory.
type program struct {
	code []byte // executable
	mem  []byte
	text string
}

// assembled allocates the registers of code and makes it executable as a Go
// function whose argument is the address of the context.
func assembled(t *testing.T, c *code) *program {
	t.Helper()
	c.op(asm.RET, 64)
	require.NoError(t, c.resolve())
	c.dropDead()
	cfg := regalloc.V4(0)
	if c.isa == v3 {
		cfg = regalloc.V3(0)
	}
	_, err := regalloc.RunChecked(c.f, cfg)
	require.NoError(t, err)
	c.f.Blocks[0].Insts = append(prologue(), c.f.Blocks[0].Insts...)
	last := c.f.Blocks[len(c.f.Blocks)-1]
	last.Insts = append(last.Insts[:len(last.Insts)-1], epilogue()...)
	var a asm.Assembler
	require.NoError(t, a.Func(len(c.f.Blocks), func(i int) []asm.Inst { return c.f.Blocks[i].Insts }))
	bytes, _, err := a.Finish(c.consts.bytes)
	require.NoError(t, err)
	p := &program{code: executable(t, bytes), text: listing(c)}
	raw := make([]byte, testMemory+64)
	skip := -int(uintptr(unsafe.Pointer(&raw[0]))) & 63
	p.mem = raw[skip:]
	return p
}

// prologue saves what Go wants back: its g and the frame pointer. The argument is
// in rax.
func prologue() []asm.Inst {
	mov := func(x, y asm.Arg) asm.Inst {
		return asm.Inst{Op: asm.MOV, Width: 64, Args: [4]asm.Arg{x, y}}
	}
	return []asm.Inst{
		mov(asm.M(asm.RAX, testSaveG), asm.R(asm.R14)), mov(asm.M(asm.RAX, testSaveBP), asm.R(asm.RBP)),
		mov(asm.R(ctx), asm.R(asm.RAX)),
		{Op: asm.LEA, Width: 64, Args: [4]asm.Arg{asm.R(frame), asm.M(asm.RAX, testFrame)}},
	}
}

func epilogue() []asm.Inst {
	x15 := asm.R(asm.Phys(asm.Vec, 15))
	return []asm.Inst{
		{Op: asm.MOV, Width: 64, Args: [4]asm.Arg{asm.R(asm.RBP), ctxAt(testSaveBP)}},
		{Op: asm.MOV, Width: 64, Args: [4]asm.Arg{asm.R(asm.R14), ctxAt(testSaveG)}},
		{Op: asm.VZEROUPPER, Width: 128},
		{Op: asm.VPXOR, Width: 128, Args: [4]asm.Arg{x15, x15, x15}},
		{Op: asm.RET, Width: 64},
	}
}

func executable(t *testing.T, code []byte) []byte {
	m, err := unix.Mmap(-1, 0, (len(code)+4095)&^4095, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	require.NoError(t, err)
	copy(m, code)
	require.NoError(t, unix.Mprotect(m, unix.PROT_READ|unix.PROT_EXEC))
	return m
}

func (p *program) close() { _ = unix.Munmap(p.code) }

// run calls the code. A Go function value is the address of a word with the
// address of the code.
func (p *program) run() {
	entry := uintptr(unsafe.Pointer(&p.code[0]))
	word := &entry
	fn := *(*func(unsafe.Pointer))(unsafe.Pointer(&word))
	fn(unsafe.Pointer(&p.mem[0]))
}

func (p *program) put(at, size int, bits uint64) {
	if size == 8 {
		binary.LittleEndian.PutUint64(p.mem[at:], bits)
	} else {
		binary.LittleEndian.PutUint32(p.mem[at:], uint32(bits))
	}
}

func (p *program) get(at, size int) uint64 {
	if size == 8 {
		return binary.LittleEndian.Uint64(p.mem[at:])
	}
	return uint64(binary.LittleEndian.Uint32(p.mem[at:]))
}

func listing(c *code) string {
	s := ""
	for _, b := range c.f.Blocks {
		for i := range b.Insts {
			s += "\t" + b.Insts[i].String() + "\n"
		}
	}
	return s
}
