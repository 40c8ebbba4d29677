package recipe_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/quantized/recipe"
)

// llama is the tensors of a model of that architecture, of n layers.
func llama(n int) []recipe.Tensor {
	list := []recipe.Tensor{
		{Name: "output.weight", Shape: []int{512, 256}}, {Name: "output_norm.weight", Shape: []int{256}},
		{Name: "token_embd.weight", Shape: []int{512, 256}},
	}
	for i := range n {
		for _, part := range []string{"attn_k", "attn_output", "attn_q", "attn_v", "ffn_down",
			"ffn_gate", "ffn_up"} {
			list = append(list, recipe.Tensor{Name: fmt.Sprintf("blk.%d.%s.weight", i, part),
				Shape: []int{256, 512}})
		}
		list = append(list, recipe.Tensor{Name: fmt.Sprintf("blk.%d.attn_norm.weight", i),
			Shape: []int{1, 256}})
	}
	return list
}

// plan is the types of tensors by name, without those of most.
func plan(t *testing.T, name string, m recipe.Model, list []recipe.Tensor) map[string]string {
	t.Helper()
	r, err := recipe.Parse(name)
	require.NoError(t, err)
	types, changed := r.Plan(m, list)
	out := map[string]string{}
	for i, x := range list {
		require.Equal(t, recipe.Quantizes(x), changed[i])
		if changed[i] && types[i] != r.Type {
			out[x.Name] = types[i].String()
		}
	}
	return out
}

var small = recipe.Model{Architecture: "llama", Layers: 2, Heads: 8, KVHeads: 4}

// The small model that llama.cpp quantized as Q4_K_M.
func TestSmallModel(t *testing.T) {
	require.Equal(t, map[string]string{
		"output.weight": "Q6_K", "blk.1.attn_v.weight": "Q6_K", "blk.1.ffn_down.weight": "Q6_K",
	}, plan(t, "q4_k_m", small, llama(2)))
}

// layers is the layers of a part that have a type.
func layers(p map[string]string, part, typ string) (list []int) {
	for name, have := range p {
		if have == typ && name == fmt.Sprintf("blk.%d.%s.weight", recipe.LayerOf(name), part) {
			list = append(list, recipe.LayerOf(name))
		}
	}
	slices.Sort(list)
	return list
}

func TestLayers(t *testing.T) {
	m := recipe.Model{Architecture: "llama", Layers: 32, Heads: 32, KVHeads: 8}
	more := []int{0, 1, 2, 3, 6, 9, 12, 15, 18, 21, 24, 27, 28, 29, 30, 31}
	p := plan(t, "Q5_K_M", m, llama(32))
	require.Equal(t, more, layers(p, "attn_v", "Q6_K"))
	require.Equal(t, more, layers(p, "ffn_down", "Q6_K"))
	require.Len(t, p, 2*len(more)+1)
	p = plan(t, "Q4_K_S", m, llama(32))
	require.Equal(t, []int{0, 1, 2, 3}, layers(p, "attn_v", "Q5_K"))
	require.Equal(t, []int{0, 1, 2, 3}, layers(p, "ffn_down", "Q5_K"))
	p = plan(t, "Q3_K_M", m, llama(32))
	require.Equal(t, []int{0, 1}, layers(p, "attn_v", "Q5_K"))
	require.Len(t, layers(p, "attn_v", "Q4_K"), 30)
	require.Equal(t, []int{0, 1}, layers(p, "ffn_down", "Q5_K"))
	require.Len(t, layers(p, "ffn_down", "Q4_K"), 30)
	require.Len(t, layers(p, "attn_output", "Q4_K"), 32)
	p = plan(t, "IQ3_XS", m, llama(32))
	require.Len(t, layers(p, "ffn_gate", "IQ3_XXS"), 24)
	require.Len(t, layers(p, "ffn_up", "IQ3_XXS"), 24)
	require.Len(t, layers(p, "attn_k", "IQ3_XXS"), 32)
	require.Len(t, layers(p, "attn_v", "Q4_K"), 32)
	p = plan(t, "IQ2_XXS", m, llama(32))
	require.Equal(t, "Q5_K", p["output.weight"])
	require.Equal(t, "Q2_K", p["token_embd.weight"])
	require.Len(t, layers(p, "attn_v", "Q4_K"), 32)
	require.Equal(t, []int{0, 1, 2, 3}, layers(p, "ffn_down", "Q2_K"))
	p = plan(t, "IQ1_M", m, llama(32))
	require.Len(t, layers(p, "attn_output", "IQ2_XXS"), 32)
	p = plan(t, "Q8_0", m, llama(32))
	require.Empty(t, p)
	m.Imatrix = true
	p = plan(t, "Q4_0", m, llama(32))
	require.Equal(t, []int{0, 1, 2, 3}, layers(p, "ffn_down", "Q4_1"))
	require.Empty(t, plan(t, "IQ3_XXS", m, llama(32))["blk.9.ffn_down.weight"])
}

func TestOtherModels(t *testing.T) {
	m := recipe.Model{Architecture: "llama", Layers: 80, Heads: 64, KVHeads: 8}
	require.Len(t, layers(plan(t, "Q4_K_S", m, llama(80)), "attn_v", "Q5_K"), 80)
	m = recipe.Model{Architecture: "llama", Layers: 32, Heads: 32, KVHeads: 8, Experts: 8}
	p := plan(t, "Q4_K_M", m, llama(32))
	require.Len(t, layers(p, "attn_v", "Q8_0"), 32)
	require.Len(t, layers(p, "attn_k", "Q8_0"), 32)
	require.Len(t, layers(p, "attn_output", "Q5_K"), 32)
	p = plan(t, "IQ2_XS", m, llama(32))
	require.Len(t, layers(p, "attn_k", "Q4_K"), 32)
	require.Len(t, layers(p, "attn_v", "Q4_K"), 32)
	m = recipe.Model{Architecture: "falcon", Layers: 32, Heads: 32, KVHeads: 8}
	p = plan(t, "Q4_K_M", m, llama(32))
	require.Equal(t, "Q8_0", p["output.weight"])
	require.Equal(t, []int{0, 1}, layers(p, "ffn_down", "Q6_K"))
	require.Len(t, layers(p, "ffn_down", "Q5_K"), 14)
	tied := slices.DeleteFunc(llama(2),
		func(x recipe.Tensor) bool { return x.Name == "output.weight" })
	require.Equal(t, "Q6_K", plan(t, "Q4_K_M", small, tied)["token_embd.weight"],
		"it is the output layer too")
	qkv := []recipe.Tensor{{Name: "blk.0.attn_qkv.weight", Shape: []int{8, 256}}}
	require.Equal(t, "Q5_K", plan(t, "Q4_K_M", small, qkv)["blk.0.attn_qkv.weight"])
}

// Only the weights of experts have four bits.
func TestExpertsOnly(t *testing.T) {
	list := append(llama(1),
		recipe.Tensor{Name: "blk.0.ffn_gate_inp.weight", Shape: []int{4, 256}},
		recipe.Tensor{Name: "blk.0.ffn_down_exps.weight", Shape: []int{4, 256, 64}},
		recipe.Tensor{Name: "blk.0.ffn_up_exps.weight", Shape: []int{4, 64, 96}},
		recipe.Tensor{Name: "blk.0.ffn_gate_exps.weight", Shape: []int{1, 64, 256}},
		recipe.Tensor{Name: "blk.0.ffn_odd_exps.weight", Shape: []int{4, 64, 33}},
		recipe.Tensor{Name: "blk.0.attn_kv_b.weight", Shape: []int{2, 64, 256}})
	want := map[string]string{"token_embd.weight": "Q8_0", "output.weight": "Q8_0",
		"blk.0.ffn_gate_exps.weight": "Q8_0", "blk.0.ffn_odd_exps.weight": "F16"}
	for _, part := range []string{"attn_k", "attn_output", "attn_q", "attn_v", "ffn_down", "ffn_gate",
		"ffn_up"} {
		want["blk.0."+part+".weight"] = "Q8_0"
	}
	m := recipe.Model{Architecture: "gpt-oss", Layers: 1, Heads: 8, KVHeads: 1, Experts: 8}
	require.Equal(t, want, plan(t, "mxfp4_moe", m, list), "others are MXFP4")
	m.Architecture = "bailingmoe3"
	want["blk.0.attn_kv_b.weight"], want["blk.0.ffn_odd_exps.weight"] = "Q8_0", "Q8_0"
	list[len(list)-2].Shape[2] = 64
	list[0].Shape = []int{2, 512, 256} // the output layer, whatever its shape
	require.Equal(t, want, plan(t, "mxfp4_moe", m, list))
}

// Not all layers have all parts.
func TestLayersOfHybrids(t *testing.T) {
	var list []recipe.Tensor
	for i := range 8 { // every fourth layer has attention, and the last eight have experts
		v := recipe.Tensor{Name: fmt.Sprintf("blk.%d.attn_v.weight", 4*i), Shape: []int{256, 256}}
		down := recipe.Tensor{Name: fmt.Sprintf("blk.%d.ffn_down.weight", 24+i), Shape: []int{256, 256}}
		list = append(list, v, down)
	}
	m := recipe.Model{Architecture: "other", Layers: 32, Heads: 8, KVHeads: 8}
	p := plan(t, "Q4_K_M", m, list)
	require.Equal(t, []int{0, 12, 24, 28}, layers(p, "attn_v", "Q6_K"), "by those that have attention")
	for _, m.Experts = range []int{0, 1} {
		p = plan(t, "Q4_K_M", m, list)
		require.Equal(t, []int{24, 25, 26, 27, 30}, layers(p, "ffn_down", "Q6_K"), "counted")
	}
	m.Experts = 2
	p = plan(t, "Q4_K_M", m, list)
	require.Equal(t, []int{24, 27, 28, 29, 30, 31}, layers(p, "ffn_down", "Q6_K"), "by the name")
	p = plan(t, "IQ2_S", m, list)
	require.Equal(t, []int{24, 25, 26, 27}, layers(p, "ffn_down", "IQ3_S"), "counted by such recipes")
}

// Rows that blocks do not divide get a type with smaller ones.
func TestRowsOfOtherLengths(t *testing.T) {
	of := func(name string, n int) string {
		list := []recipe.Tensor{{Name: "x.weight", Shape: []int{2, n}}, {Name: "output.weight",
			Shape: []int{2, 256}}}
		return plan(t, name, small, list)["x.weight"]
	}
	require.Equal(t, "Q5_0", of("Q4_K_M", 96))
	require.Equal(t, "Q5_1", of("Q5_K_M", 96))
	require.Equal(t, "Q8_0", of("Q6_K", 96))
	require.Equal(t, "IQ4_NL", of("IQ2_M", 96))
	require.Equal(t, "Q4_0", of("TQ2_0", 96))
	require.Equal(t, "Q4_0", of("Q2_0", 96))
	require.Equal(t, "F16", of("Q4_K_M", 33))
	require.Equal(t, "F16", of("Q8_0", 33))
	for _, x := range []recipe.Tensor{
		{Name: "x.weight", Shape: []int{256}}, {Name: "x.bias", Shape: []int{2, 256}},
		{Name: "a_norm.weight", Shape: []int{2, 256}}, {Name: "blk.0.ffn_gate_inp.weight",
			Shape: []int{2, 256}},
	} {
		require.False(t, recipe.Quantizes(x), x.Name)
	}
}

func TestNames(t *testing.T) {
	seen := map[uint32]bool{}
	for _, name := range recipe.Names() {
		r, err := recipe.Parse(name)
		require.NoError(t, err)
		require.Equal(t, name, r.Name)
		require.False(t, seen[r.FileType], name)
		seen[r.FileType] = true
		types, changed := r.Plan(small, llama(2))
		require.True(t, changed[0])
		if !r.Type.IsQuantized() {
			require.Equal(t, r.Type, types[0])
		}
	}
	r, err := recipe.Parse("q4_k")
	require.NoError(t, err)
	require.Equal(t, "Q4_K_M", r.Name)
	require.Equal(t, format.Q4_K, r.Type)
	_, err = recipe.Parse("Q4_2")
	require.ErrorIs(t, err, recipe.ErrName)
	require.Equal(t, -1, recipe.LayerOf("output.weight"))
	require.Equal(t, -1, recipe.LayerOf("blk.x.weight"))
}

func Example() {
	r, err := recipe.Parse("Q4_K_M")
	if err != nil {
		panic(err)
	}
	list := []recipe.Tensor{{Name: "output.weight", Shape: []int{512, 256}},
		{Name: "blk.0.attn_q.weight", Shape: []int{256, 256}}}
	types, _ := r.Plan(recipe.Model{Architecture: "llama", Layers: 2}, list)
	fmt.Println(types)
	// Output: [Q6_K Q4_K]
}
