package cfamily

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gokiln/kiln/compiler/ir"
)

// Expressions. An operation is written where it is used if it has one use and
// nothing that matters happens in between; all others get a variable.

// maxText is the length from which an expression is given a name all the same.
const maxText = 100

// plan finds the values that are written where they are used.
func (e *emitter) plan(order []*ir.Block) {
	e.uses, e.parts = make([]int, e.f.NumValues()), make([]bool, e.f.NumValues())
	user := make([]*ir.Value, e.f.NumValues()) // the last; nil for a terminator
	for _, b := range order {
		for _, v := range b.Instrs {
			for _, a := range v.Args {
				e.uses[a.ID]++
				user[a.ID] = v
				e.parts[a.ID] = e.parts[a.ID] || a.Pos == v.Pos && !v.Op.Info().NoValue
			}
		}
		for _, a := range termOperands(b) {
			e.uses[a.ID]++
			user[a.ID] = nil
		}
	}
	e.inline = make([]bool, e.f.NumValues())
	for _, b := range order {
		e.planBlock(b, user)
	}
}

// termOperands returns the values that the end of b uses.
func termOperands(b *ir.Block) []*ir.Value {
	list := append([]*ir.Value(nil), b.Term.Args...)
	for _, s := range b.Term.Succs {
		list = append(list, s.Args...)
	}
	return list
}

func (e *emitter) planBlock(b *ir.Block, user []*ir.Value) {
	at := map[*ir.Value]int{}            // where the value of an instruction is written
	calm := make([]int, len(b.Instrs)+1) // first index behind which nothing is written to memory
	local := map[*ir.Value]bool{}
	for _, a := range termOperands(b) {
		local[a] = true
	}
	calm[len(b.Instrs)] = len(b.Instrs)
	for i := len(b.Instrs) - 1; i >= 0; i-- {
		calm[i] = calm[i+1]
		if b.Instrs[i].Op.Has(ir.Writes | ir.Convergent) {
			calm[i] = i
		}
	}
	for i := len(b.Instrs) - 1; i >= 0; i-- {
		v := b.Instrs[i]
		at[v] = i
		if v.Op.Info().NoValue || e.uses[v.ID] == 0 {
			continue
		}
		place := len(b.Instrs)
		switch u := user[v.ID]; {
		case v.IsConst() || v.Op == ir.OpWarpSize || v.Op == ir.OpLocal || v.Op == ir.OpShared || v.Op == ir.OpTable:
			e.inline[v.ID] = true
			continue
		case e.uses[v.ID] > 1, u == nil && !local[v], u != nil && u.Block != b:
			continue
		case u != nil:
			place = at[u]
		}
		// A load may move to its use unless something is written first.
		if v.Op.Pure() || v.Op == ir.OpLoad && calm[i] >= place {
			e.inline[v.ID], at[v] = true, place
		}
	}
}

// text is an expression.
type text struct {
	s     string
	level level
}

// level says how tightly an expression binds.
type level int

const (
	loose level = iota // needs parentheses to be an operand
	tight              // a cast or a call
	atom               // a name or a small literal: may be written twice
)

func (x text) operand() string {
	if x.level == loose {
		return "(" + x.s + ")"
	}
	return x.s
}

// expr returns the expression for v.
func (e *emitter) expr(v *ir.Value) (text, error) {
	switch {
	case v.IsConst():
		return literal(v.Type, v.Imm), nil
	case v.Op == ir.OpWarpSize:
		return text{strconv.Itoa(e.t.WarpSize), atom}, nil
	case !e.inline[v.ID]:
		return text{e.name(v), atom}, nil
	}
	x, err := e.compute(v)
	if err == nil && len(x.s) > maxText && v.Op != ir.OpLocal && v.Op != ir.OpShared && v.Op != ir.OpTable {
		return e.materialise(v, x), nil
	}
	return x, err
}

// whole returns the expression for v where it is all there is to a statement: it may be
// long.
func (e *emitter) whole(v *ir.Value) (text, error) {
	if v.IsConst() || v.Op == ir.OpWarpSize || !e.inline[v.ID] {
		return e.expr(v)
	}
	return e.compute(v)
}

// materialise gives the expression of v a name, before the statement being
// written.
func (e *emitter) materialise(v *ir.Value, x text) text {
	e.line("%s %s = %s;", e.types.value(v.Type, false), e.name(v), x.s)
	e.inline[v.ID] = false
	return text{e.name(v), atom}
}

// compute writes the operation of v itself.
func (e *emitter) compute(v *ir.Value) (text, error) {
	switch v.Op {
	case ir.OpLocal, ir.OpShared, ir.OpTable, ir.OpIndex, ir.OpField, ir.OpOffset:
		return e.pointer(v)
	case ir.OpLoad:
		p, err := e.place(v.Args[0])
		if v.Type.Kind == ir.KBool {
			return text{p + " != 0", loose}, err
		}
		return text{p, tight}, err
	}
	r := e.lang.row(v)
	if r == nil {
		return text{}, fmt.Errorf("%s cannot be written for %s", describe(v), e.t)
	}
	s, err := e.fill(r, v)
	return text{s, levelOf(s)}, err
}

func describe(v *ir.Value) string {
	s := v.Op.String() + " of " + keyType(v).String()
	if v.Op == ir.OpConvert || v.Op == ir.OpBitcast {
		s += " from " + v.Args[0].Type.String()
	}
	return s
}

// fill writes the text of a row for v.
func (e *emitter) fill(r *Row, v *ir.Value) (string, error) {
	var pairs []string
	for i := range min(len(v.Args), 3) {
		lower, upper := "$"+string(rune('a'+i)), "$"+string(rune('A'+i))
		if strings.Contains(r.Text, upper) {
			x, err := e.expr(v.Args[i])
			if err != nil {
				return "", err
			}
			if x.level != atom {
				x = e.materialise(v.Args[i], x)
			}
			pairs = append(pairs, upper, x.s)
		}
		if strings.Contains(r.Text, lower) {
			x, err := e.expr(v.Args[i])
			if err != nil {
				return "", err
			}
			pairs = append(pairs, lower, x.at(r.Text, lower))
		}
	}
	if strings.Contains(r.Text, "$p") {
		p, err := e.place(v.Args[0])
		if err != nil {
			return "", err
		}
		pairs = append(pairs, "&$p", address(p).operand(), "$p", p)
	}
	s := strings.NewReplacer(append(pairs, e.words(v)...)...).Replace(r.Text)
	return unsigned(casts.Replace(s)), nil
}

// at returns the text for a placeholder of a row. An argument of a call needs no
// parentheses.
func (x text) at(row, placeholder string) string {
	for rest := row; ; {
		before, after, found := strings.Cut(rest, placeholder)
		if !found {
			return x.s
		}
		inner := strings.TrimSuffix(before, "(")
		first := inner != before && inner != "" && (inner[len(inner)-1] == '}' || identifier.MatchString(inner[len(inner)-1:]))
		if !first && !strings.HasSuffix(before, ", ") || !strings.HasPrefix(after, ",") && !strings.HasPrefix(after, ")") {
			if strings.HasSuffix(before, "-") && strings.HasPrefix(x.s, "-") { // a negative number
				return "(" + x.s + ")"
			}
			return x.operand()
		}
		rest = after
	}
}

// casts are pairs of which the first one does the work of both: it is not wider.
var casts = func() *strings.Replacer {
	var pairs []string
	for _, outer := range ir.Scalars {
		for _, inner := range ir.Scalars {
			if outer.IsInt() && inner.IsInt() && outer.Bits() <= inner.Bits() {
				pairs = append(pairs, fmt.Sprintf("(%s)(%s)", outer, inner), fmt.Sprintf("(%s)", outer))
			}
		}
	}
	return strings.NewReplacer(pairs...)
}()

// unsigned takes back what brings an unsigned sum to its signed type where it is used
// as an unsigned number: in (u32)(i32)((u32)a + b) the parentheses are enough.
func unsigned(s string) string {
	for _, n := range []string{"32", "64"} {
		from := 0
		for {
			at := strings.Index(s[from:], "(u"+n+")((u"+n+")")
			if at < 0 {
				break
			}
			from += at + len("(u32)")
			if sum(s[from:]) {
				s = s[:from-len("(u32)")] + s[from:]
				from -= len("(u32)")
			}
		}
	}
	return s
}

// sum reports whether the parentheses that s begins with hold operations whose result has
// the type of their first operand, which is a cast.
func sum(s string) bool {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '(', '[':
			depth++
		case ')', ']':
			if depth--; depth == 0 {
				return true
			}
		case '?', '<', '>', '=', '&', '|', ',':
			if depth == 1 && !(s[i] == '<' && (strings.HasPrefix(s[i:], "<<") || s[i-1] == '<')) {
				return false
			}
		}
	}
	return false
}

// words are the placeholders that depend on types.
func (e *emitter) words(v *ir.Value) []string {
	k := keyType(v)
	w := []string{"{k}", k.String(), "{imm}", strconv.FormatUint(v.Imm, 10)}
	if k.Kind != ir.KVoid && k.Kind != ir.KPtr {
		w = append(w, "{t}", e.types.value(k, false), "{n}", strconv.Itoa(k.Bits()), "{m}", strconv.Itoa(k.Bits()-1))
	}
	if v.Type != ir.Void && v.Type.IsValue() {
		w = append(w, "{d}", e.types.value(v.Type, false))
	}
	if k.IsInt() {
		n := strconv.Itoa(k.Bits())
		w = append(w, "{ones}", fmt.Sprintf("%#xu", ir.Normalize(ir.U64, 1<<k.Bits()-1)), "{u}", "u"+n, "{s}", "i"+n, "{w}", k.String()[:1]+strconv.Itoa(2*k.Bits()))
	} else if k.IsFloat() {
		w = append(w, "{u}", "u"+strconv.Itoa(k.Bits()))
	}
	if len(v.Args) > 1 && v.Args[1].IsConst() && v.Args[1].Type.IsInt() {
		w = append(w, "{less}", literal(ir.U64, -v.Args[1].Imm).s)
	}
	if v.Op == ir.OpMMA {
		w = append(w, "{unit}", UnitName(e.unit(v)))
	}
	if v.Op.IsAtomic() {
		w = append(w, "{order}", Orders[v.Order()], "{scope}", e.lang.Scopes[v.Scope()], "{how}", How(v.Order(), v.Scope()))
	}
	if len(v.Args) > 0 {
		w = append(w, "{f}", v.Args[0].Type.String())
	}
	return w
}

// levelOf looks at the form of an expression: names, calls, and casts of those
// bind tightly.
func levelOf(s string) level {
	if s == identifier.FindString(s) {
		return atom
	}
	for { // casts
		end := strings.IndexByte(s, ')')
		if len(s) == 0 || s[0] != '(' || end < 0 || s[1:end] != identifier.FindString(s) && s[1:end] != identifier.FindString(s[1:]) {
			break
		}
		s = s[end+1:]
	}
	depth := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case depth > 0 || c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		case c == '-' && i+1 < len(s) && s[i+1] == '>', c == '>' && i > 0 && s[i-1] == '-':
		default:
			return loose
		}
	}
	return tight
}

// pointer writes the address that v stands for.
func (e *emitter) pointer(v *ir.Value) (text, error) {
	if v.Op == ir.OpOffset {
		p, err := e.expr(v.Args[0])
		if err != nil {
			return text{}, err
		}
		i, err := e.expr(v.Args[1])
		return text{p.operand() + " + " + i.operand(), loose}, err
	}
	p, err := e.object(v)
	return address(p), err
}

// address writes a pointer to an object.
func address(place string) text {
	if p, ok := strings.CutPrefix(place, "*"); ok {
		return text{p, levelOf(p)}
	}
	return text{"&" + place, tight}
}

// place writes the object that a pointer points to.
func (e *emitter) place(p *ir.Value) (string, error) {
	if !e.inline[p.ID] {
		return "*" + e.name(p), nil
	}
	return e.object(p)
}

// object writes the object at the address that p computes.
func (e *emitter) object(p *ir.Value) (string, error) {
	switch p.Op {
	case ir.OpLocal:
		return e.name(p), nil
	case ir.OpShared:
		name := e.sharedName(int(p.Imm))
		if e.m.Shared[p.Imm].Dynamic {
			name = "*" + name // the name is of a pointer to the elements
		}
		return name, nil
	case ir.OpTable:
		return e.tableName(int(p.Imm)), nil
	case ir.OpField, ir.OpIndex:
		base, err := e.place(p.Args[0])
		if err != nil {
			return "", err
		}
		base = member(base)
		if p.Op == ir.OpField {
			return fmt.Sprintf("%sf%d", base, p.Imm), nil
		}
		i, err := e.expr(p.Args[1])
		if a := p.Args[0]; a.Op == ir.OpShared && e.m.Shared[a.Imm].Dynamic {
			return fmt.Sprintf("%s[%s]", e.sharedName(int(a.Imm)), i.s), err
		}
		return fmt.Sprintf("%sv[%s]", base, i.s), err
	case ir.OpOffset:
		base, err := e.expr(p.Args[0])
		if err != nil {
			return "", err
		}
		i, err := e.expr(p.Args[1])
		return fmt.Sprintf("%s[%s]", base.operand(), i.s), err
	}
	x, err := e.compute(p)
	return "*" + x.operand(), err
}

// member writes the object and the operator that selects a part of it.
func member(place string) string {
	if p, ok := strings.CutPrefix(place, "*"); ok {
		return p + "->"
	}
	return place + "."
}

// literal writes a constant.
func literal(t *ir.Type, bits uint64) text {
	switch {
	case t.Kind == ir.KBool:
		return text{strconv.FormatBool(bits != 0), atom}
	case t.IsFloat():
		return floatLiteral(t, bits)
	case t.IsSigned() && int64(bits) < 0:
		if n := t.Bits(); bits<<(64-n) == 1<<63 { // the least has no positive counterpart
			return text{fmt.Sprintf("((%s)%#x)", t, uint64(1)<<(n-1)), atom}
		}
		return text{strconv.FormatInt(int64(bits), 10), atom}
	case bits >= 1<<31 || !t.IsSigned() && bits >= 1<<16:
		return text{fmt.Sprintf("%#x", bits), atom}
	}
	return text{strconv.FormatUint(bits, 10), atom}
}

func floatLiteral(t *ir.Type, bits uint64) text {
	x, suffix, as := math.Float64frombits(bits), "", "f64_bits(%#x)"
	if t.Kind == ir.KF32 {
		x, suffix, as = float64(math.Float32frombits(uint32(bits))), "f", "f32_bits(%#x)"
	}
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return text{fmt.Sprintf(as, bits), tight}
	}
	s := strconv.FormatFloat(x, 'g', -1, t.Bits())
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return text{s + suffix, atom}
}
