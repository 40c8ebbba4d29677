package lower

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/front/internal/constval"
	"github.com/gokiln/kiln/compiler/front/internal/report"
	"github.com/gokiln/kiln/compiler/ir"
)

// Kernel is a kernel in SSA form, or a function that is lowered by itself, with what its
// request and its marks say.
type Kernel struct {
	*report.Sink
	Program

	Package   string // import path of its package
	Name      string
	Func      *ssa.Function
	Decl      *ast.FuncDecl // nil for a function by itself
	FastMath  bool          // products and sums may be contracted
	ConstMark string        // what its comments //kiln:const say
	Consts    *constval.Values
	Funcs     map[string]*Bound // what its parameters stand for, by their names or numbers
}

// Program is the code that a kernel reaches.
type Program struct {
	Info    *types.Info
	Trees   []*ast.File
	Tables  map[*types.Var]*ir.Table              // contents of the package variables
	DSL     *ssa.Package                          // package dsl, nil if nothing of it is reached
	Library func(path, recv, name string) Library // recv is the type of a method, "" for functions
	OfUser  func(path string) bool                // whether the code of a package is the user's
}

// Library is what is known of a function of package dsl or another that the compiler provides; zero
// for other functions.
type Library struct {
	Key       string // package.Func or package.Type.Method, as in the table of intrinsics
	Intrinsic bool   // it is an operation, for some types at least
	Dispatch  bool   // it stands for others, by type
}

// Bound is a function that a parameter of a kernel stands for.
type Bound struct {
	Func *ssa.Function // nil if a mistake was reported
	Pos  token.Pos     // where to report what is wrong with it
	Name string        // as in k.Square
	What string        // the same, as in function k.Square
}
