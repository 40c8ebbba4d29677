package models

import (
	"math"
	"strings"
	"testing"

	"github.com/gokiln/kiln/quantized/gguf"
	"github.com/gokiln/kiln/tensor/file"
)

// linear writes a tensor of linear attention as llama.cpp's converter does: queries, keys, values and
// gates are no longer by groups of heads, and Qwen 3.5 has the heads of values in another order.
func (g *golden) linear(t testing.TB, c *Config, to string, a array) []*file.Entry {
	k := &c.keys
	keys, heads := k.int("linear_num_key_heads"), k.int("linear_num_value_heads")
	key, value := k.int("linear_key_head_dim"), k.int("linear_value_head_dim")
	each := heads / keys
	// tiled is rows from some on, of heads that have so many each, in the new order.
	tiled := func(from, width int) (list []int) {
		for i := range from {
			list = append(list, i)
		}
		for i := range heads * width {
			head, at := i/width, i%width
			if g.Arch != "qwen3next" {
				head = head%keys*each + head/keys
			}
			list = append(list, from+head*width+at)
		}
		return list
	}
	one := func(a array) []*file.Entry { return []*file.Entry{a.entry(t, to)} }
	switch _, name, _ := strings.Cut(strings.TrimPrefix(to, "blk."), "."); name {
	case "ssm_a":
		for i, x := range a.x {
			a.x[i] = float32(-math.Exp(float64(x)))
		}
		return one(a.rows(tiled(0, 1)))
	case "ssm_dt.bias", "ssm_beta.weight", "ssm_alpha.weight":
		return one(a.rows(tiled(0, 1)))
	case "ssm_conv1d.weight":
		a.shape = []int{a.shape[0], a.shape[2]}
		return one(a.rows(tiled(2*keys*key, value)))
	case "attn_qkv.weight":
		return one(a.rows(tiled(2*keys*key, value)))
	case "attn_gate.weight":
		return one(a.rows(tiled(0, value)))
	case "ssm_out.weight":
		return one(a.transposed().rows(tiled(0, value)).transposed())
	}
	first, second, ok := strings.Cut(to, "|")
	if !ok {
		return one(a)
	}
	sizes := []int{key, key, each * value, each * value}
	var parts [4][]int
	for at := 0; at < a.shape[0]; {
		for p, n := range sizes {
			for range n {
				parts[p] = append(parts[p], at)
				at++
			}
		}
	}
	qkv := append(append(parts[0], parts[1]...), parts[2]...)
	return []*file.Entry{a.rows(qkv).entry(t, first), a.rows(parts[3]).entry(t, second)}
}

// linearKeys is what a file says of linear attention.
func linearKeys(c *Config, m *gguf.Metadata, arch string) {
	k := &c.keys
	heads := k.int("linear_num_value_heads")
	for key, n := range map[string]int{
		"ssm.conv_kernel": k.int("linear_conv_kernel_dim"), "ssm.state_size": k.int("linear_key_head_dim"),
		"ssm.group_count": k.int("linear_num_key_heads"), "ssm.time_step_rank": heads,
		"ssm.inner_size": heads * k.int("linear_value_head_dim"), "full_attention_interval": 4,
	} {
		m.Set(arch+"."+key, gguf.Of(uint32(n)))
	}
	if arch == "qwen35" { // with a layer behind the last one, and a list of layers
		m.Set(arch+".block_count", gguf.Of(uint32(c.Layers+1)))
		m.Set(arch+".nextn_predict_layers", gguf.Of(uint32(1)))
		m.Set(arch+".full_attention_interval", gguf.Of(uint32(2)))
		list := make([]bool, c.Layers+1)
		for i := range c.Layers {
			list[i] = c.LayerTypes[i] == "linear_attention"
		}
		m.Set(arch+".attention.recurrent_layers", gguf.ListOf(list))
	}
}
