package ptx

import (
	"fmt"
	"strings"

	"github.com/gokiln/kiln/compiler/ir"
)

// print returns the module's text. Registers are numbered in order of
// appearance, so that the text does not depend on what was dropped.
func (e *emitter) print(o Options) string {
	var body strings.Builder
	names := make([]string, len(e.class))
	var counts [numClasses]int
	name := func(r reg) string {
		if names[r] == "" {
			c := e.class[r]
			names[r] = fmt.Sprintf("%s%d", classNames[c].prefix, counts[c])
			counts[c]++
		}
		return names[r]
	}
	jumped := map[string]bool{}
	for i := range e.insts {
		jumped[e.insts[i].target] = true
	}
	var last ir.Pos
	for i := range e.insts {
		in := &e.insts[i]
		if in.label != "" {
			if jumped[in.label] {
				body.WriteString(in.label + ":\n")
			}
			continue
		}
		if p := e.m.PosOf(in.pos); o.Lines && p.File != "" && (p.File != last.File || p.Line != last.Line) {
			fmt.Fprintf(&body, "\t// %s:%d\n", p.File, p.Line)
			last = p
		}
		body.WriteByte('\t')
		for _, f := range in.frags {
			if f.reg != 0 {
				body.WriteString(name(f.reg))
			} else {
				body.WriteString(f.text)
			}
		}
		body.WriteString(";\n")
	}

	var b strings.Builder
	fmt.Fprintf(&b, ".version %d.%d\n.target %s\n.address_size 64\n\n", e.t.Version/10, e.t.Version%10, e.t.Arch)
	fmt.Fprintf(&b, ".visible .entry %s(%s)\n{\n", EntryName(e.f.Name), e.paramList())
	for c := pred; c < numClasses; c++ {
		if counts[c] > 0 {
			fmt.Fprintf(&b, "\t.reg .%s %s<%d>;\n", classNames[c].bits, classNames[c].prefix, counts[c])
		}
	}
	for _, v := range e.objects() {
		fmt.Fprintf(&b, "\t.%s .align %d .b8 %s[%d];\n", v.space, v.align, v.name, max(v.size, 1))
	}
	b.WriteByte('\n')
	b.WriteString(body.String())
	b.WriteString("}\n")
	return b.String()
}

func (e *emitter) paramList() string {
	var list []string
	i := 0
	for _, a := range e.f.Args {
		if a.Kind == ir.ArgStruct && a.Elem.Size() > 0 {
			list = append(list, fmt.Sprintf("\n\t.param .align %d .b8 %s[%d]", a.Elem.Align(), paramName(e.f, i), a.Elem.Size()))
		}
		for range a.NumParams() {
			if a.Kind != ir.ArgStruct {
				list = append(list, fmt.Sprintf("\n\t.param .b%d %s", e.f.Params[i].Type.Size()*8, paramName(e.f, i)))
			}
			i++
		}
	}
	if len(list) == 0 {
		return ""
	}
	// The driver copies the argument block by words and would drop the last
	// bytes of an odd one.
	if _, size := ir.Layout(e.f.Args); size%ir.BlockAlign != 0 {
		list = append(list, fmt.Sprintf("\n\t.param .align 1 .b8 %s_padding[%d]", EntryName(e.f.Name), ir.BlockAlign-size%ir.BlockAlign))
	}
	return strings.Join(list, ",") + "\n"
}

// objects returns the shared objects that are used and all local ones.
func (e *emitter) objects() []object {
	var out []object
	for i, used := range e.shared {
		if used {
			out = append(out, object{"shared", sharedName(i), e.m.Shared[i].Type.Size(), objectAlign})
		}
	}
	return append(out, e.locals...)
}
