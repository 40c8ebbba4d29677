package compiler

import (
	"github.com/gokiln/kiln/compiler/code"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/devlog"
)

// excess is a limit of a target that a kernel does not keep to.
type excess struct {
	err  error // a target.Excess
	at   int   // what takes most of it, an index into the module's positions
	uses []use // what it consists of
}

// use is a number of bytes that something in the source takes.
type use struct {
	bytes, pos int
}

// limits compares what a kernel declares with what the target has. Drivers refuse too much of it as
// well, but some with no more words than "invalid argument".
func limits(m *ir.Module, meta *Meta, t target.Target) (list []excess) {
	args := meta.ArgBytes()
	if meta.Grid != nil {
		args = meta.Grid.Offset + code.GridBytes
	}
	if meta.Log != nil {
		args = meta.Log.Offset + devlog.ArgBytes
	}
	_, shared := m.SharedLayout()
	inShared, inLocal := objects(m)
	local := 0
	for _, u := range inLocal {
		local += u.bytes
	}
	for _, l := range []excess{
		{err: t.CheckArgs(args)},
		{err: t.CheckThreads(m.Launch.Threads), at: m.Launch.Pos},
		{err: t.CheckCluster(m.Launch.Cluster), at: m.Launch.Pos},
		{err: t.CheckShared(shared), uses: inShared},
		{err: t.CheckLocal(local), uses: inLocal},
	} {
		if l.err == nil {
			continue
		}
		most := 0
		for _, u := range l.uses {
			if u.bytes > most {
				most, l.at = u.bytes, u.pos
			}
		}
		list = append(list, l)
	}
	return list
}

// objects returns the arrays and variables in memory, those of the block once each.
func objects(m *ir.Module) (shared, local []use) {
	seen := make([]bool, len(m.Shared))
	for _, b := range m.Kernel().Blocks {
		for _, v := range b.Instrs {
			switch {
			case v.Op == ir.OpLocal:
				local = append(local, use{v.Type.Elem.Size(), v.Pos})
			case v.Op == ir.OpShared && !seen[v.Imm]:
				seen[v.Imm] = true
				shared = append(shared, use{v.Type.Elem.Size(), v.Pos})
			}
		}
	}
	return shared, local
}
