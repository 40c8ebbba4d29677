package fn_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/pretend"
	"github.com/gokiln/kiln/nn/fn"
	"github.com/gokiln/kiln/nn/internal/golden"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

func init() {
	turned := func(f func(x, cos, sin *tensor.Tensor) *tensor.Tensor) golden.Func {
		return func(in ts) *tensor.Tensor { return f(in[0], in[1], in[2]) }
	}
	for _, name := range []string{"rope", "rope partial", "rope batch"} {
		functions[name] = turned(fn.Rope)
	}
	functions["rope interleaved"] = turned(fn.RopeInterleaved)
	functions["rope interleaved partial"] = turned(fn.RopeInterleaved)
	functions["rope thd"] = turned(fn.RopeTHD)
	functions["rope thd batch"] = turned(fn.RopeTHD)
}

// Tables have angles of positions, and halves take those that they are computed in.
func TestRopeTable(t *testing.T) {
	d := open(t)
	cos, sin := fn.RopeTable(d, tensor.F64, 4, 3, 100, fn.RopeScaling{})
	c, err := cos.Float64s()
	require.NoError(t, err)
	s, err := sin.Float64s()
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{1, 1, 0.5403023058681398, 0.9950041652780258, -0.4161468365471424, 0.9800665778412416}, c, 1e-15)
	require.InDeltaSlice(t, []float64{0, 0, 0.8414709848078965, 0.09983341664682815, 0.9092974268256817, 0.19866933079506122}, s, 1e-15)

	cos, sin = fn.RopeTable(d, tensor.F32, 8, 40, 0, fn.RopeScaling{Type: fn.RopeYarn, Factor: 4, OriginalMax: 10})
	x := tensor.NewVar(tensor.Randn(d, tensor.F32, 0, 1, 2, 3, 5, 8).Cast(tensor.BF16)).Tensor()
	y := fn.Rope(x, cos.Narrow(0, 7, 5), sin.Narrow(0, 7, 5)) // from position 7 on
	exact := fn.Rope(x.Cast(tensor.F32), cos.Narrow(0, 7, 30), sin.Narrow(0, 7, 30))
	diff, err := y.Cast(tensor.F32).Sub(exact).Abs().Max().Float64s()
	require.NoError(t, err)
	require.Less(t, diff[0], 0.03)
	norms, err := exact.Norm(-1).Div(x.Cast(tensor.F32).Norm(-1)).Sub(tensor.Item(d, float32(1.1386294))).Abs().Max().Float64s()
	require.NoError(t, err)
	require.Less(t, norms[0], 1e-5) // rotations times the attention factor
	g, err := y.Backward()
	require.NoError(t, err)
	require.Equal(t, tensor.BF16, g.Of(x).DType())

	one := tensor.NewVar(tensor.Ones(d, tensor.F64, 1, 1, 3, 4)).Tensor()
	cos, sin = fn.RopeTable(d, tensor.F64, 4, 3, 100, fn.RopeScaling{})
	first, err := fn.Rope(one, cos, sin).Sqr().BackwardBy(tensor.BackwardOptions{Graph: true})
	require.NoError(t, err)
	second, err := first.Of(one).Sum().Backward() // of Σ|x|², which rotations keep
	require.NoError(t, err)
	list, err := second.Of(one).Float64s()
	require.NoError(t, err)
	for _, v := range list {
		require.InDelta(t, 2, v, 1e-12)
	}
}

// Tables that are learned have gradients, and gradients of gradients: those of the formula.
func TestRopeTablesHaveGradients(t *testing.T) {
	d := open(t)
	for _, c := range []struct {
		f           func(x, cos, sin *tensor.Tensor) *tensor.Tensor
		time        int
		interleaved bool
	}{{fn.Rope, 2, false}, {fn.RopeInterleaved, 2, true}, {fn.RopeTHD, 1, false}, {fn.RopeInterleavedTHD, 1, true}} {
		for _, table := range [][]int{{5, 3}, {7, 3}, {2, 7, 3}} {
			shape := []int{2, 4, 4, 8}
			shape[c.time] = 5
			var list [2][]float64
			for i, f := range []func(x, cos, sin *tensor.Tensor) *tensor.Tensor{
				c.f, func(x, cos, sin *tensor.Tensor) *tensor.Tensor { return turned(x, cos, sin, c.time, c.interleaved) },
			} {
				d.SetSeed(1)
				x := tensor.NewVar(tensor.Randn(d, tensor.F64, 0, 1, shape...)).Tensor()
				cos := tensor.NewVar(tensor.Randn(d, tensor.F64, 0, 1, table...)).Tensor()
				sin := tensor.NewVar(tensor.Randn(d, tensor.F64, 0, 1, table...)).Tensor()
				g, err := f(x, cos, sin).Sqr().BackwardBy(tensor.BackwardOptions{Graph: true})
				require.NoError(t, err)
				sum := g.Of(x).Sqr().Sum()
				for _, v := range []*tensor.Tensor{x, cos, sin} {
					sum = sum.Add(g.Of(v).Sqr().Sum())
				}
				h, err := sum.Backward()
				require.NoError(t, err)
				for _, of := range []*tensor.Gradients{g, h} {
					for _, v := range []*tensor.Tensor{x, cos, sin} {
						require.Equal(t, v.Shape(), of.Of(v).Shape())
						numbers, err := of.Of(v).Float64s()
						require.NoError(t, err)
						list[i] = append(list[i], numbers...)
					}
				}
			}
			require.InDeltaSlice(t, list[1], list[0], 1e-9)
		}
	}
}

// turned is a rotation of six elements as operations of tensors.
func turned(x, cos, sin *tensor.Tensor, time int, interleaved bool) *tensor.Tensor {
	c, s := cos.Narrow(-2, 0, 5), sin.Narrow(-2, 0, 5)
	head := -3
	if time == 1 {
		head = -2
	}
	c, s = c.Unsqueeze(head), s.Unsqueeze(head)
	a, b := x.Narrow(-1, 0, 3), x.Narrow(-1, 3, 3)
	if interleaved {
		pairs := x.Narrow(-1, 0, 6).Reshape(x.Size(0), x.Size(1), x.Size(2), 3, 2)
		a, b = pairs.GetOn(-1, 0), pairs.GetOn(-1, 1)
	}
	m, n := a.Mul(c).Sub(b.Mul(s)), a.Mul(s).Add(b.Mul(c))
	y := tensor.Cat(-1, m, n)
	if interleaved {
		y = tensor.Stack(4, m, n).Reshape(x.Size(0), x.Size(1), x.Size(2), 6)
	}
	return tensor.Cat(-1, y, x.Narrow(-1, 6, 2))
}

func TestRopeErrors(t *testing.T) {
	d := open(t)
	x := tensor.Ones(d, tensor.F32, 2, 3, 5, 8)
	cos, sin := fn.RopeTable(d, tensor.F32, 8, 5, 0, fn.RopeScaling{})
	table := func(s fn.RopeScaling) *tensor.Tensor {
		cos, _ := fn.RopeTable(d, tensor.F32, 8, 5, 0, s)
		return cos
	}
	odd, _ := fn.RopeTable(d, tensor.F32, 7, 5, 0, fn.RopeScaling{})
	for _, c := range []struct {
		y    *tensor.Tensor
		kind error
		text string
	}{
		{fn.Rope(x, cos.Narrow(0, 0, 4), sin.Narrow(0, 0, 4)), tensor.ErrShape, "rope: shape mismatch: [2, 3, 5, 8] and tables of [4, 4] for 8 elements at 5 times (rope_test.go:"},
		{fn.Rope(x.Narrow(3, 0, 6), cos, sin), tensor.ErrShape, "for 6 elements"},
		{fn.Rope(x, cos, sin.Narrow(0, 0, 4)), tensor.ErrShape, "tables of [5, 4] and [4, 4]"},
		{fn.RopeTHD(x, cos.BroadcastTo(3, 5, 4), sin.BroadcastTo(3, 5, 4)), tensor.ErrShape, "rope_thd: "},
		{fn.RopeInterleaved(x.Get(0), cos, sin), tensor.ErrRank, "rope_interleaved: "},
		{fn.Rope(x, cos.Cast(tensor.F64), sin.Cast(tensor.F64)), tensor.ErrDTypeMismatch, "rope: "},
		{fn.Rope(x.Cast(tensor.I32), cos, sin), tensor.ErrDType, "rope: "},
		{odd, tensor.ErrArgument, "rope_table: invalid argument: 7 elements"},
		{table(fn.RopeScaling{Type: fn.RopeLinear}), tensor.ErrArgument, "linear scaling with factor 0"},
		{table(fn.RopeScaling{Type: fn.RopeLlama3, Factor: 8}), tensor.ErrArgument, "llama3 scaling without"},
		{table(fn.RopeScaling{Type: fn.RopeLong}), tensor.ErrShape, "longrope scaling with 0 short and 0 long factors for 4 frequencies"},
		{table(fn.RopeScaling{Type: 9}), tensor.ErrArgument, "RopeType(9)"},
	} {
		require.ErrorIs(t, c.y.Err(), c.kind, c.text)
		require.ErrorContains(t, c.y.Err(), c.text)
	}
	var s fn.RopeScaling
	require.NoError(t, json.Unmarshal([]byte(`{"rope_type": "su", "short_factor": [1]}`), &s))
	require.Equal(t, fn.RopeLong, s.Type)
	require.Error(t, json.Unmarshal([]byte(`{"rope_type": "cubic"}`), &s))
	require.Zero(t, fn.Rope(x.Narrow(2, 0, 0), cos, sin).Count())
}

// RopeInto has the numbers of Rope into x itself, and into memory that x or the tables share.
func TestRopeIntoItself(t *testing.T) {
	d := open(t)
	cos, sin := fn.RopeTable(d, tensor.F32, 8, 5, 0, fn.RopeScaling{})
	for _, interleaved := range []bool{false, true} {
		of := fn.Rope
		if interleaved {
			of = fn.RopeInterleaved
		}
		room := tensor.Randn(d, tensor.F32, 0, 1, 1, 2, 6, 8)
		for _, c := range []struct{ out, x *tensor.Tensor }{
			{room.Narrow(2, 0, 5), room.Narrow(2, 0, 5)},
			{room.Narrow(2, 1, 5), room.Narrow(2, 0, 5)},
			{room.Narrow(2, 0, 5), room.Narrow(2, 1, 5)},
			{room.Narrow(2, 0, 5), room.Narrow(2, 0, 5).Flip(1)},
			{room.Narrow(2, 0, 2), room.Narrow(2, 0, 2).Reshape(1, 2, 2, 8).Transpose(1, 2)},
		} {
			want := of(c.x, cos, sin)
			require.NoError(t, fn.RopeInto(c.out, c.x, cos, sin, interleaved))
			requireBits(t, want, c.out)
		}
		tables := tensor.Rand(d, tensor.F32, -1, 1, 1, 2, 6, 4) // which the result is stored over
		x := tensor.Randn(d, tensor.F32, 0, 1, 1, 2, 6, 4)
		flat := tables.Reshape(-1, 2)
		a, b := flat.Narrow(0, 0, 6), flat.Narrow(0, 2, 6)
		want := of(x, a, b)
		require.NoError(t, fn.RopeInto(tables, x, a, b, interleaved))
		requireBits(t, want, tables)
	}
}

// Where threads load vectors, rows are rotated four elements at a time if all begin at such: with the
// same bits as elsewhere.
func TestRopeVectors(t *testing.T) {
	d := open(t)
	for _, c := range []struct{ pairs, width, skip int }{{32, 64, 0}, {8, 40, 0}, {4, 8, 0}, {6, 12, 0}, {8, 40, 1}} {
		for _, dt := range []tensor.DType{tensor.F32, tensor.BF16} {
			x := tensor.Randn(d, dt, 0, 1, 2, 3, 7, c.width+4).Narrow(3, c.skip, c.width)
			cos, sin := tensor.Randn(d, tensor.F32, 0, 1, 9, c.pairs), tensor.Randn(d, tensor.F32, 0, 1, 9, c.pairs)
			want := fn.Rope(x, cos.Narrow(0, 1, 8), sin.Narrow(0, 1, 8))
			end := pretend.Be(func(info *runtime.Info) { info.ThreadsPerUnit = 2048 })
			got := fn.Rope(x, cos.Narrow(0, 1, 8), sin.Narrow(0, 1, 8))
			end()
			w, err := want.Bytes()
			require.NoError(t, err)
			g, err := got.Bytes()
			require.NoError(t, err)
			require.Equal(t, w, g, "%v %v", c, dt)
		}
	}
}
