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
	return string(p.b)
}

// Text returns the text form of m without the position table. Positions appear
// as indices into the table only, so the text does not change when lines move.
func (m *Module) Text() string {
	p := newPrinter(m)
	p.module()
	return string(p.b)
}

// String returns the text form of f alone.
func (f *Func) String() string {
	p := newPrinter(&Module{})
	p.noPos = true
	p.fn(f)
	return string(p.b)
}

// Line returns the line of v, an instruction of f, in the text form, for messages.
func (f *Func) Line(v *Value) string {
	p := newPrinter(&Module{})
	p.noPos = true
	p.number(f)
	p.instr(v)
	return string(p.b)
}

type printer struct {
	m     *Module
	b     textBuffer
	used  []bool // positions printed
	noPos bool

	// The numbers of the values and blocks of the function being printed, by ID.
	// What has another's ID is not part of the function.
	ids    []int32
	vals   []*Value
	labels []int32
	blocks []*Block
	n      int32 // values numbered
}

func newPrinter(m *Module) *printer {
	p := &printer{m: m, used: make([]bool, len(m.Pos)+1)}
	size := 0
	for _, f := range m.Funcs {
		size += f.NumValues()
	}
	p.b = make(textBuffer, 0, 256+32*size) // an instruction is about that long
	return p
}

// textBuffer collects text.
type textBuffer []byte

func (b *textBuffer) WriteString(s string) { *b = append(*b, s...) }

func (b *textBuffer) WriteByte(c byte) error {
	*b = append(*b, c)
	return nil
}

func (b *textBuffer) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}

func (b *textBuffer) Reset() { *b = (*b)[:0] }

func (b textBuffer) String() string { return string(b) }

func (b *textBuffer) int(n int) { *b = strconv.AppendInt(*b, int64(n), 10) }

func (p *printer) module() {
	fmt.Fprintf(&p.b, "module %q\n", p.m.Name)
	if p.m.Checked {
		p.b.WriteString("checked\n")
	}
	if l := p.m.Launch; l != (Bounds{}) {
		fmt.Fprintf(&p.b, "launch %d %d", l.Threads, l.Blocks)
		if l.Row > 0 || l.Cluster > 0 {
			fmt.Fprintf(&p.b, " %d", l.Row)
		}
		if l.Cluster > 0 {
			fmt.Fprintf(&p.b, " %d", l.Cluster)
		}
		p.b.WriteByte('\n')
	}
	for i, o := range p.m.Shared {
		fmt.Fprintf(&p.b, "shared %d %q %s", i, o.Name, o.Type)
		if o.Dynamic {
			fmt.Fprintf(&p.b, " dynamic %d", o.Param)
		}
		p.b.WriteByte('\n')
	}
	for i, t := range p.m.Tables {
		fmt.Fprintf(&p.b, "table %d %q %s", i, t.Name, t.Type)
		t.EachLeaf(func(_ int, leaf *Type, bits uint64) {
			p.b.WriteByte(' ')
			p.b.WriteString(ConstText(leaf, bits))
		})
		p.b.WriteByte('\n')
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
	p.ids, p.vals = make([]int32, f.NumValues()), make([]*Value, f.NumValues())
	p.labels, p.blocks = make([]int32, f.NumBlocks()), make([]*Block, f.NumBlocks())
	p.n = 0
	for _, v := range f.Params {
		p.name(v)
	}
	for i, b := range f.Blocks {
		p.labels[b.ID], p.blocks[b.ID] = int32(i), b
		for _, v := range b.Params {
			p.name(v)
		}
		for _, v := range b.Instrs {
			if !v.Op.Info().NoValue && v.Type != Void {
				p.name(v)
			}
		}
	}
}

func (p *printer) name(v *Value) {
	p.ids[v.ID], p.vals[v.ID] = p.n, v
	p.n++
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
		p.putRef("", v)
		p.b.WriteString(": ")
		p.b.WriteString(v.Type.String())
	}
}

// putRef writes the name of a value behind a separator.
func (p *printer) putRef(sep string, v *Value) {
	p.b.WriteString(sep)
	switch {
	case v == nil:
		p.b.WriteString("%nil")
	case v.ID < len(p.vals) && p.vals[v.ID] == v:
		p.b.WriteString("%")
		p.b.int(int(p.ids[v.ID]))
	default:
		p.b.WriteString("%undefined") // the verifier will say so
		p.b.int(v.ID)
	}
}

// ref returns the name of a value, for messages.
func (p *printer) ref(v *Value) string {
	q := *p
	q.b = nil
	q.putRef("", v)
	return q.b.String()
}

// label returns the name of a block, for messages.
func (p *printer) label(b *Block) string {
	q := *p
	q.b = nil
	q.putLabel(b)
	return q.b.String()
}

func (p *printer) refs(sep string, vs []*Value) {
	for _, v := range vs {
		p.putRef(sep, v)
		sep = ", "
	}
}

func (p *printer) putLabel(b *Block) {
	if b.ID >= len(p.blocks) || p.blocks[b.ID] != b {
		p.b.WriteString("bundefined")
		return
	}
	p.b.WriteString("b")
	p.b.int(int(p.labels[b.ID]))
}

func (p *printer) block(b *Block) {
	p.putLabel(b)
	if len(b.Params) > 0 {
		p.b.WriteString("(")
		p.params(b.Params)
		p.b.WriteString(")")
	}
	p.b.WriteString(":\n")
	p.unroll(b.Unroll)
	if b.Tail {
		p.b.WriteString("  tail\n")
	}
	for _, v := range b.Instrs {
		p.b.WriteString("  ")
		p.instr(v)
		p.b.WriteString("\n")
	}
	p.b.WriteString("  ")
	p.term(&b.Term)
	p.b.WriteString("\n")
}

func (p *printer) unroll(u Unroll) {
	switch u.Times {
	case 0:
		return
	case UnrollFully:
		p.b.WriteString("  unroll full")
	default:
		p.b.WriteString("  unroll ")
		p.b.int(u.Times)
	}
	p.pos(u.Pos)
	p.b.WriteString("\n")
}

// contractSuffix follows the operation of a value with Contract.
const contractSuffix = ".contract"

func (p *printer) instr(v *Value) {
	info := v.Op.Info()
	hasValue := !info.NoValue && v.Type != Void
	if hasValue {
		p.putRef("", v)
		p.b.WriteString(" = ")
	}
	p.b.WriteString(v.Op.String())
	if v.Contract {
		p.b.WriteString(contractSuffix)
	}
	sep := " "
	switch {
	case v.Op == OpConst:
		p.b.WriteString(" ")
		p.b.WriteString(ConstText(v.Type, v.Imm))
	case v.Op == OpCall:
		name := "undefined"
		if v.Callee != nil {
			name = v.Callee.Name
		}
		p.b.WriteString(" @")
		p.b.WriteString(name)
		sep = ", "
	case info.HasImm && len(v.Args) == 0:
		p.imm(" ", v.Imm)
	}
	p.refs(sep, v.Args)
	if info.HasImm && len(v.Args) > 0 || info.MayImm && v.Imm != 0 {
		p.imm(", ", v.Imm)
	}
	if hasValue {
		p.b.WriteString(" : ")
		p.b.WriteString(v.Type.String())
	}
	p.pos(v.Pos)
}

func (p *printer) imm(sep string, n uint64) {
	p.b.WriteString(sep)
	p.b = strconv.AppendUint(p.b, n, 10)
}

func (p *printer) pos(pos int) {
	if pos == 0 || p.noPos {
		return
	}
	if pos > 0 && pos < len(p.used) {
		p.used[pos] = true
	}
	p.b.WriteString(" !")
	p.b.int(pos)
}

func (p *printer) term(t *Term) {
	switch t.Kind {
	case TermJump:
		p.edge("jump ", t.Succs[0])
	case TermBranch:
		p.putRef("br ", t.Args[0])
		p.edge(", ", t.Succs[0])
		p.edge(", ", t.Succs[1])
	case TermReturn:
		p.b.WriteString("ret")
		p.refs(" ", t.Args)
	default:
		p.b.WriteString("missing")
	}
	p.pos(t.Pos)
}

func (p *printer) edge(sep string, e Edge) {
	p.b.WriteString(sep)
	p.putLabel(e.To)
	if len(e.Args) > 0 {
		p.refs("(", e.Args)
		p.b.WriteString(")")
	}
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
