package pass

import (
	"slices"

	"github.com/gokiln/kiln/compiler/ir"
)

// copies makes loads and stores of the copies to shared memory that may go on
// beside their thread, and leaves out the waiting for them, unless the target has such
// copies. At once is soon enough: nobody may look before the wait. Where a checker finds
// out who does, copies and waits are reported to it.
func copies(m *ir.Module, opt *Options) error {
	if opt.Async {
		return nil
	}
	for _, f := range m.Funcs {
		for _, b := range slices.Clone(f.Blocks) {
			if slices.ContainsFunc(b.Instrs, isCopy) {
				copyAtOnce(f, b, opt.WatchCopies)
			}
		}
	}
	return nil
}

func isCopy(v *ir.Value) bool { return v.Op >= ir.OpCopyAsync && v.Op <= ir.OpCopyGroups }

// copyAtOnce takes the copies out of b, and splits it at those that depend on a condition.
func copyAtOnce(f *ir.Func, b *ir.Block, watch bool) {
	instrs, term := b.Instrs, b.Term
	b.Instrs = make([]*ir.Value, 0, 2*len(instrs))
	for _, v := range instrs {
		switch v.Op {
		case ir.OpCopyCommit, ir.OpCopyWait, ir.OpCopyGroups:
			if watch {
				b.Append(v)
			}
			continue
		case ir.OpCopyAsync:
			dst, src := v.Args[0], v.Args[1]
			x := b.Emit(f, ir.OpLoad, src.Type.Elem, src)
			x.Pos = v.Pos
			become(v, ir.OpStore, v.Type, dst, x)
			b.Append(v)
		case ir.OpCopyVec:
			b = copied{f, v, int(v.Imm)}.vector(b)
		default:
			b.Append(v)
			continue
		}
		if watch {
			begun := b.Emit(f, ir.OpCopyBegun, ir.Void, v.Args[0])
			begun.Imm, begun.Pos = max(v.Imm, 1), v.Pos
		}
	}
	b.Term = term
}

// copied is a copy v of n elements, of which loads and stores are made.
type copied struct {
	f *ir.Func
	v *ir.Value
	n int
}

// vector writes the copy at the end of b, and returns the block behind it.
func (c copied) vector(b *ir.Block) *ir.Block {
	ok := c.v.Args[2]
	if ok.IsConst() && ok.Imm == 1 {
		c.store(b, c.load(b))
		return b
	}
	read, next := c.f.NewBlock(), c.f.NewBlock()
	elem := c.v.Args[1].Type.Elem
	zeros, values := make([]*ir.Value, c.n), make([]*ir.Value, c.n)
	for i := range c.n {
		zeros[i] = c.emit(b, ir.OpConst, elem)
		values[i] = next.NewParam(c.f, elem)
		values[i].Pos = c.v.Pos
	}
	b.Branch(ok, read, next)
	b.Term.Succs[1].Args, b.Term.Pos = zeros, c.v.Pos
	read.Jump(next, c.load(read)...)
	read.Term.Pos = c.v.Pos
	c.store(next, values)
	return next
}

func (c copied) load(b *ir.Block) []*ir.Value {
	out := make([]*ir.Value, c.n)
	for i := range out {
		p := c.at(b, c.v.Args[1], i)
		out[i] = c.emit(b, ir.OpLoad, p.Type.Elem, p)
	}
	return out
}

func (c copied) store(b *ir.Block, values []*ir.Value) {
	for i, x := range values {
		c.emit(b, ir.OpStore, ir.Void, c.at(b, c.v.Args[0], i), x)
	}
}

// at returns p advanced by i elements, so that an element of a shared array is indexed from it
// as others are.
func (c copied) at(b *ir.Block, p *ir.Value, i int) *ir.Value {
	if i == 0 {
		return p
	}
	step := c.emit(b, ir.OpConst, ir.I64)
	step.Imm = uint64(i)
	if p.Op == ir.OpIndex || p.Op == ir.OpOffset {
		return c.emit(b, p.Op, p.Type, p.Args[0], c.emit(b, ir.OpAdd, ir.I64, p.Args[1], step))
	}
	return c.emit(b, ir.OpOffset, p.Type, p, step)
}

func (c copied) emit(b *ir.Block, op ir.Op, t *ir.Type, args ...*ir.Value) *ir.Value {
	w := b.Emit(c.f, op, t, args...)
	w.Pos = c.v.Pos
	return w
}
