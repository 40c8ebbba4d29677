package interp

import (
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
)

// kernCase is an operation and which of its operands are scalars.
type kernCase struct {
	op      ir.Op
	t, from *ir.Type
	scalars shape
}

// kernCases are operations that kernels spend their time in.
var kernCases = []kernCase{
	{ir.OpAdd, ir.F32, ir.F32, 0}, {ir.OpAdd, ir.F32, ir.F32, 2}, {ir.OpMul, ir.F32, ir.F32, 0}, {ir.OpDiv, ir.F32, ir.F32, 0},
	{ir.OpFMA, ir.F32, ir.F32, 0}, {ir.OpFMA, ir.F32, ir.F32, 4}, {ir.OpFMA, ir.F64, ir.F64, 0}, {ir.OpMax, ir.F32, ir.F32, 0},
	{ir.OpSqrt, ir.F32, ir.F32, 0}, {ir.OpRint, ir.F32, ir.F32, 0},
	{ir.OpAdd, ir.I64, ir.I64, 0}, {ir.OpAdd, ir.I64, ir.I64, 2}, {ir.OpMul, ir.I64, ir.I64, 0}, {ir.OpDiv, ir.I64, ir.I64, 0}, {ir.OpRem, ir.I64, ir.I64, 0},
	{ir.OpMax, ir.I64, ir.I64, 0}, {ir.OpAdd, ir.I32, ir.I32, 0}, {ir.OpAnd, ir.I32, ir.I32, 0}, {ir.OpShl, ir.I32, ir.I32, 2},
	{ir.OpLt, ir.Bool, ir.I64, 0}, {ir.OpLt, ir.Bool, ir.F32, 0}, {ir.OpSelect, ir.F32, ir.F32, 0},
	{ir.OpConvert, ir.F32, ir.I32, 0}, {ir.OpConvert, ir.I32, ir.F32, 0}, {ir.OpConvert, ir.I64, ir.I32, 0}, {ir.OpConvert, ir.F32, ir.F16, 0}, {ir.OpConvert, ir.BF16, ir.F32, 0}, {ir.OpConvert, ir.F16, ir.F32, 0},
}

func (c kernCase) value() *ir.Value {
	v := &ir.Value{Op: c.op, Type: c.t}
	for range c.op.Info().Args {
		v.Args = append(v.Args, &ir.Value{Type: c.from})
	}
	if c.op == ir.OpSelect {
		v.Args[0].Type = ir.Bool
	}
	return v
}

// What kernels spend their time in is not left to the loop over the reference.
func TestOwnKern(t *testing.T) {
	for _, c := range kernCases {
		k, _ := ownKern(c.value(), c.scalars)
		require.NotNil(t, k, "%v", c)
	}
}

// BenchmarkKern measures single kernels on 256 lanes.
func BenchmarkKern(b *testing.B) {
	const n = 256
	for _, c := range kernCases {
		k, _ := findKern(c.value(), c.scalars)
		var mem [4][n + 64]uint64
		for i := range mem[0] {
			mem[1][i], mem[2][i], mem[3][i] = uint64(i*77+5), uint64(i*3+1), 8
			switch c.from {
			case ir.F32:
				pair := func(x float32) uint64 { return uint64(math.Float32bits(x))<<32 | uint64(math.Float32bits(x+0.5)) }
				mem[1][i], mem[2][i], mem[3][i] = pair(float32(i)), pair(float32(i*3+1)), pair(7)
			case ir.F64:
				mem[1][i], mem[2][i], mem[3][i] = math.Float64bits(float64(i)), math.Float64bits(float64(i*3+1)), math.Float64bits(7)
			}
		}
		name := c.op.String() + "/" + c.from.String() + "/" + c.t.String()
		if c.scalars != 0 {
			name += "/scalar"
		}
		b.Run(name, func(b *testing.B) {
			for range b.N {
				k(unsafe.Pointer(&mem[0]), unsafe.Pointer(&mem[1]), unsafe.Pointer(&mem[2]), unsafe.Pointer(&mem[3]), n)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/lane")
		})
	}
}
