package llvm

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gokiln/kiln/compiler/ir"
)

// objectAlign is the alignment of shared and local objects, so that they can be
// accessed in the widest units.
const objectAlign = 16

// value writes the instructions of v.
func (e *emitter) value(v *ir.Value) error {
	switch v.Op {
	case ir.OpConst:
		e.names[v.ID] = e.constant(v)
		return nil
	case ir.OpWarpSize:
		e.names[v.ID] = strconv.Itoa(e.d.width)
		return nil
	case ir.OpLocal:
		e.names[v.ID] = e.local(v.Type.Elem)
		return nil
	case ir.OpShared:
		if e.parts != nil {
			e.names[v.ID] = fmt.Sprintf("getelementptr (i8, %s @%s, i32 %d)", e.d.typeOf(v.Type), e.sharedAll(), e.parts[v.Imm])
			return nil
		}
		e.shared[v.Imm] = true
		e.names[v.ID] = "@" + e.sharedName(int(v.Imm))
		return nil
	case ir.OpTable:
		e.names[v.ID] = "@" + e.tableName(int(v.Imm))
		return nil
	case ir.OpIndex, ir.OpOffset:
		e.advance(v, elementType(v.Type.Elem), e.operand(v.Args[1]))
		return nil
	case ir.OpField:
		e.advance(v, "i8", strconv.Itoa(v.Args[0].Type.Elem.Offset(int(v.Imm))))
		return nil
	case ir.OpZero:
		e.zero(v.Args[0])
		return nil
	}
	var b uint64
	var isConst bool
	if len(v.Args) > 1 && v.Args[1].Op == ir.OpConst {
		b, isConst = v.Args[1].Imm, true
	}
	c, err := e.d.choose(v, b, isConst)
	if err != nil {
		return err
	}
	if c.row.asm == alias {
		e.names[v.ID] = e.operand(v.Args[0])
		return nil
	}
	if v.Op.IsAtomic() && v.Imm != 0 {
		return e.ordered(v, c.patterns())
	}
	e.expand(v, c.patterns())
	return nil
}

// ordered writes an atomic operation that has an order or a scope.
func (e *emitter) ordered(v *ir.Value, patterns []pattern) error {
	fence := &ir.Value{Op: ir.OpFence, Type: ir.Void}
	if v.Scope() == ir.BlockScope {
		fence.Op = ir.OpFenceBlock
	}
	c, err := e.d.choose(fence, 0, false)
	if err != nil {
		return err
	}
	fenced := e.d.isa&nvptx != 0 // whose atomic updates lose their order in LLVM
	if fenced && v.Order()&ir.Release != 0 {
		e.expand(fence, c.patterns())
	}
	e.expand(v, e.d.qualify(v, patterns, fenced))
	if fenced && v.Order()&ir.Acquire != 0 {
		e.expand(fence, c.patterns())
	}
	return nil
}

// qualify puts the scope of v into a template, and its order unless there are fences.
func (d *dialect) qualify(v *ir.Value, patterns []pattern, fenced bool) []pattern {
	pairs := []string{}
	if v.Scope() == ir.BlockScope {
		pairs = append(pairs, `syncscope("`+d.device+`")`, `syncscope("`+d.block+`")`)
	}
	if o := v.Order(); o != ir.Relaxed && !fenced {
		seen := "monotonic" // where the exchange of a compare-and-swap fails
		if o&ir.Acquire != 0 {
			seen = "acquire"
		}
		order := [...]string{ir.Acquire: "acquire", ir.Release: "release", ir.AcquireRelease: "acq_rel"}[o]
		pairs = append(pairs, "monotonic monotonic", order+" "+seen, "monotonic", order)
	}
	replace := strings.NewReplacer(pairs...)
	out := slices.Clone(patterns)
	for i := range out {
		out[i].pieces = slices.Clone(out[i].pieces)
		for j := range out[i].pieces {
			out[i].pieces[j].text = replace.Replace(out[i].pieces[j].text)
		}
	}
	return out
}

// operand returns how v is written where its type is known.
func (e *emitter) operand(v *ir.Value) string { return e.names[v.ID] }

// expand writes v by a template.
func (e *emitter) expand(v *ir.Value, patterns []pattern) {
	x := expansion{e: e, v: v, before: e.here, temps: map[piece]string{}}
	if v.Type != ir.Void {
		e.names[v.ID] = e.fresh(countValues)
	}
	for i := range patterns {
		x.instruction(&patterns[i])
	}
}

// expansion fills the placeholders of a template for one value.
type expansion struct {
	e      *emitter
	v      *ir.Value
	before string
	temps  map[piece]string // names of temporaries and labels
}

func (x *expansion) instruction(p *pattern) {
	if p.place > 0 {
		x.e.place(x.name(piece{kind: pieceLabel, n: p.place - 1}))
		return
	}
	if p.declare != "" {
		x.e.declared[p.declare] = true
	}
	x.e.inexact = x.e.inexact || p.inexact
	var b strings.Builder
	b.WriteString("  ")
	for _, q := range p.pieces {
		b.WriteString(x.piece(q))
	}
	x.e.addText(b.String())
}

func (x *expansion) piece(q piece) string {
	switch q.kind {
	case pieceText:
		return q.text
	case pieceResult:
		return x.e.names[x.v.ID]
	case pieceOperand:
		return x.e.operand(x.v.Args[q.n])
	case pieceBefore:
		return "%" + x.before
	case pieceType:
		return x.e.d.typeOf(selecting(x.v))
	case pieceLabel:
		return "%" + x.name(q)
	}
	return x.name(q)
}

// name returns the name of a temporary or label of this expansion.
func (x *expansion) name(q piece) string {
	s, ok := x.temps[q]
	if !ok {
		what := countValues
		if q.kind == pieceLabel {
			what = countLabels
		}
		s = x.e.fresh(what)
		x.temps[q] = s
	}
	return s
}

// local declares a private object. It exists once for a thread, wherever the
// operation stands.
func (e *emitter) local(t *ir.Type) string {
	name := e.fresh(countObjects)
	space := ""
	if n := e.d.spaces[ir.Local]; n != 0 {
		space = fmt.Sprintf(", addrspace(%d)", n)
	}
	e.enter("%s = alloca %s, align %d%s", name, objectType(t), objectAlign, space)
	return name
}

func (e *emitter) sharedName(i int) string {
	return fmt.Sprintf("%s_shared%d", EntryName(e.f.Name), i)
}

func (e *emitter) tableName(i int) string {
	return fmt.Sprintf("%s_table%d", EntryName(e.f.Name), i)
}

// sharedAll is the name of all shared memory of a block that launches ask for.
func (e *emitter) sharedAll() string { return EntryName(e.f.Name) + "_shared" }

// objectType is the type of an object of t in memory. LLVM keeps small arrays in
// registers if it knows their elements.
func objectType(t *ir.Type) string {
	n, elem := 1, t
	for elem.Kind == ir.KArray {
		n, elem = n*elem.Len, elem.Elem
	}
	if n == 0 || !elem.IsValue() {
		n, elem = max(t.Size(), 1), ir.U8
	}
	return fmt.Sprintf("[%d x %s]", n, elementType(elem))
}

// elementType is the type that indexes are counted in.
func elementType(t *ir.Type) string {
	switch {
	case t.Kind == ir.KBool:
		return "i8"
	case t.IsPtr():
		return "i64"
	case t.IsValue():
		return typeNames[t.Kind]
	}
	return fmt.Sprintf("[%d x i8]", t.Size())
}

// advance adds n elements to a pointer. Addresses wrap, as the IR's do, and may
// leave their object: there is no inbounds.
func (e *emitter) advance(v *ir.Value, elem, n string) {
	if n == "0" {
		e.names[v.ID] = e.operand(v.Args[0])
		return
	}
	e.names[v.ID] = e.fresh(countValues)
	e.add("%s = getelementptr %s, %s %s, i64 %s", e.names[v.ID], elem, e.d.typeOf(v.Args[0].Type), e.operand(v.Args[0]), n)
}

// zero writes zeros over the object that p points to.
func (e *emitter) zero(p *ir.Value) {
	t := p.Type.Elem
	at := e.d.typeOf(p.Type)
	switch {
	case t.Size() == 0:
	case t.IsPtr():
		e.add("store %s null, %s %s, align %d", e.d.typeOf(t), at, e.operand(p), t.Align())
	case t.Kind == ir.KBool:
		e.add("store i8 0, %s %s, align 1", at, e.operand(p))
	case t.IsValue():
		e.add("store %s %s, %s %s, align %d", typeNames[t.Kind], constant(t, 0), at, e.operand(p), t.Align())
	default:
		set := fmt.Sprintf("@llvm.memset.p%d.i64", e.d.spaces[p.Type.Space])
		e.add("call void %s(%s align %d %s, i8 0, i64 %d, i1 false)", set, at, t.Align(), e.operand(p), t.Size())
		e.declared[fmt.Sprintf("declare void %s(%s, i8, i64, i1)", set, at)] = true
	}
}

// constant writes a constant.
func (e *emitter) constant(v *ir.Value) string {
	switch {
	case !v.Type.IsPtr():
		return constant(v.Type, v.Imm)
	case v.Imm == 0:
		return "null"
	}
	return fmt.Sprintf("inttoptr (i64 %d to %s)", int64(v.Imm), e.d.typeOf(v.Type))
}

// constant writes the constant of scalar type t with the given bits.
func constant(t *ir.Type, bits uint64) string {
	switch t.Kind {
	case ir.KBool:
		return strconv.FormatBool(bits != 0)
	case ir.KF32:
		x := math.Float32frombits(uint32(bits))
		if x != x { // as a float64 it would be made quiet
			return fmt.Sprintf("bitcast (i32 %d to float)", int32(bits))
		}
		return number(float64(x))
	case ir.KF64:
		x := math.Float64frombits(bits)
		if x != x {
			return fmt.Sprintf("bitcast (i64 %d to double)", int64(bits))
		}
		return number(x)
	}
	n := 64 - t.Bits()
	return strconv.FormatInt(int64(bits<<n)>>n, 10)
}

// number writes a number: simple ones in decimal, which must be exact.
func number(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1<<20 && !(x == 0 && math.Signbit(x)) {
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return fmt.Sprintf("0x%016X", math.Float64bits(x))
}
