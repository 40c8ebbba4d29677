package llvm

import (
	"strings"

	llir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/value"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
)

// Spellings returns the number of spellings of an operation, over all types
// and instruction sets. Where there is none, why says what becomes of it instead.
func Spellings(op ir.Op) (n int, why string) {
	for _, table := range []map[ir.Op]string{coded, unsupported} {
		if table[op] != "" {
			return 0, table[op]
		}
	}
	for _, r := range tableRows() {
		if r.op == op {
			n++
		}
	}
	return n, ""
}

// Templates returns the spellings of an operation, each for one type and instruction set,
// of the operands %a, %b and %c; none where [Spellings] has a reason. Those for all
// instruction sets and without a condition are first.
func Templates(op ir.Op) []string {
	var general, others []string
	for _, r := range tableRows() {
		switch {
		case r.op != op:
		case r.isa == all && r.when == nil:
			general = append(general, r.example())
		default:
			others = append(others, r.example())
		}
	}
	return append(general, others...)
}

// example writes a row for 32-bit integers if it is there for them, else for the first of
// its kinds.
func (r *row) example() string {
	k := ir.KI32
	for !r.on.Has(k) {
		k = (k + 1) % (ir.KPtr + 1)
	}
	d := dialectNVPTX
	for _, other := range []*dialect{dialectWave32, dialectWave64} {
		if r.isa&other.isa != 0 {
			d = other
		}
	}
	e := newEmitter(d)
	e.t = examples[d]
	e.place(llir.NewBlock(".b0"))
	v := use(r, k)
	e.vals = make([]value.Value, len(v.Args))
	for i, a := range v.Args {
		a.ID = i
		e.vals[i] = e.param(string(rune('a'+i)), d.typeOf(a.Type))
	}
	out := r.form(e.newBuild(v))
	if e.Term == nil {
		e.NewRet(nil)
	}
	text := e.fn.LLString()
	text = text[strings.IndexByte(text, '{'):]
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	lines = lines[2 : len(lines)-2] // without the first label and the return
	if len(lines) == 0 {
		return out.Ident()
	}
	return strings.Join(lines, "; ")
}

// examples are targets of dialects.
var examples = map[*dialect]target.Target{
	dialectNVPTX:  {Kind: target.LLVM, Arch: "sm_90", CC: 90},
	dialectWave32: {Kind: target.LLVM, Arch: "gfx1100"},
	dialectWave64: {Kind: target.LLVM, Arch: "gfx942"},
}

// use returns a value of the row's operation on kind k.
func use(r *row, k ir.Kind) *ir.Value {
	t := ir.PtrTo(ir.Global, ir.F32)
	for _, s := range append([]*ir.Type{ir.Void}, ir.Scalars...) {
		if s.Kind == k {
			t = s
		}
	}
	v := &ir.Value{Op: r.op, Type: t}
	info := r.op.Info()
	if r.op == ir.OpCopyGroups {
		t = ir.I64
	}
	for range info.Args {
		v.Args = append(v.Args, &ir.Value{Type: t})
	}
	set := func(i int, t *ir.Type) { v.Args[i].Type = t }
	switch info.Rule {
	case ir.RuleSelect, ir.RuleVote:
		set(0, ir.Bool)
	case ir.RuleShfl:
		set(1, ir.I64)
	case ir.RuleMatrix:
		set(0, ir.PtrTo(ir.Local, ir.F32))
		set(1, ir.PtrTo(ir.Local, ir.F16))
		if r.op == ir.OpLoadMatrix {
			set(1, ir.PtrTo(ir.Shared, ir.F32))
		} else {
			set(2, v.Args[1].Type)
		}
	case ir.RuleMem, ir.RuleAtomic:
		set(0, ir.PtrTo(ir.Global, t))
		if r.op == ir.OpCopyAsync || r.op == ir.OpCopyVec {
			set(0, ir.PtrTo(ir.Shared, ir.F32))
			set(1, ir.PtrTo(ir.Global, ir.F32))
			v.Imm = 4
		}
		if r.op == ir.OpCopyVec {
			set(2, ir.Bool)
		}
	case ir.RuleConvert, ir.RuleBitcast:
		set(0, ir.F32)
		for _, s := range ir.Scalars {
			if s.Kind == r.from {
				set(0, s)
			}
		}
	}
	return v
}
