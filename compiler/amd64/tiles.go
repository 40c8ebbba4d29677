package amd64

import (
	"encoding/binary"

	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/amd64/image"
	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// Products of packed factors by tile registers, of 16 rows of 64 bytes each: four have sums, which
// are two by two, and two each have factors. Tiles are configured when the code is entered and
// released when it returns, so that nothing is in them while Go's code runs.

// The tile registers: sums are the first four, row after row.
const (
	tileA    = 4
	tileB    = 6
	tileSums = 4
	tileRows = 16
	tileRow  = 64 // bytes
)

// tileProducts are the instructions for the kinds of products.
var tileProducts = map[ir.MatrixKind]asm.Op{
	ir.MatrixBF16: asm.TDPBF16PS, ir.MatrixI8: asm.TDPBSSD, ir.MatrixU8: asm.TDPBUUD,
}

// tileConfig is the operand of LDTILECFG: palette 1, all tiles whole.
func tileConfig() []byte {
	const sizes, rows = 16, 48
	b := make([]byte, 64)
	b[0] = 1
	for i := range 8 {
		binary.LittleEndian.PutUint16(b[sizes+2*i:], tileRow)
		b[rows+i] = tileRows
	}
	return b
}

// enterTiles configures the tile registers, if the code has any.
func (e *emitter) enterTiles() {
	if !e.amx {
		return
	}
	e.op(asm.LEA, 64, asm.R(asm.RAX), e.data(tileConfig()))
	e.op(asm.LDTILECFG, 64, asm.M(asm.RAX, 0))
}

// ret returns to the driver.
func (e *emitter) ret() {
	if e.amx {
		e.op(asm.TILERELEASE, 64)
	}
	e.op(asm.VZEROUPPER, 128)
	e.op(asm.RET, 64)
}

// packedRows makes the answer to whether there are products of packed factors, which the entry knows.
func (e *emitter) packedRows(v *ir.Value) {
	r, rows := e.gpr(), int64(0)
	if e.amx || e.pairs {
		rows = ir.PackedRows
	}
	e.op(asm.MOV, 64, asm.R(r), asm.I(rows))
	e.vals[v.ID] = one(r)
}

// packedMMA multiplies by tile registers, or by dot products of vectors. Other entries do not come to
// it.
func (e *emitter) packedMMA(v *ir.Value) error {
	for _, x := range v.Args {
		if e.Of(x).Kind != analysis.UniformLanes {
			return image.ErrInterp
		}
	}
	switch {
	case e.amx:
		e.multiplyTiles(v)
	case e.pairs:
		e.multiplyVectors(v)
	}
	return nil
}

// multiplyTiles multiplies by tile registers.
func (e *emitter) multiplyTiles(v *ir.Value) {
	kind, _ := v.MatrixKind()
	elem, _ := kind.Types()
	a, below, b := e.gpr(), e.gpr(), e.gpr()
	rowA, rowB, steps := e.gpr(), e.gpr(), e.gpr()
	e.copy(a, e.general64(v.Args[1]))
	e.copy(b, e.general64(v.Args[2]))
	e.op(asm.IMUL, 64, asm.R(rowA), asm.R(e.general64(v.Args[3])), asm.I(int64(elem.Size())))
	e.op(asm.IMUL, 64, asm.R(below), asm.R(rowA), asm.I(tileRows))
	e.op(asm.ADD, 64, asm.R(below), asm.R(a))
	e.op(asm.MOV, 64, asm.R(rowB), asm.I(ir.PackedColumns*tileRow))
	e.copy(steps, e.general64(v.Args[4]))
	for i := range int64(tileSums) {
		e.op(asm.TILEZERO, 64, asm.I(i))
	}
	again, done := e.newLabel(), e.newLabel()
	e.op(asm.CMP, 64, asm.R(steps), asm.I(0))
	e.jcc(asm.CondLE, done)
	e.depth++
	e.bind(again)
	e.tileStep(tileProducts[kind], [2]asm.Arg{asm.MX(a, rowA, 1, 0), asm.MX(below, rowA, 1, 0)}, asm.MX(b, rowB, 1, 0))
	e.op(asm.ADD, 64, asm.R(a), asm.I(tileRow))
	e.op(asm.ADD, 64, asm.R(below), asm.I(tileRow))
	e.op(asm.ADD, 64, asm.R(b), asm.I(tileRows*ir.PackedColumns*tileRow))
	e.op(asm.SUB, 64, asm.R(steps), asm.I(1))
	e.jcc(asm.CondNE, again)
	e.depth--
	e.bind(done)
	e.storeTiles(e.memory(v.Args[0]))
}

// tileStep adds a 2×2 block of products: of tiles of A in two rows by tiles of B in two columns.
func (e *emitter) tileStep(product asm.Op, a [2]asm.Arg, b asm.Arg) {
	for i := range int64(2) {
		e.op(asm.TILELOADD, 64, asm.I(tileA+i), a[i])
		for k := range int64(2) {
			if i == 0 {
				e.op(asm.TILELOADD, 64, asm.I(tileB+k), shifted(b, int32(k*tileRow)))
			}
			e.op(product, 64, asm.I(2*i+k), asm.I(tileA+i), asm.I(tileB+k))
		}
	}
}

// storeTiles stores the sums in local memory, in which an element of all lanes is a row of a tile.
func (e *emitter) storeTiles(to asm.Arg) {
	at, row := e.gpr(), e.gpr()
	e.op(asm.LEA, 64, asm.R(at), to)
	e.op(asm.MOV, 64, asm.R(row), asm.I(tileRow))
	for i := range int64(tileSums) {
		e.op(asm.TILESTORED, 64, asm.MX(at, row, 1, int32(i*tileRows*tileRow)), asm.I(i))
	}
}
