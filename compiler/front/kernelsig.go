package front

import (
	"go/ast"
	"go/types"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/gotype"
	"github.com/gokiln/kiln/compiler/front/internal/source"
)

// kernel checks the declaration of a kernel.
func (c *subsetChecker) kernel(n *ast.FuncDecl) {
	switch {
	case n.Recv != nil:
		c.report(n.Name, diag.KernelForm, "kernel %s is a method", n.Name.Name)
		return
	case n.Body == nil:
		c.report(n.Name, diag.KernelForm, "kernel %s has no body", n.Name.Name)
	}
	if n.Type.Results != nil && len(n.Type.Results.List) > 0 {
		c.report(n.Type.Results, diag.HasResult, "kernel %s returns a value", n.Name.Name)
	}
	c.kernelParams(n)
	c.kernelTypeParams(n)
}

func (c *subsetChecker) kernelParams(n *ast.FuncDecl) {
	params := n.Type.Params.List
	if len(params) == 0 {
		c.report(n.Name, diag.FirstParam, "kernel %s has no dsl.Thread parameter", n.Name.Name)
		return
	}
	for i, f := range params {
		t := c.b.info.TypeOf(f.Type)
		if t == nil || t == types.Typ[types.Invalid] {
			continue // a type error, reported as such
		}
		if i == 0 && !gotype.IsThread(t) {
			c.report(f.Type, diag.FirstParam, "first parameter of kernel %s is %s, not dsl.Thread", n.Name.Name, gotype.Name(t))
			continue
		}
		if _, ok := f.Type.(*ast.Ellipsis); ok {
			c.report(f.Type, diag.KernelForm, "kernel %s is variadic", n.Name.Name)
			continue
		}
		if i == 0 && len(f.Names) <= 1 {
			continue
		}
		if why := gotype.BadParam(t); why != "" {
			c.b.ReportFix(f.Type.Pos(), diag.ParamType, gotype.ParamFix(why), "parameter of kernel %s is %s", n.Name.Name, why)
		}
	}
}

// kernelTypeParams reports type parameters that a launch could not infer.
func (c *subsetChecker) kernelTypeParams(n *ast.FuncDecl) {
	if n.Type.TypeParams == nil {
		return
	}
	used := map[types.Object]bool{}
	ast.Inspect(n.Type.Params, func(x ast.Node) bool {
		if id, ok := x.(*ast.Ident); ok {
			used[c.b.info.Uses[id]] = true
		}
		return true
	})
	for _, f := range n.Type.TypeParams.List {
		for _, id := range f.Names {
			if !used[c.b.info.Defs[id]] {
				c.report(id, diag.Uninferable, "type parameter %s of %s cannot be inferred", id.Name, n.Name.Name)
			}
		}
	}
}

// signature returns the type of a kernel after the check, nil if it has none.
func (b *build) signature(u *source.Unit, k *source.Decl) *types.Signature {
	p := b.parts[u]
	if p == nil || p.pkg == nil {
		return nil
	}
	obj := p.pkg.Scope().Lookup(k.Name)
	if obj == nil {
		return nil
	}
	sig, _ := obj.Type().(*types.Signature)
	return sig
}
