package compiler

import (
	"github.com/gokiln/kiln/compiler/code"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/pass"
	"github.com/gokiln/kiln/internal/devlog"
)

// layout gives each argument its offset in the argument block; see [ir.Layout].
func layout(args []ir.Arg) []Arg {
	offsets, _ := ir.Layout(args)
	out := make([]Arg, len(args))
	for i, a := range args {
		out[i] = Arg{Name: a.Name, Go: a.Go, Slice: a.Kind == ir.ArgSlice, Const: a.Kind == ir.ArgConst, Size: a.Elem.Size(), Offset: offsets[i]}
	}
	return out
}

// params lists where the parameters of a function in C lie in the argument block, see [code.Grid].
func params(args []ir.Arg) (list []int) {
	offsets, size := ir.Layout(args)
	for i, a := range args {
		switch {
		case a.Kind == ir.ArgSlice:
			list = append(list, offsets[i], offsets[i]+8)
		case a.Kind != ir.ArgConst && a.Elem.Size() > 0:
			list = append(list, offsets[i])
		}
	}
	if size%ir.BlockAlign != 0 {
		list = append(list, size)
	}
	return list
}

// describe fills the parts of the meta data that come from the final IR. sites are
// the writes to the device log.
func describe(m *ir.Module, meta *Meta, sites []devlog.Site, grid bool) {
	k := m.Kernel()
	meta.Entry, meta.Threads, meta.Row, meta.Cluster = k.Name, m.Launch.Threads, m.Launch.Row, m.Launch.Cluster
	meta.Args = layout(k.Args)
	written, at := ir.WrittenParams(k), 0
	for i, a := range k.Args {
		meta.Args[i].Written = a.Kind == ir.ArgSlice && written[at]
		at += a.NumParams()
	}
	if len(sites) > 0 {
		last := len(meta.Args) - pass.LogArgs
		meta.Log = &devlog.Log{Kernel: k.Name, Offset: meta.Args[last].Offset, Sites: sites}
		meta.Args = meta.Args[:last]
	}
	if last := len(meta.Args) - 1; grid {
		meta.Grid = &code.Grid{Offset: meta.Args[last].Offset, Params: params(k.Args)}
		meta.Args = meta.Args[:last]
	}
	meta.Length = m.DynamicLength()
	for _, o := range m.Shared {
		align := o.Type.Align()
		meta.Shared = (meta.Shared+align-1)/align*align + o.Type.Size()
	}
	for _, b := range k.Blocks {
		for _, v := range b.Instrs {
			if v.Op.Has(ir.Convergent) && v.Op != ir.OpBarrier && v.Op != ir.OpGridBarrier {
				meta.Warp = true
			}
		}
	}
}
