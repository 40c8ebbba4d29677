package ptx

import (
	"fmt"
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

// ptxType is the type with which instructions compute on a kind.
func ptxType(k ir.Kind) string {
	switch k {
	case ir.KBool:
		return "pred"
	case ir.KF16:
		return "f16"
	case ir.KBF16:
		return "bf16"
	case ir.KF32:
		return "f32"
	case ir.KF64:
		return "f64"
	}
	return words2ptx(k)
}

// memType is the type with which a kind is loaded and stored: narrow integers
// are extended on the way.
func memType(k ir.Kind) string {
	switch w := strconv.Itoa(width(k)); {
	case k == ir.KBool:
		return "u8"
	case !small.Has(k):
		return "b" + w
	case signed.Has(k):
		return "s" + w
	default:
		return "u" + w
	}
}

// spell replaces the words in braces of a row's asm for one kind:
//
//	{t}     type the kind computes with: s32 u32 s64 u64 f32 f64
//	{st}    signed integer of that width; {ut} unsigned
//	{b}     bits of the register: pred b16 b32 b64
//	{m}     type in memory
//	{T}     temporary of the register's class
//	{n}     width of the kind; {above} bits of the register above it
//	{top}   number of the register's top bit
//	{low}   mask of the kind's bits; {stop} the bit just above them
//	{nan}   quiet NaN; {sign} sign bit; {mag} all others
func spell(asm string, k ir.Kind) string {
	if !strings.Contains(asm, "{") {
		return asm
	}
	w := uint64(width(k))
	c := classOf(k)
	reg := "32"
	nan, sign, mag := "0x7fc00000", "0x80000000", "0x7fffffff"
	if c == b64 {
		reg = "64"
		nan, sign, mag = "0x7ff8000000000000", "0x8000000000000000", "0x7fffffffffffffff"
	}
	top := uint64(31)
	if c == b64 {
		top = 63
	}
	num := func(n uint64) string { return strconv.FormatUint(n, 10) }
	return strings.NewReplacer(
		"{t}", ptxType(k), "{st}", "s"+reg, "{ut}", "u"+reg, "{b}", classNames[c].bits, "{m}", memType(k),
		"{T}", "$"+string("phrq"[c]), "{n}", num(w), "{above}", num(32-w), "{top}", num(top),
		"{low}", num(1<<w-1), "{stop}", num(1<<w), "{nan}", nan, "{sign}", sign, "{mag}", mag,
	).Replace(asm)
}

// key finds the rows for an operation.
type key struct {
	op  ir.Op
	on  ir.Kind
	sub int
}

// choice is a row for one kind.
type choice struct {
	row      *row
	patterns func() []pattern // parsed at first use: a kernel needs a few of a thousand
	narrow   ir.Kind          // kind to bring the result to, KVoid for none
}

var table = sync.OnceValue(func() map[key][]choice {
	rows := tableRows()
	out := make(map[key][]choice, len(rows)*2)
	for i := range rows {
		r := &rows[i]
		for k := ir.KVoid; k <= ir.KF64; k++ {
			if !r.on.Has(k) {
				continue
			}
			c := choice{row: r, patterns: sync.OnceValue(func() []pattern {
				if r.asm == alias {
					return nil
				}
				return parseTemplate(spell(r.asm, k))
			})}
			if r.narrow && small.Has(k) {
				c.narrow = k
			}
			at := key{r.op, k, r.sub}
			out[at] = append(out[at], c)
		}
	}
	return out
})

var extendPatterns = sync.OnceValue(func() map[ir.Kind][]pattern {
	out := map[ir.Kind][]pattern{}
	for _, k := range []ir.Kind{ir.KI8, ir.KU8, ir.KI16, ir.KU16} {
		out[k] = parseTemplate(extend(k))
	}
	return out
})

// keyKind is the kind that selects the row of v.
func keyKind(v *ir.Value) ir.Kind {
	switch v.Op {
	case ir.OpEq, ir.OpNe, ir.OpLt, ir.OpLe, ir.OpGt, ir.OpGe, ir.OpBallot, ir.OpBounds:
		return kindOf(v.Args[0].Type)
	case ir.OpStore, ir.OpAtomicStore:
		return kindOf(v.Args[1].Type)
	case ir.OpCopyAsync:
		return kindOf(v.Args[0].Type.Elem)
	}
	return kindOf(v.Type)
}

// subKey is what else selects the row of v.
func subKey(v *ir.Value) int {
	switch v.Op {
	case ir.OpThread, ir.OpBlock, ir.OpBlockDim, ir.OpGridDim:
		return axisSub + int(v.Imm)
	case ir.OpShl, ir.OpShr:
		return max(32, v.Args[1].Type.Bits())
	case ir.OpConvert, ir.OpBitcast:
		return fromSub + int(kindOf(v.Args[0].Type))
	}
	if len(v.Args) > 0 && v.Args[0].Type.IsPtr() && v.Op.Info().Rule != ir.RuleCompare {
		return spaceSub + int(v.Args[0].Type.Space)
	}
	return anySub
}

// choose returns the row for v; cc is the compute capability, and b the constant
// value of v's second operand if isConst.
func choose(v *ir.Value, cc int, b uint64, isConst bool) (*choice, error) {
	rows := table()
	k := key{v.Op, keyKind(v), subKey(v)}
	for {
		list := rows[k]
		for i := range list {
			r := list[i].row
			if cc >= r.cc && (r.when == nil || r.when(v, b, isConst)) {
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
	if v.Op.IsMBarrier() {
		return nil, fmt.Errorf("%s: barriers that count arrivals exist from sm_80 on, those that count bytes from sm_90 on", v.Op)
	}
	return nil, fmt.Errorf("%s on %s has no PTX form", v.Op, v.Type)
}
