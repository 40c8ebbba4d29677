package nn_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/tensor"
)

// seen is what an observer is called with.
func seen(list *[]string) nn.Observer {
	return func(name string, x, ends *tensor.Tensor) {
		text := fmt.Sprintf("%s %v", name, []int(x.Shape()))
		if ends != nil {
			text += fmt.Sprintf(" %v", []int(ends.Shape()))
		}
		*list = append(*list, text)
	}
}

func TestObserve(t *testing.T) {
	d := open(t)
	type model struct {
		Same  *nn.MultiHeadAttention
		Other *nn.MultiHeadAttention
		FF    nn.Layer
		Plain *nn.GatedMLP // whose first two products are of one kernel otherwise
		Out   *nn.Linear
		MoE   *nn.MoE `nn:"mix"`
		Embed *nn.Embedding
	}
	m := &model{
		Same:  nn.NewMultiHeadAttention(4, 2, nn.AttentionOptions{}),
		Other: nn.NewMultiHeadAttention(4, 2, nn.AttentionOptions{KeySize: 3, ValueSize: 5}),
		FF:    nn.NewSwiGLU(4, 6),
		Plain: nn.NewSwiGLU(4, 6),
		MoE:   nn.NewMoE(4, 5, 3, nn.MoEOptions{TopK: 2}),
		Embed: nn.NewEmbedding(7, 4),
	}
	m.Out = &nn.Linear{Weight: m.Embed.Weight} // is found first
	up := func(name string) bool { return name == "up_proj" }
	n, err := nn.Adapt(m.FF, nn.LoRAOptions{Rank: 1}, up)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	ready2(t, d, m)
	var list []string
	n, err = nn.Observe(m, seen(&list))
	require.NoError(t, err)
	require.Equal(t, 14, n)

	ones := func(s ...int) *tensor.Tensor { return tensor.Ones(d, tensor.F32, s...) }
	x := ones(1, 2, 4)
	check := func(y *tensor.Tensor, want ...string) {
		t.Helper()
		require.NoError(t, y.Err())
		require.Equal(t, want, list)
		list = nil
	}
	check(m.Same.Forward(x), "same.in_proj_weight [1 2 4]", "same.out_proj.weight [1 2 4]")
	y, _ := m.Same.Attend(x, ones(1, 3, 4), ones(1, 3, 4), nn.Attend{})
	check(y, "same.in_proj_weight [1 2 4]", "same.in_proj_weight [1 3 4]",
		"same.in_proj_weight [1 3 4]", "same.out_proj.weight [1 2 4]")
	y, _ = m.Other.Attend(x, ones(1, 3, 3), ones(1, 3, 5), nn.Attend{})
	check(y, "other.q_proj_weight [1 2 4]", "other.k_proj_weight [1 3 3]",
		"other.v_proj_weight [1 3 5]", "other.out_proj.weight [1 2 4]")
	check(m.FF.Forward(x), "ff.gate_proj.weight [1 2 4]", "ff.up_proj.weight [1 2 4]",
		"ff.down_proj.weight [1 2 6]")
	check(m.Plain.Forward(x), "plain.gate_proj.weight [1 2 4]", "plain.up_proj.weight [1 2 4]",
		"plain.down_proj.weight [1 2 6]")
	check(m.Out.Forward(x), "out.weight [1 2 4]")
	check(m.Embed.Unembed(x), "out.weight [1 2 4]")
	check(m.MoE.Forward(x), "mix.gate.weight [2 4]", "mix.experts.gate_proj [4 4] [3]",
		"mix.experts.up_proj [4 4] [3]", "mix.experts.down_proj [4 5] [3]")
	params, err := nn.List(m)
	require.NoError(t, err)
	names := map[string]bool{}
	for _, p := range params {
		names[p.Name] = true
	}
	require.True(t, names["out.weight"] && names["mix.experts.down_proj"])
	require.True(t, names["other.k_proj_weight"])

	n, err = nn.Observe(m, nil)
	require.NoError(t, err)
	require.Equal(t, 14, n)
	require.NoError(t, m.MoE.Forward(m.FF.Forward(m.Same.Forward(x))).Err())
	require.Empty(t, list)
	_, err = nn.Observe(&struct{ hidden *nn.Linear }{nn.NewLinear(1, 1)}, seen(&list))
	require.ErrorIs(t, err, nn.ErrStruct)
}
