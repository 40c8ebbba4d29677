package optim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn/optim"
	"github.com/gokiln/kiln/tensor"
)

// benchmarkStep takes steps of AdamW over so many variables of so many elements.
func benchmarkStep(b *testing.B, vars, elements int) {
	d := open(b)
	list, grads := make([]*tensor.Var, vars), make([]*tensor.Tensor, vars)
	for i := range list {
		list[i] = tensor.NewVar(tensor.Ones(d, tensor.F32, elements))
		grads[i] = tensor.Ones(d, tensor.F32, elements)
	}
	g := gradients(b, list, grads)
	opt := optim.NewAdamW(list, optim.AdamW{WeightDecay: 0.01})
	require.NoError(b, opt.Step(g))
	require.NoError(b, d.Synchronize())
	b.SetBytes(int64(vars * elements * 28)) // four reads and three writes
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, opt.Step(g))
		require.NoError(b, d.Synchronize())
	}
}

func BenchmarkStepSmall(b *testing.B)  { benchmarkStep(b, 300, 16) }
func BenchmarkStepMiddle(b *testing.B) { benchmarkStep(b, 64, 1<<14) }
func BenchmarkStepLarge(b *testing.B)  { benchmarkStep(b, 4, 1<<22) }
