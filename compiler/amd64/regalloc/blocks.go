package regalloc

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/compiler/amd64/asm"
)

// findBlocks divides the code into basic blocks and finds the edges.
func (a *alloc) findBlocks() error {
	a.blocks = a.blocks[:0]
	a.barriers = a.barriers[:0]
	a.firstOf = grow(a.firstOf, len(a.f.Blocks))
	slot := int32(0)
	for i, b := range a.f.Blocks {
		a.firstOf[i] = int32(len(a.blocks))
		slot = a.divide(int32(i), b, slot)
	}
	a.blockOf = grow(a.blockOf, int(slot))
	for i := range a.blocks {
		b := &a.blocks[i]
		for k := b.entry; k <= b.last(); k++ {
			a.blockOf[k] = int32(i)
		}
	}
	for i := range a.blocks {
		if err := a.findSuccs(int32(i)); err != nil {
			return err
		}
	}
	return nil
}

// divide appends the basic blocks of block i, numbered from slot on.
func (a *alloc) divide(i int32, b *Block, slot int32) int32 {
	freq := frequency(b.Depth)
	lo := int32(0)
	add := func(hi int32) {
		a.blocks = append(a.blocks, bblock{block: i, lo: lo, hi: hi, entry: slot, succ: [2]int32{-1, -1}, loop: -1, freq: freq})
		slot += 1 + hi - lo
		lo = hi
	}
	for k := range b.Insts {
		switch op := b.Insts[k].Op; {
		case isJump(op):
			add(int32(k + 1))
		case clobbers(op):
			a.barriers = append(a.barriers, slot+1+int32(k)-lo)
		}
	}
	if n := int32(len(b.Insts)); lo < n || n == 0 {
		add(n)
	}
	return slot
}

// frequency is how often code under so many loops is taken to run.
func frequency(depth int) float32 {
	f := float32(1)
	for range min(max(depth, 0), 8) {
		f *= 10
	}
	return f
}

func (a *alloc) findSuccs(i int32) error {
	b := &a.blocks[i]
	falls := true
	if b.hi > b.lo {
		in := &a.f.Blocks[b.block].Insts[b.hi-1]
		if isJump(in.Op) {
			falls = in.Op == asm.JCC
			if err := a.addTarget(b, in); err != nil {
				return err
			}
		}
	}
	if !falls {
		return nil
	}
	if int(i)+1 >= len(a.blocks) {
		return fmt.Errorf("regalloc: %w: the code runs past its last block; end it with JMP or RET", ErrShape)
	}
	b.succ[1] = i + 1
	a.blocks[i+1].preds++
	return nil
}

func (a *alloc) addTarget(b *bblock, in *asm.Inst) error {
	for k := range in.Args {
		if in.Args[k].Kind != asm.LabelArg {
			continue
		}
		n := in.Args[k].Imm
		if n < 0 || n >= int64(len(a.firstOf)) {
			return fmt.Errorf("regalloc: %w: block %d jumps to block %d of %d", ErrShape, b.block, n, len(a.firstOf))
		}
		b.succ[0] = a.firstOf[n]
		a.blocks[b.succ[0]].preds++
	}
	return nil
}

// findLoops finds the loops as stretches of the code. They nest: a loop that
// overlaps another is grown to hold it.
func (a *alloc) findLoops() {
	a.loops = a.loops[:0]
	a.findBackEdges()
	slices.SortFunc(a.loops, func(x, y loop) int {
		if x.start != y.start {
			return int(x.start - y.start)
		}
		return int(y.end - x.end)
	})
	a.nestLoops()
	for i := range a.loops {
		l := &a.loops[i]
		for k := a.blockOf[l.start/2]; int(k) < len(a.blocks) && a.blocks[k].start() < l.end; k++ {
			a.blocks[k].loop = int32(i)
		}
	}
}

// findBackEdges makes a loop of each edge that leads to a block on the path by which
// a depth-first walk came to it. Other jumps backward only return from code that was
// put out of the way.
func (a *alloc) findBackEdges() {
	const (
		visited = 1 << iota
		onPath
	)
	a.marks = grow(a.marks, len(a.blocks))
	a.path = append(a.path[:0], 0)
	for len(a.path) > 0 {
		i := a.path[len(a.path)-1]
		if a.marks[i]&onPath != 0 { // all behind it is done
			a.path = a.path[:len(a.path)-1]
			a.marks[i] &^= onPath
			continue
		}
		if a.marks[i] != 0 {
			a.path = a.path[:len(a.path)-1]
			continue
		}
		a.marks[i] = visited | onPath
		b := &a.blocks[i]
		for _, s := range b.succ {
			switch {
			case s < 0:
			case a.marks[s]&onPath != 0:
				if s <= i {
					a.loops = append(a.loops, loop{start: a.blocks[s].start(), end: b.end(), parent: -1, freq: a.blocks[s].freq})
				}
			case a.marks[s] == 0:
				a.path = append(a.path, s)
			}
		}
	}
}

// nestLoops drops all but the longest of the loops with one start and finds the
// parents.
func (a *alloc) nestLoops() {
	a.loops = slices.CompactFunc(a.loops, func(x, y loop) bool { return x.start == y.start })
	for i := 1; i < len(a.loops); i++ {
		p := int32(i - 1)
		for p >= 0 && a.loops[p].end <= a.loops[i].start {
			p = a.loops[p].parent
		}
		a.loops[i].parent = p
		for q := p; q >= 0 && a.loops[q].end < a.loops[i].end; q = a.loops[q].parent {
			a.loops[q].end = a.loops[i].end
		}
	}
}

// liveness finds the virtual registers that are live at the start of each block.
func (a *alloc) liveness() {
	a.words = (a.count() + 63) / 64
	n := a.words * len(a.blocks)
	a.liveIn, a.gen, a.kill = grow(a.liveIn, n), grow(a.gen, n), grow(a.kill, n)
	a.live = grow(a.live, a.words)
	for i := range a.blocks {
		a.summarize(i)
	}
	for changed := true; changed; {
		changed = false
		for i := len(a.blocks) - 1; i >= 0; i-- {
			if a.flow(i) {
				changed = true
			}
		}
	}
}

// summarize finds what block i reads before writing and what it writes.
func (a *alloc) summarize(i int) {
	b := &a.blocks[i]
	gen, kill := a.set(a.gen, i), a.set(a.kill, i)
	for slot := b.last(); slot > b.entry; slot-- {
		ops := a.operands(slot)
		for j := range ops {
			if o := &ops[j]; o.write && o.reg.IsVirtual() {
				v := a.virtual(o.reg)
				gen[v>>6] &^= 1 << (v & 63)
				kill[v>>6] |= 1 << (v & 63)
			}
		}
		for j := range ops {
			if o := &ops[j]; o.read && o.reg.IsVirtual() {
				v := a.virtual(o.reg)
				gen[v>>6] |= 1 << (v & 63)
			}
		}
	}
	copy(a.set(a.liveIn, i), gen)
}

func (a *alloc) flow(i int) bool {
	b := &a.blocks[i]
	in, gen, kill := a.set(a.liveIn, i), a.set(a.gen, i), a.set(a.kill, i)
	changed := false
	a.liveOut(b, a.live)
	for w, out := range a.live {
		n := gen[w] | out&^kill[w]
		if n != in[w] {
			in[w], changed = n, true
		}
	}
	return changed
}

// liveOut puts what is live at the end of b into out.
func (a *alloc) liveOut(b *bblock, out []uint64) {
	clear(out)
	for _, s := range b.succ {
		if s < 0 {
			continue
		}
		for w, bits := range a.set(a.liveIn, int(s)) {
			out[w] |= bits
		}
	}
}

func (a *alloc) set(sets []uint64, i int) []uint64 {
	return sets[i*a.words : (i+1)*a.words]
}
