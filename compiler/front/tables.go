package front

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/gotype"
	"github.com/gokiln/kiln/compiler/front/internal/source"
	"github.com/gokiln/kiln/compiler/ir"
)

// Constant tables: a package variable that is an array, initialised by constants and never
// assigned, is constant memory to kernels. All other package variables are host memory.

// usesTable follows name, a package variable declared by t, and reports why a kernel cannot use
// it, if so.
func (b *build) usesTable(pos token.Pos, name string, t *source.Decl) bool {
	init, why, fix := initialiser(t)
	switch {
	case why != "":
		b.ReportFix(pos, diag.Global, fix, "package variable %s %s", name, why)
		return false
	case init == nil && !declaresType(t):
		b.Report(pos, diag.Global, "", "package variable %s in a kernel", name)
		return false
	}
	b.tableUses = append(b.tableUses, tableUse{pos, name, t})
	if w, ok := t.Unit.Written().Own[t.Name]; ok {
		b.reportWrite(pos, name, w)
		return false
	}
	return true
}

// initialiser returns the composite literal that a package variable begins with, nil for none. If
// it is plain without types that the variable is no table, it says why, and what to do.
func initialiser(d *source.Decl) (init *ast.CompositeLit, why, fix string) {
	spec := varSpec(d)
	array := spec.Type
	var value ast.Expr
	if len(spec.Values) == 1 {
		value = ast.Unparen(spec.Values[0])
		if lit, ok := value.(*ast.CompositeLit); ok {
			init, array = lit, lit.Type
		}
	}
	const parameter = ", or pass it as a parameter"
	if t, ok := array.(*ast.ArrayType); ok && t.Len == nil {
		return nil, "is a slice: kernels can read package variables that are arrays", "make it an array, as in var " + d.Name + " = [...]T{…}" + parameter
	}
	if _, isArray := spec.Type.(*ast.ArrayType); init == nil && value != nil {
		if _, isCall := value.(*ast.CallExpr); isCall || isArray {
			return nil, "is not initialised by constants", "write its elements as constants, as in var " + d.Name + " = [...]T{…}" + parameter
		}
	}
	if len(spec.Names) > 1 && (init != nil || len(spec.Values) > 1) {
		return nil, "is declared with others", "declare it alone"
	}
	return init, "", ""
}

// declaresType reports whether a variable without a value has the type of an array, or one that
// may be.
func declaresType(d *source.Decl) bool {
	spec := varSpec(d)
	if len(spec.Values) > 0 || len(spec.Names) > 1 {
		return false
	}
	switch t := spec.Type.(type) {
	case *ast.ArrayType:
		return true
	case *ast.Ident: // of a named type of the package
		return d.Unit.Decls[t.Name] != nil
	}
	return false
}

func varSpec(d *source.Decl) *ast.ValueSpec {
	specs := d.Node.(*ast.GenDecl).Specs
	return specs[len(specs)-1].(*ast.ValueSpec)
}

func (b *build) reportWrite(pos token.Pos, name string, w source.Write) {
	b.AddFile(w.File.Tok)
	at := b.Position(w.Pos)
	b.ReportFix(pos, diag.Global, "leave it as it is initialised, or pass it as a parameter",
		"package variable %s %s at %s:%d:%d: kernels can read those that nobody writes", name, w.What, at.File, at.Line, at.Col)
}

// foreignWrites reports tables that a package other than their own writes, among those that the
// compilation has read.
func (b *build) foreignWrites() {
	for _, use := range b.tableUses {
		if !ast.IsExported(use.decl.Name) {
			continue
		}
		for _, u := range b.order {
			if w, ok := b.writtenBy(u, use.decl); ok {
				b.reportWrite(use.pos, use.name, w)
				break
			}
		}
	}
}

func (b *build) writtenBy(u *source.Unit, d *source.Decl) (source.Write, bool) {
	if u == d.Unit || u.Lib {
		return source.Write{}, false
	}
	for _, w := range u.Written().Others[d.Name] {
		if _, from, err := b.findImport(w.File, w.Package); err == nil && from == d.Unit {
			return w, true
		}
	}
	return source.Write{}, false
}

// table computes the contents of a reached package variable.
func (c *subsetChecker) table(d *source.Decl) {
	spec := varSpec(d)
	name := spec.Names[0]
	v, ok := c.b.info.Defs[name].(*types.Var)
	if !ok {
		return // a mistake that the type checker reported
	}
	if _, ok := v.Type().Underlying().(*types.Array); !ok {
		c.report(name, diag.Global, "package variable %s in a kernel", d.Name)
		return
	}
	m := gotype.Memory(v.Type())
	if m != nil && m.Size() > ir.MaxTables {
		c.b.ReportFix(name.Pos(), diag.TooLarge, "pass it as a slice", "table %s has %d bytes, the tables of a kernel have at most %d together", d.Name, m.Size(), ir.MaxTables)
		return
	}
	var err error
	t := &ir.Table{}
	if m != nil {
		t, err = ir.NewTable(d.Unit.Name+"."+d.Name, m)
	}
	if m == nil || err != nil {
		c.b.ReportFix(name.Pos(), diag.Global, "take arrays of numbers and bools, and structs of them", "package variable %s has type %s, which cannot be in constant memory", d.Name, gotype.Name(v.Type()))
		return
	}
	for _, x := range spec.Values {
		c.walk(x)
		c.fill(t, d.Name, x, m, 0)
	}
	if c.b.tables == nil {
		c.b.tables = map[*types.Var]*ir.Table{}
	}
	c.b.tables[v] = t
}

// fill writes the constant x to the part of type m at an offset of the table.
func (c *subsetChecker) fill(t *ir.Table, name string, x ast.Expr, m *ir.Type, at int) {
	x = ast.Unparen(x)
	tv := c.b.info.Types[x]
	lit, isLit := x.(*ast.CompositeLit)
	switch {
	case tv.Type == nil: // a mistake that the type checker reported
	case tv.Value != nil && m.IsValue():
		t.Set(at, m, ir.Normalize(m, gotype.Bits(tv.Value, m)))
	case isLit && m.Kind == ir.KArray:
		i := 0
		for _, e := range lit.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				key, ok := c.index(kv.Key)
				if !ok {
					return
				}
				i, e = key, kv.Value
			}
			if i < m.Len {
				c.fill(t, name, e, m.Elem, at+i*m.Elem.Size())
			}
			i++
		}
	case isLit && m.Kind == ir.KStruct:
		c.fillStruct(t, name, lit, m, at)
	default:
		c.b.ReportFix(x.Pos(), diag.Global, "write a constant", "%s is no constant, so that kernels cannot use package variable %s", types.ExprString(x), name)
	}
}

func (c *subsetChecker) fillStruct(t *ir.Table, name string, lit *ast.CompositeLit, m *ir.Type, at int) {
	s, ok := c.b.info.Types[lit].Type.Underlying().(*types.Struct)
	if !ok {
		return
	}
	for i, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			key, _ := kv.Key.(*ast.Ident)
			for n := range s.NumFields() {
				if key != nil && s.Field(n).Name() == key.Name {
					i = n
				}
			}
			e = kv.Value
		}
		if i < len(m.Elems) {
			c.fill(t, name, e, m.Elems[i], at+m.Offset(i))
		}
	}
}

// index returns the constant key of an element.
func (c *subsetChecker) index(key ast.Expr) (int, bool) {
	v := c.b.info.Types[key].Value
	if v == nil {
		return 0, false
	}
	i, exact := constant.Int64Val(constant.ToInt(v))
	return int(i), exact && i >= 0
}
