package ir

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Parse reads the text form of a module. It checks syntax only; call [Verify]
// before trusting the module.
func Parse(text string) (*Module, error) {
	p := &parser{lines: strings.Split(text, "\n"), m: &Module{}}
	if err := p.module(); err != nil {
		return nil, fmt.Errorf("ir:%d: %w", p.n, err)
	}
	return p.m, nil
}

// parser reads one line at a time; a line is one declaration, label,
// instruction or terminator.
type parser struct {
	lines []string
	n     int // 1-based number of the current line
	s     string
	m     *Module

	f       *Func
	values  map[string]*Value
	blocks  map[string]*Block
	pending []func() error // uses of values that are defined later
	calls   []func() error // callees that are defined later
	types   map[string]*Type
	maxPos  int
}

// next moves to the next line that is not blank or a // comment.
func (p *parser) next() bool {
	for p.n < len(p.lines) {
		p.s = strings.TrimSpace(p.lines[p.n])
		p.n++
		if p.s != "" && !strings.HasPrefix(p.s, "//") {
			return true
		}
	}
	return false
}

func (p *parser) module() error {
	p.types = map[string]*Type{}
	for p.next() {
		var err error
		switch word, _, _ := strings.Cut(p.s, " "); word {
		case "module":
			p.s = strings.TrimPrefix(p.s, "module")
			p.m.Name, err = p.quoted()
		case "checked":
			p.word()
			_, err = p.endPos()
			p.m.Checked = true
		case "launch":
			err = p.launch()
		case "shared":
			err = p.shared()
		case "table":
			err = p.table()
		case "text":
			err = p.text()
		case "kernel", "func":
			err = p.fn(word == "kernel")
		case "pos":
			err = p.posEntry()
		default:
			err = fmt.Errorf("unexpected %q", p.s)
		}
		if err != nil {
			return err
		}
	}
	for _, link := range p.calls {
		if err := link(); err != nil {
			return err
		}
	}
	return p.growPos()
}

// maxPositions bounds the position table of a damaged text.
const maxPositions = 1 << 20

func (p *parser) growPos() error {
	if p.maxPos > maxPositions {
		return fmt.Errorf("position !%d is out of range", p.maxPos)
	}
	for len(p.m.Pos) < p.maxPos {
		p.m.Pos = append(p.m.Pos, Pos{})
	}
	return nil
}

func (p *parser) posEntry() error {
	p.s = strings.TrimSpace(strings.TrimPrefix(p.s, "pos"))
	n, err := p.posRef()
	if err != nil {
		return err
	}
	if err := p.growPos(); err != nil {
		return err
	}
	pos := &p.m.Pos[n-1]
	if pos.File, err = p.quoted(); err != nil {
		return err
	}
	if pos.Line, err = p.number(); err != nil {
		return err
	}
	pos.Col, err = p.number()
	return err
}

func (p *parser) launch() (err error) {
	p.s = strings.TrimPrefix(p.s, "launch")
	if p.m.Launch.Threads, err = p.number(); err == nil {
		p.m.Launch.Blocks, err = p.number()
	}
	if err == nil && strings.TrimSpace(p.s) != "" {
		p.m.Launch.Row, err = p.number()
	}
	if err == nil && strings.TrimSpace(p.s) != "" {
		p.m.Launch.Cluster, err = p.number()
	}
	return err
}

func (p *parser) shared() error {
	p.s = strings.TrimPrefix(p.s, "shared")
	if n, err := p.number(); err != nil || n != len(p.m.Shared) {
		return fmt.Errorf("shared objects must be numbered in order, expected %d", len(p.m.Shared))
	}
	name, err := p.quoted()
	if err != nil {
		return err
	}
	t, err := p.typ()
	if err != nil {
		return err
	}
	o := &Object{Name: name, Type: t}
	p.m.Shared = append(p.m.Shared, o)
	p.s = strings.TrimSpace(p.s)
	if rest, ok := strings.CutPrefix(p.s, "dynamic"); ok {
		p.s, o.Dynamic = rest, true
		o.Param, err = p.number()
	}
	return err
}

func (p *parser) table() error {
	p.s = strings.TrimPrefix(p.s, "table")
	if n, err := p.number(); err != nil || n != len(p.m.Tables) {
		return fmt.Errorf("tables must be numbered in order, expected %d", len(p.m.Tables))
	}
	name, err := p.quoted()
	if err != nil {
		return err
	}
	t, err := p.typ()
	if err != nil {
		return err
	}
	table, err := NewTable(name, t)
	if err != nil {
		return err
	}
	words := strings.Fields(p.s)
	t.EachLeaf(func(at int, leaf *Type) {
		if err != nil {
			return
		}
		if len(words) == 0 {
			err = fmt.Errorf("table %q has too few numbers", name)
			return
		}
		var bits uint64
		bits, err = ParseConst(leaf, words[0])
		words = words[1:]
		table.Set(at, leaf, bits)
	})
	if err == nil && len(words) > 0 {
		err = fmt.Errorf("table %q has %d numbers too many", name, len(words))
	}
	p.m.Tables = append(p.m.Tables, table)
	return err
}

func (p *parser) text() error {
	p.s = strings.TrimPrefix(p.s, "text")
	if n, err := p.number(); err != nil || n != len(p.m.Texts) {
		return fmt.Errorf("texts must be numbered in order, expected %d", len(p.m.Texts))
	}
	t, err := p.quoted()
	p.m.Texts = append(p.m.Texts, t)
	return err
}

func (p *parser) fn(kernel bool) error {
	_, p.s, _ = strings.Cut(p.s, " ")
	if !p.accept("@") {
		return fmt.Errorf("expected @name")
	}
	f := p.m.NewFunc(p.until("("))
	f.Kernel = kernel
	p.f, p.values, p.blocks, p.pending = f, map[string]*Value{}, map[string]*Block{}, nil
	if !p.accept("(") {
		return fmt.Errorf("expected ( after function name")
	}
	if err := p.params(f.NewParam); err != nil {
		return err
	}
	if kernel {
		if err := p.args(); err != nil {
			return err
		}
	}
	if p.accept("(") {
		p.s = "(" + p.s
		t, err := p.typ()
		if err != nil {
			return err
		}
		f.Results = t.Elems
	}
	if !p.accept("{") {
		return fmt.Errorf("expected { at %q", p.s)
	}
	return p.body()
}

func (p *parser) args() error {
	if !p.accept("args(") {
		return fmt.Errorf("expected args( at %q", p.s)
	}
	for !p.accept(")") {
		if len(p.f.Args) > 0 && !p.accept(",") {
			return fmt.Errorf("expected , at %q", p.s)
		}
		a := Arg{Name: p.word()}
		kind := p.word()
		n := slices.Index(argKinds[:], kind)
		if n < 0 {
			return fmt.Errorf("unknown argument kind %q", kind)
		}
		a.Kind = ArgKind(n)
		var err error
		if a.Elem, err = p.typ(); err != nil {
			return err
		}
		if a.Go, err = p.quoted(); err != nil {
			return err
		}
		p.f.Args = append(p.f.Args, a)
	}
	return nil
}

// params parses "%a: T, %b: T)" and creates each parameter with add.
func (p *parser) params(add func(*Type) *Value) error {
	for first := true; !p.accept(")"); first = false {
		if !first && !p.accept(",") {
			return fmt.Errorf("expected , at %q", p.s)
		}
		name, err := p.valueName()
		if err != nil {
			return err
		}
		if !p.accept(":") {
			return fmt.Errorf("expected : after %s", name)
		}
		t, err := p.typ()
		if err != nil {
			return err
		}
		if err := p.define(name, add(t)); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) define(name string, v *Value) error {
	if p.values[name] != nil {
		return fmt.Errorf("%s defined twice", name)
	}
	p.values[name] = v
	return nil
}

func (p *parser) block(name string) *Block {
	b := p.blocks[name]
	if b == nil {
		b = &Block{ID: p.f.nextBlock}
		p.f.nextBlock++
		p.blocks[name] = b
	}
	return b
}

func (p *parser) body() error {
	var b *Block
	placed := map[*Block]bool{}
	for p.next() {
		if p.s == "}" {
			return p.finish(placed)
		}
		if strings.HasPrefix(p.s, "b") && strings.HasSuffix(p.s, ":") {
			label := p.word()
			b = p.block(label)
			if placed[b] {
				return fmt.Errorf("block %s defined twice", label)
			}
			placed[b] = true
			p.f.Blocks = append(p.f.Blocks, b)
			if p.accept("(") {
				if err := p.params(func(t *Type) *Value { return b.NewParam(p.f, t) }); err != nil {
					return err
				}
			}
			continue
		}
		if b == nil {
			return fmt.Errorf("expected a block label, found %q", p.s)
		}
		if b.Term.Kind != TermNone {
			return fmt.Errorf("instruction after the end of a block")
		}
		if err := p.line(b); err != nil {
			return err
		}
	}
	return fmt.Errorf("function @%s is not closed", p.f.Name)
}

func (p *parser) finish(placed map[*Block]bool) error {
	for name, b := range p.blocks {
		if !placed[b] {
			return fmt.Errorf("block %s is not defined", name)
		}
	}
	for _, use := range p.pending {
		if err := use(); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) line(b *Block) error {
	switch word, _, _ := strings.Cut(p.s, " "); word {
	case "jump", "br", "ret":
		return p.term(b, word)
	case "unroll":
		return p.unroll(b)
	case "tail":
		p.word()
		b.Tail = true
		_, err := p.endPos()
		return err
	}
	return p.instr(b)
}

func (p *parser) unroll(b *Block) (err error) {
	p.word()
	if b.Unroll.Times = UnrollFully; !p.accept("full") {
		if b.Unroll.Times, err = p.number(); err != nil {
			return err
		}
	}
	b.Unroll.Pos, err = p.endPos()
	return err
}

func (p *parser) term(b *Block, word string) error {
	p.word()
	var err error
	switch word {
	case "jump":
		b.Term = Term{Kind: TermJump, Succs: make([]Edge, 1)}
		err = p.edge(&b.Term.Succs[0])
	case "br":
		b.Term = Term{Kind: TermBranch, Args: make([]*Value, 1), Succs: make([]Edge, 2)}
		if err = p.use(&b.Term.Args[0]); err != nil {
			return err
		}
		for i := range b.Term.Succs {
			if !p.accept(",") {
				return fmt.Errorf("expected , at %q", p.s)
			}
			if err = p.edge(&b.Term.Succs[i]); err != nil {
				return err
			}
		}
	case "ret":
		b.Term = Term{Kind: TermReturn}
		b.Term.Args, err = p.useList()
	}
	if err != nil {
		return err
	}
	b.Term.Pos, err = p.endPos()
	return err
}

func (p *parser) edge(e *Edge) error {
	name := p.word()
	if !strings.HasPrefix(name, "b") {
		return fmt.Errorf("expected a block, found %q", name)
	}
	e.To = p.block(name)
	if !p.accept("(") {
		return nil
	}
	var err error
	if e.Args, err = p.useList(); err == nil && !p.accept(")") {
		err = fmt.Errorf("expected ) at %q", p.s)
	}
	return err
}

func (p *parser) instr(b *Block) error {
	name := ""
	if strings.HasPrefix(p.s, "%") {
		var err error
		if name, err = p.valueName(); err != nil {
			return err
		}
		if !p.accept("=") {
			return fmt.Errorf("expected = after %s", name)
		}
	}
	word, contract := strings.CutSuffix(p.word(), contractSuffix)
	op, ok := opByName[word]
	if !ok || op == OpParam || op == OpBlockParam {
		return fmt.Errorf("unknown operation %q", word)
	}
	v := p.f.NewValue(op, Void)
	v.Contract = contract
	var err error
	if op == OpConst {
		err = p.constant(v)
	} else {
		err = p.operands(v)
	}
	if err != nil {
		return err
	}
	if op != OpConst && p.accept(":") {
		if v.Type, err = p.typ(); err != nil {
			return err
		}
	}
	if v.Pos, err = p.endPos(); err != nil {
		return err
	}
	b.Append(v)
	if hasValue := !op.Info().NoValue && v.Type != Void; hasValue != (name != "") {
		return fmt.Errorf("%s: result and name must go together", word)
	}
	if name != "" {
		return p.define(name, v)
	}
	return nil
}

func (p *parser) constant(v *Value) error {
	lit := p.until(" ")
	if !p.accept(":") {
		return fmt.Errorf("expected : after constant")
	}
	t, err := p.typ()
	if err != nil {
		return err
	}
	v.Type = t
	v.Imm, err = ParseConst(t, lit)
	return err
}

func (p *parser) operands(v *Value) error {
	info := v.Op.Info()
	if v.Op == OpCall {
		if !p.accept("@") {
			return fmt.Errorf("call: expected @name")
		}
		name, line := p.untilAny(", :!"), p.n
		p.calls = append(p.calls, func() error {
			if v.Callee = p.m.Func(name); v.Callee == nil {
				p.n = line
				return fmt.Errorf("call of undefined @%s", name)
			}
			return nil
		})
		if !p.accept(",") {
			return nil
		}
	}
	var err error
	if v.Args, err = p.useList(); err != nil {
		return err
	}
	if info.HasImm || info.MayImm && strings.HasPrefix(p.s, ",") {
		if len(v.Args) > 0 && !p.accept(",") {
			return fmt.Errorf("%s: expected an immediate at %q", v.Op, p.s)
		}
		v.Imm, err = strconv.ParseUint(p.untilAny(" :!"), 10, 64)
	}
	return err
}

// useList parses "%a, %b" up to something that is not a value.
func (p *parser) useList() ([]*Value, error) {
	if !strings.HasPrefix(p.s, "%") {
		return nil, nil
	}
	n := 1
	for i := 0; i < len(p.s); i++ {
		if p.s[i] == ',' {
			n++
		}
	}
	list := make([]*Value, 0, n) // capacity keeps the addresses that use() takes
	for {
		list = append(list, nil)
		if err := p.use(&list[len(list)-1]); err != nil {
			return nil, err
		}
		rest := strings.TrimSpace(strings.TrimPrefix(p.s, ","))
		if !strings.HasPrefix(p.s, ",") || !strings.HasPrefix(rest, "%") {
			return list, nil
		}
		p.s = rest
	}
}

func (p *parser) use(at **Value) error {
	name, err := p.valueName()
	if err != nil {
		return err
	}
	if v := p.values[name]; v != nil {
		*at = v
		return nil
	}
	line := p.n
	p.pending = append(p.pending, func() error {
		v := p.values[name]
		if v == nil {
			p.n = line
			return fmt.Errorf("%s is not defined", name)
		}
		*at = v
		return nil
	})
	return nil
}

func (p *parser) endPos() (int, error) {
	n := 0
	var err error
	if strings.HasPrefix(p.s, "!") {
		n, err = p.posRef()
	}
	if err == nil && p.s != "" && !strings.HasPrefix(p.s, "//") {
		err = fmt.Errorf("unexpected %q", p.s)
	}
	return n, err
}

func (p *parser) posRef() (int, error) {
	if !p.accept("!") {
		return 0, fmt.Errorf("expected !position at %q", p.s)
	}
	n, err := p.number()
	if err != nil || n < 1 || n > maxPositions {
		return 0, fmt.Errorf("bad position !%d", n)
	}
	p.maxPos = max(p.maxPos, n)
	return n, nil
}

// Small lexical helpers. Each skips the space after what it takes.

func (p *parser) accept(prefix string) bool {
	rest, ok := strings.CutPrefix(strings.TrimSpace(p.s), prefix)
	if ok {
		p.s = strings.TrimSpace(rest)
	}
	return ok
}

func (p *parser) until(stop string) string { return p.untilAny(stop) }

func (p *parser) untilAny(stops string) string {
	i := strings.IndexAny(p.s, stops)
	if i < 0 {
		i = len(p.s)
	}
	s := p.s[:i]
	p.s = strings.TrimSpace(p.s[i:])
	return s
}

func (p *parser) word() string {
	p.s = strings.TrimSpace(p.s)
	return p.untilAny(" ,()=:")
}

func (p *parser) valueName() (string, error) {
	p.s = strings.TrimSpace(p.s)
	if !strings.HasPrefix(p.s, "%") {
		return "", fmt.Errorf("expected a value at %q", p.s)
	}
	return p.untilAny(" ,():=!"), nil
}

func (p *parser) number() (int, error) {
	p.s = strings.TrimSpace(p.s)
	w := p.untilAny(" ,:)")
	n, err := strconv.Atoi(w)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("bad number %q", w)
	}
	return n, nil
}

func (p *parser) quoted() (string, error) {
	p.s = strings.TrimSpace(p.s)
	q, err := strconv.QuotedPrefix(p.s)
	if err != nil {
		return "", fmt.Errorf("expected a quoted string at %q", p.s)
	}
	p.s = strings.TrimSpace(p.s[len(q):])
	return strconv.Unquote(q)
}

// typ parses a type at the front of the line; most lines name a type that an
// earlier line named, hence the small cache.
func (p *parser) typ() (*Type, error) {
	p.s = strings.TrimSpace(p.s)
	if i := strings.IndexByte(p.s, ' '); i < 0 {
		if t := p.types[p.s]; t != nil {
			p.s = ""
			return t, nil
		}
	}
	tp := &typeParser{s: p.s}
	t, err := tp.parse()
	if err != nil {
		return nil, err
	}
	p.types[p.s[:len(p.s)-len(tp.s)]] = t
	p.s = strings.TrimSpace(tp.s)
	return t, nil
}

// ParseConst returns the bits of a constant written as [ConstText] prints it.
func ParseConst(t *Type, s string) (uint64, error) {
	bits, err := parseConst(t, s)
	if err != nil {
		return 0, fmt.Errorf("bad %s constant %q", t, s)
	}
	if bits != Normalize(t, bits) {
		return 0, fmt.Errorf("constant %s does not fit %s", s, t)
	}
	return bits, nil
}

func parseConst(t *Type, s string) (uint64, error) {
	hex, isHex := strings.CutPrefix(s, "0x")
	switch {
	case isHex:
		return strconv.ParseUint(hex, 16, 64)
	case t.Kind == KBool:
		v, err := strconv.ParseBool(s)
		if v {
			return 1, err
		}
		return 0, err
	case t.IsSigned():
		v, err := strconv.ParseInt(s, 10, 64)
		return uint64(v), err
	case t.IsInt():
		return strconv.ParseUint(s, 10, 64)
	case t.Kind == KF32:
		v, err := strconv.ParseFloat(s, 32)
		return uint64(math.Float32bits(float32(v))), err
	case t.Kind == KF64:
		v, err := strconv.ParseFloat(s, 64)
		return math.Float64bits(v), err
	}
	return 0, fmt.Errorf("no constants of this type")
}
