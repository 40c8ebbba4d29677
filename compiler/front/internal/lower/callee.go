package lower

import (
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/front/internal/gotype"
)

// callee returns what is known of a function, which it asks for once.
func (l *lowerer) callee(fn *ssa.Function) *Library {
	if fn == nil {
		return nil
	}
	if c := l.callees[fn]; c != nil {
		return c
	}
	c := &Library{}
	l.callees[fn] = c
	if isWrapper(fn) {
		return c // it calls the method
	}
	origin := fn
	if o := fn.Origin(); o != nil {
		origin = o
	}
	obj, ok := origin.Object().(*types.Func)
	if !ok || obj.Pkg() == nil {
		return c
	}
	typ := ""
	if recv := obj.Signature().Recv(); recv != nil {
		if n, ok := types.Unalias(gotype.Deref(recv.Type())).(*types.Named); ok {
			typ = n.Obj().Name()
		}
	}
	*c = l.k.Library(obj.Pkg().Path(), typ, obj.Name())
	return c
}

// isWrapper reports whether fn was made for a method value or a method expression.
func isWrapper(fn *ssa.Function) bool {
	return strings.HasSuffix(fn.Name(), "$bound") || strings.HasSuffix(fn.Name(), "$thunk")
}
