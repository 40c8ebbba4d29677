package llvm

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"github.com/gokiln/kiln/compiler/ir"
)

// parameters declares the parameters of the function.
func (e *emitter) parameters() {
	if e.d.triple == "" {
		e.blockParameters()
		return
	}
	offsets, size := e.f.ParamOffsets()
	names := e.paramNames()
	written := ir.WrittenParams(e.f)
	at := 0
	for i, p := range e.f.Params {
		n := p.Type.Size()
		if (at+n-1)/n*n != offsets[i] {
			e.pad(offsets[i] - at)
		}
		at = offsets[i] + n
		switch {
		case p.Type.Kind == ir.KBool:
			e.params = append(e.params, "i8 noundef "+names[i])
			e.boolParameter(p, names[i])
		default:
			e.names[p.ID] = names[i]
			e.params = append(e.params, e.d.typeOf(p.Type)+" "+e.paramAttributes(p, written[i])+names[i])
		}
	}
	// The block is padded as a whole, too: see ir.BlockAlign.
	e.pad((size+ir.BlockAlign-1)/ir.BlockAlign*ir.BlockAlign - at)
}

func (e *emitter) pad(n int) {
	if n > 0 {
		e.params = append(e.params, fmt.Sprintf("[%d x i8] %s", n, e.fresh(countPads)))
	}
}

func (e *emitter) paramAttributes(p *ir.Value, written bool) string {
	out := "noundef "
	if !p.Type.IsPtr() {
		return out
	}
	if e.opt.Disjoint {
		out += "noalias "
	}
	if e.opt.Disjoint && !written {
		out += "readonly "
	}
	if e.opt.Aligned {
		out += fmt.Sprintf("align %d ", objectAlign)
	}
	return out
}

// blockParameters loads the parameters from the argument block, whose address is
// the only parameter of the function.
func (e *emitter) blockParameters() {
	e.params = []string{"ptr %.args"}
	offsets, _ := e.f.ParamOffsets()
	for i, p := range e.f.Params {
		at, name := e.fresh(countValues), e.fresh(countValues)
		t := e.d.typeOf(p.Type)
		if p.Type.Kind == ir.KBool {
			t = "i8"
		}
		e.enter("%s = getelementptr i8, ptr %%.args, i64 %d", at, offsets[i])
		e.enter("%s = load %s, ptr %s, align %d", name, t, at, p.Type.Align())
		e.names[p.ID] = name
		if p.Type.Kind == ir.KBool {
			e.boolParameter(p, name)
		}
	}
}

// boolParameter makes a bool of a byte.
func (e *emitter) boolParameter(p *ir.Value, byte string) {
	e.names[p.ID] = e.fresh(countValues)
	e.enter("%s = icmp ne i8 %s, 0", e.names[p.ID], byte)
}

// enter appends an instruction to what precedes the first block.
func (e *emitter) enter(format string, args ...any) {
	e.entry = append(e.entry, "  "+fmt.Sprintf(format, args...))
}

// paramNames names the parameters after those of the Go function.
func (e *emitter) paramNames() []string {
	var out []string
	seen := map[string]bool{}
	for _, a := range e.f.Args {
		base := EntryName(a.Name)
		if base == "" {
			base = "$"
		}
		if n := a.NumParams(); n > 0 && seen[base] {
			base = fmt.Sprintf("%s.%d", base, len(out))
		}
		seen[base] = true
		for i := range a.NumParams() {
			name := "%" + base
			switch {
			case a.Kind == ir.ArgSlice && i == 1:
				name += ".len"
			case a.Kind == ir.ArgStruct:
				name += fmt.Sprintf(".%d", i)
			}
			out = append(out, name)
		}
	}
	return out
}

// print returns the module's text.
func (e *emitter) print() string {
	var b strings.Builder
	fmt.Fprintf(&b, "; kernel %s for %s\n", e.f.Name, e.t)
	if e.d.triple != "" {
		fmt.Fprintf(&b, "target triple = %q\n\n", e.d.triple)
	}
	if e.parts != nil {
		fmt.Fprintf(&b, "@%s = external addrspace(%d) global [0 x i8], align %d\n", e.sharedAll(), e.d.spaces[ir.Shared], objectAlign)
	}
	for i, used := range e.shared {
		if used {
			fmt.Fprintf(&b, "@%s = internal addrspace(%d) global %s undef, align %d\n",
				e.sharedName(i), e.d.spaces[ir.Shared], objectType(e.m.Shared[i].Type), objectAlign)
		}
	}
	for i, t := range e.m.Tables {
		e.printTable(&b, i, t)
	}
	fmt.Fprintf(&b, "define %svoid @%s(%s) #0 {\n", e.d.convention, EntryName(e.f.Name), strings.Join(e.params, ", "))
	e.printBody(&b)
	b.WriteString("}\n\n")
	for _, decl := range slices.Sorted(maps.Keys(e.declared)) {
		b.WriteString(decl + "\n")
	}
	fmt.Fprintf(&b, "attributes #0 = { %s }\n", e.d.attributes(e.t, e.m.Launch))
	if e.d.isa&nvptx != 0 && e.d.triple != "" {
		b.WriteString(annotations(EntryName(e.f.Name), e.m.Launch))
	}
	if e.inexact {
		b.WriteString("!1 = !{float 2.5}\n!2 = !{float 1.0}\n") // units in the last place
	}
	if e.d.isa&amdgcn != 0 && e.d.triple != "" {
		// Code object version 5 is the first with sizes of blocks in the implicit arguments.
		b.WriteString("!llvm.module.flags = !{!0}\n!0 = !{i32 1, !\"amdhsa_code_object_version\", i32 500}\n")
	}
	return b.String()
}

func (e *emitter) printTable(b *strings.Builder, i int, t *ir.Table) {
	words, width := t.Words()
	fmt.Fprintf(b, "@%s = internal addrspace(%d) constant [%d x i%d] [", e.tableName(i), e.d.spaces[ir.Constant], len(words), 8*width)
	for n, w := range words {
		if n > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(b, "i%d %d", 8*width, w)
	}
	fmt.Fprintf(b, "], align %d\n", objectAlign)
}

func (e *emitter) printBody(b *strings.Builder) {
	var last ir.Pos
	for i, s := range e.sections {
		b.WriteString(e.label[s.block.ID] + ":\n")
		if i == 0 {
			for _, text := range e.entry {
				b.WriteString(text + "\n")
			}
		}
		e.printPhis(b, s.block)
		for _, l := range s.lines {
			if p := e.m.PosOf(l.pos); e.opt.Lines && p.File != "" && (p.File != last.File || p.Line != last.Line) {
				fmt.Fprintf(b, "  ; %s:%d\n", p.File, p.Line)
				last = p
			}
			b.WriteString(l.text + "\n")
		}
	}
}

func (e *emitter) printPhis(b *strings.Builder, block *ir.Block) {
	for i, p := range block.Params {
		var from []string
		for _, in := range e.into[block.ID] {
			from = append(from, fmt.Sprintf("[ %s, %%%s ]", e.operand(in.args[i]), in.from))
		}
		fmt.Fprintf(b, "  %s = phi %s %s\n", e.operand(p), e.d.typeOf(p.Type), strings.Join(from, ", "))
	}
}

// annotations are launch bounds for nvptx64. Nodes have numbers made of the kernel's name, so
// that [Join] can put texts together; named metadata may stand several times.
func annotations(kernel string, l ir.Bounds) string {
	h := fnv.New32a()
	h.Write([]byte(kernel))
	first := h.Sum32()>>2 + 1
	var nodes, refs []string
	add := func(what string, n int) {
		if n > 0 {
			ref := fmt.Sprintf("!%d", first+uint32(len(refs)))
			refs = append(refs, ref)
			nodes = append(nodes, fmt.Sprintf("%s = !{ptr @%s, !%q, i32 %d}\n", ref, kernel, what, n))
		}
	}
	add("maxntidx", l.Threads)
	add("minctasm", l.Blocks)
	if len(refs) == 0 {
		return ""
	}
	return "!nvvm.annotations = !{" + strings.Join(refs, ", ") + "}\n" + strings.Join(nodes, "")
}
