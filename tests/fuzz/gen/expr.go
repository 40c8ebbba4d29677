package gen

import (
	"fmt"
	"math"
	"strings"
)

// value draws an expression of any type but pointers and slices; it is never a
// constant expression, which the Go compiler would evaluate and may refuse.
func (g *gen) value(t *typ) string {
	switch t.kind {
	case scalar:
		return g.expr(t, 1+g.r.IntN(4))
	case pointer:
		return g.pointerTo(t.elem)
	case slice:
		return g.sliceOf(t.elem)
	}
	if v := g.find(func(v variable) bool { return v.t == t || v.t.kind == array && same(v.t, t) }); v != nil && !g.one(3) {
		return v.name
	}
	return g.literal(t)
}

func same(a, b *typ) bool {
	if a == b {
		return true
	}
	return a.kind == b.kind && a.kind == array && a.n == b.n && same(a.elem, b.elem)
}

// literal writes a composite literal, with some elements left out.
func (g *gen) literal(t *typ) string {
	var list []string
	switch {
	case t.kind == structure && g.one(2):
		for _, f := range t.fields {
			if !g.one(3) {
				list = append(list, f.name+": "+g.part(f.t))
			}
		}
	case t.kind == structure:
		for _, f := range t.fields {
			list = append(list, g.part(f.t))
		}
	default:
		for i := range t.n {
			if g.one(3) {
				break
			}
			if g.one(8) {
				list = append(list, fmt.Sprintf("%d: %s", i, g.part(t.elem)))
			} else {
				list = append(list, g.part(t.elem))
			}
		}
	}
	return t.String() + "{" + strings.Join(list, ", ") + "}"
}

func (g *gen) part(t *typ) string {
	if t.kind == scalar {
		return g.expr(t, g.r.IntN(3))
	}
	return g.value(t)
}

// find draws a variable in scope that passes the test, nil if there is none. A
// shadowed one is not in scope.
func (g *gen) find(ok func(variable) bool) *variable {
	var list []int
	seen := map[string]bool{}
	for i := len(g.vars) - 1; i >= 0; i-- {
		v := g.vars[i]
		if !seen[v.name] && ok(v) && (!v.moves || i >= g.captured) {
			list = append(list, i)
		}
		seen[v.name] = true
	}
	if len(list) == 0 {
		return nil
	}
	v := g.vars[pick(g, list)]
	return &v
}

// writable reports whether a visible variable may be changed here.
func (g *gen) writable(v variable) bool {
	if !v.mut {
		return false
	}
	for i := len(g.vars) - 1; i >= g.frozen; i-- {
		if g.vars[i].name == v.name {
			return true
		}
	}
	return false
}

// leaf draws a variable, or an element of one, of scalar type t; ok is false if
// none is in scope.
func (g *gen) leaf(t *typ, depth int) (string, bool) {
	v := g.find(func(v variable) bool { return v.t.has(t) })
	if v == nil {
		return "", false
	}
	return g.path(v.name, v.t, t, depth), true
}

// path extends text, of type from, to a scalar of type to.
func (g *gen) path(text string, from, to *typ, depth int) string {
	switch from.kind {
	case scalar:
		return text
	case array:
		return g.path(fmt.Sprintf("%s[%s]", text, g.index(text, from, depth)), from.elem, to, depth)
	case slice:
		return g.path(fmt.Sprintf("%s[%s]", text, g.index(text, from, depth)), from.elem, to, depth)
	case pointer:
		if from.elem.kind == scalar {
			return "*" + text
		}
		return g.path(text, from.elem, to, depth)
	}
	var fields []field
	for _, f := range from.fields {
		if f.t.has(to) {
			fields = append(fields, f)
		}
	}
	f := pick(g, fields)
	return g.path(text+"."+f.name, f.t, to, depth)
}

// index draws an index in range of an array, or of a slice, which has at least
// one element.
func (g *gen) index(text string, t *typ, depth int) string {
	if t.kind == slice && t.n == 0 {
		if depth < -2 {
			return "0"
		}
		return fmt.Sprintf("uint(%s)%%uint(len(%s))", g.expr(pick(g, ints), depth-1), text)
	}
	if g.one(2) || depth < -2 {
		return fmt.Sprint(g.r.IntN(t.n))
	}
	it := pick(g, ints)
	e := g.expr(it, depth-1)
	if t.n&(t.n-1) == 0 {
		return fmt.Sprintf("%s&%d", e, t.n-1)
	}
	if it.signed {
		return fmt.Sprintf("uint(%s)%%%d", e, t.n)
	}
	return fmt.Sprintf("%s%%%d", e, t.n)
}

// expr draws an expression of scalar type t that is not constant.
func (g *gen) expr(t *typ, depth int) string {
	if depth <= 0 {
		return g.atom(t, depth)
	}
	switch n := g.r.IntN(12); {
	case n < 2:
		return g.atom(t, depth)
	case n == 2:
		if s, ok := g.callExpr(t, depth); ok {
			return s
		}
	case n == 5 && g.one(2):
		return g.generic(t, depth)
	case n == 3 && t != boolT:
		return g.conversion(t, depth)
	case n == 4 && g.one(3):
		n := 2 + g.r.IntN(3)
		list := make([]string, n)
		for i := range list {
			list[i] = g.operand(t, depth-2)
		}
		at := &typ{kind: array, n: n, elem: t}
		return fmt.Sprintf("%s{%s}[%s]", at, strings.Join(list, ", "), g.index("", at, depth-1))
	}
	switch {
	case t == boolT:
		return g.boolExpr(depth)
	case t.float:
		return g.floatExpr(t, depth)
	}
	return g.intExpr(t, depth)
}

// atom draws a variable of type t, or a conversion of one.
func (g *gen) atom(t *typ, depth int) string {
	if s, ok := g.leaf(t, depth); ok {
		return s
	}
	if t == boolT {
		from := g.anyNumber()
		return fmt.Sprintf("(%s > %s)", g.atom(from, depth-1), g.constant(from))
	}
	return g.convert(t, g.anyNumber(), depth-1)
}

// anyNumber returns a number type that some variable in scope has; there is
// always one, because functions have parameters that are not all bools, or
// conversions of bools serve.
func (g *gen) anyNumber() *typ {
	for range 20 {
		t := g.draw(numbers)
		if g.find(func(v variable) bool { return v.t.has(t) }) != nil {
			return t
		}
	}
	for _, t := range numbers {
		if g.find(func(v variable) bool { return v.t.has(t) }) != nil {
			return t
		}
	}
	return nil
}

// operand is an expression that may be a constant.
func (g *gen) operand(t *typ, depth int) string {
	if t != boolT && g.one(4) {
		return g.constant(t)
	}
	return g.expr(t, depth)
}

func (g *gen) boolExpr(depth int) string {
	switch g.r.IntN(6) {
	case 0:
		return fmt.Sprintf("(%s && %s)", g.expr(boolT, depth-1), g.expr(boolT, depth-1))
	case 1:
		return fmt.Sprintf("(%s || %s)", g.expr(boolT, depth-1), g.expr(boolT, depth-1))
	case 2:
		return "!" + g.expr(boolT, depth-1)
	case 3:
		if g.one(3) {
			return fmt.Sprintf("(%s %s %s)", g.expr(boolT, depth-1), pick(g, []string{"==", "!="}), g.expr(boolT, depth-1))
		}
		if a := g.find(func(v variable) bool { return (v.t.kind == array || v.t.kind == structure) && v.t.comparable() }); a != nil && g.one(2) {
			if b := g.find(func(v variable) bool { return same(v.t, a.t) }); b != nil {
				return fmt.Sprintf("(%s %s %s)", a.name, pick(g, []string{"==", "!="}), b.name)
			}
		}
	}
	t := g.draw(numbers)
	return fmt.Sprintf("(%s %s %s)", g.expr(t, depth-1), pick(g, []string{"==", "!=", "<", "<=", ">", ">="}), g.operand(t, depth-1))
}

func (g *gen) intExpr(t *typ, depth int) string {
	a := g.expr(t, depth-1)
	switch g.r.IntN(14) {
	case 0:
		return fmt.Sprintf("(%s / %s)", a, g.divisor(t, depth))
	case 1:
		return fmt.Sprintf("(%s %% %s)", a, g.divisor(t, depth))
	case 2, 3:
		return fmt.Sprintf("(%s %s %s)", a, pick(g, []string{"<<", ">>"}), g.count(depth))
	case 4:
		return fmt.Sprintf("(%s%s)", pick(g, []string{"-", "^"}), a)
	case 5:
		return g.minmax(t, a, depth)
	case 6:
		if s := g.bitsCall(t, depth); s != "" {
			return s
		}
	case 7:
		if g.kernel && g.one(2) {
			w := pick(g, []string{"ThreadX", "ThreadY", "BlockX", "Lane", "Warp", "ThreadIndex", "Global", "GlobalSize", "BlockDimX", "GridDimX"})
			return fmt.Sprintf("%s(t.%s())", t, w)
		}
	}
	op := pick(g, []string{"+", "-", "*", "&", "|", "^", "&^", "+", "-"})
	if g.one(6) {
		return fmt.Sprintf("(%s %s %s)", g.constant(t), op, a)
	}
	return fmt.Sprintf("(%s %s %s)", a, op, g.operand(t, depth-1))
}

// divisor is never zero.
func (g *gen) divisor(t *typ, depth int) string {
	for g.one(2) {
		if c := g.constant(t); c != t.String()+"(0)" {
			return c
		}
	}
	if g.one(3) {
		return fmt.Sprintf("max(%s, 1)", g.expr(t, depth-1))
	}
	return fmt.Sprintf("(%s | 1)", g.expr(t, depth-1))
}

// count is a shift count, mostly in reach of the width and never negative.
func (g *gen) count(depth int) string {
	if g.one(3) {
		return fmt.Sprint(pick(g, []int{0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65, 100}))
	}
	t := pick(g, ints)
	e := g.expr(t, depth-1)
	if t.signed || !g.one(3) {
		return fmt.Sprintf("(%s & %d)", e, pick(g, []int{7, 15, 31, 63, 127, 66}))
	}
	return e
}

func (g *gen) minmax(t *typ, a string, depth int) string {
	list := []string{a}
	for range g.r.IntN(3) {
		list = append(list, g.operand(t, depth-1))
	}
	return fmt.Sprintf("%s(%s)", pick(g, []string{"min", "max"}), strings.Join(list, ", "))
}

// bitsCall uses math/bits and the bits of floats.
func (g *gen) bitsCall(t *typ, depth int) string {
	switch t {
	case intT:
		w := pick(g, []*typ{u32, u64, uintT})
		suffix := map[*typ]string{u32: "32", u64: "64", uintT: ""}[w]
		return fmt.Sprintf("bits.%s%s(%s)", pick(g, []string{"LeadingZeros", "TrailingZeros", "OnesCount", "Len"}), suffix, g.expr(w, depth-1))
	case u32, u64, uintT:
		suffix := map[*typ]string{u32: "32", u64: "64", uintT: ""}[t]
		if t != uintT && g.one(2) && t != g.unfloated() {
			f := map[*typ]*typ{u32: f32, u64: f64}[t]
			return fmt.Sprintf("bits%s(%s)", suffix, g.expr(f, depth-1))
		}
		switch e := g.expr(t, depth-1); g.r.IntN(6) {
		case 0:
			return fmt.Sprintf("bits.Reverse%s(%s)", suffix, e)
		case 1:
			return fmt.Sprintf("bits.ReverseBytes%s(%s)", suffix, e)
		case 2:
			return fmt.Sprintf("dsl.MulHi(%s, %s)", e, g.operand(t, depth-1))
		case 3:
			if t == u32 {
				call := pick(g, []string{"Permute", "Dot4"})
				return fmt.Sprintf("dsl.%s(%s, %s, %s)", call, e, g.operand(t, depth-1), g.operand(t, depth-1))
			}
		}
		return fmt.Sprintf("bits.RotateLeft%s(%s, %s)", suffix, g.expr(t, depth-1), g.expr(intT, depth-1))
	}
	return ""
}

func (g *gen) floatExpr(t *typ, depth int) string {
	a := g.expr(t, depth-1)
	switch g.r.IntN(14) {
	case 0:
		return fmt.Sprintf("(%s / %s)", a, g.operand(t, depth-1))
	case 1:
		return "(-" + a + ")"
	case 2:
		return g.minmax(t, a, depth)
	case 3:
		return fmt.Sprintf("dsl.FMA(%s, %s, %s)", a, g.operand(t, depth-1), g.operand(t, depth-1))
	case 4:
		return fmt.Sprintf("dsl.%s(%s)", pick(g, []string{"Sqrt", "Abs", "Floor", "Ceil", "Trunc", "RoundEven", "Round"}), a)
	case 5:
		if g.heavy > 0 {
			g.heavy--
			if g.one(4) {
				return fmt.Sprintf("dsl.%s(%s, %s)", pick(g, []string{"Atan2", "Pow", "Hypot", "Mod"}), a, g.operand(t, depth-1))
			}
			return fmt.Sprintf("dsl.%s(%s)", pick(g, heavyFuncs), a)
		}
	case 6:
		if t == f32 {
			return fmt.Sprintf("math.Float32frombits(%s)", g.expr(u32, depth-1))
		}
		return fmt.Sprintf("math.Float64frombits(%s)", g.expr(u64, depth-1))
	case 7:
		if t == f32 && len(g.halves) > 0 && g.one(2) {
			return g.half(depth)
		}
		if t == f32 && g.one(2) {
			return fmt.Sprintf("dsl.F32(dsl.To[dsl.%s](%s))", pick(g, []string{"F16", "BF16", "F8E4M3", "F8E5M2"}), a)
		}
		return fmt.Sprintf("dsl.%s(%s, %s)", pick(g, []string{"Min", "Max"}), a, g.operand(t, depth-1))
	case 8:
		return fmt.Sprintf("copysign%d(%s, %s)", t.bits, a, g.expr(t, depth-1))
	}
	op := pick(g, []string{"+", "-", "*"})
	if g.one(6) {
		return fmt.Sprintf("(%s %s %s)", g.constant(t), op, a)
	}
	return fmt.Sprintf("(%s %s %s)", a, op, g.operand(t, depth-1))
}

var heavyFuncs = []string{
	"Exp", "Exp2", "Expm1", "Log", "Log2", "Log10", "Log1p", "Sin", "Cos", "Tan", "Tanh", "Sinh", "Cosh",
	"Asin", "Acos", "Atan", "Erf", "Erfc", "Rsqrt", "Cbrt",
}

// conversion converts an expression of another type.
func (g *gen) conversion(t *typ, depth int) string {
	return g.convert(t, g.draw(numbers), depth)
}

func (g *gen) convert(t, from *typ, depth int) string {
	if from == nil {
		return fmt.Sprintf("%s(b2u(%s))", t, g.atom(boolT, depth-1))
	}
	e := g.expr(from, depth-1)
	if from.float && t.integer() {
		return fmt.Sprintf("to%s(%s)", strings.ToUpper(t.name[:1])+t.name[1:], e)
	}
	return fmt.Sprintf("%s(%s)", t, e)
}

// callExpr calls a pure function with one result.
func (g *gen) callExpr(t *typ, depth int) (string, bool) {
	var list []function
	for _, f := range g.callable() {
		if f.pure && len(f.results) == 1 && f.results[0] == t && g.canPass(f) {
			list = append(list, f)
		}
	}
	if len(list) == 0 || g.weight > 60 {
		return "", false
	}
	return g.callText(pick(g, list), depth), true
}

// callable returns the functions in scope.
func (g *gen) callable() []function {
	return append(g.helpers[:len(g.helpers):len(g.helpers)], g.closures...)
}

// canPass reports whether there is something to pass for each pointer and
// slice, and whether the call changes nothing that must not change.
func (g *gen) canPass(f function) bool {
	for _, p := range f.params {
		switch {
		case p.kind == pointer && g.pointee(p.elem) == nil:
			return false
		case p.kind == slice && g.find(func(v variable) bool { return v.t.kind == slice && v.t.elem == p.elem }) == nil:
			return false
		}
	}
	return f.pure || f.frozen == 0 || g.frozen == 0
}

// callText writes a call.
func (g *gen) callText(f function, depth int) string {
	list := make([]string, len(f.params))
	for i, p := range f.params {
		if p.kind == scalar {
			list[i] = g.operand(p, depth-1)
		} else {
			list[i] = g.value(p)
		}
	}
	if f.method {
		return fmt.Sprintf("(%s).%s(%s)", list[0], f.name, strings.Join(list[1:], ", "))
	}
	return fmt.Sprintf("%s(%s)", f.name, strings.Join(list, ", "))
}

// generic calls one of the generic functions of Support; "" if there is
// nothing to call it with.
func (g *gen) generic(t *typ, depth int) string {
	for _, f := range g.closures {
		if f.pure && len(f.params) == 1 && len(f.results) == 1 && f.params[0] == t && f.results[0] == t && g.weight <= 30 && g.one(2) {
			return fmt.Sprintf("twice(%s, %s)", f.name, g.expr(t, depth-1))
		}
	}
	if t != boolT && g.one(3) {
		if v := g.find(func(v variable) bool { return v.t.kind == slice && v.t.elem == t }); v != nil {
			return fmt.Sprintf("total(%s)", v.name)
		}
	}
	return fmt.Sprintf("choose(%s, %s, %s)", g.expr(boolT, depth-1), g.expr(t, depth-1), g.operand(t, depth-1))
}

// half reads a 16-bit float.
func (g *gen) half(depth int) string {
	v := pick(g, g.halves)
	if v.mut {
		return fmt.Sprintf("dsl.F32(%s[id*4+%d])", v.name, g.r.IntN(4))
	}
	return fmt.Sprintf("dsl.F32(%s[%s])", v.name, g.index(v.name, &typ{kind: slice}, depth))
}

// pointee returns a variable whose address may be taken to write through.
func (g *gen) pointee(t *typ) *variable {
	return g.find(func(v variable) bool {
		if !g.writable(v) {
			return false
		}
		return same(v.t, t) || v.t.kind == pointer && same(v.t.elem, t) || v.t.kind == array && same(v.t.elem, t)
	})
}

func (g *gen) pointerTo(t *typ) string {
	v := g.pointee(t)
	switch {
	case same(v.t, t):
		return "&" + v.name
	case v.t.kind == pointer:
		return v.name
	}
	return fmt.Sprintf("&%s[%s]", v.name, g.index(v.name, v.t, 1))
}

// sliceOf draws a slice with at least one element.
func (g *gen) sliceOf(elem *typ) string {
	v := g.find(func(v variable) bool { return v.t.kind == slice && v.t.elem == elem })
	return v.name
}

// constant writes a literal of a number type.
func (g *gen) constant(t *typ) string {
	if t.float {
		v := pick(g, []float64{0, 1, -1, 0.5, 2, 3, -2.5, 0.1, 1e-3, 100, 65504, 16777217, 1e10, -1e-20, 1e30, 1.5e-40, 3.4028234663852886e38, math.Pi})
		return fmt.Sprintf("%s(%v)", t, v)
	}
	var v uint64
	switch g.r.IntN(4) {
	case 0:
		v = g.r.Uint64() >> g.r.IntN(64)
	case 1:
		v = 1<<g.r.IntN(64) - uint64(g.r.IntN(2))
	default:
		v = uint64(g.r.IntN(20)) - 4
	}
	if t.signed {
		return fmt.Sprintf("%s(%d)", t, int64(v<<(64-t.bits))>>(64-t.bits))
	}
	return fmt.Sprintf("%s(%d)", t, v<<(64-t.bits)>>(64-t.bits))
}
