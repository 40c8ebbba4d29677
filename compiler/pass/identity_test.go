package pass

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
)

// operands returns values of t at which identities break.
func operands(t *ir.Type) []uint64 {
	if t == ir.Bool {
		return []uint64{0, 1}
	}
	var out []uint64
	if t.IsInt() {
		for _, b := range []uint64{0, 1, 2, 3, 8, 31, 32, 100, 127, 128, 1 << 31, 1<<31 - 1, 1 << 63, math.MaxUint64, math.MaxUint64 - 7} {
			out = append(out, ir.Normalize(t, b))
		}
		return out
	}
	for _, x := range []float64{
		0, math.Copysign(0, -1), 1, -1, 0.5, 2, 3, -0.1, 1e-45, -1e-45, 1e-39, 3e38, -1e300, math.Inf(1), math.Inf(-1), math.NaN(), 65504, 1 << 20,
	} {
		b, _ := ir.Eval(ir.OpConvert, t, 0, []uint64{math.Float64bits(x)}, []*ir.Type{ir.F64})
		out = append(out, b)
	}
	return out
}

// exprs is a kernel of one block that stores many expressions of its scalar
// parameters x and y.
type exprs struct {
	m     *ir.Module
	f     *ir.Func
	b     *ir.Block
	x, y  *ir.Value
	shown []string
}

func newExprs(t *ir.Type) *exprs {
	e := &exprs{m: &ir.Module{Name: "t"}}
	e.f = e.m.NewFunc("k")
	e.f.Kernel = true
	e.b = e.f.NewBlock()
	e.f.NewParam(ir.PtrTo(ir.Global, ir.U64))
	e.f.NewParam(ir.I64)
	e.x, e.y = e.f.NewParam(t), e.f.NewParam(t)
	e.f.Args = []ir.Arg{
		{Name: "out", Kind: ir.ArgSlice, Elem: ir.U64, Go: "[]uint64"}, {Name: "x", Elem: t, Go: "T"}, {Name: "y", Elem: t, Go: "T"},
	}
	return e
}

func (e *exprs) emit(op ir.Op, t *ir.Type, args ...*ir.Value) *ir.Value {
	return e.b.Emit(e.f, op, t, args...)
}

func (e *exprs) constant(t *ir.Type, bits uint64) *ir.Value { return e.b.EmitConst(e.f, t, bits) }

// show stores v, as bits.
func (e *exprs) show(v *ir.Value, text string) {
	unsigned := map[int]*ir.Type{1: ir.U8, 2: ir.U16, 4: ir.U32, 8: ir.U64}
	t := v.Type
	switch {
	case t == ir.Bool:
		v = e.emit(ir.OpSelect, ir.U64, v, e.constant(ir.U64, 1), e.constant(ir.U64, 0))
	case t != ir.U64:
		if u := unsigned[t.Size()]; t != u {
			v = e.emit(ir.OpBitcast, u, v)
		}
		if v.Type != ir.U64 {
			v = e.emit(ir.OpConvert, ir.U64, v)
		}
	}
	i := e.constant(ir.I64, uint64(len(e.shown)))
	p := e.emit(ir.OpOffset, e.f.Params[0].Type, e.f.Params[0], i)
	e.emit(ir.OpStore, ir.Void, p, v)
	e.shown = append(e.shown, text+" : "+t.String())
}

// check compares the kernel before and after passes for all operands.
func (e *exprs) check(t *testing.T, passes ...string) {
	e.b.Return()
	require.NoError(t, ir.Verify(e.m))
	after := reparse(t, e.m)
	for _, p := range passes {
		runNamed(t, after, p)
	}
	for _, x := range operands(e.x.Type) {
		for _, y := range operands(e.x.Type) {
			slices := [][]byte{make([]byte, 8*len(e.shown))}
			want, got := execute(e.m, slices, []uint64{x, y}), execute(after, slices, []uint64{x, y})
			require.Empty(t, want.Failure)
			require.Empty(t, got.Failure)
			for i, text := range e.shown {
				w, g := want.Memory[0][8*i:8*i+8], got.Memory[0][8*i:8*i+8]
				if string(w) != string(g) {
					t.Fatalf("%s at x = %#x, y = %#x: %x before, %x after\n", text, x, y, w, g)
				}
			}
		}
	}
}

// eachOp calls fn with every pure operation whose operands have type t.
func eachOp(t *ir.Type, fn func(op ir.Op, result *ir.Type)) {
	for op := range ir.Ops {
		switch op.Info().Rule {
		case ir.RuleArith:
			if t.IsInt() || t.IsFloat() {
				fn(op, t)
			}
		case ir.RuleInt:
			if t.IsInt() {
				fn(op, t)
			}
		case ir.RuleLogic:
			if t.IsInt() || t == ir.Bool {
				fn(op, t)
			}
		case ir.RuleFloat:
			if t.IsFloat() {
				fn(op, t)
			}
		case ir.RuleCompare:
			if !t.IsHalf() {
				fn(op, ir.Bool)
			}
		case ir.RuleBoolArith:
			if t.IsInt() || t.IsFloat() {
				fn(op, ir.Bool)
			}
		}
	}
}

// TestIdentities folds every operation with a constant on either side, with
// equal operands, and on top of every other operation with a constant.
func TestIdentities(t *testing.T) {
	for _, typ := range ir.Scalars {
		t.Run(typ.String(), func(t *testing.T) {
			e := newExprs(typ)
			eachOp(typ, func(op ir.Op, result *ir.Type) {
				switch op.Info().Args {
				case 1:
					a := e.emit(op, result, e.x)
					e.show(a, op.String())
					eachOp(typ, func(outer ir.Op, r *ir.Type) {
						if outer.Info().Args == 1 && result == typ {
							e.show(e.emit(outer, r, a), outer.String()+" "+op.String())
						}
					})
					if result == typ {
						e.show(e.emit(op, result, a), op.String()+" twice")
					}
				case 2:
					e.show(e.emit(op, result, e.x, e.x), op.String()+" x, x")
					e.show(e.emit(op, result, e.x, e.y), op.String()+" x, y")
					if result == ir.Bool {
						e.show(e.emit(ir.OpNot, ir.Bool, e.emit(op, result, e.x, e.y)), "not "+op.String())
					}
					for _, c := range operands(typ) {
						text := op.String() + " x, " + ir.ConstText(typ, c)
						a := e.emit(op, result, e.x, e.constant(typ, c))
						e.show(a, text)
						e.show(e.emit(op, result, e.constant(typ, c), e.x), "mirrored "+text)
					}
				}
			})
			e.check(t, "fold")
		})
	}
}

// TestIdentityChains folds pairs of operations with constants.
func TestIdentityChains(t *testing.T) {
	for _, typ := range []*ir.Type{ir.Bool, ir.I8, ir.U16, ir.I32, ir.U32, ir.I64, ir.U64} {
		t.Run(typ.String(), func(t *testing.T) {
			e := newExprs(typ)
			consts := operands(typ)
			k := 0
			next := func() *ir.Value { k++; return e.constant(typ, consts[k%len(consts)]) }
			eachOp(typ, func(inner ir.Op, r1 *ir.Type) {
				if inner.Info().Args != 2 || r1 != typ {
					return
				}
				eachOp(typ, func(outer ir.Op, r2 *ir.Type) {
					if outer.Info().Args != 2 {
						return
					}
					for range 3 {
						c, d := next(), next()
						text := outer.String() + " of " + inner.String() + " by " + ir.ConstText(typ, c.Imm) + ", " + ir.ConstText(typ, d.Imm)
						e.show(e.emit(outer, r2, e.emit(inner, typ, e.x, c), d), text)
					}
					a := e.emit(inner, typ, e.x, e.y)
					e.show(e.emit(outer, r2, a, e.y), outer.String()+" of "+inner.String()+" x, y and y")
					e.show(e.emit(outer, r2, e.x, a), outer.String()+" of x and "+inner.String()+" x, y")
					e.show(e.emit(outer, r2, e.y, a), outer.String()+" of y and "+inner.String()+" x, y")
				})
			})
			e.check(t, "fold")
		})
	}
}

// arithmetic returns the operations on numbers of e's type that are left after the pass fold.
func (e *exprs) arithmetic(t *testing.T) (ops []ir.Op) {
	e.b.Return()
	runNamed(t, e.m, "fold")
	runNamed(t, e.m, "dce")
	for _, v := range e.b.Instrs {
		if v.Type == e.x.Type && !v.IsConst() && v.Op != ir.OpBitcast {
			ops = append(ops, v.Op)
		}
	}
	return ops
}

// TestCancelled: what is added and taken away again leaves nothing.
func TestCancelled(t *testing.T) {
	for _, typ := range []*ir.Type{ir.I8, ir.U16, ir.I32, ir.U32, ir.I64, ir.U64} {
		for text, do := range map[string]func(e *exprs) *ir.Value{
			"(x - y) + y": func(e *exprs) *ir.Value { return e.emit(ir.OpAdd, typ, e.emit(ir.OpSub, typ, e.x, e.y), e.y) },
			"y + (x - y)": func(e *exprs) *ir.Value { return e.emit(ir.OpAdd, typ, e.y, e.emit(ir.OpSub, typ, e.x, e.y)) },
			"(x + y) - y": func(e *exprs) *ir.Value { return e.emit(ir.OpSub, typ, e.emit(ir.OpAdd, typ, e.x, e.y), e.y) },
			"(y + x) - y": func(e *exprs) *ir.Value { return e.emit(ir.OpSub, typ, e.emit(ir.OpAdd, typ, e.y, e.x), e.y) },
		} {
			e := newExprs(typ)
			e.show(do(e), text)
			require.Empty(t, e.arithmetic(t), "%s of %s", text, typ)
		}
	}
}

// TestPowersOfTwo: a quotient by a power of two is a product where 1 over it is a normal number.
func TestPowersOfTwo(t *testing.T) {
	for typ, exps := range map[*ir.Type][2]int{ir.F32: {-126, 126}, ir.F64: {-1022, 1022}} {
		for _, k := range []int{exps[0] - 1, exps[0], exps[0] + 1, -3, -2, 2, 3, exps[1] - 1, exps[1], exps[1] + 1} {
			for _, sign := range []float64{1, -1} {
				e := newExprs(typ)
				by, _ := ir.Eval(ir.OpConvert, typ, 0, []uint64{math.Float64bits(math.Ldexp(sign, k))}, []*ir.Type{ir.F64})
				e.show(e.emit(ir.OpDiv, typ, e.x, e.constant(typ, by)), "x / c")
				want := ir.OpMul
				if k < exps[0] || k > exps[1] {
					want = ir.OpDiv
				}
				require.Equal(t, []ir.Op{want}, e.arithmetic(t), "%s by %g times 2 to the power of %d", typ, sign, k)
			}
		}
	}
}

// TestNegations: whatever way leads to a negation, one operation is left.
func TestNegations(t *testing.T) {
	for _, typ := range []*ir.Type{ir.I8, ir.U8, ir.I16, ir.U16, ir.I32, ir.U32, ir.I64, ir.U64} {
		ones, one := allOnes(typ), uint64(1)
		for text, do := range map[string]func(e *exprs) *ir.Value{
			"0 - x":  func(e *exprs) *ir.Value { return e.emit(ir.OpSub, typ, e.constant(typ, 0), e.x) },
			"x * -1": func(e *exprs) *ir.Value { return e.emit(ir.OpMul, typ, e.x, e.constant(typ, ones)) },
			"-1 * x": func(e *exprs) *ir.Value { return e.emit(ir.OpMul, typ, e.constant(typ, ones), e.x) },
			"^x + 1": func(e *exprs) *ir.Value {
				return e.emit(ir.OpAdd, typ, e.emit(ir.OpNot, typ, e.x), e.constant(typ, one))
			},
			"1 + ^x": func(e *exprs) *ir.Value {
				return e.emit(ir.OpAdd, typ, e.constant(typ, one), e.emit(ir.OpNot, typ, e.x))
			},
			"x ^ -1 + 1": func(e *exprs) *ir.Value {
				return e.emit(ir.OpAdd, typ, e.emit(ir.OpXor, typ, e.x, e.constant(typ, ones)), e.constant(typ, one))
			},
			"^x - -1": func(e *exprs) *ir.Value {
				return e.emit(ir.OpSub, typ, e.emit(ir.OpNot, typ, e.x), e.constant(typ, ones))
			},
			"^(x - 1)": func(e *exprs) *ir.Value {
				return e.emit(ir.OpNot, typ, e.emit(ir.OpSub, typ, e.x, e.constant(typ, one)))
			},
			"^(-1 + x)": func(e *exprs) *ir.Value {
				return e.emit(ir.OpNot, typ, e.emit(ir.OpAdd, typ, e.constant(typ, ones), e.x))
			},
		} {
			e := newExprs(typ)
			e.show(do(e), text)
			require.Equal(t, []ir.Op{ir.OpNeg}, e.arithmetic(t), "%s of %s", text, typ)
		}
	}
}

func TestShiftIdentities(t *testing.T) {
	for _, typ := range []*ir.Type{ir.I8, ir.U8, ir.I32, ir.U32, ir.I64, ir.U64} {
		e := newExprs(typ)
		counts := []uint64{0, 1, 4, 7, 8, 31, 32, 63, 64, 200}
		for _, op := range []ir.Op{ir.OpShl, ir.OpShr} {
			for _, c := range counts {
				a := e.emit(op, typ, e.x, e.constant(ir.U8, c))
				e.show(a, op.String())
				e.show(e.emit(op, typ, e.constant(typ, 0), e.constant(ir.U32, c)), op.String()+" of 0")
				for _, d := range counts {
					for _, outer := range []ir.Op{ir.OpShl, ir.OpShr} {
						e.show(e.emit(outer, typ, a, e.constant(ir.U64, d)), outer.String()+" of "+op.String())
					}
				}
			}
		}
		e.check(t, "fold")
	}
}

// TestConversionChains folds x to a to b for all types.
func TestConversionChains(t *testing.T) {
	for _, typ := range ir.Scalars[1:] {
		t.Run(typ.String(), func(t *testing.T) {
			e := newExprs(typ)
			for _, a := range ir.Scalars[1:] {
				v := e.emit(ir.OpConvert, a, e.x)
				e.show(v, "convert")
				for _, b := range ir.Scalars[1:] {
					e.show(e.emit(ir.OpConvert, b, v), typ.String()+" to "+a.String()+" to "+b.String())
				}
				if a.Size() == typ.Size() {
					e.show(e.emit(ir.OpBitcast, typ, e.emit(ir.OpBitcast, a, e.x)), "bitcast there and back")
				}
			}
			e.check(t, "fold")
		})
	}
}

func TestSelectIdentities(t *testing.T) {
	e := newExprs(ir.Bool)
	yes, no := e.constant(ir.Bool, 1), e.constant(ir.Bool, 0)
	vs := []*ir.Value{e.x, e.y, yes, no, e.emit(ir.OpNot, ir.Bool, e.x)}
	for _, c := range vs {
		for _, a := range vs {
			for _, b := range vs {
				e.show(e.emit(ir.OpSelect, ir.Bool, c, a, b), "select")
			}
		}
	}
	e.check(t, "fold")
}

// TestStrengthMeaning runs the range-based rewrites on narrowed and on
// arbitrary integers.
func TestStrengthMeaning(t *testing.T) {
	for _, typ := range []*ir.Type{ir.I8, ir.I32, ir.U32, ir.I64, ir.U64} {
		t.Run(typ.String(), func(t *testing.T) {
			e := newExprs(typ)
			var vs []*ir.Value
			for _, v := range []*ir.Value{e.x, e.y} {
				vs = append(vs, v)
				for _, op := range []ir.Op{ir.OpAnd, ir.OpRem, ir.OpDiv, ir.OpMin, ir.OpMax, ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpOr, ir.OpXor, ir.OpAndNot} {
					for _, c := range []uint64{1, 7, 100, math.MaxUint64} {
						vs = append(vs, e.emit(op, typ, v, e.constant(typ, c)))
					}
				}
				for _, op := range []ir.Op{ir.OpShl, ir.OpShr} {
					vs = append(vs, e.emit(op, typ, v, e.constant(ir.U32, 3)), e.emit(op, typ, v, e.constant(ir.U32, 1)))
				}
				for _, u := range []*ir.Type{ir.U8, ir.I16, ir.U64, ir.I64} {
					vs = append(vs, e.emit(ir.OpConvert, typ, e.emit(ir.OpConvert, u, v)))
				}
				vs = append(vs, e.emit(ir.OpPopcount, typ, v), e.emit(ir.OpClz, typ, v))
			}
			for i, v := range vs {
				for _, c := range []uint64{1, 2, 64} {
					e.show(e.emit(ir.OpDiv, typ, v, e.constant(typ, c)), "div of "+v.Op.String())
					e.show(e.emit(ir.OpRem, typ, v, e.constant(typ, c)), "rem of "+v.Op.String())
				}
				w := vs[(i*7+3)%len(vs)]
				for _, op := range []ir.Op{ir.OpLt, ir.OpLe, ir.OpEq, ir.OpNe, ir.OpGt, ir.OpGe} {
					text := op.String() + " of " + v.Op.String()
					e.show(e.emit(op, ir.Bool, v, w), text)
					for _, c := range []uint64{0, 7, math.MaxUint64} {
						e.show(e.emit(op, ir.Bool, v, e.constant(typ, c)), text)
						sum := e.emit(ir.OpAdd, typ, v, w)
						e.show(e.emit(op, ir.Bool, sum, e.constant(typ, c)), text+" sum")
					}
				}
			}
			e.check(t, "strength", "fold")
		})
	}
}
