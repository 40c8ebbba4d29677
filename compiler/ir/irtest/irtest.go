package irtest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
)

var (
	intTypes   = []*ir.Type{ir.I8, ir.U8, ir.I16, ir.U16, ir.I32, ir.U32, ir.I64, ir.U64}
	floatTypes = []*ir.Type{ir.F32, ir.F64}
	countTypes = []*ir.Type{ir.U8, ir.U16, ir.U32, ir.U64}
	numTypes   = append(append([]*ir.Type{ir.F16, ir.BF16}, intTypes...), floatTypes...)
	ptrTypes   = []*ir.Type{ir.PtrTo(ir.Global, ir.F32), ir.PtrTo(ir.Shared, ir.F32), ir.PtrTo(ir.Local, ir.F32), ir.PtrTo(ir.Constant, ir.F32)}
)

// Usage is an operation with the types of its result and its operands.
type Usage struct {
	Op   ir.Op
	T    *ir.Type
	Args []*ir.Type
	Imm  uint64
}

func repeat(t *ir.Type, n int) []*ir.Type {
	out := make([]*ir.Type, n)
	for i := range out {
		out[i] = t
	}
	return out
}

// Usages lists every use of op.
func Usages(op ir.Op) []Usage {
	info := op.Info()
	var out []Usage
	each := func(ts ...[]*ir.Type) {
		for _, list := range ts {
			for _, t := range list {
				out = append(out, Usage{Op: op, T: t, Args: repeat(t, info.Args)})
			}
		}
	}
	boolType := []*ir.Type{ir.Bool}
	switch info.Rule {
	case ir.RuleArith:
		each(intTypes, floatTypes)
	case ir.RuleInt:
		each(intTypes)
	case ir.RuleWord:
		each([]*ir.Type{ir.I32, ir.U32})
	case ir.RuleLogic:
		each(intTypes, boolType)
	case ir.RuleFloat:
		each(floatTypes)
	case ir.RuleApprox:
		each([]*ir.Type{ir.F32})
	case ir.RuleShift:
		for _, t := range intTypes {
			for _, c := range countTypes {
				out = append(out, Usage{Op: op, T: t, Args: []*ir.Type{t, c}})
			}
		}
	case ir.RuleCompare, ir.RuleBoolArith:
		lists := [][]*ir.Type{intTypes, floatTypes}
		if info.Rule == ir.RuleCompare {
			lists = append(lists, boolType, ptrTypes)
		}
		for _, list := range lists {
			for _, t := range list {
				out = append(out, Usage{Op: op, T: ir.Bool, Args: repeat(t, 2)})
			}
		}
	case ir.RuleConvert, ir.RuleBitcast:
		for _, t := range numTypes {
			for _, from := range numTypes {
				if info.Rule == ir.RuleConvert || t.Size() == from.Size() {
					out = append(out, Usage{Op: op, T: t, Args: []*ir.Type{from}})
				}
			}
		}
	case ir.RuleSelect:
		for _, t := range append(append(append([]*ir.Type{}, numTypes...), ir.Bool), ptrTypes...) {
			out = append(out, Usage{Op: op, T: t, Args: []*ir.Type{ir.Bool, t, t}})
		}
	case ir.RuleGeom:
		for axis := range uint64(3) {
			out = append(out, Usage{Op: op, T: ir.I64, Imm: axis})
		}
	case ir.RuleWarp:
		out = append(out, Usage{Op: op, T: ir.I64})
	case ir.RuleShfl:
		for _, t := range numTypes {
			out = append(out, Usage{Op: op, T: t, Args: []*ir.Type{t, ir.I64}})
		}
	case ir.RuleVote:
		t := ir.Bool
		if op == ir.OpBallot {
			t = ir.U64
		}
		out = append(out, Usage{Op: op, T: t, Args: boolType})
	case ir.RuleAtomic:
		for _, t := range numTypes {
			if !ir.AtomicType(op, t) {
				continue
			}
			for _, s := range []ir.Space{ir.Global, ir.Shared} {
				u := Usage{Op: op, T: t, Args: append([]*ir.Type{ir.PtrTo(s, t)}, repeat(t, info.Args-1)...)}
				if info.NoValue {
					u.T = ir.Void
				}
				out = append(out, u)
			}
		}
	}
	return out
}

// Lowered returns the usages of op for targets for which updates of 8 and 16 bits are
// loops by the time they come to an emitter.
func Lowered(op ir.Op) (out []Usage) {
	for _, u := range Usages(op) {
		if !ir.NarrowUpdate(op, u.T) {
			out = append(out, u)
		}
	}
	return out
}

// Bench is a kernel under construction with a source of values of each type.
type Bench struct {
	m      *ir.Module
	f      *ir.Func
	b      *ir.Block
	slices map[*ir.Type]*ir.Value
	places int
}

// New returns a kernel without operations.
func New() *Bench {
	m := &ir.Module{Name: "bench"}
	f := m.NewFunc("bench")
	f.Kernel = true
	return &Bench{m: m, f: f, b: f.NewBlock(), slices: map[*ir.Type]*ir.Value{}}
}

// slice returns a pointer to memory of type t that no one else uses.
func (k *Bench) slice(t *ir.Type) *ir.Value {
	p := k.slices[t]
	if p == nil {
		p = k.param(t)
		k.slices[t] = p
	}
	k.places++
	return k.b.Emit(k.f, ir.OpOffset, p.Type, p, k.b.EmitConst(k.f, ir.I64, uint64(k.places)))
}

func (k *Bench) param(t *ir.Type) *ir.Value {
	k.f.Args = append(k.f.Args, ir.Arg{Name: fmt.Sprint("a", len(k.f.Args)), Kind: ir.ArgSlice, Elem: t, Go: "[]T"})
	p := k.f.NewParam(ir.PtrTo(ir.Global, t))
	k.f.NewParam(ir.I64)
	return p
}

// value returns a value of type t that is not known at compile time.
func (k *Bench) value(t *ir.Type) *ir.Value {
	switch {
	case t.IsPtr() && t.Space == ir.Global:
		return k.slice(t.Elem)
	case !t.IsPtr():
		return k.b.Emit(k.f, ir.OpLoad, t, k.slice(t))
	}
	array := ir.ArrayOf(8, t.Elem)
	var obj *ir.Value
	switch t.Space {
	case ir.Constant:
		obj = k.table(array)
	case ir.Shared:
		k.m.Shared = append(k.m.Shared, &ir.Object{Name: "s", Type: array})
		obj = k.b.Emit(k.f, ir.OpShared, ir.PtrTo(ir.Shared, array))
		obj.Imm = uint64(len(k.m.Shared) - 1)
	default:
		obj = k.b.Emit(k.f, ir.OpLocal, ir.PtrTo(ir.Local, array))
	}
	return k.b.Emit(k.f, ir.OpIndex, t, obj, k.value(ir.I64))
}

// table returns the address of a table of elements that all differ, but for bools.
func (k *Bench) table(array *ir.Type) *ir.Value {
	t := &ir.Table{Name: "t", Type: array, Data: make([]byte, array.Size())}
	n := uint64(0)
	array.EachLeaf(func(at int, leaf *ir.Type) {
		n++
		t.Set(at, leaf, ir.Normalize(leaf, n))
	})
	k.m.Tables = append(k.m.Tables, t)
	v := k.b.Emit(k.f, ir.OpTable, ir.PtrTo(ir.Constant, array))
	v.Imm = uint64(len(k.m.Tables) - 1)
	return v
}

// keep uses v so that it is not dropped.
func (k *Bench) keep(v *ir.Value) {
	if v.Type == ir.Void {
		return
	}
	if v.Type.IsPtr() {
		v = k.b.Emit(k.f, ir.OpLoad, v.Type.Elem, v)
	}
	k.b.Emit(k.f, ir.OpStore, ir.Void, k.slice(v.Type), v)
}

// Use adds an operation. last, if not nil, makes its last operand, unless that is a
// pointer.
func (k *Bench) Use(u Usage, last func(t *ir.Type) *ir.Value) {
	args := make([]*ir.Value, len(u.Args))
	for i, t := range u.Args {
		if args[i] = k.value(t); i == len(args)-1 && last != nil && !t.IsPtr() {
			args[i] = last(t)
		}
	}
	v := k.b.Emit(k.f, u.Op, u.T, args...)
	v.Imm = u.Imm
	k.keep(v)
}

// Finish returns the module.
func (k *Bench) Finish(t *testing.T) *ir.Module {
	t.Helper()
	k.b.Return()
	require.NoError(t, ir.Verify(k.m))
	return k.m
}

// Constants are the forms of a last operand that rows distinguish.
var Constants = map[string]func(k *Bench) func(t *ir.Type) *ir.Value{
	"variable": func(*Bench) func(*ir.Type) *ir.Value { return nil },
	"zero":     func(k *Bench) func(*ir.Type) *ir.Value { return k.constant(0) },
	"one":      func(k *Bench) func(*ir.Type) *ir.Value { return k.constant(1) },
	"eight":    func(k *Bench) func(*ir.Type) *ir.Value { return k.constant(8) },
	"minus":    func(k *Bench) func(*ir.Type) *ir.Value { return k.constant(^uint64(0)) },
	"float":    func(k *Bench) func(*ir.Type) *ir.Value { return k.constant(0x3ff00000_3f800000) },
}

func (k *Bench) constant(bits uint64) func(t *ir.Type) *ir.Value {
	return func(t *ir.Type) *ir.Value { return k.b.EmitConst(k.f, t, bits) }
}

// Copies adds copies of numbers to shared memory, and the wait for them.
func Copies(k *Bench) {
	for _, t := range numTypes {
		to, from := k.value(ir.PtrTo(ir.Shared, t)), k.value(ir.PtrTo(ir.Global, t))
		k.b.Emit(k.f, ir.OpCopyAsync, ir.Void, to, from)
		for _, n := range []uint64{2, 16} {
			k.b.Emit(k.f, ir.OpCopyVec, ir.Void, to, from, k.b.EmitConst(k.f, ir.Bool, 1)).Imm = n
			k.b.Emit(k.f, ir.OpCopyVec, ir.Void, to, from, k.value(ir.Bool)).Imm = n
		}
		k.b.Emit(k.f, ir.OpCopyCommit, ir.Void)
	}
	k.b.Emit(k.f, ir.OpCopyGroups, ir.Void, k.b.EmitConst(k.f, ir.I64, 1))
	k.b.Emit(k.f, ir.OpCopyWait, ir.Void)
}

// MBarriers adds operations on barriers that count arrivals, and bytes if wanted.
func MBarriers(k *Bench, bytes bool) {
	p := k.value(ir.PtrTo(ir.Shared, ir.U64))
	k.b.Emit(k.f, ir.OpMBarInit, ir.Void, p, k.value(ir.I64))
	k.b.Emit(k.f, ir.OpMBarInit, ir.Void, p, k.b.EmitConst(k.f, ir.I64, 32))
	k.b.Emit(k.f, ir.OpMBarArrive, ir.Void, p)
	if bytes {
		k.b.Emit(k.f, ir.OpMBarExpect, ir.Void, p, k.value(ir.I64))
		k.b.Emit(k.f, ir.OpMBarExpect, ir.Void, p, k.b.EmitConst(k.f, ir.I64, 4096))
	}
	k.keep(k.b.Emit(k.f, ir.OpMBarTest, ir.Bool, p, k.value(ir.I64)))
	k.keep(k.b.Emit(k.f, ir.OpMBarTest, ir.Bool, p, k.b.EmitConst(k.f, ir.I64, 1)))
}

// MemoryOps adds what no typing rule describes.
func MemoryOps(k *Bench) {
	for _, t := range append(append([]*ir.Type{ir.Bool}, numTypes...), ptrTypes...) {
		for _, s := range []ir.Space{ir.Global, ir.Shared, ir.Local} {
			if s == ir.Global && t.IsPtr() && t.Space != ir.Global {
				continue
			}
			p := k.value(ir.PtrTo(s, t))
			v := k.b.Emit(k.f, ir.OpLoad, t, p)
			k.b.Emit(k.f, ir.OpStore, ir.Void, p, v)
			k.b.Emit(k.f, ir.OpZero, ir.Void, p)
		}
	}
	for _, t := range append([]*ir.Type{ir.Bool}, numTypes...) {
		k.keep(k.b.Emit(k.f, ir.OpLoad, t, k.value(ir.PtrTo(ir.Constant, t))))
	}
	k.b.Emit(k.f, ir.OpBounds, ir.Void, k.value(ir.I64), k.value(ir.I64))
	k.b.Emit(k.f, ir.OpBarrier, ir.Void)
	k.b.Emit(k.f, ir.OpFence, ir.Void)
	k.b.Emit(k.f, ir.OpFenceBlock, ir.Void)
	k.b.Emit(k.f, ir.OpWarpBarrier, ir.Void)
}
