package irconf

import (
	"fmt"
	"strings"

	"github.com/gokiln/kiln/compiler/ir"
)

var (
	intTypes   = []*ir.Type{ir.I8, ir.U8, ir.I16, ir.U16, ir.I32, ir.U32, ir.I64, ir.U64}
	floatTypes = []*ir.Type{ir.F32, ir.F64}
	countTypes = []*ir.Type{ir.U8, ir.U16, ir.U32, ir.U64}
	numTypes   = append(append([]*ir.Type{ir.F16, ir.BF16}, intTypes...), floatTypes...)
	boolTypes  = []*ir.Type{ir.Bool}
)

// Signature is one combination of types of a scalar operation.
type Signature struct {
	Op     ir.Op
	Result *ir.Type
	Args   []*ir.Type
}

func (s Signature) String() string {
	names := []string{}
	for _, a := range s.Args {
		names = append(names, a.String())
	}
	return fmt.Sprintf("%s(%s)%s", s.Op, strings.Join(names, ","), s.Result)
}

// Signatures lists the combinations of types that the verifier allows for the
// scalar operation op; nil for operations of other kinds.
func Signatures(op ir.Op) []Signature {
	info := op.Info()
	var out []Signature
	add := func(t *ir.Type, args ...*ir.Type) { out = append(out, Signature{op, t, args}) }
	same := func(lists ...[]*ir.Type) {
		for _, list := range lists {
			for _, t := range list {
				args := make([]*ir.Type, info.Args)
				for i := range args {
					args[i] = t
				}
				add(t, args...)
			}
		}
	}
	switch info.Rule {
	case ir.RuleArith:
		same(intTypes, floatTypes)
	case ir.RuleInt:
		same(intTypes)
	case ir.RuleWord:
		same([]*ir.Type{ir.I32, ir.U32})
	case ir.RuleLogic:
		same(intTypes, boolTypes)
	case ir.RuleFloat:
		same(floatTypes)
	case ir.RuleApprox:
		same([]*ir.Type{ir.F32})
	case ir.RuleShift:
		for _, t := range intTypes {
			for _, c := range countTypes {
				add(t, t, c)
			}
		}
	case ir.RuleCompare, ir.RuleBoolArith:
		for _, t := range append(append([]*ir.Type{}, intTypes...), floatTypes...) {
			add(ir.Bool, t, t)
		}
		if info.Rule == ir.RuleCompare {
			add(ir.Bool, ir.Bool, ir.Bool)
		}
	case ir.RuleConvert, ir.RuleBitcast:
		for _, t := range numTypes {
			for _, from := range numTypes {
				if info.Rule == ir.RuleConvert || t.Size() == from.Size() {
					add(t, from)
				}
			}
		}
	case ir.RuleSelect:
		for _, t := range append(append([]*ir.Type{}, numTypes...), ir.Bool) {
			add(t, ir.Bool, t, t)
		}
	}
	return out
}

const blockSize = 128

// header starts a kernel over slices of the given types: the first is the
// output, %i the index of the thread, and the block b1 runs where the output has
// an element %i.
func header(name string, types []*ir.Type) string {
	var params, args []string
	for i, t := range types {
		params = append(params, fmt.Sprintf("%%p%d: ptr<global,%s>, %%hn%d: i64", i, t, i))
		args = append(args, fmt.Sprintf("a%d slice %s \"[]%s\"", i, t, t))
	}
	return fmt.Sprintf(`module %q

kernel @k(%s) args(%s) {
b0:
  %%hb = block 0 : i64
  %%hd = blockdim 0 : i64
  %%hm = mul %%hb, %%hd : i64
  %%t = thread 0 : i64
  %%i = add %%hm, %%t : i64
  %%in = lt %%i, %%hn0 : bool
  br %%in, b1, b2
b1:
`, name, strings.Join(params, ", "), strings.Join(args, ", "))
}

const footer = "  jump b2\nb2:\n  ret\n}\n"

// scalarCases has two programs for each signature: one with all operands loaded,
// and one with constants as the last operand.
func scalarCases() []Case {
	var out []Case
	for op := range ir.Ops {
		for _, s := range Signatures(op) {
			out = append(out, loaded(s))
			if len(s.Args) > 1 || op == ir.OpNot {
				out = append(out, withConstants(s))
			}
		}
	}
	return out
}

// loaded applies s to all combinations of edge values.
func loaded(s Signature) Case {
	types := append([]*ir.Type{visible(s.Result)}, s.Args...)
	text := header(s.String(), types)
	refs := make([]string, len(s.Args))
	for i, t := range s.Args {
		text += fmt.Sprintf("  %%q%d = offset %%p%d, %%i : ptr<global,%s>\n  %%x%d = load %%q%d : %s\n", i, i+1, t, i, i, t)
		refs[i] = fmt.Sprintf("%%x%d", i)
	}
	text += fmt.Sprintf("  %%r = %s %s : %s\n", s.Op, strings.Join(refs, ", "), s.Result)
	if types[0] != s.Result {
		text += fmt.Sprintf("  %%v = convert %%r : %s\n", types[0]) + put("%v", types[0])
	} else {
		text += put("%r", s.Result)
	}
	rows := combine(s)
	c := Case{Name: s.String(), Text: text + footer, Types: types, Near: nearOf(s.Op, rows)}
	columns := make([][]uint64, len(types))
	for _, row := range rows {
		columns[0] = append(columns[0], eval(s, row))
		for i, x := range row {
			columns[i+1] = append(columns[i+1], x)
		}
	}
	return c.fill(columns, len(rows))
}

// visible is the type in which results of type t are stored: narrow integers are
// widened first, which shows whether they were brought to their width.
func visible(t *ir.Type) *ir.Type {
	switch {
	case !t.IsInt() || t.Size() == 8:
		return t
	case t.IsSigned():
		return ir.I64
	}
	return ir.U64
}

// fill sets buffers, arguments and grid; column 0 is the output.
func (c Case) fill(columns [][]uint64, threads int) Case {
	for i, t := range c.Types {
		buf := encode(t, columns[i])
		c.Want = append(c.Want, buf)
		if i == 0 {
			buf = complement(t, buf)
		}
		c.Bufs = append(c.Bufs, buf)
		c.Args = append(c.Args, Arg{Buf: i})
	}
	c.Grid = [3]int{(threads + blockSize - 1) / blockSize, 1, 1}
	c.Block = [3]int{blockSize, 1, 1}
	return c
}

// complement returns valid contents that differ from b everywhere, so that an
// element that was not written is found.
func complement(t *ir.Type, b []byte) []byte {
	out := make([]byte, len(b))
	for i, x := range b {
		if out[i] = ^x; t == ir.Bool {
			out[i] = x ^ 1
		}
	}
	return out
}

func eval(s Signature, args []uint64) uint64 {
	r, ok := ir.Eval(s.Op, s.Result, 0, args, s.Args)
	if !ok {
		panic("irconf: ir.Eval does not know " + s.String()) // the table of operations is incomplete
	}
	return r
}

// combine returns all combinations of the edge values of s's operands.
func combine(s Signature) [][]uint64 {
	rows := [][]uint64{nil}
	for i, t := range s.Args {
		values := Edges(t)
		switch {
		case s.Op.Info().Rule == ir.RuleShift && i == 1:
			values = counts(t)
		case len(s.Args) == 3:
			values = thin(values)
		case len(s.Args) == 1:
			values = append(values, random(t, 200)...)
		}
		var next [][]uint64
		for _, row := range rows {
			for _, v := range values {
				next = append(next, append(append([]uint64(nil), row...), v))
			}
		}
		rows = next
	}
	return rows
}

// withConstants applies s to edge values, with each of a few constants as its
// last operand; an element of the output is the result for one constant.
func withConstants(s Signature) Case {
	last := len(s.Args) - 1
	consts := constants(s.Args[last])
	out := visible(s.Result)
	types := append([]*ir.Type{out}, s.Args[:last]...)
	name := s.String() + " const"
	text := header(name, types)
	refs := ""
	for i, t := range s.Args[:last] {
		text += fmt.Sprintf("  %%q%d = offset %%p%d, %%j : ptr<global,%s>\n  %%x%d = load %%q%d : %s\n", i, i+1, t, i, i, t)
		refs += fmt.Sprintf("%%x%d, ", i)
	}
	// Thread i handles row i; the output has len(consts) elements a row.
	k := len(consts)
	text = strings.Replace(text, "  %in = lt %i, %hn0 : bool\n",
		fmt.Sprintf("  %%k = const %d : i64\n  %%j = add %%hm, %%t : i64\n  %%w = mul %%j, %%k : i64\n  %%in = lt %%w, %%hn0 : bool\n", k), 1)
	for i, v := range consts {
		text += fmt.Sprintf("  %%c%d = const %s : %s\n  %%r%d = %s %s%%c%d : %s\n", i, ir.ConstText(s.Args[last], v), s.Args[last], i, s.Op, refs, i, s.Result)
		text += fmt.Sprintf("  %%e%d = const %d : i64\n  %%z%d = add %%w, %%e%d : i64\n", i, i, i, i)
		r := fmt.Sprintf("%%r%d", i)
		if out != s.Result {
			text += fmt.Sprintf("  %%v%d = convert %s : %s\n", i, r, out)
			r = fmt.Sprintf("%%v%d", i)
		}
		text += fmt.Sprintf("  %%o%d = offset %%p0, %%z%d : ptr<global,%s>\n  store %%o%d, %s\n", i, i, out, i, r)
	}
	rows := combine(Signature{s.Op, s.Result, s.Args[:last]})
	var all [][]uint64
	for _, row := range rows {
		for _, v := range consts {
			all = append(all, append(append([]uint64(nil), row...), v))
		}
	}
	c := Case{Name: name, Text: text + footer, Types: types, Near: nearOf(s.Op, all)}
	columns := make([][]uint64, len(types))
	for _, row := range rows {
		for _, v := range consts {
			columns[0] = append(columns[0], eval(s, append(append([]uint64(nil), row...), v)))
		}
		for i, x := range row {
			columns[i+1] = append(columns[i+1], x)
		}
	}
	return c.fill(columns, len(rows))
}
