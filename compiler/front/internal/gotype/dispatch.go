package gotype

import (
	"go/types"
	"strings"
)

// DispatchName returns the function that Name stands for with a type argument:
// Exp with float32 is exp32, F32 with F8E4M3 is f32E4M3.
func DispatchName(name, suffix string) string {
	return strings.ToLower(name[:1]) + name[1:] + suffix
}

// DispatchSuffix returns what a type argument adds to the name of a dispatch
// function, "" for types that no such function exists for.
func DispatchSuffix(t types.Type) string {
	if s := Float8(t); s != "" {
		return s
	}
	if b, ok := t.Underlying().(*types.Basic); ok {
		switch b.Kind() {
		case types.Float32:
			return "32"
		case types.Float64:
			return "64"
		}
	}
	return ""
}
