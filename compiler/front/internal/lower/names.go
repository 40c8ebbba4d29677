package lower

import (
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/front/internal/gotype"
)

// typeArgs writes the type arguments of an instance as Go does.
func typeArgs(fn *ssa.Function) string {
	if len(fn.TypeArgs()) == 0 {
		return ""
	}
	names := make([]string, len(fn.TypeArgs()))
	for i, t := range fn.TypeArgs() {
		names[i] = gotype.Name(t)
	}
	return "[" + strings.Join(names, ",") + "]"
}

// funcName is the name of a helper function in IR: package, receiver, name.
func funcName(fn *ssa.Function) string {
	name := fn.Name()
	if o := fn.Origin(); o != nil {
		name = o.Name()
	}
	if recv := fn.Signature.Recv(); recv != nil {
		if n, ok := types.Unalias(gotype.Deref(recv.Type())).(*types.Named); ok {
			name = n.Obj().Name() + "." + name
		}
	}
	if p := pkgOf(fn); p != nil {
		name = p.Name() + "." + name
	}
	return irNames.Replace(name)
}

// irNames makes names that the text form of the IR can hold.
var irNames = strings.NewReplacer(" ", "", "(", "", ")", "", ",", ".", ":", ".", "!", ".", "*", "")

func pkgOf(fn *ssa.Function) *types.Package {
	if o := fn.Origin(); o != nil {
		fn = o
	}
	if fn.Pkg != nil {
		return fn.Pkg.Pkg
	}
	if fn.Object() != nil {
		return fn.Object().Pkg()
	}
	if fn.Parent() != nil {
		return pkgOf(fn.Parent())
	}
	return nil
}
