package gen

import (
	"fmt"
	"go/token"
	"go/types"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front"
)

// launcher is what is written for one kernel.
type launcher struct {
	front.Signature
	launch, prepare, handle, entry string // names
	params                         []param
}

// param is a parameter of a kernel after the Thread.
type param struct {
	name  string
	typ   types.Type
	elem  types.Type // of a slice
	fixed bool       // when the kernel is compiled
}

// newLauncher names the functions for a kernel, and takes the names.
func newLauncher(s front.Signature, taken map[string]bool) (*launcher, *diag.Diagnostic) {
	l := &launcher{Signature: s}
	own := map[string]bool{} // type parameters hide what has their names
	for tp := range s.Type.TypeParams().TypeParams() {
		own[tp.Obj().Name()] = true
	}
	for _, suffix := range []string{"", "Kernel"} {
		l.launch, l.prepare, l.handle = join("launch", s.Kernel)+suffix, join("prepare", s.Kernel)+suffix, join("kernel", s.Kernel)+suffix
		l.entry = "entry" + s.Kernel + suffix
		if !token.IsExported(s.Kernel) {
			l.entry = s.Kernel + "Entry" + suffix
		}
		free := true
		for _, name := range []string{l.launch, l.prepare, l.handle, l.entry} {
			free = free && !taken[name] && !own[name]
		}
		if !free {
			continue
		}
		for _, name := range []string{l.launch, l.prepare, l.handle, l.entry} {
			taken[name] = true
		}
		l.addParams(own)
		return l, nil
	}
	msg := fmt.Sprintf("no names for the launchers of kernel %s: one of %s, %s, %s and %s is declared in the package", s.Kernel, l.launch, l.prepare, l.handle, l.entry)
	d := diag.New(s.Pos, diag.LauncherName, msg, "")
	return nil, &d
}

// join is LaunchAxpy for launch and Axpy, launchAxpy for launch and axpy.
func join(verb, kernel string) string {
	if token.IsExported(kernel) {
		return upper(verb) + kernel
	}
	return verb + upper(kernel)
}

func upper(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// addParams names the parameters: as the kernel does where a body that calls the handle
// can.
func (l *launcher) addParams(typeParams map[string]bool) {
	seen := map[string]bool{l.handle: true, "nil": true}
	for i := 1; i < l.Type.Params().Len(); i++ {
		v := l.Type.Params().At(i)
		name := v.Name()
		if name == "" || name == "_" {
			name = fmt.Sprintf("arg%d", i)
		}
		for seen[name] || typeParams[name] {
			name += "_"
		}
		seen[name] = true
		l.params = append(l.params, param{name: name, typ: v.Type(), elem: front.Elem(v.Type()), fixed: front.Fixed(v.Type())})
	}
}

// free returns a name that no parameter has.
func (l *launcher) free(names ...string) string {
	for {
		for _, name := range names {
			used := name == l.handle
			for _, p := range l.params {
				used = used || p.name == name
			}
			for tp := range l.Type.TypeParams().TypeParams() {
				used = used || tp.Obj().Name() == name
			}
			if !used {
				return name
			}
		}
		names = []string{names[len(names)-1] + "_"}
	}
}

// doc is the documentation of the launcher: what the kernel's says.
func (l *launcher) doc() string {
	name := l.Kernel
	if token.IsExported(name) {
		name = "[" + name + "]"
	}
	head := l.launch + " launches " + name
	text := strings.TrimSpace(l.Doc)
	rest, own := strings.CutPrefix(text, l.Kernel+" ")
	verb, _, _ := strings.Cut(rest, " ")
	switch {
	case text == "":
		return head + "."
	case own && strings.HasSuffix(strings.TrimRight(verb, ".,:;"), "s"): // adds, is
		return head + ": it " + rest
	}
	return head + ".\n\n" + text
}
