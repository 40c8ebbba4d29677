package lower

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/ir"
)

// table returns the address of a constant table.
func (f *funcLower) table(g *ssa.Global) val {
	v, _ := g.Object().(*types.Var)
	t := f.l.k.Tables[v]
	if t == nil {
		f.report(diag.Global, "package variable %s in a kernel", g.Name())
		return badVal
	}
	n, ok := f.l.tables[t]
	if !ok {
		n = len(f.l.m.Tables)
		f.l.tables[t] = n
		f.l.m.Tables = append(f.l.m.Tables, t)
		if _, size := f.l.m.TableLayout(); size > ir.MaxTables {
			f.l.k.ReportFix(f.at, diag.TooLarge, "pass some of them as slices", "with table %s, of %d bytes, the tables of the kernel have %d bytes, more than %d", t.Name, t.Type.Size(), size, ir.MaxTables)
			return badVal
		}
	}
	return val{v: f.emitImm(ir.OpTable, ir.PtrTo(ir.Constant, t.Type), uint64(n))}
}
