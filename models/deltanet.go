package models

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/recurrent"
	"github.com/gokiln/kiln/tensor"
)

// deltaNet is the sizes of linear attention.
type deltaNet struct {
	keyHeads, heads int // of keys, and of values
	key, value      int // features of a head of each
	width           int // tokens of the convolution

	tiled bool // heads of values have the keys of heads over and over
}

// DeltaNet is the linear attention of Qwen3-Next (Yang, Kautz and Hatamizadeh, "Gated delta
// networks", 2025): queries, keys and values pass a short convolution, the gated delta rule stores
// values under keys, and its results are normalised by heads and pass a gate.
type DeltaNet struct {
	QKV  *nn.Linear  `nn:"in_proj_qkv"`
	Z    *nn.Linear  `nn:"in_proj_z"` // the gate of results
	B    *nn.Linear  `nn:"in_proj_b"` // how much of a value is stored
	A    *nn.Linear  `nn:"in_proj_a"` // how fast a head forgets, with
	Bias *nn.Param   `nn:"dt_bias"`
	Rate *nn.Param   `nn:"a"` // which is below 0
	Conv *causalConv `nn:"conv1d"`
	Norm *nn.RMSNorm `nn:"norm"`
	Out  *nn.Linear  `nn:"out_proj"`

	deltaNet
	state *stateRows `nn:"-"`
}

// newDeltaNet returns the linear attention of a layer.
func newDeltaNet(c *Config, s deltaNet) *DeltaNet {
	in, keys, values := c.HiddenSize, s.keyHeads*s.key, s.heads*s.value
	return &DeltaNet{
		QKV: linear(in, 2*keys+values, false), Z: linear(in, values, false),
		B: linear(in, s.heads, false), A: linear(in, s.heads, false),
		Bias: nn.NewParam(nn.Zeros, s.heads).Wide(),
		Rate: nn.NewParam(nn.Constant(-1), s.heads).Wide(),
		Conv: newCausalConv(2*keys+values, s.width, false),
		Norm: nn.NewRMSNorm(cmp.Or(c.NormEps, 1e-6), s.value),
		Out:  linear(values, in, false), deltaNet: s,
		state: newStateRows(s.heads, s.value, s.key),
	}
}

func (d *DeltaNet) newState(*LM) layerState { return &fixed{} }

// forward returns (tokens, features) of (tokens, features) for layer i of a batch.
func (d *DeltaNet) forward(x *tensor.Tensor, b *batch, i int) *tensor.Tensor {
	if x.Err() != nil {
		return x
	}
	on, err := b.recurrent(i, x.DType(), d.Conv.state, d.state)
	if err != nil {
		return tensor.Fail("linear attention", err)
	}
	qkv := d.Conv.forward(d.QKV.Forward(x), on, recurrent.SiLU)
	keys, tokens := d.keyHeads*d.key, x.Size(0)
	q, k, v := qkv.Narrow(1, 0, keys), qkv.Narrow(1, keys, keys), qkv.Narrow(1, 2*keys, d.heads*d.value)
	a, store := d.A.Forward(x), d.B.Forward(x)
	gate, beta := recurrent.DeltaGates(a, store, d.Bias.Tensor(), d.Rate.Tensor())
	o := recurrent.DeltaOptions{Normalise: true, Tiled: d.tiled}
	y := recurrent.GatedDelta(q, k, v, gate, beta, d.state.t, on, o)
	if y.Err() != nil {
		return y
	}
	y = d.Norm.Forward(y.Reshape(tokens, d.heads, d.value)).Reshape(tokens, d.heads*d.value)
	return d.Out.Forward(y.Mul(d.Z.Forward(x).Silu()))
}

// qwenNext is what Qwen3-Next and Qwen 3.5 have: three layers of linear attention to one of
// attention with gates.
func qwenNext(c *Config) traits {
	k := &c.keys
	if c.gguf { // layers behind the last guess tokens further on
		c.Layers -= min(k.int("num_nextn_predict_layers"), c.Layers-1)
		k.ggufDeltaNet()
	}
	s := deltaNet{
		keyHeads: k.between("linear_num_key_heads", 16, 1, limit),
		heads:    k.between("linear_num_value_heads", 32, 1, limit),
		key:      k.between("linear_key_head_dim", 128, 1, 256),
		value:    k.between("linear_value_head_dim", 128, 1, limit),
		width:    k.between("linear_conv_kernel_dim", 4, 2, widestConv),
		tiled:    c.gguf && c.ModelType != "qwen3next",
	}
	t := llamaLike(c)
	if k.err == nil && s.heads%s.keyHeads != 0 {
		k.err = fmt.Errorf("linear attention of %d heads with %d of keys, which is no divisor",
			s.heads, s.keyHeads)
	}
	t.mlpBias, t.qkNorm, t.gatedAttention = false, normOfHeads, true
	t.sharedGate, t.routing.Normalise = true, value(k, true, "norm_topk_prob")
	t.moe = qwenSparse(c)
	every := max(value(k, 4, "full_attention_interval"), 1)
	t.mixer = func(i int) mixer {
		if c.layerIs(i, "linear_attention", (i+1)%every != 0) {
			return newDeltaNet(c, s)
		}
		return nil
	}
	return t
}

// ggufDeltaNet says the sizes of linear attention in the words of config.json. GGUF files have them
// under the names of state-space models.
func (k *keys) ggufDeltaNet() {
	heads := k.int("time_step_rank")
	for name, n := range map[string]int{
		"linear_num_key_heads": k.int("n_groups"), "linear_num_value_heads": heads,
		"linear_key_head_dim":    k.int("ssm_state_size"),
		"linear_value_head_dim":  k.int("ssm_inner_size") / max(heads, 1),
		"linear_conv_kernel_dim": k.int("conv_kernel"),
	} {
		k.of[name], _ = json.Marshal(n)
	}
}

// deltaNetNames are the names of linear attention.
var deltaNetNames = [][2]string{
	{`self_attn\.(in_proj_\w+|dt_bias|conv1d|norm|out_proj)`, "linear_attn.$1"},
	{`self_attn\.a$`, "linear_attn.A_log"},
	{`shared_experts\.gate\.`, "shared_expert_gate."}, {`shared_experts`, "shared_expert"},
}

// deltaNetGGUF are those of GGUF files.
var deltaNetGGUF = [][2]string{
	{`self_attn\.in_proj_qkv`, "attn_qkv"}, {`self_attn\.in_proj_z`, "attn_gate"},
	{`self_attn\.in_proj_b`, "ssm_beta"}, {`self_attn\.in_proj_a`, "ssm_alpha"},
	{`self_attn\.(conv1d|norm)`, "ssm_$1"}, {`self_attn\.out_proj`, "ssm_out"},
	{`self_attn\.dt_bias`, "ssm_dt.bias"}, {`self_attn\.a$`, "ssm_a"},
	{`post_attention_layernorm`, "post_attention_norm"},
}

// qwenNextGGUF finds the parts of a tensor that GGUF files of Qwen3-Next have for two parameters.
func qwenNextGGUF(c *Config, name string, o *origin) {
	g := c.keys.int("linear_num_value_heads") / max(c.keys.int("linear_num_key_heads"), 1)
	for i, part := range []string{"in_proj_b.", "in_proj_a."} {
		if c.ModelType == "qwen3next" && strings.Contains(name, part) {
			o.name = strings.NewReplacer("ssm_beta", "ssm_ba", "ssm_alpha", "ssm_ba").Replace(o.name)
			o.groups([]int{g, g}, i)
		}
	}
}

// qwenNextParts finds parameters of Qwen3-Next and Qwen 3.5. The first has queries, keys, values and
// gates of each head of keys behind one another.
func qwenNextParts(c *Config, name string, o *origin) {
	g := c.keys.int("linear_num_value_heads") / max(c.keys.int("linear_num_key_heads"), 1)
	key, value := c.keys.int("linear_key_head_dim"), g*c.keys.int("linear_value_head_dim")
	packed := c.ModelType == "qwen3_next"
	switch {
	case strings.HasSuffix(name, "self_attn.a"):
		o.change = func(t *tensor.Tensor) *tensor.Tensor { return t.Cast(tensor.F32).Exp().Neg() }
	case strings.HasSuffix(name, "self_attn.norm.weight"):
	case packed && strings.Contains(name, "in_proj_qkv."):
		o.name = strings.Replace(o.name, "in_proj_qkv", "in_proj_qkvz", 1)
		o.groups([]int{key, key, value, value}, 0, 1, 2)
	case packed && strings.Contains(name, "in_proj_z."):
		o.name = strings.Replace(o.name, "in_proj_z", "in_proj_qkvz", 1)
		o.groups([]int{key, key, value, value}, 3)
	case packed && strings.Contains(name, "in_proj_b."):
		o.name = strings.Replace(o.name, "in_proj_b", "in_proj_ba", 1)
		o.groups([]int{g, g}, 0)
	case packed && strings.Contains(name, "in_proj_a."):
		o.name = strings.Replace(o.name, "in_proj_a", "in_proj_ba", 1)
		o.groups([]int{g, g}, 1)
	default:
		plusOne(c, name, o)
		flatConv(name, o)
	}
}

// groups takes rows of a tensor that has groups of rows of some sizes, over and over: those of one
// group behind those of another.
func (o *origin) groups(sizes []int, which ...int) {
	starts, all := make([]int, len(sizes)), 0
	for i, n := range sizes {
		starts[i] = all
		all += n
	}
	o.change = func(t *tensor.Tensor) *tensor.Tensor {
		if t.Err() != nil {
			return t
		}
		if t.Rank() != 2 || t.Size(0)%all != 0 {
			err := fmt.Errorf("%w: %v, want a multiple of %d rows", tensor.ErrShape, t.Shape(), all)
			return tensor.Fail("load", err)
		}
		rows, in := t.Size(0)/all, t.Size(1)
		t = t.Reshape(rows, all, in)
		var list []*tensor.Tensor
		for _, i := range which {
			list = append(list, t.Narrow(1, starts[i], sizes[i]).Reshape(rows*sizes[i], in))
		}
		return tensor.Cat(0, list...)
	}
}
