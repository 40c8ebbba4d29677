package ir

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// String returns the text form of m with the used part of its position table.
func (m *Module) String() string {
	p := newPrinter(m)
	p.module()
	for i, q := range m.Pos {
		if p.used[i+1] {
			fmt.Fprintf(&p.b, "pos !%d %q %d %d\n", i+1, q.File, q.Line, q.Col)
		}
	}
	return p.b.String()
}

// Text returns the text form of m without the position table. Positions appear
// as indices into the table only, so the text does not change when lines move.
func (m *Module) Text() string {
	p := newPrinter(m)
	p.module()
	return p.b.String()
}

// String returns the text form of f alone.
func (f *Func) String() string {
	p := newPrinter(&Module{})
	p.noPos = true
	p.fn(f)
	return p.b.String()
}

type printer struct {
	m      *Module
	b      strings.Builder
	used   map[int]bool // positions printed
	noPos  bool
	ids    map[*Value]int
	blocks map[*Block]int
}

func newPrinter(m *Module) *printer {
	return &printer{m: m, used: map[int]bool{}}
}

func (p *printer) module() {
	fmt.Fprintf(&p.b, "module %q\n", p.m.Name)
	if p.m.Checked {
		p.b.WriteString("checked\n")
	}
	for i, o := range p.m.Shared {
		fmt.Fprintf(&p.b, "shared %d %q %s\n", i, o.Name, o.Type)
	}
	for i, t := range p.m.Texts {
		fmt.Fprintf(&p.b, "text %d %q\n", i, t)
	}
	for _, f := range p.m.Funcs {
		p.b.WriteByte('\n')
		p.fn(f)
	}
}

// number gives values and blocks consecutive numbers in order of appearance, so
// that equal programs print equal text whatever passes did to their IDs.
func (p *printer) number(f *Func) {
	p.ids = make(map[*Value]int, f.NumValues())
	p.blocks = make(map[*Block]int, len(f.Blocks))
	for _, v := range f.Params {
		p.ids[v] = len(p.ids)
	}
	for i, b := range f.Blocks {
		p.blocks[b] = i
		for _, v := range b.Params {
			p.ids[v] = len(p.ids)
		}
		for _, v := range b.Instrs {
			if !v.Op.Info().NoValue && v.Type != Void {
				p.ids[v] = len(p.ids)
			}
		}
	}
}

func (p *printer) fn(f *Func) {
	p.number(f)
	if f.Kernel {
		p.b.WriteString("kernel ")
	} else {
		p.b.WriteString("func ")
	}
	fmt.Fprintf(&p.b, "@%s(", f.Name)
	p.params(f.Params)
	p.b.WriteByte(')')
	if f.Kernel {
		p.args(f.Args)
	}
	if len(f.Results) > 0 {
		p.b.WriteByte(' ')
		p.b.WriteString(TupleOf(f.Results...).String())
	}
	p.b.WriteString(" {\n")
	for _, b := range f.Blocks {
		p.block(b)
	}
	p.b.WriteString("}\n")
}

func (p *printer) args(args []Arg) {
	p.b.WriteString(" args(")
	for i, a := range args {
		if i > 0 {
			p.b.WriteString(", ")
		}
		fmt.Fprintf(&p.b, "%s %s %s %q", a.Name, a.Kind, a.Elem, a.Go)
	}
	p.b.WriteByte(')')
}

func (p *printer) params(ps []*Value) {
	for i, v := range ps {
		if i > 0 {
			p.b.WriteString(", ")
		}
		fmt.Fprintf(&p.b, "%s: %s", p.ref(v), v.Type)
	}
}

func (p *printer) ref(v *Value) string {
	if id, ok := p.ids[v]; ok {
		return "%" + strconv.Itoa(id)
	}
	if v == nil {
		return "%nil"
	}
	return "%undefined" + strconv.Itoa(v.ID) // the verifier will say so
}

func (p *printer) label(b *Block) string {
	if i, ok := p.blocks[b]; ok {
		return "b" + strconv.Itoa(i)
	}
	return "bundefined"
}

func (p *printer) block(b *Block) {
	p.b.WriteString(p.label(b))
	if len(b.Params) > 0 {
		p.b.WriteByte('(')
		p.params(b.Params)
		p.b.WriteByte(')')
	}
	p.b.WriteString(":\n")
	for _, v := range b.Instrs {
		p.b.WriteString("  ")
		p.instr(v)
		p.b.WriteByte('\n')
	}
	p.b.WriteString("  ")
	p.term(&b.Term)
	p.b.WriteByte('\n')
}

func (p *printer) instr(v *Value) {
	info := v.Op.Info()
	hasValue := !info.NoValue && v.Type != Void
	if hasValue {
		p.b.WriteString(p.ref(v) + " = ")
	}
	p.b.WriteString(v.Op.String())
	sep := " "
	switch {
	case v.Op == OpConst:
		p.b.WriteString(" " + ConstText(v.Type, v.Imm))
	case v.Op == OpCall:
		name := "undefined"
		if v.Callee != nil {
			name = v.Callee.Name
		}
		p.b.WriteString(" @" + name)
		sep = ", "
	case info.HasImm && len(v.Args) == 0:
		p.b.WriteString(" " + strconv.FormatUint(v.Imm, 10))
	}
	for _, a := range v.Args {
		p.b.WriteString(sep + p.ref(a))
		sep = ", "
	}
	if info.HasImm && len(v.Args) > 0 || info.MayImm && v.Imm != 0 {
		p.b.WriteString(", " + strconv.FormatUint(v.Imm, 10))
	}
	if hasValue {
		p.b.WriteString(" : " + v.Type.String())
	}
	p.pos(v.Pos)
}

func (p *printer) pos(pos int) {
	if pos == 0 || p.noPos {
		return
	}
	p.used[pos] = true
	fmt.Fprintf(&p.b, " !%d", pos)
}

func (p *printer) term(t *Term) {
	switch t.Kind {
	case TermJump:
		p.b.WriteString("jump " + p.edge(t.Succs[0]))
	case TermBranch:
		p.b.WriteString("br " + p.ref(t.Args[0]) + ", " + p.edge(t.Succs[0]) + ", " + p.edge(t.Succs[1]))
	case TermReturn:
		p.b.WriteString("ret")
		sep := " "
		for _, v := range t.Args {
			p.b.WriteString(sep + p.ref(v))
			sep = ", "
		}
	default:
		p.b.WriteString("missing")
	}
	p.pos(t.Pos)
}

func (p *printer) edge(e Edge) string {
	s := p.label(e.To)
	if len(e.Args) == 0 {
		return s
	}
	refs := make([]string, len(e.Args))
	for i, v := range e.Args {
		refs[i] = p.ref(v)
	}
	return s + "(" + strings.Join(refs, ", ") + ")"
}

// ConstText returns the text of a constant: decimal for integers, shortest
// round-trip decimal for finite floats, 0x bits for the rest.
func ConstText(t *Type, bits uint64) string {
	switch {
	case t.Kind == KBool:
		return strconv.FormatBool(bits != 0)
	case t.IsSigned():
		return strconv.FormatInt(int64(bits), 10)
	case t.Kind == KF32:
		return floatText(float64(math.Float32frombits(uint32(bits))), bits, 32)
	case t.Kind == KF64:
		return floatText(math.Float64frombits(bits), bits, 64)
	case t.IsHalf():
		return "0x" + strconv.FormatUint(bits, 16)
	}
	return strconv.FormatUint(bits, 10)
}

func floatText(x float64, bits uint64, width int) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "0x" + strconv.FormatUint(bits, 16)
	}
	s := strconv.FormatFloat(x, 'g', -1, width)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}
