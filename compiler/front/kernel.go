package front

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/front/internal/constval"
	"github.com/gokiln/kiln/compiler/front/internal/report"
	"github.com/gokiln/kiln/compiler/ir"
)

// kernel is a kernel in SSA form, or a function that is lowered by itself, with what its
// request and its marks say.
type kernel struct {
	*report.Sink
	program

	pkg       string // import path of its package
	name      string
	fn        *ssa.Function
	decl      *ast.FuncDecl // nil for a function by itself
	fastmath  bool          // products and sums may be contracted
	constMark string        // what its comments //kiln:const say
	consts    *constval.Values
	funcs     map[string]*bound // what its parameters stand for, by their names or numbers
}

// program is the code that a kernel reaches.
type program struct {
	info    *types.Info
	trees   []*ast.File
	tables  map[*types.Var]*ir.Table              // contents of the package variables
	dsl     *ssa.Package                          // package dsl, nil if nothing of it is reached
	library func(path, recv, name string) library // recv is the type of a method, "" for functions
	ofUser  func(path string) bool                // whether the code of a package is the user's
}

// library is what is known of a function of package dsl or another that the compiler provides; zero
// for other functions.
type library struct {
	key       string // package.Func or package.Type.Method, as in the table of intrinsics
	intrinsic bool   // it is an operation, for some types at least
	dispatch  bool   // it stands for others, by type
}

// bound is a function that a parameter of a kernel stands for.
type bound struct {
	fn   *ssa.Function // nil if a mistake was reported
	pos  token.Pos     // where to report what is wrong with it
	name string        // as in k.Square
	what string        // the same, as in function k.Square
}
