package dump

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/gokiln/kiln/compiler/ir"
)

// render writes a module as lines. It is the text form of package ir, except
// that values and blocks have the numbers that they keep through the passes.
func render(m *ir.Module) []Line {
	r := &renderer{m: m}
	for i, o := range m.Shared {
		r.line(ir.Pos{}, Token{Text: fmt.Sprintf("shared %d %q %s", i, o.Name, o.Type)})
	}
	for _, f := range m.Funcs {
		r.fn(f)
	}
	return r.lines
}

type renderer struct {
	m      *ir.Module
	fnName string
	block  string
	lines  []Line
}

func (r *renderer) line(pos ir.Pos, tokens ...Token) *Line {
	var key strings.Builder
	key.WriteString(r.fnName + "|" + r.block + "|")
	for _, t := range tokens {
		key.WriteString(t.Text)
	}
	r.lines = append(r.lines, Line{Tokens: tokens, Pos: pos, key: key.String()})
	return &r.lines[len(r.lines)-1]
}

func text(s string) Token { return Token{Text: s} }

func (r *renderer) value(v *ir.Value) Token {
	if v == nil {
		return text("%nil")
	}
	id := "%" + strconv.Itoa(v.ID)
	return Token{Text: id, Ref: r.fnName + id}
}

func (r *renderer) label(b *ir.Block) Token {
	id := "b" + strconv.Itoa(b.ID)
	return Token{Text: id, Ref: r.fnName + "." + id}
}

func (r *renderer) fn(f *ir.Func) {
	r.fnName, r.block = f.Name, ""
	word := "func "
	if f.Kernel {
		word = "kernel "
	}
	head := append([]Token{text(word + "@" + f.Name + "(")}, r.params(f.Params)...)
	head = append(head, text(")"))
	if len(f.Results) > 0 {
		head = append(head, text(" "+ir.TupleOf(f.Results...).String()))
	}
	r.line(ir.Pos{}, head...).Head = true
	for _, b := range f.Blocks {
		r.blockLines(b)
	}
	r.fnName, r.block = "", ""
}

func (r *renderer) params(ps []*ir.Value) []Token {
	var out []Token
	for i, v := range ps {
		if i > 0 {
			out = append(out, text(", "))
		}
		out = append(out, r.value(v), text(": "+v.Type.String()))
	}
	return out
}

func (r *renderer) blockLines(b *ir.Block) {
	label := r.label(b)
	r.block = label.Text
	head := []Token{label}
	if len(b.Params) > 0 {
		head = append(append(append(head, text("(")), r.params(b.Params)...), text(")"))
	}
	r.line(ir.Pos{}, append(head, text(":"))...)
	for _, v := range b.Instrs {
		r.line(r.m.PosOf(v.Pos), r.instr(v)...).Indent = true
	}
	r.line(r.m.PosOf(b.Term.Pos), r.term(&b.Term)...).Indent = true
}

func (r *renderer) instr(v *ir.Value) []Token {
	info := v.Op.Info()
	hasValue := !info.NoValue && v.Type != ir.Void
	var out []Token
	if hasValue {
		out = append(out, r.value(v), text(" = "))
	}
	op := v.Op.String()
	sep := " "
	switch {
	case v.Op == ir.OpConst:
		op += " " + ir.ConstText(v.Type, v.Imm)
	case v.Op == ir.OpCall && v.Callee != nil:
		op += " @" + v.Callee.Name
		sep = ", "
	case info.HasImm && len(v.Args) == 0:
		op += " " + strconv.FormatUint(v.Imm, 10)
	}
	out = append(out, text(op))
	for _, a := range v.Args {
		out = append(out, text(sep), r.value(a))
		sep = ", "
	}
	tail := ""
	if info.HasImm && len(v.Args) > 0 || info.MayImm && v.Imm != 0 {
		tail = ", " + strconv.FormatUint(v.Imm, 10)
	}
	if hasValue {
		tail += " : " + v.Type.String()
	}
	return append(out, text(tail))
}

func (r *renderer) term(t *ir.Term) []Token {
	var out []Token
	switch t.Kind {
	case ir.TermJump:
		out = []Token{text("jump ")}
	case ir.TermBranch:
		out = []Token{text("br "), r.value(t.Args[0]), text(", ")}
	case ir.TermReturn:
		out = []Token{text("ret")}
		for i, v := range t.Args {
			out = append(out, text(comma(i, " ")), r.value(v))
		}
	}
	for i, e := range t.Succs {
		if i > 0 {
			out = append(out, text(", "))
		}
		out = append(out, r.label(e.To))
		for j, v := range e.Args {
			out = append(out, text(comma(j, "(")), r.value(v))
		}
		if len(e.Args) > 0 {
			out = append(out, text(")"))
		}
	}
	return out
}

var (
	ptxLine = regexp.MustCompile(`^\t// (.+):(\d+)$`)
	ptxName = regexp.MustCompile(`%[a-z]+\d+|\$b\d+|\b(?:shared|local)_?\d+\b`)
)

// renderPTX makes lines of PTX text, taking the Go positions out of its
// comments.
func renderPTX(s string) []Line {
	var lines []Line
	var pos ir.Pos
	for l := range strings.Lines(s) {
		l = strings.TrimRight(l, "\n")
		if m := ptxLine.FindStringSubmatch(l); m != nil {
			n, _ := strconv.Atoi(m[2])
			pos = ir.Pos{File: m[1], Line: n}
			continue
		}
		if l == "}" {
			pos = ir.Pos{}
		}
		body, indented := strings.CutPrefix(l, "\t")
		lines = append(lines, Line{Tokens: ptxTokens(body), Pos: pos, Indent: indented, key: l})
	}
	return lines
}

func ptxTokens(s string) []Token {
	var out []Token
	at := 0
	for _, m := range ptxName.FindAllStringIndex(s, -1) {
		if m[0] > at {
			out = append(out, text(s[at:m[0]]))
		}
		name := s[m[0]:m[1]]
		out = append(out, Token{Text: name, Ref: "ptx" + name})
		at = m[1]
	}
	if at < len(s) {
		out = append(out, text(s[at:]))
	}
	return out
}

// comma is what stands before element i of a list that begins with first.
func comma(i int, first string) string {
	if i == 0 {
		return first
	}
	return ", "
}
