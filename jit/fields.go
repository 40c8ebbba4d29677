package jit

import (
	"reflect"
	"strings"

	"github.com/gokiln/kiln/runtime"
)

// A parameter of a kernel may be a struct with slices of the kernel's kind, []T. What a
// launch passes for it has a runtime.Slice[T] in their place, so it is of another type,
// and of another layout.

// holdsSlices reports whether a parameter of type t is a struct with slices in it.
func holdsSlices(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	for i := range t.NumField() {
		if f := t.Field(i).Type; f.Kind() == reflect.Slice || holdsSlices(f) {
			return true
		}
	}
	return false
}

// hostLayout returns a type whose fields lie as those of what a launch passes for t,
// a struct that holds slices.
func hostLayout(t reflect.Type) reflect.Type {
	fields := make([]reflect.StructField, t.NumField())
	for i := range fields {
		f := t.Field(i)
		fields[i] = reflect.StructField{Name: f.Name, PkgPath: f.PkgPath, Type: f.Type}
		switch {
		case f.Type.Kind() == reflect.Slice:
			fields[i].Type = reflect.TypeFor[runtime.SliceHeader]()
		case holdsSlices(f.Type):
			fields[i].Type = hostLayout(f.Type)
		}
	}
	return reflect.StructOf(fields)
}

// accepts reports whether a launch can pass an argument of type t for a parameter.
func accepts(param, t reflect.Type) bool {
	switch {
	case param.Kind() == reflect.Slice:
		elem, ok := runtime.SliceElem(t)
		return ok && elem == param.Elem()
	case !holdsSlices(param):
		return t == param
	case t == nil || t.Kind() != reflect.Struct || t.NumField() != param.NumField():
		return false
	}
	for i := range t.NumField() {
		if have, want := t.Field(i), param.Field(i); have.Name != want.Name || !accepts(want.Type, have.Type) {
			return false
		}
	}
	return true
}

// launchType spells the type of what a launch passes for a parameter.
func launchType(param reflect.Type) string {
	switch {
	case param.Kind() == reflect.Slice:
		return "runtime.Slice[" + param.Elem().String() + "]"
	case !holdsSlices(param):
		return param.String()
	}
	fields := make([]string, param.NumField())
	for i := range fields {
		fields[i] = param.Field(i).Name + " " + launchType(param.Field(i).Type)
	}
	return "struct { " + strings.Join(fields, "; ") + " }"
}
