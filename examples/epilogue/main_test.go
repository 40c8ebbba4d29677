package main

import (
	"cmp"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/tensor"
)

func TestMain(m *testing.M) { os.Exit(tooltest.FreshCache(m)) }

func TestRun(t *testing.T) {
	for _, n := range []int{75, 136} { // with edges, and copied in chunks
		var out strings.Builder
		require.NoError(t, run(&out, cmp.Or(os.Getenv("KILN_DEVICE"), "cpu"), n))
		require.Contains(t, out.String(), "one kernel")
	}
	require.Error(t, run(&strings.Builder{}, "abacus", 1))
}

// The gradients are those of the steps, for operands of any layout.
func TestGradient(t *testing.T) {
	dev, err := tensor.Open(cmp.Or(os.Getenv("KILN_DEVICE"), "cpu"))
	require.NoError(t, err)
	defer dev.Close()
	x, w, bias := tensor.NewVar(draw(dev, 24, 40)), tensor.NewVar(draw(dev, 24, 33)), tensor.NewVar(draw(dev, 33))
	in := []*tensor.Tensor{x.Tensor().T(), w.Tensor().T(), bias.Tensor()}
	const limit = 4
	got, err := tensor.Apply3(logits{limit}, in[0], in[1], in[2]).Sum().Backward()
	require.NoError(t, err)
	want, err := in[0].Linear(in[1], in[2]).DivScalar(limit).Tanh().MulScalar(limit).Sum().Backward()
	require.NoError(t, err)
	for _, v := range []*tensor.Var{x, w, bias} {
		a, err := got.Of(v.Tensor()).Float64s()
		require.NoError(t, err)
		b, err := want.Of(v.Tensor()).Float64s()
		require.NoError(t, err)
		require.InDeltaSlice(t, b, a, 0.15)
	}
}
