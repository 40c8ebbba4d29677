package ptx

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// This file runs bulk copies of tensors by maps that it makes itself, since the real ones are opaque.

// simMap is a tensor map of the simulator.
type simMap struct {
	addr       uint64
	sizes, box [3]int
	strides    [2]int // in bytes
	elem       int
}

// bytes makes the 128 bytes of a map.
func (m *simMap) bytes() []byte {
	words := []uint64{m.addr, uint64(m.elem)}
	for _, list := range [][]int{m.sizes[:], m.box[:], m.strides[:]} {
		for _, n := range list {
			words = append(words, uint64(n))
		}
	}
	out := make([]byte, mapBytes)
	for i, w := range words {
		binary.LittleEndian.PutUint64(out[8*i:], w)
	}
	return out
}

func readMap(b []byte) (m simMap) {
	word := func(i int) int { return int(binary.LittleEndian.Uint64(b[8*i:])) }
	m.addr, m.elem = uint64(word(0)), word(1)
	for i := range 3 {
		m.sizes[i], m.box[i] = word(2+i), word(5+i)
	}
	m.strides = [2]int{word(8), word(9)}
	return m
}

// bulkSim decodes an instruction for bulk copies, nil if it is no such.
func (p *simProgram) bulkSim(opcode, rest string) func(t *simThread) {
	if !strings.HasPrefix(opcode, "cp.async.bulk.") {
		return nil
	}
	brackets := func(s string) string { return strings.TrimSpace(strings.NewReplacer("[", "", "]", "").Replace(s)) }
	var ops []simOperand
	for _, s := range splitOperands(brackets(rest)) {
		ops = append(ops, p.operand(s))
	}
	const mode = ".mbarrier::complete_tx::bytes"
	load, multicast := strings.CutSuffix(opcode, ".multicast::cluster")
	switch load {
	case "cp.async.bulk.tensor.3d.shared::cluster.global.tile" + mode:
		return p.bulkLoad(ops, multicast, func(t *simThread) (int, func(f func(mem []byte, off int), base int) int) {
			m, at := t.tensorMap(ops[1]), coordinates(t, ops[2])
			return m.elem, func(f func(mem []byte, off int), base int) int { return p.eachElement(&m, at, f, base) }
		})
	case "cp.async.bulk.tensor.3d.shared::cluster.global.im2col" + mode, "cp.async.bulk.tensor.4d.shared::cluster.global.im2col" + mode, "cp.async.bulk.tensor.5d.shared::cluster.global.im2col" + mode:
		return p.bulkLoad(ops, multicast, func(t *simThread) (int, func(f func(mem []byte, off int), base int) int) {
			m := t.pixels(ops[1])
			channel, image, x, by := m.place(t, ops[2], ops[4])
			return int(m.Elem), func(f func(mem []byte, off int), base int) int {
				return p.eachPixel(&m, channel, image, x, by, f, base)
			}
		})
	case "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group":
		return func(t *simThread) {
			m, at, from := t.tensorMap(ops[0]), coordinates(t, ops[1]), int(ops[2].get(t))
			m.sizes[0] = (m.sizes[0]*m.elem + 15) / 16 * 16 / m.elem // rows are stored in whole chunks
			copied := func() {
				t.p.eachElement(&m, at, func(mem []byte, off int) {
					for i := range m.elem {
						if t.block.dirty[from+off+i] {
							panic(fmt.Sprintf("shared memory at %#x was written, and no fence.proxy.async came after it", from+off+i))
						}
					}
					copy(mem, t.block.shared[from+off:])
				}, from)
			}
			if p.early {
				copied()
				copied = func() {}
			}
			t.stores = append(t.stores, copied)
		}
	case "cp.async.bulk.commit_group":
		return func(*simThread) {} // each store is a group
	case "cp.async.bulk.wait_group.read":
		return func(t *simThread) { t.makeStores(int(ops[0].imm)) }
	}
	return nil
}

// bulkLoad is a bulk copy to shared memory, whose elements each calls a function for. With multicast the
// last operand has a bit for each block that gets it.
func (p *simProgram) bulkLoad(ops []simOperand, multicast bool, elements func(t *simThread) (size int, each func(f func(mem []byte, off int), base int) int)) func(t *simThread) {
	return func(t *simThread) {
		blocks := []*simBlock{t.block}
		if multicast {
			blocks = nil
			for i, b := range t.block.cluster {
				if ops[len(ops)-1].get(t)>>i&1 != 0 {
					blocks = append(blocks, b)
				}
			}
		}
		to, bar := int(ops[0].get(t)), int(ops[3].get(t))
		size, each := elements(t)
		copied := func() {
			for _, b := range blocks {
				bytes := each(func(mem []byte, off int) {
					clear(b.shared[to+off : to+off+size])
					copy(b.shared[to+off:], mem)
					b.dirty[to+off] = false
				}, to)
				b.complete(bar, -bytes, 0)
			}
		}
		if p.early {
			copied()
			return
		}
		t.block.bulk = append(t.block.bulk, copied)
	}
}

// makeStores makes the stores of the thread but for the last n.
func (t *simThread) makeStores(n int) {
	for len(t.stores) > n {
		t.stores[0]()
		t.stores = t.stores[1:]
	}
}

func (t *simThread) tensorMap(o simOperand) simMap {
	at := o.get(t)
	if at%mapAlign != 0 {
		panic("a tensor map is not aligned")
	}
	if t.block.args[at+mapBytes-1] != 0 {
		panic("a map of pixels is used for boxes")
	}
	return readMap(t.block.args[at:])
}

func coordinates(t *simThread, o simOperand) (at [3]int) {
	for i, x := range o.pair {
		at[i] = int(int32(x.get(t)))
	}
	return at
}

// eachElement calls f for the elements of a box at a position: their memory, nil beyond the edges,
// and where they are in shared memory behind base, in rows of 128 bytes that are swizzled. It returns
// the size of the box.
func (p *simProgram) eachElement(m *simMap, at [3]int, f func(mem []byte, off int), base int) int {
	if base%128 != 0 || m.box[0]*m.elem != 128 {
		panic("a box is not aligned, or has no rows of 128 bytes")
	}
	for z := range m.box[2] {
		for y := range m.box[1] {
			for x := range m.box[0] {
				to := base + (z*m.box[1]+y)*128 + x*m.elem
				to ^= to >> 3 & 0x70
				i := [3]int{at[0] + x, at[1] + y, at[2] + z}
				var mem []byte
				inside := true
				for d := range i {
					inside = inside && i[d] >= 0 && i[d] < m.sizes[d]
				}
				if inside {
					a := m.addr + uint64(i[0]*m.elem+i[1]*m.strides[0]+i[2]*m.strides[1])
					buf := p.buffers[a>>32-1]
					mem = buf[a&math.MaxUint32:][:m.elem]
				}
				f(mem, to-base)
			}
		}
	}
	return m.box[0] * m.box[1] * m.box[2] * m.elem
}

// complete changes how many bytes and arrivals the phase of a barrier lacks, and ends it.
func (b *simBlock) complete(bar, bytes, arrivals int) {
	if b.bytes == nil {
		b.bytes = map[int]int{}
	}
	state := binary.LittleEndian.Uint64(b.shared[bar:])
	if arrivals > 0 && state<<1>>33 == 0 {
		panic("an arrival too many")
	}
	b.bytes[bar] += bytes
	state -= uint64(arrivals) << 32
	if state<<1>>33 == 0 && b.bytes[bar] == 0 {
		state ^= 1<<63 | state&math.MaxUint32<<32
	}
	binary.LittleEndian.PutUint64(b.shared[bar:], state)
}
