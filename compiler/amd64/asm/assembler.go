package asm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
)

// Assembler turns instructions with machine registers into code. The zero value is
// ready; [Assembler.Reset] makes it so again and keeps its memory.
type Assembler struct {
	// Keep has the assembler keep the instructions, for [Assembler.List].
	Keep bool

	code   []byte // of the functions that are complete
	fixes  []fix
	marks  []Mark
	blocks []int // where each block begins, -1 of those that do not exist
	listed []listedInst

	firsts []int // by function: number of its first block

	// The function in work.
	buf   []byte
	begun []place // by number less base
	items []item
	ends  []int32 // by item: the size of it and of those before
	holes []hole
	spots []spot
	kept  []keptInst
	pos   int32
}

// place is a position in the function in work: an offset in buf, and how many items
// are before it. The offset of what was not begun is -1.
type place struct{ at, items int32 }

// item is a jump to a label, or padding: how long it is turns out in the end.
type item struct {
	at     int32 // where it is put into buf
	size   int32
	target int32 // block of a jump, -1 of padding
	align  int32 // of padding
	code   byte  // of the short jump
}

// hole is a distance of 32 bits to a block, or to a constant of the pool.
type hole struct {
	place
	after  int32 // bytes of the instruction behind it
	block  int32 // -1: into the pool
	offset int64
}

// fix is a hole for a constant in code that is complete.
type fix struct {
	at, end int
	offset  int64
}

// spot is where the code for a position in the source begins.
type spot struct {
	place
	pos int32
}

// keptInst is an instruction for a listing.
type keptInst struct {
	Inst
	from, to place
}

// Mark says where the code for a position in the source begins.
type Mark struct {
	Offset int
	Pos    int32
}

// Reset forgets all instructions. Code that [Assembler.Finish] returned stays.
func (a *Assembler) Reset() {
	a.clear()
	a.code, a.marks, a.pos = nil, nil, 0
	a.fixes, a.blocks, a.listed, a.firsts = a.fixes[:0], a.blocks[:0], a.listed[:0], a.firsts[:0]
}

func (a *Assembler) clear() {
	a.buf, a.begun, a.items, a.holes = a.buf[:0], a.begun[:0], a.items[:0], a.holes[:0]
	a.spots, a.kept = a.spots[:0], a.kept[:0]
}

// Block begins the block of a number, of a function that is built by the calls of
// Block and Inst until the next Func or Finish.
func (a *Assembler) Block(n int) {
	for len(a.begun) <= n {
		a.begun = append(a.begun, place{at: -1})
	}
	a.begun[n] = a.here()
}

func (a *Assembler) here() place { return place{int32(len(a.buf)), int32(len(a.items))} }

// Align puts what follows at a multiple of n bytes, a power of two that is
// [PoolAlign] at most, with instructions that do nothing before it.
func (a *Assembler) Align(n int) {
	if n = min(n, PoolAlign); n > 1 {
		a.items = append(a.items, item{at: int32(len(a.buf)), target: -1, align: int32(n)})
	}
}

// Len is the size of the code of the functions that are complete: where the next
// one begins.
func (a *Assembler) Len() int { return len(a.code) }

// Offset returns where block n begins, -1 if there is no such block. Blocks of
// functions that are complete count through: those of the first, then those of the
// next.
func (a *Assembler) Offset(n int) int {
	if n < 0 || n >= len(a.blocks) {
		return -1
	}
	return a.blocks[n]
}

// block returns the number of the block that a label is at, -2 for what is none.
func (a *Arg) block() int32 {
	if a.Imm < 0 || a.Imm > maxCode {
		return -2
	}
	return int32(a.Imm)
}

// jump adds a jump to a block.
func (a *Assembler) jump(in *Inst, f *form) {
	to := in.Args[0].block()
	code := byte(0xeb)
	switch in.Op {
	case CALL:
		a.put(f.code, 0, 0, 0, 0)
		a.holes = append(a.holes, hole{place: place{int32(len(a.buf) - 4), int32(len(a.items))}, block: to})
		return
	case JCC:
		code = 0x70 | byte(in.Cond&15)
	}
	a.items = append(a.items, item{at: int32(len(a.buf)), size: 2, target: to, code: code})
}

// relative adds ModRM and the distance to a constant of the pool or to a block.
func (a *Assembler) relative(reg byte, m *Arg, after int) {
	a.put(reg|5, 0, 0, 0, 0)
	h := hole{place: place{int32(len(a.buf) - 4), int32(len(a.items))}, after: int32(after), block: -1, offset: m.Imm + int64(m.Disp)}
	if m.Kind == LabelArg {
		h.block, h.offset = m.block(), int64(m.Disp)
	}
	a.holes = append(a.holes, h)
}

// PoolAlign is the alignment of the constants behind the code, and of the code.
const PoolAlign = 64

// maxCode is a size that jumps and addresses relative to the code always span.
const maxCode = 1 << 30

// Finish returns the code with a pool of constants behind it, and where the code
// for positions in the source begins.
func (a *Assembler) Finish(pool []byte) ([]byte, []Mark, error) {
	if err := a.complete(); err != nil {
		return nil, nil, err
	}
	size := len(a.code)
	start := (size + PoolAlign - 1) &^ (PoolAlign - 1)
	if start+len(pool) > maxCode {
		return nil, nil, fmt.Errorf("code of %d bytes with %d bytes of constants is too long for jumps", size, len(pool))
	}
	code := append(a.code, make([]byte, start-size+len(pool))...)
	for i := size; i < start; i++ {
		code[i] = 0xcc
	}
	copy(code[start:], pool)
	for _, f := range a.fixes {
		if f.offset < 0 || f.offset > int64(len(pool)) {
			return nil, nil, fmt.Errorf("constant at %d of the pool, which has %d bytes", f.offset, len(pool))
		}
		binary.LittleEndian.PutUint32(code[f.at:], uint32(start+int(f.offset)-f.end))
	}
	a.code = code
	return code, a.marks, nil
}

// complete ends the function in work. Jumps are as short as can be: all are short
// first, and those that do not reach their block become longer until all do.
func (a *Assembler) complete() error {
	if err := a.checkTargets(); err != nil {
		return err
	}
	if len(a.code)+len(a.buf) > maxCode {
		return fmt.Errorf("code of %d bytes is too long for jumps", len(a.code)+len(a.buf))
	}
	a.relax()
	base := len(a.code)
	a.layout()
	for _, h := range a.holes {
		at := int(a.final(h.place)) + base
		end := at + 4 + int(h.after)
		if h.block < 0 {
			a.fixes = append(a.fixes, fix{at, end, h.offset})
			continue
		}
		to := base + int(a.final(a.begun[h.block]))
		binary.LittleEndian.PutUint32(a.code[at:], uint32(to+int(h.offset)-end))
	}
	for _, s := range a.spots {
		a.marks = append(a.marks, Mark{base + int(a.final(s.place)), s.pos})
	}
	for i := range a.kept {
		k := &a.kept[i]
		a.listed = append(a.listed, listedInst{k.Inst, base + int(a.final(k.from)), base + int(a.final(k.to))})
	}
	if len(a.begun) > 0 {
		a.firsts = append(a.firsts, len(a.blocks))
	}
	for _, p := range a.begun {
		if p.at < 0 {
			a.blocks = append(a.blocks, -1)
			continue
		}
		a.blocks = append(a.blocks, base+int(a.final(p)))
	}
	a.clear()
	return nil
}

func (a *Assembler) checkTargets() error {
	for i := range a.items {
		if t := a.items[i].target; t != -1 && !a.exists(t) {
			return errors.New("a jump leads to " + blockName(t))
		}
	}
	for i := range a.holes {
		if b := a.holes[i].block; b != -1 && !a.exists(b) {
			return errors.New("an address is that of " + blockName(b))
		}
	}
	return nil
}

// blockName names a block that does not exist.
func blockName(n int32) string {
	if n < 0 {
		return "a block whose number is out of range"
	}
	return "block " + strconv.Itoa(int(n)) + ", which does not exist"
}

func (a *Assembler) exists(block int32) bool {
	return block >= 0 && int(block) < len(a.begun) && a.begun[block].at >= 0
}

// final returns the offset of a place in the function, after relax.
func (a *Assembler) final(p place) int32 {
	if p.items == 0 {
		return p.at
	}
	return p.at + a.ends[p.items-1]
}

// relax finds the sizes of the items. A size never becomes smaller, but for padding.
func (a *Assembler) relax() {
	if cap(a.ends) < len(a.items) {
		a.ends = make([]int32, 2*len(a.items))
	}
	a.ends = a.ends[:len(a.items)]
	a.sum()
	for grown := true; grown; a.sum() {
		grown = false
		for i := range a.items {
			x := &a.items[i]
			if x.size != 2 || x.target < 0 {
				continue
			}
			if d := a.final(a.begun[x.target]) - (x.at + a.ends[i]); d != int32(int8(d)) {
				x.size, grown = 5, true
				if x.code != 0xeb {
					x.size = 6
				}
			}
		}
	}
}

// sum adds the sizes up, and finds those of padding.
func (a *Assembler) sum() {
	total := int32(0)
	for i := range a.items {
		x := &a.items[i]
		if x.target < 0 {
			x.size = -(int32(len(a.code)) + x.at + total) & (x.align - 1)
		}
		total += x.size
		a.ends[i] = total
	}
}

// layout appends the function with its items to the code.
func (a *Assembler) layout() {
	from := int32(0)
	for i := range a.items {
		x := &a.items[i]
		a.code = append(a.code, a.buf[from:x.at]...)
		from = x.at
		if x.target < 0 {
			a.code = appendNops(a.code, int(x.size))
			continue
		}
		d := uint32(a.final(a.begun[x.target]) - (x.at + a.ends[i]))
		switch {
		case x.size == 2:
			a.code = append(a.code, x.code, byte(d))
			continue
		case x.code == 0xeb:
			a.code = append(a.code, 0xe9)
		default:
			a.code = append(a.code, 0x0f, x.code+0x10)
		}
		a.code = binary.LittleEndian.AppendUint32(a.code, d)
	}
	a.code = append(a.code, a.buf[from:]...)
}

// nops are instructions that do nothing, of 1 to 9 bytes.
const nops = "\x90" + "\x66\x90" + "\x0f\x1f\x00" + "\x0f\x1f\x40\x00" + "\x0f\x1f\x44\x00\x00" + "\x66\x0f\x1f\x44\x00\x00" +
	"\x0f\x1f\x80\x00\x00\x00\x00" + "\x0f\x1f\x84\x00\x00\x00\x00\x00" + "\x66\x0f\x1f\x84\x00\x00\x00\x00\x00"

func appendNops(b []byte, size int) []byte {
	for size > 0 {
		n := min(size, 9)
		b = append(b, nops[n*(n-1)/2:][:n]...)
		size -= n
	}
	return b
}

func (a *Assembler) put(b ...byte) { a.buf = append(a.buf, b...) }

// listedInst is an instruction and where it is in the code.
type listedInst struct {
	Inst
	from, to int
}
