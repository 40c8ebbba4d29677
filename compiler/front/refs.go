package front

import "go/ast"

// refs is what a declaration refers to, found from syntax alone: an
// over-approximation that shadowing cannot confuse, because the parser resolves
// local names.
type refs struct {
	names  []*ast.Ident // package-level names of the same package, or universe, or imports by dot
	sels   []selRef     // pkg.Name
	fields []string     // selectors of values: fields or methods
	weak   []*ast.Ident // keys of composite literals: field names, or constants
}

type selRef struct {
	pkg *ast.Ident
	sel *ast.SelectorExpr
}

func collect(n ast.Node, tree *ast.File) *refs {
	c := &collector{r: &refs{}, tree: tree}
	c.walk(n)
	return c.r
}

type collector struct {
	r    *refs
	tree *ast.File
}

// local reports whether id names something declared inside the declaration.
func (c *collector) local(id *ast.Ident) bool {
	return id.Obj != nil && c.tree.Scope.Objects[id.Name] != id.Obj
}

func (c *collector) walk(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			c.ident(n)
		case *ast.SelectorExpr:
			return c.selector(n)
		case *ast.FuncDecl:
			c.funcDecl(n)
			return false
		case *ast.KeyValueExpr:
			if id, ok := n.Key.(*ast.Ident); ok {
				c.r.weak = append(c.r.weak, id)
				c.walk(n.Value)
				return false
			}
		case *ast.Field: // names of fields and parameters are definitions
			if n.Type != nil {
				c.walk(n.Type)
				c.methodNames(n)
			}
			return false
		case *ast.ValueSpec:
			if n.Type != nil {
				c.walk(n.Type)
			}
			for _, v := range n.Values {
				c.walk(v)
			}
			return false
		case *ast.TypeSpec:
			if n.TypeParams != nil {
				c.walk(n.TypeParams)
			}
			c.walk(n.Type)
			return false
		case *ast.BranchStmt:
			return false
		case *ast.LabeledStmt:
			c.walk(n.Stmt)
			return false
		}
		return true
	})
}

// methodNames keeps the methods that an interface asks for, which types must
// have to satisfy it.
func (c *collector) methodNames(f *ast.Field) {
	if _, ok := f.Type.(*ast.FuncType); ok {
		for _, id := range f.Names {
			c.r.fields = append(c.r.fields, id.Name)
		}
	}
}

func (c *collector) funcDecl(n *ast.FuncDecl) {
	if n.Recv != nil {
		c.walk(n.Recv)
	}
	c.walk(n.Type)
	if n.Body != nil {
		c.walk(n.Body)
	}
}

func (c *collector) ident(id *ast.Ident) {
	if id.Name != "_" && !c.local(id) {
		c.r.names = append(c.r.names, id)
	}
}

func (c *collector) selector(n *ast.SelectorExpr) bool {
	if id, ok := n.X.(*ast.Ident); ok && id.Obj == nil {
		c.r.sels = append(c.r.sels, selRef{id, n})
		// A variable declared in another file looks the same; then Sel is a field.
		c.r.fields = append(c.r.fields, n.Sel.Name)
		return false
	}
	c.r.fields = append(c.r.fields, n.Sel.Name)
	c.walk(n.X)
	return false
}
