package recurrent_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn/recurrent"
	"github.com/gokiln/kiln/tensor"
)

// operand is an operand of several sequences: a tensor for each, and its numbers.
type operand struct {
	tensors []*tensor.Tensor
	numbers [][]float64
	width   int
}

// newOperand makes (tokens, width) for some sequences, of numbers changed by f.
func newOperand(
	t *testing.T, d *tensor.Device, dt tensor.DType, r *rand.Rand, count, tokens, width int,
	f func(x float64) float64,
) *operand {
	o := &operand{width: width}
	for range count {
		x := random(r, tokens*width)
		for i := range x {
			x[i] = f(x[i])
		}
		y, back := of(t, d, dt, x, tokens, width)
		o.tensors, o.numbers = append(o.tensors, y), append(o.numbers, back)
	}
	return o
}

// packed is the part of a step: tokens of some sequences.
func (o *operand) packed(which, from, n []int) *tensor.Tensor {
	var list []*tensor.Tensor
	for i, s := range which {
		list = append(list, o.tensors[s].Narrow(0, from[i], n[i]))
	}
	if len(list) == 1 {
		return list[0] // with a gap between rows
	}
	return tensor.Cat(0, list...)
}

func (o *operand) at(s, token, i int) float64 { return o.numbers[s][token*o.width+i] }

// nans are states that nothing is stored in.
func nans(d *tensor.Device, shape ...int) *tensor.Tensor {
	x := tensor.Zeros(d, tensor.F32, shape...)
	return x.DivScalar(0)
}

func TestGatedDelta(t *testing.T) {
	d := cpu(t)
	for name, steps := range parts {
		t.Run(name, func(t *testing.T) {
			for i, dt := range []tensor.DType{tensor.F32, tensor.BF16, tensor.F16} {
				testGatedDelta(t, d, steps, dt, []int{16, 20, 7}[i], []int{3, 9, 8}[i], i != 1)
			}
		})
	}
}

// testGatedDelta compares with the formulas, for 4 heads with the keys of 2.
func testGatedDelta(
	t *testing.T, d *tensor.Device, steps [][]int, dt tensor.DType, key, value int, normalise bool,
) {
	const heads, keys = 4, 2
	r := rand.New(rand.NewPCG(3, 4))
	count, tokens := len(steps[0]), longest(steps)
	same := func(x float64) float64 { return x }
	short := func(x float64) float64 { return x / math.Sqrt(float64(key)) }
	if normalise {
		short = same
	}
	q := newOperand(t, d, dt, r, count, tokens, keys*key, short)
	k := newOperand(t, d, dt, r, count, tokens, keys*key, short)
	v := newOperand(t, d, dt, r, count, tokens, heads*value, same)
	fade := func(x float64) float64 { return x - 1.1 }
	gate := newOperand(t, d, tensor.F32, r, count, tokens, heads, fade)
	beta := newOperand(t, d, tensor.F32, r, count, tokens, heads, math.Abs)
	options, scale := recurrent.DeltaOptions{Normalise: normalise}, 1/math.Sqrt(float64(key))
	if !normalise {
		options.Scale, scale, options.Tiled = 0.7, 0.7, true
	}
	states := make([][]float64, count)
	for i := range states {
		states[i] = make([]float64, heads*key*value)
	}
	one := func(s, token, h int) (want []float64) {
		at := h / (heads / keys) * key
		if options.Tiled {
			at = h % keys * key
		}
		unit := func(o *operand) []float64 {
			x, sum := append([]float64(nil), o.numbers[s][token*o.width+at:][:key]...), 1e-6
			for _, y := range x {
				sum += y * y
			}
			for i := range x {
				if normalise {
					x[i] /= math.Sqrt(sum)
				}
			}
			return x
		}
		q, k, state := unit(q), unit(k), states[s][h*key*value:]
		for j := range value {
			old, out := 0.0, 0.0
			for i := range key {
				state[j*key+i] *= math.Exp(gate.at(s, token, h))
				old += state[j*key+i] * k[i]
			}
			add := beta.at(s, token, h) * (v.at(s, token, h*value+j) - old)
			for i := range key {
				state[j*key+i] += add * k[i]
				out += state[j*key+i] * q[i]
			}
			want = append(want, scale*out)
		}
		return want
	}
	state := nans(d, 2*count, heads, value, key)
	feed(t, d, steps, func(which, from, n []int, on *recurrent.Sequences) {
		var want []float64
		for i, s := range which {
			for token := from[i]; token < from[i]+n[i]; token++ {
				for h := range heads {
					want = append(want, one(s, token, h)...)
				}
			}
		}
		in := func(o *operand) *tensor.Tensor { return o.packed(which, from, n) }
		y := recurrent.GatedDelta(in(q), in(k), in(v), in(gate), in(beta), state, on, options)
		require.NoError(t, y.Err())
		require.Equal(t, dt, y.DType())
		require.InDeltaSlice(t, want, floats(t, y), tolerance[dt])
	})
	for i := range states {
		got := floats(t, state.Narrow(0, 2*(count-i)-1, 1))
		require.InDeltaSlice(t, states[i], got, 2e-6, "the state of sequence %d", i)
	}
}

func TestGeneralDelta(t *testing.T) {
	d := cpu(t)
	for name, steps := range parts {
		t.Run(name, func(t *testing.T) {
			for i, dt := range []tensor.DType{tensor.F32, tensor.BF16, tensor.F16} {
				testGeneralDelta(t, d, steps, dt, []int{16, 20, 7}[i], []int{3, 9, 8}[i])
			}
		})
	}
}

// testGeneralDelta compares with the formulas, for 3 heads.
func testGeneralDelta(t *testing.T, d *tensor.Device, steps [][]int, dt tensor.DType, key, value int) {
	const heads = 3
	r := rand.New(rand.NewPCG(7, 8))
	count, tokens := len(steps[0]), longest(steps)
	same := func(x float64) float64 { return x }
	short := func(x float64) float64 { return x / math.Sqrt(float64(key)) }
	q := newOperand(t, d, dt, r, count, tokens, heads*key, short)
	k := newOperand(t, d, dt, r, count, tokens, heads*key, short)
	v := newOperand(t, d, dt, r, count, tokens, heads*value, same)
	fade := func(x float64) float64 { return 0.6 + 0.3*x }
	decay := newOperand(t, d, tensor.F32, r, count, tokens, heads*key, fade)
	removed := newOperand(t, d, dt, r, count, tokens, heads*key, short)
	rate := newOperand(t, d, dt, r, count, tokens, heads*key, math.Abs)
	states := make([][]float64, count)
	for i := range states {
		states[i] = make([]float64, heads*key*value)
	}
	one := func(s, token, h int) (want []float64) {
		for j := range value {
			state, old, out := states[s][(h*value+j)*key:][:key], 0.0, 0.0
			for i := range key {
				old += state[i] * removed.at(s, token, h*key+i)
			}
			for i := range key {
				at := h*key + i
				state[i] = state[i]*decay.at(s, token, at) -
					old*rate.at(s, token, at)*removed.at(s, token, at) +
					v.at(s, token, h*value+j)*k.at(s, token, at)
				out += state[i] * q.at(s, token, at)
			}
			want = append(want, out)
		}
		return want
	}
	state := nans(d, 2*count, heads, value, key)
	feed(t, d, steps, func(which, from, n []int, on *recurrent.Sequences) {
		var want []float64
		for i, s := range which {
			for token := from[i]; token < from[i]+n[i]; token++ {
				for h := range heads {
					want = append(want, one(s, token, h)...)
				}
			}
		}
		in := func(o *operand) *tensor.Tensor { return o.packed(which, from, n) }
		y := recurrent.GeneralDelta(in(q), in(k), in(v), in(decay), in(removed), in(rate), state, on)
		require.NoError(t, y.Err())
		require.Equal(t, dt, y.DType())
		require.InDeltaSlice(t, want, floats(t, y), tolerance[dt])
	})
	for i := range states {
		got := floats(t, state.Narrow(0, 2*(count-i)-1, 1))
		require.InDeltaSlice(t, states[i], got, 2e-6, "the state of sequence %d", i)
	}
}

func TestDeltaGates(t *testing.T) {
	d := cpu(t)
	r := rand.New(rand.NewPCG(9, 10))
	for _, dt := range []tensor.DType{tensor.F32, tensor.BF16, tensor.F16} {
		const tokens, heads = 5, 7
		scaled := random(r, tokens*heads)
		for i := range scaled {
			scaled[i] *= 30
		}
		a, af := of(t, d, dt, scaled, tokens, heads)
		b, bf := of(t, d, dt, random(r, tokens*heads), tokens, heads)
		bias, biases := of(t, d, tensor.F32, random(r, heads), heads)
		rate, rates := of(t, d, tensor.F32, random(r, heads), heads)
		var gates, betas []float64
		for i, x := range af {
			gates = append(gates, rates[i%heads]*math.Log1p(math.Exp(x+biases[i%heads])))
			betas = append(betas, 1/(1+math.Exp(-bf[i])))
		}
		gate, beta := recurrent.DeltaGates(a, b, bias, rate)
		require.NoError(t, gate.Err())
		require.Equal(t, tensor.F32, gate.DType())
		require.InDeltaSlice(t, gates, floats(t, gate), 1e-5)
		require.InDeltaSlice(t, betas, floats(t, beta), 1e-6)
	}
}

// Operands that do not fit are errors that say which.
func TestDeltaMistakes(t *testing.T) {
	d := cpu(t)
	on, err := recurrent.NewSequences(d, []recurrent.Sequence{{Tokens: 2, State: 1}})
	require.NoError(t, err)
	zeros := func(shape ...int) *tensor.Tensor { return tensor.Zeros(d, tensor.F32, shape...) }
	half := func(x *tensor.Tensor) *tensor.Tensor { return x.Cast(tensor.BF16) }
	wide := func(x *tensor.Tensor) *tensor.Tensor { return x.Cast(tensor.F64) }
	q, v, g, state := zeros(2, 16), zeros(2, 12), zeros(2, 4), zeros(2, 4, 3, 8)
	delta := func(q, k, v, gate, beta, state *tensor.Tensor) *tensor.Tensor {
		return recurrent.GatedDelta(q, k, v, gate, beta, state, on, recurrent.DeltaOptions{})
	}
	lru := func(x, a, b, l, state *tensor.Tensor) *tensor.Tensor {
		return recurrent.RGLRU(x, a, b, l, state, on)
	}
	general := func(q, k, v, decay, removed, rate, state *tensor.Tensor) *tensor.Tensor {
		return recurrent.GeneralDelta(q, k, v, decay, removed, rate, state, on)
	}
	gates := func(a, b, perHead *tensor.Tensor) *tensor.Tensor {
		gate, _ := recurrent.DeltaGates(a, b, perHead, perHead)
		return gate
	}
	x, one := zeros(2, 32), zeros(4)
	require.NoError(t, general(x, x, v, x, x, x, state).Err())
	require.NoError(t, delta(q, q, v, g, g, state).Err())
	require.NoError(t, lru(q, q, q, zeros(16), zeros(2, 16)).Err())
	for text, c := range map[string]struct {
		y  *tensor.Tensor
		is error
	}{
		"keys [2, 8] for queries [2, 16]":    {delta(q, zeros(2, 8), v, g, g, state), tensor.ErrShape},
		"gates [2, 3] and rates [2, 4]":      {delta(q, q, v, zeros(2, 3), g, state), tensor.ErrShape},
		"rates [1, 4], want [2, 4]":          {delta(q, q, v, g, zeros(1, 4), state), tensor.ErrShape},
		"gates of bf16 and rates of f32":     {delta(q, q, v, half(g), g, state), tensor.ErrDType},
		"values [2, 16], want (2, 12)":       {delta(q, q, q, g, g, state), tensor.ErrShape},
		"for 4 heads with keys of 8":         {delta(zeros(2, 24), zeros(2, 24), v, g, g, state), tensor.ErrShape},
		"256 features of a key at most":      {delta(q, q, v, g, g, zeros(2, 4, 3, 257)), tensor.ErrShape},
		"want (states, heads, value, key":    {delta(q, q, v, g, g, zeros(2, 4, 3)), tensor.ErrRank},
		"2 of them or more":                  {delta(q, q, v, g, g, zeros(1, 4, 3, 8)), tensor.ErrShape},
		"states of bf16":                     {delta(q, q, v, g, g, half(state)), tensor.ErrDTypeMismatch},
		"operands of f64":                    {delta(wide(q), wide(q), wide(v), g, g, state), tensor.ErrDType},
		"f32 and [2, 16] of bf16":            {delta(q, half(q), v, g, g, state), tensor.ErrDTypeMismatch},
		"gates [2, 16] and [2, 12] for":      {lru(q, q, v, zeros(16), zeros(2, 16)), tensor.ErrShape},
		"lambda of [8], want (16)":           {lru(q, q, q, zeros(8), zeros(2, 16)), tensor.ErrShape},
		"want rows [16]":                     {lru(q, q, q, zeros(16), zeros(2, 8)), tensor.ErrShape},
		"want (tokens, heads) twice":         {gates(g, q, one), tensor.ErrShape},
		"biases [3] and rates [3], want [4]": {gates(g, g, zeros(3)), tensor.ErrShape},
		"want f32 of both":                   {gates(g, g, half(one)), tensor.ErrDType},
		"an operand wants":                   {gates(g, tensor.NewVar(g).Tensor(), one), tensor.ErrNoGradient},
		"queries [2, 16], want [2, 32]":      {general(q, x, v, x, x, x, state), tensor.ErrShape},
		"removed keys [2, 16], want":         {general(x, x, v, x, q, x, state), tensor.ErrShape},
		"decays of bf16, want f32":           {general(x, x, v, half(x), x, x, state), tensor.ErrDType},
		"f32 and [2, 32] of bf16":            {general(x, x, v, x, x, half(x), state), tensor.ErrDTypeMismatch},
		"gradient":                           {delta(tensor.NewVar(q).Tensor(), q, v, g, g, state), tensor.ErrNoGradient},
	} {
		require.ErrorIs(t, c.y.Err(), c.is, text)
		require.ErrorContains(t, c.y.Err(), text)
	}
}
