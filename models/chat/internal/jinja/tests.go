package jinja

import (
	"fmt"
	"strings"
)

// tests by name, as in "x is defined".
var tests map[string]function

func init() {
	tests = map[string]function{
		"defined": kinds("!undefined"), "undefined": kinds("undefined"), "none": kinds("none"),
		"string": kinds("string"), "mapping": kinds("dict"), "boolean": kinds("bool"),
		"integer": kinds("int"), "float": kinds("float"), "number": kinds("bool", "int", "float"),
		"sequence": kinds("string", "list", "dict", "undefined"),
		"iterable": kinds("string", "list", "dict", "undefined"), "callable": kinds("func"),
		"true": is(true), "false": is(false),
		"eq": compared("=="), "equalto": compared("=="), "==": compared("=="), "ne": compared("!="),
		"lt": compared("<"), "lessthan": compared("<"), "le": compared("<="), "gt": compared(">"),
		"greaterthan": compared(">"), "ge": compared(">="), "in": compared("in"),
		"sameas": sameAs, "odd": remainder(1), "even": remainder(0), "divisibleby": divisible,
		"lower": cased(strings.ToLower), "upper": cased(strings.ToUpper),
		"filter": named(func(s string) bool { return filters[s] != nil }),
		"test":   named(func(s string) bool { return tests[s] != nil }),
	}
}

// test applies a test by name.
func (r *run) test(name string, a *args) (Value, error) {
	f := tests[name]
	if f == nil {
		return nil, fmt.Errorf("there is no test %q", name)
	}
	return f(r, a)
}

// kindOf is the name of a kind of values in this file.
func kindOf(v Value) string {
	switch v.(type) {
	case nil:
		return "none"
	case *undefined:
		return "undefined"
	case string:
		return "string"
	case bool:
		return "bool"
	case int64:
		return "int"
	case float64:
		return "float"
	case *List:
		return "list"
	case *Dict:
		return "dict"
	}
	return "func"
}

func kinds(names ...string) function {
	return func(r *run, a *args) (Value, error) {
		k := kindOf(a.next())
		for _, s := range names {
			if not, ok := strings.CutPrefix(s, "!"); ok && not != k || s == k {
				return true, nil
			}
		}
		return false, nil
	}
}

func is(want bool) function {
	return func(r *run, a *args) (Value, error) { return a.next() == want, nil }
}

func compared(op string) function {
	return func(r *run, a *args) (Value, error) {
		return r.operator(&expr{op: op}, [4]Value{a.next(), a.next()})
	}
}

func sameAs(r *run, a *args) (Value, error) {
	x, y := a.next(), a.next()
	return kindOf(x) == kindOf(y) && x == y, nil
}

func remainder(want int64) function {
	return func(r *run, a *args) (Value, error) {
		v := a.next()
		i, ok := whole(v)
		if !ok {
			return nil, fmt.Errorf("a %s is neither odd nor even", typeName(v))
		}
		return i&1 == want, nil
	}
}

func divisible(r *run, a *args) (Value, error) {
	m, err := r.arithmetic("%", a.next(), a.next())
	return err == nil && !truth(m), err
}

func cased(change func(string) string) function {
	return func(r *run, a *args) (Value, error) {
		s, err := r.text(a.next())
		return change(s) == s && strings.ToLower(s) != strings.ToUpper(s), err
	}
}

func named(has func(string) bool) function {
	return func(r *run, a *args) (Value, error) {
		s, ok := a.next().(string)
		return ok && has(s), nil
	}
}
