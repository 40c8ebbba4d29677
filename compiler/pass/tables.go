package pass

import "github.com/gokiln/kiln/compiler/ir"

// foldModule folds every function, and first what it reads of constant tables.
func foldModule(m *ir.Module, _ *Options) error {
	for _, f := range m.Funcs {
		if len(m.Tables) > 0 {
			foldTables(m, f)
		}
		fold(f)
	}
	return nil
}

// foldTables makes constants of loads at constant indices of tables.
func foldTables(m *ir.Module, f *ir.Func) {
	for _, b := range f.Blocks {
		for _, v := range b.Instrs {
			if v.Op != ir.OpLoad {
				continue
			}
			if table, at, ok := tableOffset(m, v.Args[0]); ok {
				become(v, ir.OpConst, v.Type)
				v.Imm = table.At(at, v.Type)
			}
		}
	}
}

// tableOffset returns the table that p points into and the offset there, if p is a constant path.
func tableOffset(m *ir.Module, p *ir.Value) (t *ir.Table, at int, ok bool) {
	for p.Type.Space == ir.Constant {
		switch p.Op {
		case ir.OpTable:
			return m.Tables[p.Imm], at, true
		case ir.OpField:
			at += p.Args[0].Type.Elem.Offset(int(p.Imm))
		case ir.OpIndex:
			i := p.Args[1]
			if !i.IsConst() || i.Imm >= uint64(p.Args[0].Type.Elem.Len) {
				return nil, 0, false // what is out of range fails in front of the load
			}
			at += int(i.Imm) * p.Type.Elem.Size()
		default:
			return nil, 0, false
		}
		p = p.Args[0]
	}
	return nil, 0, false
}
