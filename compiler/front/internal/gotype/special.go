package gotype

import (
	"go/types"

	"github.com/gokiln/kiln/compiler/input"
)

// IsThread reports whether t is dsl.Thread.
func IsThread(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Name() == "Thread" && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == input.DSL
}

// IsParam reports whether t is a type parameter.
func IsParam(t types.Type) bool {
	_, ok := types.Unalias(t).(*types.TypeParam)
	return ok
}

// IsConst reports whether values of type t are fixed when the kernel is
// compiled if they are parameters.
func IsConst(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil || n.Obj().Pkg().Path() != input.DSL {
		return false
	}
	return n.Obj().Name() == "ConstInt" || n.Obj().Name() == "ConstBool"
}
