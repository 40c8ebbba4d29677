package ir_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
)

// counting builds a function that stores 1, 2, … n: what passes build by hand.
func counting(t *testing.T) (*ir.Module, *ir.Func) {
	t.Helper()
	m := &ir.Module{}
	at := m.AddPos(ir.Pos{File: "k.go", Line: 3, Col: 1})
	require.Equal(t, at, m.AddPos(ir.Pos{File: "k.go", Line: 3, Col: 1}), "neighbours share positions")
	require.Equal(t, "k.go", m.PosOf(at).File)
	require.Equal(t, ir.Pos{}, m.PosOf(99))
	f := m.NewFunc("k")
	out, n, other := f.NewParam(ir.PtrTo(ir.Global, ir.I64)), f.NewParam(ir.I64), f.NewParam(ir.PtrTo(ir.Global, ir.I64))
	entry, head, body, end := f.NewBlock(), f.NewBlock(), f.NewBlock(), f.NewBlock()
	zero := entry.EmitConst(f, ir.I64, 0)
	entry.Jump(head, zero)
	i := head.NewParam(f, ir.I64)
	head.Branch(head.Emit(f, ir.OpLt, ir.Bool, i, n), body, end)
	one := body.EmitConst(f, ir.I64, 1)
	next := body.Emit(f, ir.OpAdd, ir.I64, i, one)
	body.Emit(f, ir.OpStore, ir.Void, body.Emit(f, ir.OpOffset, out.Type, out, i), next)
	body.Emit(f, ir.OpLoad, ir.I64, other)
	body.Jump(head, next)
	end.Return()
	return m, f
}

func TestBuild(t *testing.T) {
	m, f := counting(t)
	require.NoError(t, ir.Verify(m))
	text := m.Text()
	require.Contains(t, text, "func @k(")
	parsed, err := ir.Parse(m.String())
	require.NoError(t, err)
	require.NoError(t, ir.Verify(parsed))
	require.Equal(t, text, parsed.Text())
	require.Contains(t, f.String(), "jump b1(")
	require.Equal(t, []bool{true, false, false}, ir.WrittenParams(f))

	uses := 0
	f.EachUse(func(**ir.Value) { uses++ })
	require.Equal(t, 12, uses)
	body := f.Blocks[2]
	one, next := body.Instrs[0], body.Instrs[1]
	require.True(t, one.IsConst())
	require.False(t, next.MayContract(), "a sum of integers")
	f.EachUse(func(use **ir.Value) {
		if *use == next {
			*use = f.Params[1]
		}
	})
	require.Equal(t, f.Params[1], body.Term.Succs[0].Args[0])
}

// Values that are gone leave no gaps in tables after Compact, and Renumber numbers as
// the parser does.
func TestCompact(t *testing.T) {
	m, f := counting(t)
	before := f.NumValues()
	f.Compact()
	require.Equal(t, before, f.NumValues(), "nothing is gone")
	for range 100 {
		f.NewValue(ir.OpConst, ir.I64)
	}
	f.Compact()
	require.Equal(t, before, f.NumValues())
	require.Equal(t, 4, f.NumBlocks())
	f.Blocks[2], f.Blocks[3] = f.Blocks[3], f.Blocks[2]
	m.Renumber()
	parsed, err := ir.Parse(m.Text())
	require.NoError(t, err)
	for i, b := range parsed.Funcs[0].Blocks {
		require.Equal(t, b.ID, f.Blocks[i].ID)
		for k, v := range b.Instrs {
			require.Equal(t, v.ID, f.Blocks[i].Instrs[k].ID)
		}
	}
	require.NoError(t, ir.Verify(m))
}

// A pointer that may come from either of two parameters may write to both.
func TestWrittenThroughSelect(t *testing.T) {
	m := &ir.Module{}
	f := m.NewFunc("k")
	a, b, c := f.NewParam(ir.PtrTo(ir.Global, ir.F32)), f.NewParam(ir.PtrTo(ir.Global, ir.F32)), f.NewParam(ir.F32)
	entry := f.NewBlock()
	which := entry.Emit(f, ir.OpLt, ir.Bool, c, c)
	entry.Emit(f, ir.OpStore, ir.Void, entry.Emit(f, ir.OpSelect, a.Type, which, a, b), c)
	require.True(t, entry.Emit(f, ir.OpMul, ir.F32, c, c).MayContract())
	entry.Return()
	require.Equal(t, []bool{true, true, false}, ir.WrittenParams(f))
}

func TestApprox(t *testing.T) {
	for _, c := range []struct {
		op         ir.Op
		x, y, want float32
	}{
		{ir.OpApproxExp2, 3, 0, 8}, {ir.OpApproxLog2, 8, 0, 3}, {ir.OpApproxSin, 0, 0, 0}, {ir.OpApproxCos, 0, 0, 1}, {ir.OpApproxTanh, 0, 0, 0},
		{ir.OpApproxRsqrt, 4, 0, 0.5}, {ir.OpApproxSqrt, 9, 0, 3}, {ir.OpApproxRecip, 4, 0, 0.25}, {ir.OpApproxDiv, 1, 8, 0.125},
	} {
		require.Equal(t, c.want, ir.Approx(c.op, c.x, c.y), c.op)
	}
	require.True(t, math.IsNaN(float64(ir.Approx(ir.OpAdd, 1, 1))), "no approximation")
}

func TestValues(t *testing.T) {
	minus := ^uint64(0)
	for _, c := range []struct {
		t    *ir.Type
		bits uint64
		want any
	}{
		{ir.Bool, 1, true}, {ir.I8, minus, int8(-1)}, {ir.U8, 255, uint8(255)}, {ir.I16, minus, int16(-1)}, {ir.U16, 7, uint16(7)},
		{ir.I32, minus, int32(-1)}, {ir.U32, 9, uint32(9)}, {ir.I64, minus, int64(-1)}, {ir.U64, minus, minus},
		{ir.F32, uint64(math.Float32bits(1.5)), float32(1.5)}, {ir.F64, math.Float64bits(-2.5), -2.5},
		{ir.F16, 0x3C00, float32(1)}, {ir.BF16, 0x3F80, float32(1)},
	} {
		require.Equal(t, c.want, c.t.Value(c.bits), c.t)
	}
	require.Equal(t, 1, ir.Bool.Bits())
	require.EqualValues(t, 1, ir.Normalize(ir.Bool, 3))
	require.EqualValues(t, minus, ir.Normalize(ir.I8, 0xFF))
	require.EqualValues(t, 0xFF, ir.Normalize(ir.U8, minus))
}

func TestNumParams(t *testing.T) {
	require.Equal(t, 1, ir.Arg{Kind: ir.ArgScalar, Elem: ir.F32}.NumParams())
	require.Equal(t, 2, ir.Arg{Kind: ir.ArgSlice, Elem: ir.F32}.NumParams())
}

// Bounds of launches are part of the text.
func TestLaunchLine(t *testing.T) {
	m, _ := counting(t)
	m.Launch.Threads, m.Launch.Blocks = 128, 2
	parsed, err := ir.Parse(m.String())
	require.NoError(t, err)
	require.Equal(t, m.Launch, parsed.Launch)
	_, err = ir.Parse(strings.Replace(m.String(), "launch 128", "launch x", 1))
	require.Error(t, err)
}
