package lower

import (
	"go/token"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/unroll"
	"github.com/gokiln/kiln/compiler/ir"
)

// unrolls reports whether in is a comment //kiln:unroll, and notes the factor at the header of
// the loop.
func (f *funcLower) unrolls(in ssa.Instruction) bool {
	call, ok := in.(*ssa.Call)
	if !ok {
		return false
	}
	m, ok := unroll.Of(call)
	if !ok {
		return false
	}
	header, blocks := loopAround(call.Block())
	if header == nil || !textWithin(blocks, m.Pos, m.End) {
		f.l.k.Report(m.Pos, diag.Unroll, "", unroll.OnlyOnce)
		return true
	}
	if m.Bodies == 0 {
		m.Bodies = ir.UnrollFully
	}
	f.blocks[header.Index].Unroll = ir.Unroll{Times: m.Bodies, Pos: f.l.position(m.Pos)}
	return true
}

// loopAround returns the header and the blocks of the innermost loop around b.
func loopAround(b *ssa.BasicBlock) (*ssa.BasicBlock, map[*ssa.BasicBlock]bool) {
	for h := b; h != nil; h = h.Idom() {
		blocks := map[*ssa.BasicBlock]bool{h: true}
		var work []*ssa.BasicBlock
		for _, p := range h.Preds {
			if h.Dominates(p) {
				work = append(work, p)
			}
		}
		found := len(work) > 0 && b == h
		for len(work) > 0 {
			x := work[len(work)-1]
			work = work[:len(work)-1]
			if blocks[x] {
				continue
			}
			blocks[x] = true
			found = found || x == b
			work = append(work, x.Preds...)
		}
		if found {
			return h, blocks
		}
	}
	return nil, nil
}

// textWithin reports whether all of blocks is text between two positions, so that the loop
// which they are is not one around that.
func textWithin(blocks map[*ssa.BasicBlock]bool, from, to token.Pos) bool {
	for b := range blocks {
		for _, in := range b.Instrs {
			switch in.(type) {
			case *ssa.Phi, *ssa.Alloc: // these are where a variable is declared
				continue
			}
			if p := in.Pos(); p.IsValid() && (p < from || p > to) {
				return false
			}
		}
	}
	return true
}
