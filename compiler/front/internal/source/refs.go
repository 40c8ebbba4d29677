package source

import "go/ast"

// Refs is what a declaration refers to, found from syntax alone: an
// over-approximation that shadowing cannot confuse, because the parser resolves
// local names.
type Refs struct {
	Names  []*ast.Ident // package-level names of the same package, or universe, or imports by dot
	Sels   []SelRef     // pkg.Name
	Fields []string     // selectors of values: fields or methods
	Weak   []*ast.Ident // keys of composite literals: field names, or constants
}

// SelRef is a name of another package.
type SelRef struct {
	Package *ast.Ident
	Sel     *ast.SelectorExpr
}

// Collect finds what n, a part of tree, refers to.
func Collect(n ast.Node, tree *ast.File) *Refs {
	c := &collector{r: &Refs{}, tree: tree}
	c.walk(n)
	return c.r
}

// collector fills refs.
type collector struct {
	r    *Refs
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
				c.r.Weak = append(c.r.Weak, id)
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
			c.r.Fields = append(c.r.Fields, id.Name)
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
		c.r.Names = append(c.r.Names, id)
	}
}

func (c *collector) selector(n *ast.SelectorExpr) bool {
	if id, ok := n.X.(*ast.Ident); ok && id.Obj == nil {
		c.r.Sels = append(c.r.Sels, SelRef{id, n})
		// A variable declared in another file looks the same; then Sel is a field.
		c.r.Fields = append(c.r.Fields, n.Sel.Name)
		return false
	}
	c.r.Fields = append(c.r.Fields, n.Sel.Name)
	c.walk(n.X)
	return false
}
