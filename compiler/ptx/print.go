package ptx

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
)

// print returns the module's text. Registers are numbered in order of
// appearance, so that the text does not depend on what was dropped.
func (e *emitter) print(o Options) string {
	body := make([]byte, 0, 32*len(e.insts)) // an instruction is about that long
	numbers := make([]int32, len(e.class))   // from 1
	var counts [numClasses]int
	jumped := map[string]bool{}
	for i := range e.insts {
		if to := e.insts[i].target; to != "" {
			jumped[to] = true
		}
	}
	var last ir.Pos
	for i := range e.insts {
		in := &e.insts[i]
		if in.label != "" {
			if jumped[in.label] {
				body = append(append(body, in.label...), ":\n"...)
			}
			continue
		}
		if p := e.m.PosOf(in.pos); o.Lines && p.File != "" && (p.File != last.File || p.Line != last.Line) {
			body = fmt.Appendf(body, "\t// %s:%d\n", p.File, p.Line)
			last = p
		}
		body = append(body, '\t')
		for _, f := range in.frags {
			if f.reg == 0 {
				body = append(body, f.text...)
				continue
			}
			c := e.class[f.reg]
			if numbers[f.reg] == 0 {
				counts[c]++
				numbers[f.reg] = int32(counts[c])
			}
			body = append(body, classNames[c].prefix...)
			body = strconv.AppendInt(body, int64(numbers[f.reg]-1), 10)
		}
		body = append(body, ";\n"...)
	}

	var b strings.Builder
	b.Grow(len(body) + 512)
	version := max(e.t.Version, e.version)
	fmt.Fprintf(&b, ".version %d.%d\n.target %s\n.address_size 64\n\n", version/10, version%10, e.t.Arch)
	if e.parts != nil {
		fmt.Fprintf(&b, ".extern .shared .align %d .b8 %s[];\n\n", max(e.sharedAlign, objectAlign), sharedAll)
	}
	for i, t := range e.m.Tables {
		printTable(&b, e.tableName(i), t)
	}
	fmt.Fprintf(&b, ".visible .entry %s(%s)\n%s{\n", ir.Symbol(e.f.Name), e.paramList(), bounds(e.m.Launch, e.t))
	for c := pred; c < numClasses; c++ {
		if counts[c] > 0 {
			fmt.Fprintf(&b, "\t.reg .%s %s<%d>;\n", classNames[c].bits, classNames[c].prefix, counts[c])
		}
	}
	for _, v := range e.objects() {
		fmt.Fprintf(&b, "\t.%s .align %d .b8 %s[%d];\n", v.space, v.align, v.name, max(v.size, 1))
	}
	b.WriteByte('\n')
	if e.t.Overlaps() {
		// Who comes next may start as soon as all blocks of this kernel have: it waits, too.
		b.WriteString("\tgriddepcontrol.wait;\n\tgriddepcontrol.launch_dependents;\n")
	}
	b.Write(body)
	b.WriteString("}\n")
	return b.String()
}

// printTable declares a constant table. It is in global memory and read through the cache of what
// does not change: the constant cache would serve the lanes of a warp one after the other where
// they read different elements.
func printTable(b *strings.Builder, name string, t *ir.Table) {
	words, width := t.Words()
	fmt.Fprintf(b, ".global .align %d .b%d %s[%d] = {", objectAlign, 8*width, name, len(words))
	for i, w := range words {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatUint(w, 10))
	}
	b.WriteString("};\n\n")
}

// residency is how many blocks and threads a multiprocessor has resident at most (CUDA C++
// programming guide, technical specifications by compute capability); where there are less of later
// ones, the least.
func residency(t target.Target) (blocks, threads int) {
	switch t.CC {
	case 70, 72, 80, 90, 100, 103:
		return 32, 2048
	case 75:
		return 16, 1024
	}
	return 16, 1536
}

// bounds are the directives for launch bounds. ptxas leaves out with a warning what asks for
// more resident blocks than a multiprocessor has: they are not asked for then.
func bounds(l ir.Bounds, t target.Target) (s string) {
	if l.Threads > 0 {
		s = fmt.Sprintf(".maxntid %d\n", l.Threads)
	}
	if blocks, threads := residency(t); l.Blocks > 0 && l.Blocks <= blocks && l.Blocks*l.Threads <= threads {
		s += fmt.Sprintf(".minnctapersm %d\n", l.Blocks)
	}
	if l.Cluster > 1 {
		s += fmt.Sprintf(".reqnctapercluster %d\n", l.Cluster)
	}
	return s
}

func (e *emitter) paramList() string {
	var list []string
	i := 0
	for _, a := range e.f.Args {
		if a.Kind == ir.ArgStruct && a.Elem.Size() > 0 {
			align := a.Elem.Align()
			if e.maps[i] {
				align = mapAlign
			}
			list = append(list, fmt.Sprintf("\n\t.param .align %d .b8 %s[%d]", align, paramName(e.f, i), a.Elem.Size()))
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
		list = append(list, fmt.Sprintf("\n\t.param .align 1 .b8 %s_padding[%d]", ir.Symbol(e.f.Name), ir.BlockAlign-size%ir.BlockAlign))
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
