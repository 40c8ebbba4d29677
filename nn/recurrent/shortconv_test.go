package recurrent_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn/recurrent"
	"github.com/gokiln/kiln/tensor"
)

func cpu(t testing.TB) *tensor.Device {
	t.Helper()
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	return d
}

// random is n numbers from −1 to 1.
func random(r *rand.Rand, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = 2*r.Float64() - 1
	}
	return out
}

// of is a tensor of a type, whose rows have a gap between them, and its numbers as that type has
// them.
func of(
	t testing.TB, d *tensor.Device, dt tensor.DType, x []float64, shape ...int,
) (*tensor.Tensor, []float64) {
	t.Helper()
	y := tensor.From(d, x, shape...).Cast(dt)
	back := floats(t, y)
	if len(shape) == 2 {
		y = y.Pad(-1, 1, 2, tensor.PadConstant, math.NaN()).Narrow(-1, 1, shape[1])
	}
	return y, back
}

func floats(t testing.TB, x *tensor.Tensor) []float64 {
	t.Helper()
	list, err := tensor.ToSlice[float64](x.Cast(tensor.F64))
	require.NoError(t, err)
	return list
}

// noise is states for operands of a type, which nothing may come from.
func noise(d *tensor.Device, dt tensor.DType, shape ...int) *tensor.Tensor {
	x := tensor.From(d, []float64{math.NaN()}, 1, 1, 1).Expand(shape...)
	return x.Contiguous().Cast(dt.Compute())
}

// tolerance is for results of a type, of terms of 1 or so.
var tolerance = map[tensor.DType]float64{
	tensor.F64: 1e-12, tensor.F32: 2e-6, tensor.F16: 4e-3, tensor.BF16: 3e-2,
}

// parts is how sequences of lengths are fed: for each step, how many tokens each gets.
var parts = map[string][][]int{
	"one sequence":  {{5}},
	"token by each": {{1}, {1}, {1}, {1}, {1}},
	"lengths":       {{3, 1, 150, 2}},
	"chunks":        {{130, 1, 0, 4}, {1, 1, 70, 64}, {0, 3, 1, 1}, {2, 0, 1, 0}},
}

// feed calls run for each step with the sequences that get tokens: which they are, where their
// tokens begin, and the batch.
func feed(
	t *testing.T, d *tensor.Device, steps [][]int,
	run func(which, from, n []int, on *recurrent.Sequences),
) {
	t.Helper()
	fed := make([]int, len(steps[0]))
	for _, step := range steps {
		var which, from, n []int
		var list []recurrent.Sequence
		for i, tokens := range step {
			if tokens == 0 {
				continue
			}
			which, from, n = append(which, i), append(from, fed[i]), append(n, tokens)
			state := 2*(len(step)-i) - 1 // rows in another order, with gaps
			list = append(list, recurrent.Sequence{Tokens: tokens, State: state, Fresh: fed[i] == 0})
			fed[i] += tokens
		}
		on, err := recurrent.NewSequences(d, list)
		require.NoError(t, err)
		run(which, from, n, on)
	}
}

// longest is how many tokens the longest sequence gets.
func longest(steps [][]int) (n int) {
	for i := range steps[0] {
		all := 0
		for _, s := range steps {
			all += s[i]
		}
		n = max(n, all)
	}
	return n
}

func TestShortConv(t *testing.T) {
	d := cpu(t)
	for name, steps := range parts {
		t.Run(name, func(t *testing.T) {
			for i, dt := range []tensor.DType{tensor.F32, tensor.BF16, tensor.F16, tensor.F64} {
				testShortConv(t, d, steps, dt, 2+i, 19*(i+1), i%2 == 0)
			}
		})
	}
}

func testShortConv(
	t *testing.T, d *tensor.Device, steps [][]int, dt tensor.DType, width, channels int, silu bool,
) {
	r := rand.New(rand.NewPCG(1, 2))
	count, tokens := len(steps[0]), longest(steps)
	weight, wf := of(t, d, dt, random(r, channels*width), channels, width)
	var bias *tensor.Tensor
	bf, act := make([]float64, channels), recurrent.Linear
	if silu {
		act = recurrent.SiLU
		bias, bf = of(t, d, dt, random(r, channels), channels)
	}
	state := noise(d, dt, 2*count, width-1, channels)
	all := make([]*tensor.Tensor, count)
	numbers := make([][]float64, count)
	for i := range all {
		all[i], numbers[i] = of(t, d, dt, random(r, tokens*channels), tokens, channels)
	}
	feed(t, d, steps, func(which, from, n []int, on *recurrent.Sequences) {
		var list []*tensor.Tensor
		var want []float64
		for i, s := range which {
			list = append(list, all[s].Narrow(0, from[i], n[i]))
			for at := from[i]; at < from[i]+n[i]; at++ {
				for c := range channels {
					sum := bf[c]
					for j := range width {
						if k := at - width + 1 + j; k >= 0 {
							sum += wf[c*width+j] * numbers[s][k*channels+c]
						}
					}
					if silu {
						sum /= 1 + math.Exp(-sum)
					}
					want = append(want, sum)
				}
			}
		}
		x := list[0] // with a gap between rows
		if len(list) > 1 {
			x = tensor.Cat(0, list...)
		}
		y := recurrent.ShortConv(x, weight, bias, state, on, act)
		require.NoError(t, y.Err())
		require.Equal(t, dt, y.DType())
		require.InDeltaSlice(t, want, floats(t, y), 2*tolerance[dt])
	})
}

func TestMistakes(t *testing.T) {
	d := cpu(t)
	for name, list := range map[string][]recurrent.Sequence{
		"none":     nil,
		"empty":    {{Tokens: 0}},
		"negative": {{Tokens: 1, State: -1}},
		"twice":    {{Tokens: 1, State: 3}, {Tokens: 2, State: 3}},
	} {
		_, err := recurrent.NewSequences(d, list)
		require.ErrorIs(t, err, tensor.ErrArgument, name)
	}
	on, err := recurrent.NewSequences(d, []recurrent.Sequence{{Tokens: 2, State: 1}})
	require.NoError(t, err)
	learned := func(shape ...int) *tensor.Tensor {
		return tensor.NewVar(tensor.Zeros(d, tensor.F32, shape...)).Tensor()
	}
	zeros := func(shape ...int) *tensor.Tensor { return tensor.Zeros(d, tensor.F32, shape...) }
	x, w, state := zeros(2, 8), zeros(8, 4), zeros(2, 3, 8)
	require.NoError(t, recurrent.ShortConv(x, w, nil, state, on, recurrent.Linear).Err())
	for name, c := range map[string]struct {
		x, w, bias, state *tensor.Tensor
		is                error
		text              string
	}{
		"tokens":    {zeros(3, 8), w, nil, state, tensor.ErrShape, "want (2, features)"},
		"rank":      {zeros(2, 8, 1), w, nil, state, tensor.ErrShape, "want (2, features)"},
		"width":     {x, zeros(8, 1), nil, state, tensor.ErrShape, "width from 2 to 32"},
		"channels":  {x, zeros(7, 4), nil, state, tensor.ErrShape, "want (8, width)"},
		"bias":      {x, w, zeros(7), state, tensor.ErrShape, "want (8)"},
		"rows":      {x, w, nil, zeros(1, 3, 8), tensor.ErrShape, "2 of them or more"},
		"row":       {x, w, nil, zeros(2, 8, 3), tensor.ErrShape, "[3, 8]"},
		"no states": {x, w, nil, nil, tensor.ErrArgument, "no states"},
		"layout":    {x, w, nil, zeros(3, 2, 8).Transpose(0, 1), tensor.ErrArgument, "not contiguous"},
		"type":      {x, w, nil, state.Cast(tensor.F16), tensor.ErrDTypeMismatch, "want f32"},
		"weight":    {x, w.Cast(tensor.F16), nil, state, tensor.ErrDTypeMismatch, "f16"},
		"integers":  {x.Cast(tensor.I32), w, nil, state, tensor.ErrDType, "i32"},
		"gradient":  {learned(2, 8), w, nil, state, tensor.ErrNoGradient, "Detach"},
		"learned":   {x, learned(8, 4), nil, state, tensor.ErrNoGradient, "Detach"},
	} {
		err := recurrent.ShortConv(c.x, c.w, c.bias, c.state, on, recurrent.Linear).Err()
		require.ErrorIs(t, err, c.is, name)
		require.ErrorContains(t, err, c.text, name)
	}
}
