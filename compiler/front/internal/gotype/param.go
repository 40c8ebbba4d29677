package gotype

import (
	"fmt"
	"go/types"
	"strings"
)

// BadParam says what is wrong with the type of a kernel parameter, "" if
// nothing is. Type parameters pass: their instances are checked.
func BadParam(t types.Type) string {
	if s, ok := t.Underlying().(*types.Slice); ok && !IsParam(t) {
		return badSlice(t, s.Elem())
	}
	if s, ok := t.Underlying().(*types.Signature); ok && !s.Variadic() {
		return ""
	}
	if s, ok := t.Underlying().(*types.Struct); ok && !IsParam(t) && HoldsSlices(t) {
		return badField(t, "", s)
	}
	switch where, part, what := badPart(t); {
	case what != "" && where == "":
		return Name(t) + ", " + what
	case what != "":
		return fmt.Sprintf("%s, whose part %s is %s, %s", Name(t), where, Name(part), what)
	}
	if n := Leaves(t); n > MaxLeaves {
		return fmt.Sprintf("%s, which holds more than %d numbers", Name(t), MaxLeaves)
	}
	return ""
}

// paramFixes are fixes by what is wrong with a parameter; others have the general one.
var paramFixes = []struct{ what, fix string }{
	{"a pointer", "pass a slice of one element, runtime.Slice[T] in a launch, and use x[0]; a value that the kernel only reads can be passed by itself"},
	{"a map", "pass its keys and values as two slices, sorted by the keys for a binary search, or a hash table that lies in slices"},
	{"a channel", "pass a slice for the results; threads exchange values through shared memory and barriers, or atomics"},
	{"an interface", "make the type a type parameter: func K[T I](t dsl.Thread, x T) is compiled for each type"},
	{"a function", "pass the function as a parameter of its own"},
	{"a second thread", "take the thread from the first parameter"},
}

// ParamFix returns the fix for what [BadParam] says, "" for the general one.
func ParamFix(why string) string {
	for _, row := range paramFixes {
		if strings.HasSuffix(why, row.what) {
			return row.fix
		}
	}
	return ""
}

// badField is BadParam for a struct that holds slices: t, at the path where in it.
func badField(t types.Type, where string, s *types.Struct) string {
	for f := range s.Fields() {
		at, part := where+"."+f.Name(), f.Type()
		inner, isStruct := part.Underlying().(*types.Struct)
		_, isFunc := part.Underlying().(*types.Signature)
		why := ""
		switch {
		case isFunc:
			why = Name(part) + ", a function"
		case isStruct && HoldsSlices(part):
			if why := badField(t, at, inner); why != "" {
				return why
			}
		default:
			why = BadParam(part)
		}
		if why != "" {
			return fmt.Sprintf("%s, whose part %s is %s", Name(t), at, why)
		}
	}
	return ""
}

// HoldsSlices reports whether a parameter of type t is a struct with slices in it, not
// counting those behind the elements of arrays and slices.
func HoldsSlices(t types.Type) bool {
	s, ok := t.Underlying().(*types.Struct)
	if !ok || IsParam(t) {
		return false
	}
	for f := range s.Fields() {
		if _, slice := f.Type().Underlying().(*types.Slice); slice || HoldsSlices(f.Type()) {
			return true
		}
	}
	return false
}

// badSlice is BadParam for slices. Their elements are memory, which a struct may
// take more of than a value can.
func badSlice(t, elem types.Type) string {
	if IsParam(elem) {
		return ""
	}
	if _, slices := elem.Underlying().(*types.Slice); slices {
		return Name(t) + ", a slice of slices"
	}
	switch where, part, what := badPart(elem); {
	case what != "" && where == "":
		return Name(t) + ", a slice of what is not a number: " + what
	case what != "":
		return fmt.Sprintf("%s, a slice of elements whose part %s is %s, %s", Name(t), where, Name(part), what)
	case hasConst(elem):
		return Name(t) + ", a slice of compile-time values"
	}
	switch m := Memory(elem); {
	case HasParam(elem):
	case m == nil:
		return Name(t) + ", whose elements are too large"
	case m.Size() == 0:
		return Name(t) + ", whose elements hold nothing"
	}
	return ""
}

// hasConst reports whether a part of t is fixed when the kernel is compiled,
// which no element of a slice can be.
func hasConst(t types.Type) bool { return hasPart(t, IsConst) }

// HasParam reports whether a part of t is a type parameter.
func HasParam(t types.Type) bool { return hasPart(t, IsParam) }

// hasPart reports whether is holds for a part of t, a type without pointers.
func hasPart(t types.Type, is func(types.Type) bool) bool {
	if is(t) {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		return hasPart(u.Elem(), is)
	case *types.Struct:
		for f := range u.Fields() {
			if hasPart(f.Type(), is) {
				return true
			}
		}
	}
	return false
}

// badPart finds a part of a type that cannot be passed by value: its path, its
// type, and what it is.
func badPart(t types.Type) (where string, part types.Type, what string) {
	switch {
	case IsThread(t):
		return "", t, "a second thread"
	case IsParam(t) || Scalar(t) != nil:
		return "", nil, ""
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		where, part, what = badPart(u.Elem())
		return "[i]" + where, part, what
	case *types.Struct:
		for f := range u.Fields() {
			if where, part, what = badPart(f.Type()); what != "" {
				return "." + f.Name() + where, part, what
			}
		}
		return "", nil, ""
	}
	return "", t, map[string]string{
		"*types.Pointer": "a pointer", "*types.Signature": "a function", "*types.Slice": "a slice",
		"*types.Interface": "an interface", "*types.Map": "a map", "*types.Chan": "a channel", "*types.Basic": "not a number or bool",
	}[kindName(t.Underlying())]
}
