package ptx

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gokiln/kiln/compiler/ir"
)

// This file is what simulated threads do with memory: loads and stores, copies, barriers that count
// bytes, and atomic operations.

// memory returns n bytes at an address.
func (t *simThread) memory(space string, o simOperand, n int64, size int) []byte {
	a := o.imm
	if o.reg >= 0 {
		a = o.get(t)
	}
	a += uint64(o.off + n)
	if space != "global" && space != "param" {
		a &= math.MaxUint32
	}
	if a%uint64(size) != 0 {
		panic(fmt.Sprintf("misaligned access of %d bytes at %#x", size, a))
	}
	var mem []byte
	switch space {
	case "param":
		mem = t.block.args
	case "shared":
		mem = t.block.shared
	case "local":
		mem = t.local
	default:
		i := a>>32 - 1
		if i >= uint64(len(t.p.buffers)) {
			panic(fmt.Sprintf("access outside buffers at %#x", a))
		}
		mem, a = t.p.buffers[i], a&math.MaxUint32
	}
	if a+uint64(size) > uint64(len(mem)) {
		panic(fmt.Sprintf("access outside %s memory at %#x", space, a))
	}
	return mem[a : a+uint64(size)]
}

// access runs a load or a store of one value or of a vector, which must be
// aligned to its size.
func access(mods []string, ops []simOperand) func(t *simThread) {
	typ := last(mods)
	size := bitsOf(typ) / 8
	value, at := ops[0], ops[1]
	if mods[0] == "st" {
		value, at = ops[1], ops[0]
	}
	list := value.pair
	if list == nil {
		list = []simOperand{value}
	}
	return func(t *simThread) {
		t.memory(mods[1], at, 0, size*len(list)) // aligned as a whole
		for i, x := range list {
			n := int64(i * size)
			if mods[0] == "st" {
				t.store(mods[1], at, n, size, x.get(t))
				continue
			}
			v := t.load(mods[1], at, n, size)
			if typ[0] == 's' {
				v = ir.Normalize(irType(typ), v)
			}
			x.set(t, v)
		}
	}
}

// groupSim makes groups of copies and waits for them, nil for other instructions.
func groupSim(opcode, left string) func(t *simThread) {
	commit := func(t *simThread) { t.groups, t.copies = append(t.groups, t.copies), nil }
	wait := func(t *simThread, left int) {
		n := max(len(t.groups)-left, 0)
		for _, group := range t.groups[:n] {
			for _, copied := range group {
				copied()
			}
		}
		t.groups = t.groups[n:]
	}
	switch opcode {
	case "cp.async.commit_group":
		return commit
	case "cp.async.wait_all":
		return func(t *simThread) { commit(t); wait(t, 0) }
	case "cp.async.wait_group":
		n, err := strconv.Atoi(left)
		if err != nil {
			panic("cp.async.wait_group " + left)
		}
		return func(t *simThread) { wait(t, n) }
	}
	return nil
}

// copySim begins an asynchronous copy, which is made as late as may be, or at once. A fourth operand is how
// many bytes are read, and zeros follow them.
func copySim(mods []string, ops []simOperand) func(t *simThread) {
	name, size := strings.Join(mods, "."), int(ops[2].imm)
	if ok := map[string]bool{
		"cp.async.ca.shared.global": size == 4 || size == 8 || size == 16, "cp.async.cg.shared.global": size == 16,
	}; !ok[name] {
		panic(fmt.Sprintf("no instruction %s of %d bytes", name, size))
	}
	return func(t *simThread) {
		to, read := t.memory("shared", ops[0], 0, size), size
		if len(ops) > 3 {
			read = int(ops[3].get(t))
		}
		var from []byte
		if read > 0 {
			from = t.memory("global", ops[1], 0, read)
		}
		copied := func() { clear(to[copy(to, from):]); t.dirty(to) }
		if t.p.early {
			copied()
			return
		}
		t.copies = append(t.copies, copied)
	}
}

// simRank is where the number of a block is in an address of its shared memory that another block
// uses.
const simRank = 24

// at is where an operand points.
func (t *simThread) at(o simOperand) int {
	if o.reg < 0 {
		return int(o.imm) + int(o.off)
	}
	return int(o.get(t)) + int(o.off)
}

// mbarrierSim works on barriers that count arrivals: the low half of the word is what each phase
// wants, the next bits what it lacks, the top bit its parity.
func mbarrierSim(name string, ops []simOperand) func(t *simThread) {
	switch name {
	case "init.shared.b64":
		return func(t *simThread) {
			n := ops[1].get(t)
			t.store("shared", ops[0], 0, 8, n|n<<32)
		}
	case "arrive.shared.b64":
		return func(t *simThread) {
			ops[0].set(t, t.load("shared", ops[1], 0, 8))
			t.block.complete(t.at(ops[1]), 0, 1)
		}
	case "arrive.expect_tx.shared::cta.b64":
		return func(t *simThread) {
			ops[0].set(t, t.load("shared", ops[1], 0, 8))
			t.block.bytes[t.at(ops[1])] += int(ops[2].get(t))
			t.block.complete(t.at(ops[1]), 0, 1)
		}
	case "arrive.shared::cluster.b64":
		return func(t *simThread) {
			at := ops[1].get(t)
			there := t.block.cluster[at>>simRank]
			if there.ended {
				panic("the block whose barrier this is has ended")
			}
			there.complete(int(at&(1<<simRank-1)), 0, 1)
		}
	case "test_wait.parity.shared.b64", "try_wait.parity.shared::cta.b64":
		return func(t *simThread) {
			done := t.load("shared", ops[1], 0, 8)>>63 != ops[2].get(t)&1
			if t.polled = !done; t.polled {
				for _, b := range t.block.cluster {
					for _, copied := range b.bulk {
						copied()
					}
					b.bulk = nil
				}
			}
			var bit uint64
			if done {
				bit = 1
			}
			ops[0].set(t, bit)
		}
	}
	panic("unknown instruction mbarrier." + name)
}

func (t *simThread) load(space string, o simOperand, n int64, size int) uint64 {
	var b [8]byte
	copy(b[:], t.memory(space, o, n, size))
	return binary.LittleEndian.Uint64(b[:])
}

func (t *simThread) store(space string, o simOperand, n int64, size int, v uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	mem := t.memory(space, o, n, size)
	copy(mem, b[:size])
	if space == "shared" {
		t.dirty(mem)
	}
}

// dirty notes that the thread has written shared memory.
func (t *simThread) dirty(mem []byte) {
	at := cap(t.block.shared) - cap(mem)
	for i := range mem {
		t.block.dirty[at+i] = true
		t.wrote = append(t.wrote, at+i)
	}
}

// clean is fence.proxy.async.
func (t *simThread) clean() {
	for _, at := range t.wrote {
		t.block.dirty[at] = false
	}
	t.wrote = t.wrote[:0]
}

// addHalves adds two halves by way of float64, whose rounding does not show.
func addHalves(t *ir.Type, x, y uint64) uint64 {
	wide := func(x uint64) uint64 {
		r, _ := ir.Eval(ir.OpConvert, ir.F64, 0, []uint64{x}, []*ir.Type{t})
		return r
	}
	sum := evalIR(ir.OpAdd, ir.F64, wide(x), wide(y))
	r, _ := ir.Eval(ir.OpConvert, t, 0, []uint64{sum}, []*ir.Type{ir.F64})
	return r
}

func atom(mods []string, ops []simOperand) func(t *simThread) {
	space, name, typ := mods[1], mods[2], irType(last(mods))
	size := typ.Size()
	return func(t *simThread) {
		old := t.load(space, ops[1], 0, size)
		x := ops[2].get(t)
		v := x
		switch name {
		case "exch":
		case "cas":
			if v = old; old == x&(math.MaxUint64>>(64-8*size)) {
				v = ops[3].get(t)
			}
		default:
			if typ.IsHalf() {
				v = addHalves(typ, old, x)
			} else {
				v = evalIR(arith[name], typ, old, x)
			}
		}
		t.store(space, ops[1], 0, size, v)
		ops[0].set(t, old)
	}
}
