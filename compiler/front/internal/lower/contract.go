package lower

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/ir"
)

// contraction decides whether the function's arithmetic has the licence: the
// kernel is marked //kiln:fastmath, and the function is not ours, whose functions
// are written for the rounding they spell out.
func (f *funcLower) contraction() {
	if !f.l.k.FastMath {
		return
	}
	p := pkgOf(f.fn)
	if p == nil {
		return
	}
	if f.contract = f.l.k.OfUser(p.Path()); f.contract {
		r := rounding{info: f.l.k.Info, products: map[token.Pos]bool{}, vars: map[types.Object]bool{}}
		r.find(f.fn.Syntax())
		f.rounded = r.products
	}
}

// rounding finds the products of a function that a conversion rounds, as in
// float32(x*y), and those kept in a variable that one rounds: the Go language
// exempts them from contraction. go/ssa drops conversions to the same type, so
// that they are found in the text.
type rounding struct {
	info     *types.Info
	products map[token.Pos]bool // by the position of the operator
	vars     map[types.Object]bool
}

func (r *rounding) find(n ast.Node) {
	if n == nil {
		return
	}
	ast.Inspect(n, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && len(call.Args) == 1 && r.info.Types[call.Fun].IsType() {
			r.round(call.Args[0])
		}
		return true
	})
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, x := range n.Lhs {
				if id, ok := x.(*ast.Ident); ok && len(n.Rhs) == len(n.Lhs) && r.vars[r.info.ObjectOf(id)] {
					r.round(n.Rhs[i])
				}
				if id, ok := x.(*ast.Ident); ok && n.Tok == token.MUL_ASSIGN && r.vars[r.info.ObjectOf(id)] {
					r.products[n.TokPos] = true
				}
			}
		case *ast.ValueSpec:
			for i, id := range n.Names {
				if i < len(n.Values) && r.vars[r.info.ObjectOf(id)] {
					r.round(n.Values[i])
				}
			}
		}
		return true
	})
}

// round notes that the product x, or what is in variable x, is rounded.
func (r *rounding) round(x ast.Expr) {
	switch x := ast.Unparen(x).(type) {
	case *ast.Ident:
		r.vars[r.info.ObjectOf(x)] = true
	case *ast.BinaryExpr:
		if x.Op == token.MUL {
			r.products[x.OpPos] = true
		}
	case *ast.UnaryExpr:
		r.round(x.X)
	}
}

// arith emits an arithmetic operation of the kernel's text.
func (f *funcLower) arith(in *ssa.BinOp, op ir.Op, t *ir.Type, x, y *ir.Value) *ir.Value {
	v := f.emit(op, t, x, y)
	v.Contract = f.contract && v.MayContract() && !(op == ir.OpMul && f.rounded[in.Pos()])
	return v
}
