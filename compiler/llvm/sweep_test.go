package llvm

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
)

// The sweep builds, for every operation and every combination of types that the
// verifier allows, a use of it, and emits all of them.

var (
	intTypes   = []*ir.Type{ir.I8, ir.U8, ir.I16, ir.U16, ir.I32, ir.U32, ir.I64, ir.U64}
	floatTypes = []*ir.Type{ir.F32, ir.F64}
	countTypes = []*ir.Type{ir.U8, ir.U16, ir.U32, ir.U64}
	numTypes   = append(append([]*ir.Type{ir.F16, ir.BF16}, intTypes...), floatTypes...)
	ptrTypes   = []*ir.Type{ir.PtrTo(ir.Global, ir.F32), ir.PtrTo(ir.Shared, ir.F32), ir.PtrTo(ir.Local, ir.F32)}
)

// use is an operation with the types of its result and its operands.
type usage struct {
	op   ir.Op
	t    *ir.Type
	args []*ir.Type
	imm  uint64
}

func repeat(t *ir.Type, n int) []*ir.Type {
	out := make([]*ir.Type, n)
	for i := range out {
		out[i] = t
	}
	return out
}

// usages lists every use of op.
func usages(op ir.Op) []usage {
	info := op.Info()
	var out []usage
	each := func(ts ...[]*ir.Type) {
		for _, list := range ts {
			for _, t := range list {
				out = append(out, usage{op: op, t: t, args: repeat(t, info.Args)})
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
				out = append(out, usage{op: op, t: t, args: []*ir.Type{t, c}})
			}
		}
	case ir.RuleCompare, ir.RuleBoolArith:
		lists := [][]*ir.Type{intTypes, floatTypes}
		if info.Rule == ir.RuleCompare {
			lists = append(lists, boolType, ptrTypes)
		}
		for _, list := range lists {
			for _, t := range list {
				out = append(out, usage{op: op, t: ir.Bool, args: repeat(t, 2)})
			}
		}
	case ir.RuleConvert, ir.RuleBitcast:
		for _, t := range numTypes {
			for _, from := range numTypes {
				if info.Rule == ir.RuleConvert || t.Size() == from.Size() {
					out = append(out, usage{op: op, t: t, args: []*ir.Type{from}})
				}
			}
		}
	case ir.RuleSelect:
		for _, t := range append(append(append([]*ir.Type{}, numTypes...), ir.Bool), ptrTypes...) {
			out = append(out, usage{op: op, t: t, args: []*ir.Type{ir.Bool, t, t}})
		}
	case ir.RuleGeom:
		for axis := range uint64(3) {
			out = append(out, usage{op: op, t: ir.I64, imm: axis})
		}
	case ir.RuleWarp:
		out = append(out, usage{op: op, t: ir.I64})
	case ir.RuleShfl:
		for _, t := range numTypes {
			out = append(out, usage{op: op, t: t, args: []*ir.Type{t, ir.I64}})
		}
	case ir.RuleVote:
		t := ir.Bool
		if op == ir.OpBallot {
			t = ir.U64
		}
		out = append(out, usage{op: op, t: t, args: boolType})
	case ir.RuleAtomic:
		for _, t := range numTypes {
			if !ir.AtomicType(op, t) {
				continue
			}
			for _, s := range []ir.Space{ir.Global, ir.Shared} {
				u := usage{op: op, t: t, args: append([]*ir.Type{ir.PtrTo(s, t)}, repeat(t, info.Args-1)...)}
				if info.NoValue {
					u.t = ir.Void
				}
				out = append(out, u)
			}
		}
	}
	return out
}

// bench is a kernel under construction with a source of values of each type.
type bench struct {
	m      *ir.Module
	f      *ir.Func
	b      *ir.Block
	slices map[*ir.Type]*ir.Value
	places int
}

func newBench() *bench {
	m := &ir.Module{Name: "bench"}
	f := m.NewFunc("bench")
	f.Kernel = true
	return &bench{m: m, f: f, b: f.NewBlock(), slices: map[*ir.Type]*ir.Value{}}
}

// slice returns a pointer to memory of type t that no one else uses.
func (k *bench) slice(t *ir.Type) *ir.Value {
	p := k.slices[t]
	if p == nil {
		p = k.param(t)
		k.slices[t] = p
	}
	k.places++
	return k.b.Emit(k.f, ir.OpOffset, p.Type, p, k.b.EmitConst(k.f, ir.I64, uint64(k.places)))
}

func (k *bench) param(t *ir.Type) *ir.Value {
	k.f.Args = append(k.f.Args, ir.Arg{Name: fmt.Sprint("a", len(k.f.Args)), Kind: ir.ArgSlice, Elem: t, Go: "[]T"})
	p := k.f.NewParam(ir.PtrTo(ir.Global, t))
	k.f.NewParam(ir.I64)
	return p
}

// value returns a value of type t that is not known at compile time.
func (k *bench) value(t *ir.Type) *ir.Value {
	switch {
	case t.IsPtr() && t.Space == ir.Global:
		return k.slice(t.Elem)
	case !t.IsPtr():
		return k.b.Emit(k.f, ir.OpLoad, t, k.slice(t))
	}
	array := ir.ArrayOf(8, t.Elem)
	var obj *ir.Value
	if t.Space == ir.Shared {
		k.m.Shared = append(k.m.Shared, &ir.Object{Name: "s", Type: array})
		obj = k.b.Emit(k.f, ir.OpShared, ir.PtrTo(ir.Shared, array))
		obj.Imm = uint64(len(k.m.Shared) - 1)
	} else {
		obj = k.b.Emit(k.f, ir.OpLocal, ir.PtrTo(ir.Local, array))
	}
	return k.b.Emit(k.f, ir.OpIndex, t, obj, k.value(ir.I64))
}

// keep uses v so that it is not dropped.
func (k *bench) keep(v *ir.Value) {
	if v.Type == ir.Void {
		return
	}
	if v.Type.IsPtr() {
		v = k.b.Emit(k.f, ir.OpLoad, v.Type.Elem, v)
	}
	k.b.Emit(k.f, ir.OpStore, ir.Void, k.slice(v.Type), v)
}

func (k *bench) use(u usage, last func(t *ir.Type) *ir.Value) {
	args := make([]*ir.Value, len(u.args))
	for i, t := range u.args {
		if args[i] = k.value(t); i == len(args)-1 && last != nil && !t.IsPtr() {
			args[i] = last(t)
		}
	}
	v := k.b.Emit(k.f, u.op, u.t, args...)
	v.Imm = u.imm
	k.keep(v)
}

func (k *bench) finish(t *testing.T) *ir.Module {
	t.Helper()
	k.b.Return()
	require.NoError(t, ir.Verify(k.m))
	return k.m
}

// constants are the forms of a last operand that rows distinguish.
var constants = map[string]func(k *bench) func(t *ir.Type) *ir.Value{
	"variable": func(*bench) func(*ir.Type) *ir.Value { return nil },
	"zero":     func(k *bench) func(*ir.Type) *ir.Value { return k.constant(0) },
	"one":      func(k *bench) func(*ir.Type) *ir.Value { return k.constant(1) },
	"eight":    func(k *bench) func(*ir.Type) *ir.Value { return k.constant(8) },
	"minus":    func(k *bench) func(*ir.Type) *ir.Value { return k.constant(^uint64(0)) },
	"float":    func(k *bench) func(*ir.Type) *ir.Value { return k.constant(0x3ff00000_3f800000) },
}

func (k *bench) constant(bits uint64) func(t *ir.Type) *ir.Value {
	return func(t *ir.Type) *ir.Value { return k.b.EmitConst(k.f, t, bits) }
}

// TestEveryOpHasARow is the completeness test of the instruction table.
func TestEveryOpHasARow(t *testing.T) {
	for op := range ir.Ops {
		if why, ok := unsupported[op]; ok {
			require.NotEmpty(t, why)
			continue
		}
		if why, ok := coded[op]; ok {
			require.NotEmpty(t, why)
			continue
		}
		uses := usages(op)
		switch op {
		case ir.OpLoad, ir.OpStore, ir.OpBounds, ir.OpBarrier, ir.OpWarpBarrier, ir.OpFence, ir.OpFenceBlock:
			continue // below
		}
		require.NotEmpty(t, uses, "no uses known of %s", op)
		for _, d := range []*dialect{dialectWave32, dialectWave64, dialectNVPTX} {
			for _, u := range uses {
				v := &ir.Value{Op: op, Type: u.t, Imm: u.imm}
				for _, a := range u.args {
					v.Args = append(v.Args, &ir.Value{Type: a})
				}
				_, err := d.choose(v, 0, false)
				require.NoError(t, err, "%s %v", d.triple, u.args)
			}
		}
	}
}

// TestSweep gives LLVM every operation, in one module for an architecture.
func TestSweep(t *testing.T) {
	for _, arch := range arches {
		for name, last := range constants {
			t.Run(arch+"/"+name, func(t *testing.T) {
				k := newBench()
				for op := range ir.Ops {
					for _, u := range usages(op) {
						k.use(u, last(k))
					}
				}
				memoryOps(k)
				text, err := Emit(k.finish(t), mustTarget(t, arch))
				require.NoError(t, err)
				verify(t, text)
				if name == "variable" || name == "eight" {
					assemble(t, arch, text)
				}
			})
		}
	}
}

// memoryOps adds what no typing rule describes.
func memoryOps(k *bench) {
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
	k.b.Emit(k.f, ir.OpBounds, ir.Void, k.value(ir.I64), k.value(ir.I64))
	k.b.Emit(k.f, ir.OpBarrier, ir.Void)
	k.b.Emit(k.f, ir.OpFence, ir.Void)
	k.b.Emit(k.f, ir.OpFenceBlock, ir.Void)
	k.b.Emit(k.f, ir.OpWarpBarrier, ir.Void)
}
