package llvm

import (
	"fmt"
	"slices"
	"strings"

	llir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/matrix"
)

// matrixRows have matrix instructions, and the loads of fragments and asynchronous copies that NVIDIA's
// devices have. Fragments are parts of local arrays, which LLVM keeps in registers.
var matrixRows = []row{
	{op: ir.OpMMA, on: noKind, isa: nvptx, form: multiplyWarp},
	{op: ir.OpMMA, on: noKind, isa: amdgcn, form: multiplyWave},
	{op: ir.OpLoadMatrix, on: noKind, isa: nvptx, form: loadMatrix},

	{op: ir.OpCopyAsync, on: noKind, isa: nvptx, form: func(x *build) value.Value { return x.copyAsync(1, constant.True) }},
	{op: ir.OpCopyVec, on: noKind, isa: nvptx, form: func(x *build) value.Value { return x.copyAsync(int(x.v.Imm), x.c) }},
	{op: ir.OpCopyCommit, on: noKind, isa: nvptx, form: effect("llvm.nvvm.cp.async.commit.group")},
	{op: ir.OpCopyWait, on: noKind, isa: nvptx, form: effect("llvm.nvvm.cp.async.wait.all")},
	{op: ir.OpCopyGroups, on: noKind, isa: nvptx, form: func(x *build) value.Value {
		x.call("llvm.nvvm.cp.async.wait.group", types.Void, i32(int64(x.v.Args[0].Imm)))
		return nil
	}},
}

// unit is the matrix instruction of a product, nil if the target has none.
func (e *emitter) unit(v *ir.Value) *matrix.Unit {
	kind, _ := v.MatrixKind()
	return matrix.For(e.t, kind)
}

// pieces loads n values of a type from p on, whose elements have a size.
func (x *build) pieces(p value.Value, t types.Type, n, size int) []value.Value {
	out := make([]value.Value, n)
	for i := range out {
		out[i] = x.load(t, x.offset(t, p, i64(int64(i))), size)
	}
	return out
}

// spread stores the fields of a struct of values of a type from p on.
func (x *build) spread(from value.Value, p value.Value, t types.Type, n, size int) {
	for i := range n {
		x.store(x.NewExtractValue(from, uint64(i)), x.offset(t, p, i64(int64(i))), size)
	}
}

// multiplyWarp is mma.sync of PTX.
func multiplyWarp(x *build) value.Value {
	u := x.unit(x.v)
	elem, sum := u.Kind.Types()
	held, result := types.Type(types.I32), x.d.typeOf(sum)
	switch {
	case u.Kind == ir.MatrixF16:
		held = types.NewVector(2, types.Half)
	case elem.Size() == 8:
		held = types.Double
	}
	width := max(4, elem.Size())
	a := x.pieces(x.b, held, max(1, u.A.Len()*elem.Size()/width), elem.Size())
	b := x.pieces(x.c, held, max(1, u.B.Len()*elem.Size()/width), elem.Size())
	c := x.pieces(x.a, result, u.C.Len(), sum.Size())
	x.spread(x.warpProduct(u, fields(result, len(c)), a, b, c), x.a, result, len(c), sum.Size())
	return nil
}

// fields is a struct of n values of a type.
func fields(t types.Type, n int) types.Type {
	list := make([]types.Type, n)
	for i := range list {
		list[i] = t
	}
	return types.NewStruct(list...)
}

// warpProduct calls the intrinsic of a unit, or writes the instruction where LLVM 19 has none.
func (x *build) warpProduct(u *matrix.Unit, result types.Type, a, b, c []value.Value) value.Value {
	shape, list, _ := strings.Cut(u.Name, ".")
	names := strings.Split(list, ".")
	switch {
	case u.Kind == ir.MatrixE4M3, u.Kind == ir.MatrixE5M2, u.Kind == ir.MatrixF64 && shape == "m16n8k8":
		return x.assembleProduct(fmt.Sprintf("mma.sync.aligned.%s.row.col.%s", shape, list), result, a, b, c)
	case u.Kind == ir.MatrixF16:
		names[1] = "f32.f32" // both sums
	}
	return x.call("llvm.nvvm.mma."+shape+".row.col."+names[1], result, slices.Concat(a, b, c)...)
}

// assembleProduct is an instruction whose sums are its result.
func (x *build) assembleProduct(opcode string, result types.Type, a, b, c []value.Value) value.Value {
	letters := map[types.Type]string{types.I32: "r", types.Float: "f", types.Double: "d"}
	var outs, ins, ties []string
	n := 0
	list := func(of []value.Value) string {
		var names []string
		for range of {
			names = append(names, fmt.Sprintf("$%d", n))
			n++
		}
		return "{" + strings.Join(names, ", ") + "}"
	}
	sums := list(c)
	text := fmt.Sprintf("%s %s, %s, %s, %s;", opcode, sums, list(a), list(b), sums)
	for i, v := range c {
		outs, ties = append(outs, "="+letters[v.Type()]), append(ties, fmt.Sprint(i))
	}
	for _, v := range slices.Concat(a, b) {
		ins = append(ins, letters[v.Type()])
	}
	product := x.assemble(assembly{result, text, strings.Join(slices.Concat(outs, ins, ties), ",")}, slices.Concat(a, b, c)...)
	product.(*llir.InstCall).FuncAttrs = append(product.(*llir.InstCall).FuncAttrs, enum.FuncAttrConvergent)
	return product
}

// loadMatrix is ldmatrix of PTX.
func loadMatrix(x *build) value.Value {
	name := "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3"
	if x.v.Imm == 1 {
		name = "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3"
	}
	x.spread(x.call(name, fields(types.I32, 4), x.b), x.a, types.I32, 4, x.v.Args[0].Type.Elem.Size())
	return nil
}

// multiplyWave is an instruction of AMD's, of the name in package matrix. WMMA's intrinsics are named
// after the types of their operands, too.
func multiplyWave(x *build) value.Value {
	u := x.unit(x.v)
	elem, sum := u.Kind.Types()
	factor := x.waveFactor(u, elem)
	sums := types.NewVector(uint64(u.C.Len()), x.d.typeOf(sum))
	first, second := x.load(factor, x.c, elem.Size()), x.load(factor, x.b, elem.Size()) // swapped
	z := x.load(sums, x.a, sum.Size())
	args := []value.Value{first, second, z}
	base, _, wave := strings.Cut(u.Name, "_w32")
	name := "llvm.amdgcn." + strings.ReplaceAll(base, "_", ".")
	switch {
	case !wave:
		args = append(args, i32(0), i32(0), i32(0)) // no broadcast among blocks, of which there is one
	case elem.Size() == 1:
		sign := constant.NewBool(u.Kind == ir.MatrixI8)
		args = []value.Value{sign, first, sign, second, z, constant.False}
		fallthrough
	default:
		name += "." + vectorName(sums) + "." + vectorName(factor)
	}
	x.store(x.call(name, sums, args...), x.a, sum.Size())
	return nil
}

// waveFactor is the type of a lane's part of a factor: bytes are in words, bfloat16 are their bits.
func (x *build) waveFactor(u *matrix.Unit, elem *ir.Type) types.Type {
	n := u.A.Len()
	one := x.d.typeOf(elem)
	switch {
	case elem.Size() == 1 && u.C.Lanes() == 64:
		return integer(8 * n)
	case elem.Size() == 1:
		n, one = n/4, types.I32
	case u.Kind == ir.MatrixF16:
		one = types.Half
	}
	if n == 1 {
		return one
	}
	return types.NewVector(uint64(n), one)
}

// vectorName is how the names of intrinsics write a vector.
func vectorName(t types.Type) string {
	v := t.(*types.VectorType)
	if v.ElemType == types.Half {
		return fmt.Sprintf("v%df16", v.Len)
	}
	return fmt.Sprintf("v%d%s", v.Len, overload(v.ElemType))
}

// copyAsync copies n elements from b to a, or zeros unless ok: by instructions of 16 or 4 bytes if both
// addresses are multiples of that, else by loads and stores.
func (x *build) copyAsync(n int, ok value.Value) value.Value {
	elem := x.v.Args[0].Type.Elem
	total := n * elem.Size()
	to, from := x.NewPtrToInt(x.a, types.I64), x.NewPtrToInt(x.b, types.I64)
	places := x.NewOr(to, from)
	done := x.newLabel()
	for _, c := range []struct {
		bytes int
		name  string
	}{{16, "llvm.nvvm.cp.async.cg.shared.global.16.s"}, {4, "llvm.nvvm.cp.async.ca.shared.global.4.s"}} {
		if total%c.bytes != 0 {
			continue
		}
		wide, next := x.newLabel(), x.newLabel()
		x.NewCondBr(x.icmp(enum.IPredEQ, x.NewAnd(places, i64(int64(c.bytes-1))), i64(0)), wide, next)
		x.place(wide)
		read := x.NewSelect(ok, i32(int64(c.bytes)), i32(0))
		for at := 0; at < total; at += c.bytes {
			x.call(c.name, types.Void, x.offset(types.I8, x.a, i64(int64(at))), x.offset(types.I8, x.b, i64(int64(at))), read)
		}
		x.NewBr(done)
		x.place(next)
	}
	x.copyNow(n, ok)
	x.NewBr(done)
	x.place(done)
	return nil
}

// copyNow is a copy by loads and stores.
func (x *build) copyNow(n int, ok value.Value) {
	elem := x.v.Args[0].Type.Elem
	t := x.d.typeOf(elem)
	before, read, store := x.Block, x.newLabel(), x.newLabel()
	x.NewCondBr(ok, read, store)
	x.place(read)
	values := x.pieces(x.b, t, n, elem.Size())
	x.NewBr(store)
	x.place(store)
	for i := range values {
		phi := x.phi(t)
		phi.Incs = []*llir.Incoming{llir.NewIncoming(scalar(elem, 0), before), llir.NewIncoming(values[i], read)}
		values[i] = phi
	}
	for i, v := range values {
		x.store(v, x.offset(t, x.a, i64(int64(i))), elem.Size())
	}
}
