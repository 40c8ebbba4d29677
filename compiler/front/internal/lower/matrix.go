package lower

import (
	"go/types"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/gotype"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/internal/devlog"
)

// matrixKinds are the kinds of products by the type of the factors, as the IR names it.
var matrixKinds = map[*ir.Type]ir.MatrixKind{
	ir.F16: ir.MatrixF16, ir.BF16: ir.MatrixBF16, ir.F64: ir.MatrixF64, ir.I8: ir.MatrixI8, ir.U8: ir.MatrixU8,
}

// matrixKind is the kind of a product of factors of type t. ok is false of types that no device
// multiplies matrices of.
func matrixKind(t types.Type) (k ir.MatrixKind, ok bool) {
	switch {
	case gotype.Float8(t) == "E4M3":
		return ir.MatrixE4M3, true
	case gotype.Float8(t) == "E5M2":
		return ir.MatrixE5M2, true
	case gotype.IsTF32(t):
		return ir.MatrixTF32, true
	}
	k, ok = matrixKinds[gotype.Scalar(t)]
	return k, ok
}

// product is the kind of a product of the factors and sums that are the call's type arguments.
func (c *callSite) product() (k ir.MatrixKind, ok bool) {
	types := c.fn.TypeArgs()
	if k, ok = matrixKind(types[0]); !ok {
		return 0, false
	}
	_, sum := k.Types()
	return k, gotype.Scalar(types[1]) == sum
}

// noProduct stands for an instruction that no device has. MatrixShape is 0 of its types, so that who
// asks does not come to it; for who does it is a mistake.
func (c *callSite) noProduct() val {
	c.f.emit(ir.OpBounds, ir.Void, c.f.int(1), c.f.int(0))
	return val{}
}

// matrixFact asks for a number of the target's instruction: it has none for other types.
func matrixFact(c *callSite) val {
	k, ok := c.product()
	if !ok {
		return val{v: c.f.int(0)}
	}
	what, ok := c.matrixConst(0, int(ir.NumMatrixFacts))
	if !ok {
		return badVal
	}
	return val{v: c.f.emitImm(ir.OpMatrixFact, ir.I64, ir.MatrixImm(k, what))}
}

// matrixPosition asks for the row or column of an element of a fragment.
func matrixPosition(op ir.Op) *intrinsic {
	return &intrinsic{lower: func(c *callSite) val {
		k, ok := matrixKind(c.fn.TypeArgs()[0])
		if !ok {
			return val{v: c.f.int(0)}
		}
		what, ok := c.matrixConst(0, int(ir.NumMatrixOperands))
		if !ok {
			return badVal
		}
		return val{v: c.f.emitImm(op, ir.I64, ir.MatrixImm(k, what), c.scalar(1))}
	}}
}

// matrixConst returns scalar argument i, a constant below n.
func (c *callSite) matrixConst(i, n int) (uint8, bool) {
	if v := c.scalar(i); v.IsConst() && v.Imm < uint64(n) {
		return uint8(v.Imm), true
	}
	c.f.report(diag.MatrixOperand, "what is asked of dsl.%s is no constant of package dsl", c.fn.Origin().Name())
	return 0, false
}

// element returns the address of the element that arguments i and i+1 behind the thread name, a
// slice in a memory space and an index. nil, reported, if the slice is elsewhere.
func (c *callSite) element(i int, s ir.Space) *ir.Value {
	slice := c.args[i+1]
	if len(slice.parts) == 0 || slice.parts[0].v == nil || slice.parts[0].v.Type.Space != s {
		c.f.report(diag.MatrixOperand, "a slice of dsl.%s is not in %s memory", c.fn.Origin().Name(), s)
		return nil
	}
	p := slice.parts[0].v
	return c.f.emit(ir.OpOffset, p.Type, p, c.scalar(i+1))
}

func matrixMultiply(c *callSite) val {
	k, ok := c.product()
	if !ok {
		return c.noProduct()
	}
	a, b, sums := c.element(0, ir.Local), c.element(2, ir.Local), c.element(4, ir.Local)
	if a == nil || b == nil || sums == nil {
		return badVal
	}
	c.f.emitImm(ir.OpMMA, ir.Void, uint64(k), sums, a, b)
	return val{}
}

func matrixLoad(c *callSite) val {
	dst, src := c.element(0, ir.Local), c.element(2, ir.Shared)
	if dst == nil || src == nil {
		return badVal
	}
	transposed := c.scalar(4)
	if !transposed.IsConst() {
		c.f.report(diag.MatrixOperand, "whether dsl.LoadMatrix transposes is no constant")
		return badVal
	}
	c.f.emitImm(ir.OpLoadMatrix, ir.Void, transposed.Imm, dst, src)
	return val{}
}

// packedMultiply checks that the factors and the sums have all that the product is of, whatever else
// is checked of it: tile registers are loaded and stored as a whole.
func packedMultiply(c *callSite) val {
	k, ok := c.product()
	if !ok {
		return c.noProduct()
	}
	f, pitch, steps := c.f, c.scalar(1), c.scalar(4)
	elem, _ := k.Types()
	a, lenA, okA := c.whole(0, ir.Global)
	b, lenB, okB := c.whole(2, ir.Global)
	sums, lenC, okC := c.whole(3, ir.Local)
	if !okA || !okB || !okC {
		return badVal
	}
	within := func(n, length *ir.Value) { // 0 <= n <= length
		f.emitImm(ir.OpBounds, ir.Void, uint64(devlog.SliceLen), n, f.emit(ir.OpAdd, ir.I64, length, f.int(1)))
	}
	row := f.emit(ir.OpMul, ir.I64, steps, f.int(int64(ir.PackedBytes/elem.Size())))
	band := f.emit(ir.OpMul, ir.I64, row, f.emit(ir.OpMul, ir.I64, f.emit(ir.OpWarpSize, ir.I64), f.int(ir.PackedColumns)))
	within(steps, lenB)
	within(pitch, lenA)
	within(f.emit(ir.OpAdd, ir.I64, row, f.emit(ir.OpMul, ir.I64, pitch, f.int(ir.PackedRows-1))), lenA)
	within(band, lenB)
	within(f.int(ir.PackedSums), lenC)
	f.emitImm(ir.OpPackedMMA, ir.Void, uint64(k), sums, a, b, pitch, steps)
	return val{}
}

// whole returns the address and the length of argument i behind the thread, a slice in a memory
// space.
func (c *callSite) whole(i int, s ir.Space) (p, n *ir.Value, ok bool) {
	slice := c.args[i+1]
	if len(slice.parts) < 2 || slice.parts[0].v == nil || slice.parts[0].v.Type.Space != s {
		c.f.report(diag.MatrixOperand, "a slice of dsl.%s is not in %s memory", c.fn.Origin().Name(), s)
		return nil, nil, false
	}
	return slice.parts[0].v, slice.parts[1].v, true
}

// groupMultiply leaves the shape to the emitter: constants of the kernel.
func groupMultiply(c *callSite) val {
	k, ok := c.product()
	if !ok {
		return c.noProduct()
	}
	space := ir.Shared
	if parts := c.args[1].parts; len(parts) > 0 && parts[0].v != nil && parts[0].v.Type.Space == ir.Local {
		space = ir.Local
	}
	a, b, sums := c.element(0, space), c.element(2, ir.Shared), c.element(4, ir.Local)
	if a == nil || b == nil || sums == nil {
		return badVal
	}
	c.f.emitImm(ir.OpWarpgroupMMA, ir.Void, uint64(k), sums, a, b, c.scalar(6), c.scalar(7), c.scalar(8), c.scalar(9), c.scalar(10))
	return val{}
}

// groupRegisters passes registers from one group of warps to another.
func groupRegisters(more uint64) *intrinsic {
	return &intrinsic{lower: func(c *callSite) val {
		c.f.emitImm(ir.OpWarpgroupRegs, ir.Void, more, c.scalar(0))
		return val{}
	}}
}
