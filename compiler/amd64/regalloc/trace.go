package regalloc

import "github.com/gokiln/kiln/compiler/amd64/asm"

// Trace says for each block of the code after allocation where its instructions
// come from.
type Trace struct {
	blocks [][]step
	remats []asm.Reg // registers whose values can be made again
	twists []twisted
}

// twisted is an instruction that was changed before the allocation.
type twisted struct {
	block, inst int32
	to          asm.Inst
}

// step is an instruction that was kept, dropped or put in.
type step struct {
	orig  int32 // index into the block before, or -1
	out   int32 // index into the block after, or -1
	remat int32 // of one put in: which of the values that can be made again, or -1
}

func (t *Trace) block() {
	if t != nil {
		t.blocks = append(t.blocks, nil)
	}
}

func (t *Trace) add(orig int32, out int, remat int32) {
	if t != nil {
		b := &t.blocks[len(t.blocks)-1]
		*b = append(*b, step{orig: orig, out: int32(out), remat: remat})
	}
}

func (t *Trace) twist(block, inst int32, to *asm.Inst) {
	if t != nil {
		t.twists = append(t.twists, twisted{block, inst, *to})
	}
}

func (t *Trace) addRemat(r asm.Reg) {
	if t != nil {
		t.remats = append(t.remats, r)
	}
}
