package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gokiln/kiln/jit/record"
)

// family is the specialisations of one kernel function.
type family struct {
	name                string
	specs, types, funcs int
	fewer               map[string]int // by parameter: specialisations that would go with it
}

// familyOf returns the function's name of a kernel, without its package and what it is
// specialised for.
func familyOf(kernel string) string {
	if i := strings.IndexAny(kernel, "[{( "); i >= 0 {
		kernel = kernel[:i]
	}
	return kernel[strings.LastIndexByte(kernel, '.')+1:]
}

// families groups specialisations by kernel, those with the most first.
func families(specs []record.Spec) (list []family) {
	groups := map[string][]record.Spec{}
	for _, s := range specs {
		name := familyOf(s.Kernel)
		groups[name] = append(groups[name], s)
	}
	for name, of := range groups {
		list = append(list, newFamily(name, of))
	}
	slices.SortFunc(list, func(a, b family) int {
		return cmp.Or(cmp.Compare(b.specs, a.specs), cmp.Compare(a.name, b.name))
	})
	return list
}

func newFamily(name string, of []record.Spec) family {
	f := family{name: name, specs: len(of), fewer: map[string]int{}}
	f.types = distinct(of, func(s record.Spec) string { return s.Sig })
	f.funcs = distinct(of, func(s record.Spec) string { return fmt.Sprint(s.Funcs) })
	if f.funcs == 1 && len(of[0].Funcs) == 0 {
		f.funcs = 0
	}
	for _, p := range slices.Sorted(maps.Keys(of[0].Consts)) {
		left := distinct(of, func(s record.Spec) string {
			values := maps.Clone(s.Consts)
			delete(values, p)
			return fmt.Sprint(s.Sig, s.Funcs, values)
		})
		if left < len(of) {
			f.fewer[p] = len(of) - left
		}
	}
	return f
}

// distinct counts the values that a key has.
func distinct(of []record.Spec, key func(record.Spec) string) int {
	seen := map[string]bool{}
	for _, s := range of {
		seen[key(s)] = true
	}
	return len(seen)
}

// parameters lists the parameters that multiply specialisations, those that do most first.
func (f *family) parameters() string {
	names := slices.SortedFunc(maps.Keys(f.fewer), func(a, b string) int {
		return cmp.Or(cmp.Compare(f.fewer[b], f.fewer[a]), cmp.Compare(a, b))
	})
	for i, p := range names {
		_, field, found := strings.Cut(p, ".")
		if !found {
			field = p
		}
		names[i] = fmt.Sprintf("%s %d", field, f.fewer[p])
	}
	return strings.Join(names, ", ")
}
