package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/ir"
)

// Products of packed factors by dot products of vectors, for processors without tile registers: eight
// rows by two vectors of columns at a time, of whose words along k each instruction adds the products.

// dotRows is how many rows have their sums in registers.
const dotRows = 8

// dots are the registers of the code for some rows.
type dots struct {
	op   asm.Op
	flip [2]bool // bytes of A, of B: their top bits are inverted, see dot4VNNI
	sums [dotRows][ir.PackedColumns]asm.Reg

	// extra is what the inverted bits add to sums: of a column, where those of A are, or of a row.
	extra     []asm.Reg
	known     bool // extra is what it was for other rows
	top, ones asm.Reg
}

// multiplyVectors multiplies by dot products.
func (e *emitter) multiplyVectors(v *ir.Value) {
	kind, _ := v.MatrixKind()
	elem, _ := kind.Types()
	pitch, three, words := e.gpr(), e.gpr(), e.gpr()
	a, b, to := e.general64(v.Args[1]), e.general64(v.Args[2]), e.memory(v.Args[0])
	e.op(asm.IMUL, 64, asm.R(pitch), asm.R(e.general64(v.Args[3])), asm.I(int64(elem.Size())))
	e.op(asm.LEA, 64, asm.R(three), asm.MX(pitch, pitch, 2, 0))
	e.op(asm.IMUL, 64, asm.R(words), asm.R(e.general64(v.Args[4])), asm.I(ir.PackedBytes/4))
	first := e.gpr()
	e.copy(first, a)
	var columns []asm.Reg // what is known of them
	for row := 0; row < ir.PackedRows; row += dotRows {
		d := e.newDots(kind, columns)
		e.dotLoop(d, first, b, pitch, three, words)
		e.storeDots(d, to, row)
		if d.flip[0] {
			columns = d.extra
		}
		e.op(asm.LEA, 64, asm.R(first), asm.MX(first, pitch, dotRows, 0))
	}
}

// newDots sets the sums of some rows to zero. Extra is what is known of the columns, if other rows
// were before.
func (e *emitter) newDots(kind ir.MatrixKind, extra []asm.Reg) *dots {
	d := &dots{op: asm.VPDPBUSD}
	for r := range d.sums {
		for c := range d.sums[r] {
			d.sums[r][c] = e.zero()
		}
	}
	switch kind {
	case ir.MatrixBF16:
		d.op = asm.VDPBF16PS
		return d
	case ir.MatrixI8:
		d.flip[0], d.extra = true, make([]asm.Reg, ir.PackedColumns)
	default:
		d.flip[1], d.extra, d.ones = true, make([]asm.Reg, dotRows), e.constant32(0x01010101)
	}
	d.top = e.constant32(0x80808080)
	if extra != nil {
		d.extra, d.known = extra, true
		return d
	}
	for i := range d.extra {
		d.extra[i] = e.zero()
	}
	return d
}

// dotLoop adds the products of all words along k. Rows of A are pitch bytes apart, and three are three
// times as many.
func (e *emitter) dotLoop(d *dots, first, columns, pitch, three, words asm.Reg) {
	a, below, b, left := e.gpr(), e.gpr(), e.gpr(), e.gpr()
	e.copy(a, first)
	e.copy(b, columns)
	e.op(asm.LEA, 64, asm.R(below), asm.MX(first, three, 1, 0))
	e.copy(left, words)
	again, done := e.newLabel(), e.newLabel()
	e.op(asm.CMP, 64, asm.R(left), asm.I(0))
	e.jcc(asm.CondLE, done)
	e.depth++
	e.bind(again)
	rows := [dotRows]asm.Arg{
		asm.M(a, 0), asm.MX(a, pitch, 1, 0), asm.MX(a, pitch, 2, 0), asm.M(below, 0),
		asm.MX(a, pitch, 4, 0), asm.MX(below, pitch, 2, 0), asm.MX(a, three, 2, 0), asm.MX(below, pitch, 4, 0),
	}
	e.dotStep(d, rows, b)
	e.op(asm.ADD, 64, asm.R(a), asm.I(4))
	e.op(asm.ADD, 64, asm.R(below), asm.I(4))
	e.op(asm.ADD, 64, asm.R(b), asm.I(int64(ir.PackedColumns*e.bytes())))
	e.op(asm.SUB, 64, asm.R(left), asm.I(1))
	e.jcc(asm.CondNE, again)
	e.depth--
	e.bind(done)
}

// dotStep adds the products of a word of each row with two vectors of B.
func (e *emitter) dotStep(d *dots, rows [dotRows]asm.Arg, b asm.Reg) {
	dot := func(sum, x, y asm.Reg) { e.op(d.op, e.width(), asm.R(sum), asm.R(x), asm.R(y)) }
	var ys [ir.PackedColumns]asm.Reg
	for c := range ys {
		ys[c] = e.vop(e.moveOp(), asm.M(b, int32(c*e.bytes())))
		if d.flip[0] && !d.known {
			dot(d.extra[c], d.top, ys[c])
		}
		if d.flip[1] {
			ys[c] = e.vxx(asm.VPXORD, ys[c], d.top)
		}
	}
	for r := range rows {
		x := e.vop(asm.VPBROADCASTD, rows[r])
		if d.flip[0] {
			x = e.vxx(asm.VPXORD, x, d.top)
		}
		if d.flip[1] {
			dot(d.extra[r], x, d.ones)
		}
		for c := range ys {
			dot(d.sums[r][c], x, ys[c])
		}
	}
}

// storeDots stores the sums of eight rows from one on, as tiles have them.
func (e *emitter) storeDots(d *dots, to asm.Arg, row int) {
	for c := range ir.PackedColumns {
		for r := range d.sums {
			sum := d.sums[r][c]
			switch {
			case d.flip[0]: // A had 128 more
				sum = e.vxx(asm.VPSUBD, sum, d.extra[c])
			case d.flip[1]: // B had 128 less
				sum = e.vxx(asm.VPADDD, sum, e.vop(asm.VPSLLD, asm.R(d.extra[r]), asm.I(7)))
			}
			at := (row/tileRows*ir.PackedColumns+c)*tileRows + row%tileRows + r
			e.op(e.moveOp(), e.width(), shifted(to, int32(at*e.bytes())), asm.R(sum))
		}
	}
}
