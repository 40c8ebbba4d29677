package recurrent_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn/recurrent"
	"github.com/gokiln/kiln/tensor"
)

func TestRGLRU(t *testing.T) {
	d := cpu(t)
	for name, steps := range parts {
		t.Run(name, func(t *testing.T) {
			for i, dt := range []tensor.DType{tensor.F32, tensor.BF16, tensor.F16} {
				testRGLRU(t, d, steps, dt, 19*(i+1))
			}
		})
	}
}

// testRGLRU compares with the formulas.
func testRGLRU(t *testing.T, d *tensor.Device, steps [][]int, dt tensor.DType, channels int) {
	r := rand.New(rand.NewPCG(5, 6))
	count, tokens := len(steps[0]), longest(steps)
	x := newOperand(t, d, dt, r, count, tokens, channels, func(x float64) float64 { return x })
	most := func(x float64) float64 { return 3 * x }
	inputGate := newOperand(t, d, dt, r, count, tokens, channels, most)
	few := func(x float64) float64 { return 4*x - 2 }
	gate := newOperand(t, d, dt, r, count, tokens, channels, few)
	lambda, lf := of(t, d, dt, random(r, channels), channels)
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	states := make([][]float64, count)
	for i := range states {
		states[i] = make([]float64, channels)
	}
	state := nans(d, 2*count, channels)
	feed(t, d, steps, func(which, from, n []int, on *recurrent.Sequences) {
		var want []float64
		for i, s := range which {
			for token := from[i]; token < from[i]+n[i]; token++ {
				for c := range channels {
					a := math.Exp(-8 * math.Log1p(math.Exp(lf[c])) * sigmoid(gate.at(s, token, c)))
					root := math.Sqrt(1 - a*a)
					if token == 0 {
						root = 1
					}
					h := &states[s][c]
					*h = a**h + root*sigmoid(inputGate.at(s, token, c))*x.at(s, token, c)
					want = append(want, *h)
				}
			}
		}
		y := recurrent.RGLRU(x.packed(which, from, n), inputGate.packed(which, from, n),
			gate.packed(which, from, n), lambda, state, on)
		require.NoError(t, y.Err())
		require.Equal(t, dt, y.DType())
		require.InDeltaSlice(t, want, floats(t, y), tolerance[dt])
	})
	for i := range states {
		got := floats(t, state.Narrow(0, 2*(count-i)-1, 1))
		require.InDeltaSlice(t, states[i], got, 2e-6, "sequence %d", i)
	}
}
