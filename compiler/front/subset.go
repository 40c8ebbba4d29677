package front

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/gotype"
	"github.com/gokiln/kiln/compiler/front/internal/source"
)

// subset checks reached code of kernel packages for what Go has and kernels do
// not. It works on typed syntax, where every construct still has its name and
// position; what needs types of an instance is checked by the lowering.
func (b *build) subset() {
	for _, u := range b.order {
		if u.Lib {
			continue
		}
		for _, d := range b.part(u).decls {
			b.subsetDecl(d)
		}
	}
	b.foreignWrites()
}

func (b *build) subsetDecl(d *source.Decl) {
	c := &subsetChecker{b: b, called: map[ast.Expr]bool{}, operand: map[ast.Expr]bool{}}
	switch n := d.Node.(type) {
	case *ast.FuncDecl:
		if d.Marks.Kernel {
			c.kernel(n)
		} else {
			c.signature(n)
		}
		if n.Body != nil {
			c.walk(n.Body)
		}
		for _, m := range d.File.Misplaced {
			if n.Pos() <= m.Pos && m.Pos < n.End() {
				b.Report(m.Pos, diag.Unroll, "", "%s", m.Msg)
			}
		}
	case *ast.GenDecl:
		if d.IsVar {
			c.table(d)
		}
		for _, s := range n.Specs {
			if t, ok := s.(*ast.TypeSpec); ok {
				if _, constraint := t.Type.(*ast.InterfaceType); !constraint {
					c.walk(t.Type)
				}
			}
		}
	}
}

// signature checks a helper function; its type parameters are constraints,
// where interfaces are welcome.
func (c *subsetChecker) signature(n *ast.FuncDecl) {
	if n.Recv != nil {
		c.walk(n.Recv)
	}
	c.walk(n.Type.Params)
	if n.Type.Results != nil {
		c.walk(n.Type.Results)
	}
	if n.Body == nil {
		c.report(n.Name, diag.Import, "function %s has no Go body", n.Name.Name)
	}
}

func (c *subsetChecker) walk(n ast.Node) { ast.Inspect(n, c.visit) }

// visit reports n if kernels cannot have it, and says whether to look inside.
func (c *subsetChecker) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		c.report(n, diag.Goroutine, "go statement starts a goroutine in a kernel")
		return false
	case *ast.DeferStmt:
		c.report(n, diag.Defer, "defer in a kernel")
		return false
	case *ast.SelectStmt:
		c.report(n, diag.Select, "select in a kernel")
		return false
	case *ast.SendStmt:
		c.report(n, diag.Channel, "send on a channel in a kernel")
		return false
	case *ast.GenDecl:
		return n.Tok != token.CONST // checked where they are used
	case *ast.AssignStmt:
		if n.Tok != token.ASSIGN && n.Tok != token.DEFINE {
			c.operand[n.Rhs[0]] = true
		}
	case *ast.BranchStmt:
		if n.Tok == token.GOTO {
			c.report(n, diag.Goto, "goto in a kernel")
		}
		return false
	case *ast.LabeledStmt:
		c.walk(n.Stmt)
		return false
	case *ast.TypeSwitchStmt:
		c.report(n, diag.TypeSwitch, "type switch in a kernel")
		return false
	case *ast.RangeStmt:
		return c.rangeStmt(n)
	case *ast.Field:
		c.walk(n.Type)
		return false
	case *ast.KeyValueExpr:
		c.keyValue(n)
		return false
	case ast.Expr:
		return c.expr(n)
	}
	return true
}

func (c *subsetChecker) keyValue(n *ast.KeyValueExpr) {
	if id, ok := n.Key.(*ast.Ident); !ok || c.b.info.Types[id].Type != nil {
		c.walk(n.Key)
	}
	c.walk(n.Value)
}

func (c *subsetChecker) rangeStmt(n *ast.RangeStmt) bool {
	t := c.b.info.TypeOf(n.X)
	if t == nil {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Signature:
		c.report(n, diag.RangeFunc, "range over a function in a kernel")
	case *types.Chan:
		c.report(n, diag.Channel, "range over a channel in a kernel")
	case *types.Map:
		c.report(n, diag.Map, "range over a map in a kernel")
	case *types.Basic:
		if u.Info()&types.IsString == 0 {
			return true
		}
		c.report(n, diag.String, "range over a string in a kernel")
	default:
		return true
	}
	c.walk(n.Body)
	return false
}

func (c *subsetChecker) expr(n ast.Expr) bool {
	if c.halfConstant(n) {
		return false
	}
	tv := c.b.info.Types[n]
	if tv.Value != nil {
		c.constant(n, tv.Type)
		return false
	}
	if tv.IsNil() {
		c.report(n, diag.NilPointer, "nil in a kernel")
		return false
	}
	switch n := n.(type) {
	case *ast.MapType:
		c.report(n, diag.Map, "map type in a kernel")
		return false
	case *ast.ChanType:
		c.report(n, diag.Channel, "channel type in a kernel")
		return false
	case *ast.InterfaceType:
		c.report(n, diag.Interface, "interface type in a kernel")
		return false
	case *ast.Ident:
		c.typeName(n, n)
	case *ast.SelectorExpr:
		return c.selector(n)
	case *ast.CallExpr:
		return c.call(n)
	case *ast.TypeAssertExpr:
		c.report(n, diag.TypeSwitch, "type assertion in a kernel")
		return false
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			c.report(n, diag.Channel, "receive from a channel in a kernel")
			return false
		}
	}
	return true
}

// constant checks the type of a constant that is used as a value; what the
// constant is made of does not matter.
func (c *subsetChecker) constant(n ast.Expr, t types.Type) {
	basic, ok := t.Underlying().(*types.Basic)
	if !ok {
		return
	}
	line := c.b.Position(n.Pos())
	line.Col = 0
	switch {
	case c.b.mistyped[line]: // the constant may have the wrong type only there
	case basic.Info()&types.IsString != 0:
		c.report(n, diag.String, "string in a kernel")
	case basic.Info()&types.IsComplex != 0:
		c.report(n, diag.Complex, "complex number in a kernel")
	}
}

// gotype.Name checks a name that stands for a type.
func (c *subsetChecker) typeName(id *ast.Ident, at ast.Node) {
	tn, ok := c.b.info.Uses[id].(*types.TypeName)
	if !ok {
		return
	}
	t := tn.Type()
	if _, ok := t.(*types.TypeParam); ok {
		return
	}
	switch u := t.Underlying().(type) {
	case *types.Interface:
		c.report(at, diag.Interface, "%s is an interface: it cannot be the type of a value in a kernel", tn.Name())
	case *types.Basic:
		switch {
		case tn.Pkg() != nil && !tn.IsAlias(): // reported where the type is declared
		case u.Info()&types.IsString != 0:
			c.report(at, diag.String, "string in a kernel")
		case u.Info()&types.IsComplex != 0:
			c.report(at, diag.Complex, "complex number in a kernel")
		}
	}
}

func (c *subsetChecker) selector(n *ast.SelectorExpr) bool {
	if sel := c.b.info.Selections[n]; sel != nil {
		if (sel.Kind() == types.MethodExpr || sel.Kind() == types.MethodVal && !c.called[n]) && ofTypeParam(sel) {
			c.report(n, diag.MethodValue, "method value %s, of a type parameter", types.ExprString(n))
			return false
		}
		c.walk(n.X)
		return false
	}
	c.typeName(n.Sel, n)
	return false
}

// ofTypeParam reports whether a method is that of a constraint.
func ofTypeParam(sel *types.Selection) bool {
	_, ok := types.Unalias(gotype.Deref(sel.Recv())).(*types.TypeParam)
	return ok
}

func (c *subsetChecker) call(n *ast.CallExpr) bool {
	fun := ast.Unparen(n.Fun)
	switch x := fun.(type) {
	case *ast.IndexExpr:
		c.called[ast.Unparen(x.X)] = true
	case *ast.IndexListExpr:
		c.called[ast.Unparen(x.X)] = true
	}
	c.called[fun] = true
	if c.b.quiet[fun.Pos()] {
		return false // the function itself was reported
	}
	if key := c.logFunc(fun); key != "" {
		c.logCall(n, key)
		return false
	}
	id, ok := fun.(*ast.Ident)
	if !ok {
		return true
	}
	builtin, ok := c.b.info.Uses[id].(*types.Builtin)
	if !ok {
		return true
	}
	switch name := builtin.Name(); name {
	case "len", "min", "max":
		return true
	case "make":
		c.makeCall(n)
	case "cap", "clear", "copy":
		c.b.ReportFix(n.Pos(), diag.Builtin, builtinFixes[name], "%s in a kernel", name)
	default:
		c.report(n, builtinCodes[name], "%s in a kernel", name)
	}
	return false
}

// builtinFixes has the fixes for functions that loops replace.
var builtinFixes = map[string]string{
	"cap":   "use len: a slice of a kernel has no room behind its end",
	"clear": "write a loop: for i := range s { s[i] = 0 }",
	"copy":  "write a loop: for i := range min(len(dst), len(src)) { dst[i] = src[i] }",
}

func (c *subsetChecker) makeCall(n *ast.CallExpr) {
	if len(n.Args) > 0 {
		if t := c.b.info.TypeOf(n.Args[0]); t != nil {
			switch t.Underlying().(type) {
			case *types.Chan:
				c.report(n, diag.Channel, "make of a channel in a kernel")
				return
			case *types.Map:
				c.report(n, diag.Map, "make of a map in a kernel")
				return
			}
		}
	}
	c.report(n, diag.Heap, "make allocates in a kernel")
}

var builtinCodes = map[string]diag.Code{
	"append": diag.Append, "close": diag.Channel,
	"complex": diag.Complex, "delete": diag.Map, "imag": diag.Complex,
	"new": diag.Heap, "panic": diag.Panic, "print": diag.Print, "println": diag.Print,
	"real": diag.Complex, "recover": diag.Recover,
}
