package llvm

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"sync"

	"github.com/gokiln/kiln/compiler/ir"
)

// width returns the bits of a scalar kind.
func width(k ir.Kind) int {
	for _, t := range ir.Scalars {
		if t.Kind == k {
			return t.Bits()
		}
	}
	return 0
}

// overload is how the names of intrinsics write a kind.
func overload(k ir.Kind) string {
	switch k {
	case ir.KF32:
		return "f32"
	case ir.KF64:
		return "f64"
	}
	return typeNames[k]
}

// spell replaces the words in braces of a row's asm:
//
//	{t}       type of the kind; of pointers, of the value
//	{o}       the kind in names of intrinsics
//	{s}       s or u: how the kind extends
//	{ext}     sext or zext
//	{n}       width of the kind; {last} less one
//	{bytes}   size of the kind in memory
//	{wide}    integer type of twice the width
//	{int}     integer type of the width
//	{ones}    all bits set
//	{p}       pointer to the space of the row
//	{device}  the scope of all threads, for atomics
//	{warp}    threads in a warp; {lanes} less one; {log} binary logarithm
func (d *dialect) spell(asm string, k ir.Kind, sub int) string {
	if !strings.Contains(asm, "{") {
		return asm
	}
	w := width(k)
	sign, ext, ones, t := "u", "zext", "-1", typeNames[k]
	if signed.has(k) {
		sign, ext = "s", "sext"
	}
	switch k {
	case ir.KBool:
		ones = "true"
	case ir.KPtr:
		t = "$t"
	}
	p := ""
	if sub >= spaceSub && sub < fromSub {
		p = d.pointer(ir.Space(sub - spaceSub))
	}
	num := strconv.Itoa
	return strings.NewReplacer(
		"{t}", t, "{o}", overload(k), "{s}", sign, "{ext}", ext, "{n}", num(w), "{last}", num(w-1), "{bytes}", num((w+7)/8),
		"{wide}", "i"+num(2*w), "{int}", "i"+num(w), "{ones}", ones, "{p}", p, "{device}", `syncscope("`+d.device+`")`,
		"{warp}", num(d.width), "{lanes}", num(d.width-1), "{log}", num(bits.TrailingZeros(uint(d.width))),
	).Replace(asm)
}

// key finds the rows for an operation.
type key struct {
	op  ir.Op
	on  ir.Kind
	sub int
}

// choice is a row for one kind and dialect.
type choice struct {
	row      *row
	patterns func() []pattern // parsed at first use: a kernel needs a few of a thousand
}

func (d *dialect) makeTable() map[key][]choice {
	rows := tableRows()
	out := make(map[key][]choice, len(rows))
	for i := range rows {
		r := &rows[i]
		if r.isa&d.isa == 0 {
			continue
		}
		for k := ir.KVoid; k <= ir.KPtr; k++ {
			if r.on.has(k) {
				at := key{r.op, k, r.sub}
				out[at] = append(out[at], choice{row: r, patterns: sync.OnceValue(func() []pattern {
					return parseTemplate(d.spell(r.asm, k, r.sub))
				})})
			}
		}
	}
	return out
}

// selecting returns the type that selects the row of v.
func selecting(v *ir.Value) *ir.Type {
	switch v.Op {
	case ir.OpEq, ir.OpNe, ir.OpLt, ir.OpLe, ir.OpGt, ir.OpGe, ir.OpBallot, ir.OpBounds:
		return v.Args[0].Type
	case ir.OpStore, ir.OpAtomicStore:
		return v.Args[1].Type
	}
	return v.Type
}

// subKey is what else selects the row of v.
func subKey(v *ir.Value) int {
	switch v.Op {
	case ir.OpThread, ir.OpBlock, ir.OpBlockDim, ir.OpGridDim:
		return axisSub + int(v.Imm)
	case ir.OpShl, ir.OpShr:
		return v.Args[1].Type.Bits()
	case ir.OpConvert, ir.OpBitcast:
		return fromSub + int(v.Args[0].Type.Kind)
	}
	if len(v.Args) > 0 && v.Args[0].Type.IsPtr() && v.Op.Info().Rule != ir.RuleCompare {
		return spaceSub + int(v.Args[0].Type.Space)
	}
	return anySub
}

// choose returns the row for v; b is the constant value of v's second operand
// if isConst.
func (d *dialect) choose(v *ir.Value, b uint64, isConst bool) (*choice, error) {
	rows := d.rows()
	k := key{v.Op, selecting(v).Kind, subKey(v)}
	for {
		list := rows[k]
		for i := range list {
			if r := list[i].row; r.when == nil || r.when(v, b, isConst) {
				return &list[i], nil
			}
		}
		if k.sub == anySub {
			break
		}
		k.sub = anySub
	}
	if why, ok := unsupported[v.Op]; ok {
		return nil, fmt.Errorf("%s: %s", v.Op, why)
	}
	return nil, fmt.Errorf("%s on %s has no LLVM form", v.Op, v.Type)
}
