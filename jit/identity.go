package jit

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strconv"
	"strings"

	"github.com/gokiln/kiln/compiler/input"
	"github.com/gokiln/kiln/dsl"
)

const dslPath = "github.com/gokiln/kiln/dsl"

// identify finds the package, name and instance of a kernel from its function
// value. What runtime.FuncForPC returns is not a contract, so anything but the
// two plain forms, path.Name and path.Name[...], is refused.
func identify(fn any) (input.Request, error) {
	v := reflect.ValueOf(fn)
	if v.Kind() != reflect.Func || v.IsNil() {
		return input.Request{}, fmt.Errorf("jit.Of: %T is not a kernel function", fn)
	}
	full := runtime.FuncForPC(v.Pointer()).Name()
	pkg, name := splitName(full)
	name, generic := strings.CutSuffix(name, "[...]")
	if !isIdent(name) {
		return input.Request{}, fmt.Errorf("jit.Of: %s is not a package-level function: pass kernels.Name or kernels.Name[T] itself, not a function literal, a method value, or an instance made inside a generic function", full)
	}
	req := input.Request{Pkg: pkg, Func: name}
	if generic {
		sig, err := signature(v.Type(), pkg)
		if err != nil {
			return req, fmt.Errorf("jit.Of: %s: %w", full, err)
		}
		req.Sig = sig
	}
	return req, nil
}

func isIdent(s string) bool {
	for i, r := range s {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') && r < 0x80 {
			return false
		}
	}
	return s != ""
}

// signature writes a function type as a Go expression that means the same inside
// package pkg.
func signature(t reflect.Type, pkg string) (string, error) {
	in, err1 := typeList(t.NumIn(), t.In, pkg)
	out, err2 := typeList(t.NumOut(), t.Out, pkg)
	if out != "" {
		out = " (" + out + ")"
	}
	return "func(" + in + ")" + out, errors.Join(err1, err2)
}

func typeList(n int, at func(int) reflect.Type, pkg string) (string, error) {
	names := make([]string, n)
	for i := range names {
		name, err := typeExpr(at(i), pkg)
		if err != nil {
			return "", err
		}
		names[i] = name
	}
	return strings.Join(names, ", "), nil
}

// instanceExpr writes the name of a type of package pkg. The name of a generic
// type has its type arguments in brackets, qualified by whole import paths.
func instanceExpr(name, pkg string) (string, error) {
	var b strings.Builder
	for name != "" {
		n := strings.IndexAny(name, "[],")
		if n == 0 {
			n = 1
		} else if n < 0 {
			n = len(name)
		}
		word := name[:n]
		name = name[n:]
		dot := strings.LastIndexByte(word, '.')
		path := word[:max(dot, 0)]
		switch typ := word[dot+1:]; {
		case strings.ContainsAny(word, " {*"):
			return "", fmt.Errorf("type argument %s in the signature of a generic kernel", word)
		case path == "", path == pkg:
			b.WriteString(typ)
		case path == dslPath:
			b.WriteString("dsl." + typ)
		case typ == "Float16" && strings.HasSuffix(path, "x448/float16"):
			b.WriteString("dsl.F16")
		default:
			if err := registered(path, typ); err != nil {
				return "", err
			}
			b.WriteString(strconv.Quote(path) + "." + typ)
		}
	}
	return b.String(), nil
}

// registered reports an error for a type of a package that is no kernel package.
func registered(path, name string) error {
	if _, ok := dsl.SourceOf(path); ok {
		return nil
	}
	return fmt.Errorf("type %s of package %s in the signature of a generic kernel: use a basic type, or declare the type in a kernel package, one with dsl.Source", name, path)
}

func typeExpr(t reflect.Type, pkg string) (string, error) {
	switch {
	case t.Name() == "Float16" && strings.HasSuffix(t.PkgPath(), "x448/float16"):
		return "dsl.F16", nil
	case t.PkgPath() == dslPath:
		return "dsl." + t.Name(), nil
	case t.PkgPath() == "" && t.Name() != "":
		return t.Name(), nil
	case t.PkgPath() == pkg:
		return instanceExpr(t.Name(), pkg)
	case t.Name() != "":
		if err := registered(t.PkgPath(), t.Name()); err != nil {
			return "", err
		}
		name, err := instanceExpr(t.Name(), pkg)
		return strconv.Quote(t.PkgPath()) + "." + name, err
	case t.Kind() == reflect.Slice:
		elem, err := typeExpr(t.Elem(), pkg)
		return "[]" + elem, err
	case t.Kind() == reflect.Pointer:
		elem, err := typeExpr(t.Elem(), pkg)
		return "*" + elem, err
	case t.Kind() == reflect.Func && !t.IsVariadic():
		return signature(t, pkg)
	case t.Kind() == reflect.Struct:
		return structExpr(t, pkg)
	case t.Kind() == reflect.Array:
		elem, err := typeExpr(t.Elem(), pkg)
		return fmt.Sprintf("[%d]%s", t.Len(), elem), err
	}
	return "", fmt.Errorf("parameter type %s is not one a kernel can have", t)
}

// structExpr writes a struct type without a name.
func structExpr(t reflect.Type, pkg string) (string, error) {
	fields := make([]string, t.NumField())
	for i := range fields {
		f := t.Field(i)
		typ, err := typeExpr(f.Type, pkg)
		if err != nil {
			return "", err
		}
		if f.Anonymous || f.Tag != "" {
			return "", fmt.Errorf("parameter type %s: declare a type for a struct with embedded fields or tags", t)
		}
		fields[i] = f.Name + " " + typ
	}
	return "struct{" + strings.Join(fields, "; ") + "}", nil
}
