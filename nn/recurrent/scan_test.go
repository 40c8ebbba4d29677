package recurrent_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn/recurrent"
	"github.com/gokiln/kiln/tensor"
)

// scanCase is a selective scan: of Mamba where heads have one channel.
type scanCase struct {
	heads, size, groups, n int
	scalar, all            bool // all: with bias, skip, gate and bounds
}

func TestSelectiveScan(t *testing.T) {
	d := cpu(t)
	types := []tensor.DType{tensor.F32, tensor.BF16, tensor.F64, tensor.F16}
	for i, c := range []scanCase{
		{19, 1, 1, 16, false, true}, {5, 7, 1, 16, true, true}, {6, 4, 2, 128, true, false},
		{3, 1, 1, 5, false, false},
		{4, 3, 4, 13, true, true},
	} {
		for name, steps := range parts {
			t.Run(fmt.Sprint(c, name), func(t *testing.T) { c.test(t, d, steps, types[i%len(types)]) })
		}
	}
}

// test feeds sequences in steps, and compares with the recurrence in float64.
func (c scanCase) test(t *testing.T, d *tensor.Device, steps [][]int, dt tensor.DType) {
	r := rand.New(rand.NewPCG(3, 4))
	count, tokens, channels := len(steps[0]), longest(steps), c.heads*c.size
	rates := random(r, c.heads*c.n)
	if c.scalar {
		rates = rates[:c.heads]
	}
	for i := range rates {
		rates[i] = -math.Exp(2 * rates[i])
	}
	a, af := of(t, d, dt, rates, len(rates))
	if !c.scalar {
		a = a.Reshape(c.heads, c.n)
	}
	o := recurrent.ScanOptions{}
	bias, skip := make([]float64, c.heads), make([]float64, c.heads)
	low, high := 0.0, math.Inf(1)
	if c.all {
		low, high = 0.4, 1.1
		o.Low, o.High = low, high
		o.Bias, bias = of(t, d, dt, random(r, c.heads), c.heads)
		o.Skip, skip = of(t, d, dt, random(r, c.heads), c.heads)
	}
	type operands struct {
		t [5]*tensor.Tensor
		x [5][]float64
	}
	widths := []int{channels, c.heads, c.groups * c.n, c.groups * c.n, channels}
	list := make([]operands, count)
	for i := range list {
		for k, w := range widths {
			list[i].t[k], list[i].x[k] = of(t, d, dt, random(r, tokens*w), tokens, w)
		}
	}
	state := noise(d, dt, 2*count, channels, c.n)
	h := make([][]float64, count)
	feed(t, d, steps, func(which, from, n []int, on *recurrent.Sequences) {
		var in [5]*tensor.Tensor
		for k := range in {
			var parts []*tensor.Tensor
			for i, s := range which {
				parts = append(parts, list[s].t[k].Narrow(0, from[i], n[i]))
			}
			if in[k] = parts[0]; len(parts) > 1 {
				in[k] = tensor.Cat(0, parts...)
			}
		}
		if c.all {
			o.Gate = in[4]
		}
		y := recurrent.SelectiveScan(in[0], in[1], a, in[2], in[3], state, on, o)
		require.NoError(t, y.Err())
		require.Equal(t, dt, y.DType())
		var want []float64
		for i, s := range which {
			if from[i] == 0 {
				h[s] = make([]float64, channels*c.n)
			}
			for at := from[i]; at < from[i]+n[i]; at++ {
				for ch := range channels {
					head := ch / c.size
					group := head / (c.heads / c.groups)
					x := list[s].x[0][at*channels+ch]
					delta := math.Log1p(math.Exp(list[s].x[1][at*c.heads+head] + bias[head]))
					delta = min(max(delta, low), high)
					sum := skip[head] * x
					for k := range c.n {
						rate := af[head]
						if !c.scalar {
							rate = af[head*c.n+k]
						}
						bc := (at*c.groups+group)*c.n + k
						p := &h[s][ch*c.n+k]
						*p = math.Exp(delta*rate)**p + delta*x*list[s].x[2][bc]
						sum += *p * list[s].x[3][bc]
					}
					if c.all {
						z := list[s].x[4][at*channels+ch]
						sum *= z / (1 + math.Exp(-z))
					}
					want = append(want, sum)
				}
			}
		}
		require.InDeltaSlice(t, want, floats(t, y), 4*tolerance[dt])
	})
}

// TestScanTypes has parameters in the type that is computed in.
func TestScanTypes(t *testing.T) {
	d := cpu(t)
	on, err := recurrent.NewSequences(d, []recurrent.Sequence{{Tokens: 3, Fresh: true}})
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(5, 6))
	x, _ := of(t, d, tensor.BF16, random(r, 12), 3, 4)
	step, _ := of(t, d, tensor.BF16, random(r, 12), 3, 4)
	b, _ := of(t, d, tensor.BF16, random(r, 24), 3, 8)
	a, _ := of(t, d, tensor.F32, []float64{-1, -2, -.5, -3}, 4)
	run := func(a *tensor.Tensor) []float64 {
		state := tensor.Empty(d, tensor.F32, 1, 4, 8)
		return floats(t, recurrent.SelectiveScan(x, step, a, b, b, state, on, recurrent.ScanOptions{Skip: a}))
	}
	require.Equal(t, run(a), run(a.Cast(tensor.BF16))) // which has these numbers
}

func TestScanMistakes(t *testing.T) {
	d := cpu(t)
	on, err := recurrent.NewSequences(d, []recurrent.Sequence{{Tokens: 2, State: 1}})
	require.NoError(t, err)
	zeros := func(shape ...int) *tensor.Tensor { return tensor.Zeros(d, tensor.F32, shape...) }
	type (
		operands = *[6]*tensor.Tensor // x, steps, a, b, c and states
		options  = *recurrent.ScanOptions
	)
	for name, c := range map[string]struct {
		change func(in operands, o options)
		is     error
		text   string
	}{
		"none":     {func(operands, options) {}, nil, ""},
		"tokens":   {func(in operands, _ options) { in[0] = zeros(3, 8) }, tensor.ErrShape, "want (2, features)"},
		"steps":    {func(in operands, _ options) { in[1] = zeros(3, 4) }, tensor.ErrShape, "steps [3, 4], want [2, 4]"},
		"heads":    {func(in operands, _ options) { in[1] = zeros(2, 3) }, tensor.ErrShape, "(tokens, heads)"},
		"a":        {func(in operands, _ options) { in[2] = zeros(3) }, tensor.ErrShape, "a [3], want [4]"},
		"rates":    {func(in operands, _ options) { in[2] = zeros(4, 15) }, tensor.ErrShape, "a [4, 15], want [4, 16]"},
		"rank":     {func(in operands, _ options) { in[2] = zeros(4, 16, 1) }, tensor.ErrRank, "a (heads)"},
		"no a":     {func(in operands, _ options) { in[2] = nil }, tensor.ErrRank, "a (heads)"},
		"groups":   {func(in operands, _ options) { in[3] = zeros(2, 48) }, tensor.ErrShape, "3 groups"},
		"c":        {func(in operands, _ options) { in[4] = zeros(2, 16) }, tensor.ErrShape, "c [2, 16], want [2, 32]"},
		"no c":     {func(in operands, _ options) { in[4] = nil }, tensor.ErrArgument, "nil"},
		"state":    {func(in operands, _ options) { in[5] = zeros(2, 9, 16) }, tensor.ErrShape, "[8, 16]"},
		"large":    {func(in operands, _ options) { in[5] = zeros(2, 8, 512) }, tensor.ErrShape, "up to 256"},
		"no state": {func(in operands, _ options) { in[5] = nil }, tensor.ErrRank, "states"},
		"halves":   {func(in operands, _ options) { in[5] = in[5].Cast(tensor.F16) }, tensor.ErrDTypeMismatch, "states"},
		"type":     {func(in operands, _ options) { in[3] = in[3].Cast(tensor.F16) }, tensor.ErrDTypeMismatch, "f16"},
		"a's type": {func(in operands, _ options) { in[2] = in[2].Cast(tensor.F16) }, tensor.ErrDTypeMismatch, "a of f16"},
		"bias":     {func(_ operands, o options) { o.Bias = zeros(8) }, tensor.ErrShape, "bias [8], want [4]"},
		"skip":     {func(_ operands, o options) { o.Skip = zeros(4).Cast(tensor.F16) }, tensor.ErrDTypeMismatch, "skip"},
		"gate":     {func(_ operands, o options) { o.Gate = zeros(2, 4) }, tensor.ErrShape, "gate"},
		"gradient": {func(_ operands, o options) {
			o.Gate = tensor.NewVar(zeros(2, 8)).Tensor()
		}, tensor.ErrNoGradient, "Detach"},
	} {
		in := [6]*tensor.Tensor{zeros(2, 8), zeros(2, 4), zeros(4), zeros(2, 32), zeros(2, 32), zeros(2, 8, 16)}
		var o recurrent.ScanOptions
		c.change(&in, &o)
		err := recurrent.SelectiveScan(in[0], in[1], in[2], in[3], in[4], in[5], on, o).Err()
		if c.is == nil {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, c.is, name)
		require.ErrorContains(t, err, c.text, name)
	}
}
