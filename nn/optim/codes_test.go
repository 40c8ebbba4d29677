package optim_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn/optim"
	"github.com/gokiln/kiln/tensor"
)

// book is the codes of the paper, one after the other.
func book(signed bool) (list []float32) {
	list = []float32{0, 1}
	for decade := range 7 {
		parts := math.Exp2(float64(decade))
		if !signed {
			parts *= 2
		}
		for k := range int(parts) {
			low, high := 0.1+0.9*float64(k)/parts, 0.1+0.9*float64(k+1)/parts
			x := float32((low + high) / 2 * math.Pow(10, float64(decade-6)))
			list = append(list, x)
			if signed {
				list = append(list, -x)
			}
		}
	}
	slices.Sort(list)
	return list
}

// quantised is numbers rounded to codes times the largest magnitude of each block.
func quantised(list []float32, codes []float32) []float32 {
	out := make([]float32, len(list))
	for first := 0; first < len(list); first += 256 {
		block := list[first:min(first+256, len(list))]
		var most float32
		for _, x := range block {
			most = max(most, x, -x)
		}
		for i, x := range block {
			best := codes[0]
			for _, c := range codes {
				if math.Abs(float64(c-x/most)) < math.Abs(float64(best-x/most)) {
					best = c
				}
			}
			out[first+i] = best * most
		}
	}
	return out
}

// AdamW with states of 8 bits beside its definition, and beside AdamW.
func TestCodes(t *testing.T) {
	require.Len(t, book(true), 256)
	require.Len(t, book(false), 256)
	const n, lr, b1, b2 = 5000, 0.01, 0.9, 0.999
	d := open(t)
	one := []*tensor.Var{tensor.NewVar(filled(d, tensor.F32, 1, 1, n))}
	two := []*tensor.Var{tensor.NewVar(filled(d, tensor.F32, 1, 1, n))}
	coded, full := optim.NewAdamW(one, optim.AdamW{LR: lr, Bits8: true}), optim.NewAdamW(two, optim.AdamW{LR: lr})
	x, err := tensor.To1[float32](one[0].Tensor())
	require.NoError(t, err)
	begin := slices.Clone(x)
	m, v := make([]float32, n), make([]float32, n)
	for step := range 5 {
		g := filled(d, tensor.F32, 100*step, 1, n)
		require.NoError(t, coded.Step(gradients(t, one, []*tensor.Tensor{g})))
		require.NoError(t, full.Step(gradients(t, two, []*tensor.Tensor{g})))
		grads, err := tensor.To1[float32](g)
		require.NoError(t, err)
		for i, g := range grads {
			m[i] += float32(float32(1-b1) * (g - m[i]))
			v[i] = float32(float32(b2)*v[i]) + float32(float32(float32(1-b2)*g)*g)
			up := float64(m[i]) / (1 - math.Pow(b1, float64(step+1)))
			down := math.Sqrt(float64(v[i])/(1-math.Pow(b2, float64(step+1)))) + 1e-8
			x[i] -= float32(lr * up / down)
		}
		m, v = quantised(m, book(true)), quantised(v, book(false))
	}
	have, err := tensor.To1[float32](one[0].Tensor())
	require.NoError(t, err)
	exact, err := tensor.To1[float32](two[0].Tensor())
	require.NoError(t, err)
	wrong, moved, lost := 0, 0.0, 0.0
	for i := range have {
		if math.Abs(float64(have[i]-x[i])) > 1e-6 { // another code where two are as near
			wrong++
		}
		moved += math.Abs(float64(exact[i] - begin[i]))
		lost += math.Abs(float64(exact[i] - have[i]))
	}
	require.Less(t, wrong, n/100)
	require.Less(t, lost/moved, 0.05)

	s, err := coded.State()
	require.NoError(t, err)
	require.Equal(t, tensor.U8, s["0.mean"].DType())
	require.Equal(t, tensor.Shape{20}, s["0.square.scale"].Shape())
	fresh := optim.NewAdamW(two, optim.AdamW{LR: lr, Bits8: true})
	require.NoError(t, two[0].Set(one[0].Tensor()))
	require.NoError(t, fresh.Load(s))
	g := filled(d, tensor.F32, 7, 1, n)
	require.NoError(t, coded.Step(gradients(t, one, []*tensor.Tensor{g})))
	require.NoError(t, fresh.Step(gradients(t, two, []*tensor.Tensor{g})))
	same(t, one[0].Tensor(), two[0].Tensor())
}

func TestCodesOfLion(t *testing.T) {
	d := open(t)
	one := []*tensor.Var{tensor.NewVar(filled(d, tensor.BF16, 1, 1, 70, 70)), tensor.NewVar(filled(d, tensor.F32, 1, 1, 5))}
	two := []*tensor.Var{tensor.NewVar(filled(d, tensor.BF16, 1, 1, 70, 70)), tensor.NewVar(filled(d, tensor.F32, 1, 1, 5))}
	coded, full := optim.NewLion(one, optim.Lion{LR: 0.01, Bits8: true}), optim.NewLion(two, optim.Lion{LR: 0.01})
	for step := range 3 {
		g, h := filled(d, tensor.BF16, 100*step, 1, 70, 70), filled(d, tensor.F32, step, 1, 5)
		require.NoError(t, coded.Step(gradients(t, one, []*tensor.Tensor{g, h})))
		require.NoError(t, full.Step(gradients(t, two, []*tensor.Tensor{g, h})))
	}
	same(t, two[1].Tensor(), one[1].Tensor()) // which is small
	apart, err := coded.Master(one[0]).Sub(full.Master(two[0])).Abs().Mean().Float64s()
	require.NoError(t, err)
	require.Less(t, apart[0], 0.0005) // of 0.03: signs of small numbers
	require.Greater(t, apart[0], 0.0)

	require.ErrorIs(t, optim.NewAdamW(one, optim.AdamW{Bits8: true, AMSGrad: true}).Err(), tensor.ErrArgument)
	f64 := []*tensor.Var{tensor.NewVar(tensor.Ones(d, tensor.F64, 5))}
	require.ErrorIs(t, optim.NewAdamW(f64, optim.AdamW{Bits8: true}).Err(), tensor.ErrDType)
}
