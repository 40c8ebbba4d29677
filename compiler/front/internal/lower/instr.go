package lower

import (
	"go/constant"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/gotype"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/internal/devlog"
)

// instr lowers one instruction that is not a phi.
func (f *funcLower) instr(in ssa.Instruction) {
	switch in := in.(type) {
	case *ssa.Jump, *ssa.If, *ssa.DebugRef:
	case *ssa.Return:
		f.ret(in)
	case *ssa.Store:
		f.storeInstr(in)
	case ssa.Value:
		if f.l.wide(in.Type()) {
			f.env[in] = f.tooLarge("use arrays, or slices that the kernel gets, for what is repeated", "type %s has more than %d fields, with those of its fields", gotype.Name(in.Type()), gotype.MaxFields)
			return
		}
		f.env[in] = f.value(in)
	default:
		f.unsupported(in)
	}
}

// value lowers an instruction that has a value.
func (f *funcLower) value(in ssa.Value) val {
	switch in := in.(type) {
	case *ssa.Alloc:
		return f.alloc(in)
	case *ssa.BinOp:
		return f.binOp(in)
	case *ssa.UnOp:
		return f.unOp(in)
	case *ssa.Call:
		return f.call(in)
	case *ssa.ChangeType:
		return f.changeType(f.val(in.X), in.X.Type(), in.Type())
	case *ssa.Convert:
		return f.convert(in)
	case *ssa.MultiConvert:
		f.report(diag.Unsupported, "conversion to %s is not possible for every type of the type parameter", gotype.Name(in.Type()))
		return badVal
	case *ssa.FieldAddr:
		return f.component(f.val(in.X), gotype.Deref(in.X.Type()), in.Field)
	case *ssa.Field:
		return f.nonNil(f.val(in.X).part(in.Field))
	case *ssa.IndexAddr:
		return f.indexAddr(in)
	case *ssa.Index:
		return f.index(in)
	case *ssa.Slice:
		return f.slice(in)
	case *ssa.Extract:
		return f.val(in.Tuple).part(in.Index)
	case *ssa.MakeClosure:
		return f.closure(in)
	}
	f.unsupported(in.(ssa.Instruction))
	return badVal
}

// unsupported reports what the subset check lets through only by mistake.
func (f *funcLower) unsupported(in ssa.Instruction) {
	code, what := diag.Unsupported, "construct"
	switch in.(type) {
	case *ssa.MakeInterface, *ssa.ChangeInterface:
		code, what = diag.Interface, "interface value"
	case *ssa.TypeAssert:
		code, what = diag.TypeSwitch, "type assertion"
	case *ssa.Panic:
		code, what = diag.Panic, "panic"
	case *ssa.MakeSlice:
		code, what = diag.Heap, "slice of variable size"
	case *ssa.SliceToArrayPointer:
		what = "conversion of a slice to an array"
	}
	f.report(code, "%s in a kernel", what)
}

func (f *funcLower) ret(r *ssa.Return) {
	var v val
	for _, x := range r.Results {
		if escapes(x) {
			f.report(diag.Escape, "result of type %s points to a variable of %s", gotype.Name(x.Type()), f.fn.Name())
			v.parts = append(v.parts, badVal)
			continue
		}
		p := f.val(x)
		if p.isNil {
			f.report(diag.NilPointer, "nil %s is returned", gotype.Name(x.Type()))
			p = badVal
		}
		v.parts = append(v.parts, p)
	}
	if len(v.parts) == 1 {
		v = v.parts[0]
	}
	if f.result == nil {
		shape := v
		f.result = &shape
		if !v.broken() {
			for _, leaf := range v.flatten(nil) {
				f.out.Results = append(f.out.Results, leaf.Type)
			}
		}
	} else if !v.broken() && !f.result.broken() && shapeOf(v) != shapeOf(*f.result) {
		f.mismatched(f.fn.Signature.Results().At(0).Type(), *f.result, v)
	}
	f.blk.Return(v.flatten(nil)...)
	f.blk.Term.Pos = f.l.position(f.at)
}

var binOps = map[token.Token]ir.Op{
	token.ADD: ir.OpAdd, token.SUB: ir.OpSub, token.MUL: ir.OpMul, token.QUO: ir.OpDiv, token.REM: ir.OpRem,
	token.AND: ir.OpAnd, token.OR: ir.OpOr, token.XOR: ir.OpXor, token.AND_NOT: ir.OpAndNot,
	token.SHL: ir.OpShl, token.SHR: ir.OpShr,
	token.EQL: ir.OpEq, token.NEQ: ir.OpNe, token.LSS: ir.OpLt, token.LEQ: ir.OpLe, token.GTR: ir.OpGt, token.GEQ: ir.OpGe,
}

func (f *funcLower) binOp(in *ssa.BinOp) val {
	t := gotype.Scalar(in.X.Type())
	if in.Op == token.SHL || in.Op == token.SHR {
		return f.shift(in, t)
	}
	x, y := f.val(in.X), f.val(in.Y)
	if x.bad || y.bad {
		return badVal
	}
	switch {
	case gotype.IsStorage(in.X.Type()):
		f.halfArith(in.X.Type(), in.Op)
		return badVal
	case in.Op == token.EQL || in.Op == token.NEQ:
		return f.equal(in, x, y)
	case t == nil:
		f.report(diag.Unsupported, "%s on %s", in.Op, gotype.Name(in.X.Type()))
		return badVal
	}
	res := t
	if b := gotype.Scalar(in.Type()); b == ir.Bool {
		res = b
	}
	if (in.Op == token.QUO || in.Op == token.REM) && t.IsInt() && !y.v.IsConst() {
		f.emit(ir.OpDivisor, ir.Void, x.v, y.v)
	}
	return val{v: f.arith(in, binOps[in.Op], res, x.v, y.v)}
}

func (f *funcLower) halfArith(t types.Type, op token.Token) {
	f.report(diag.HalfArith, "%s on %s, which is storage: compute in float32 with dsl.F32 and dsl.To", op, gotype.Name(t))
}

func (f *funcLower) shift(in *ssa.BinOp, t *ir.Type) val {
	if gotype.IsStorage(in.X.Type()) {
		f.halfArith(in.X.Type(), in.Op)
		return badVal
	}
	return val{v: f.emit(binOps[in.Op], t, f.scalar(in.X), f.shiftCount(in.Y))}
}

// shiftCount makes the count unsigned: a negative one, on which Go panics,
// becomes huge and shifts everything out where builds do not look for it.
func (f *funcLower) shiftCount(x ssa.Value) *ir.Value {
	if c, ok := x.(*ssa.Const); ok && c.Value != nil {
		if u, exact := constant.Uint64Val(constant.ToInt(c.Value)); exact && u < 1<<32 {
			return f.konst(ir.U32, u)
		}
	}
	n := f.scalar(x)
	unsigned := map[*ir.Type]*ir.Type{ir.I8: ir.U8, ir.I16: ir.U16, ir.I32: ir.U32, ir.I64: ir.U64}
	if t := unsigned[n.Type]; t != nil {
		if !n.IsConst() {
			f.emit(ir.OpCount, ir.Void, n)
		}
		return f.emit(ir.OpConvert, t, n)
	}
	return n
}

// equal compares values leaf by leaf.
func (f *funcLower) equal(in *ssa.BinOp, x, y val) val {
	t := in.X.Type()
	if c, ok := in.X.(*ssa.Const); ok && c.Value == nil {
		t = in.Y.Type()
	}
	if n, _ := components(t); n < 0 && gotype.Scalar(t) == nil || n >= 0 && gotype.HasPointers(t) {
		f.report(diag.PointerOrder, "values of type %s are compared", gotype.Name(t))
		return badVal
	}
	if s := gotype.StorageIn(t); s != nil {
		f.report(diag.HalfArith, "%s compares %s fields, which are storage", in.Op, gotype.Name(s))
		return badVal
	}
	xs, ys := x.flatten(nil), y.flatten(nil)
	if len(xs) != len(ys) {
		return badVal
	}
	var all *ir.Value
	for i := range xs {
		eq := f.emit(ir.OpEq, ir.Bool, xs[i], ys[i])
		if i == 0 {
			all = eq
		} else {
			all = f.emit(ir.OpAnd, ir.Bool, all, eq)
		}
	}
	if all == nil {
		all = f.konst(ir.Bool, 1)
	}
	if in.Op == token.NEQ {
		if len(xs) == 1 {
			all.Op = ir.OpNe // of the comparison just made
		} else {
			all = f.emit(ir.OpNot, ir.Bool, all)
		}
	}
	return val{v: all}
}

func (f *funcLower) unOp(in *ssa.UnOp) val {
	if in.Op == token.MUL {
		if len(*in.Referrers()) == 0 {
			return badVal // ranging over the indices of an array reads it for nothing
		}
		return f.loadIndexed(f.val(in.X), in)
	}
	x := f.val(in.X)
	t := gotype.Scalar(in.Type())
	if x.v == nil || t == nil {
		return badVal
	}
	if gotype.IsStorage(in.Type()) {
		f.halfArith(in.Type(), in.Op)
		return badVal
	}
	switch in.Op {
	case token.SUB:
		return val{v: f.emit(ir.OpNeg, t, x.v)}
	case token.NOT, token.XOR:
		return val{v: f.emit(ir.OpNot, t, x.v)}
	}
	f.unsupported(in)
	return badVal
}

// changeType lowers a conversion between types of one underlying type. Half
// types differ from uint16 here: the conversion is of bits.
func (f *funcLower) changeType(x val, from, to types.Type) val {
	s, t := gotype.Scalar(from), gotype.Scalar(to)
	if x.v != nil && s != nil && t != nil && s != t {
		return val{v: f.emit(ir.OpBitcast, t, x.v)}
	}
	return x
}

func (f *funcLower) convert(in *ssa.Convert) val {
	x := f.val(in.X)
	s, t := gotype.Scalar(in.X.Type()), gotype.Scalar(in.Type())
	if x.v == nil || s == nil || t == nil {
		if !x.bad {
			f.report(diag.Unsupported, "conversion of %s to %s", gotype.Name(in.X.Type()), gotype.Name(in.Type()))
		}
		return badVal
	}
	switch {
	case s == t:
		return x
	case (s.IsHalf() || t.IsHalf()) && (s == ir.U16 || t == ir.U16):
		return val{v: f.emit(ir.OpBitcast, t, x.v)}
	case gotype.IsStorage(in.X.Type()):
		f.report(diag.HalfArith, "conversion of %s to %s takes its bits as a number: use dsl.F32", gotype.Name(in.X.Type()), gotype.Name(in.Type()))
		return badVal
	case gotype.IsStorage(in.Type()):
		f.report(diag.HalfArith, "conversion of %s to %s makes bits of a number: use dsl.To", gotype.Name(in.X.Type()), gotype.Name(in.Type()))
		return badVal
	}
	return val{v: f.emit(ir.OpConvert, t, x.v)}
}

// index64 returns an index as an i64, checked to be in 0 to n; one that does not
// fit is negative and fails the check.
func (f *funcLower) index64(x ssa.Value, n *ir.Value, check devlog.Check) *ir.Value {
	v := f.scalar(x)
	if v.Type == ir.U64 {
		check |= devlog.Unsigned
	}
	if v.Type != ir.I64 {
		v = f.emit(ir.OpConvert, ir.I64, v)
	}
	f.emitImm(ir.OpBounds, ir.Void, uint64(check), v, n)
	return v
}

func (f *funcLower) indexAddr(in *ssa.IndexAddr) val {
	x := f.empty(f.val(in.X), in.X.Type())
	if x.bad {
		return badVal
	}
	if x.isNil {
		f.report(diag.NilPointer, "nil %s is indexed", gotype.Name(in.X.Type()))
		return badVal
	}
	if _, ok := in.X.Type().Underlying().(*types.Slice); ok {
		p := x.part(0).v
		if p == nil {
			return badVal
		}
		i := f.index64(in.Index, x.part(1).v, devlog.Index)
		return val{v: f.emit(ir.OpOffset, p.Type, p, i)}
	}
	return f.element(x, gotype.Deref(in.X.Type()), in.Index)
}

// element returns the address of an element of the array of type arr at x.
func (f *funcLower) element(x val, arr types.Type, index ssa.Value) val {
	n := arr.Underlying().(*types.Array).Len()
	if i, ok := inRange(index, n); ok {
		return f.component(x, arr, i)
	}
	if x.mem != nil {
		x = *x.mem
	}
	if x.v == nil {
		f.report(diag.DynamicIndex, "array of type %s is indexed by a variable", gotype.Name(arr))
		return badVal
	}
	i := f.index64(index, f.int(n), devlog.Index)
	return val{v: f.emit(ir.OpIndex, ir.PtrTo(x.v.Type.Space, x.v.Type.Elem.Elem), x.v, i)}
}

// index lowers the index of an array that is a value; a variable index needs
// it in memory.
func (f *funcLower) index(in *ssa.Index) val {
	arr, ok := in.X.Type().Underlying().(*types.Array)
	x := f.val(in.X)
	if !ok || x.bad {
		if !x.bad {
			f.report(diag.Unsupported, "index of %s", gotype.Name(in.X.Type()))
		}
		return badVal
	}
	if x.mem != nil && x.cell == nil { // see loadIndexed
		return f.loadIndexed(f.element(*x.mem, in.X.Type(), in.Index), in)
	}
	if i, ok := inRange(in.Index, arr.Len()); ok {
		return x.part(i)
	}
	m := gotype.Memory(in.X.Type())
	if m == nil {
		f.report(diag.DynamicIndex, "array of type %s is indexed by a variable", gotype.Name(in.X.Type()))
		return badVal
	}
	p := val{v: f.local(m)}
	f.store(p, x, in.X.Type())
	i := f.index64(in.Index, f.int(arr.Len()), devlog.Index)
	return f.load(val{v: f.emit(ir.OpIndex, ir.PtrTo(ir.Local, m.Elem), p.v, i)}, arr.Elem())
}

// slice lowers x[low:high:max]. The capacity of a slice is its length here, so
// that a slice cannot grow back.
func (f *funcLower) slice(in *ssa.Slice) val {
	x := f.empty(f.val(in.X), in.X.Type())
	if x.bad {
		return badVal
	}
	if x.isNil {
		f.report(diag.NilPointer, "nil %s is sliced", gotype.Name(in.X.Type()))
		return badVal
	}
	var p, n *ir.Value
	arr, isArray := gotype.Deref(in.X.Type()).Underlying().(*types.Array)
	if isArray {
		if x.v == nil {
			f.report(diag.StoredPointer, "array of type %s cannot be sliced", gotype.Name(gotype.Deref(in.X.Type())))
			return badVal
		}
		p = f.emit(ir.OpIndex, ir.PtrTo(x.v.Type.Space, x.v.Type.Elem.Elem), x.v, f.int(0))
		n = f.int(arr.Len())
	} else if p, n = x.part(0).v, x.part(1).v; p == nil || n == nil {
		f.report(diag.Unsupported, "slice of %s", gotype.Name(in.X.Type()))
		return badVal
	}
	return f.reslice(in, p, n, checksOf(in, isArray))
}

// sliceChecks are the checks of max, high and low in x[low:high:max].
type sliceChecks struct{ max, high, low devlog.Check }

// checksOf returns the checks of a slice expression.
func checksOf(in *ssa.Slice, isArray bool) sliceChecks {
	switch {
	case in.Max != nil && isArray:
		return sliceChecks{devlog.Slice3Len, devlog.Slice3High, devlog.Slice3Low}
	case in.Max != nil:
		return sliceChecks{devlog.Slice3Cap, devlog.Slice3High, devlog.Slice3Low}
	case isArray:
		return sliceChecks{high: devlog.SliceLen, low: devlog.SliceOrder}
	}
	return sliceChecks{high: devlog.SliceCap, low: devlog.SliceOrder}
}

func (f *funcLower) reslice(in *ssa.Slice, p, n *ir.Value, checks sliceChecks) val {
	upTo := func(x ssa.Value, limit *ir.Value, check devlog.Check) *ir.Value {
		if x == nil {
			return limit
		}
		return f.index64(x, f.emit(ir.OpAdd, ir.I64, limit, f.int(1)), check)
	}
	high := upTo(in.High, upTo(in.Max, n, checks.max), checks.high)
	if in.Low == nil {
		return val{parts: []val{{v: p}, {v: high}}}
	}
	low := upTo(in.Low, high, checks.low)
	return val{parts: []val{{v: f.emit(ir.OpOffset, p.Type, p, low)}, {v: f.emit(ir.OpSub, ir.I64, high, low)}}}
}
