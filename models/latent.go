package models

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/attention"
	"github.com/gokiln/kiln/nn/fn"
	"github.com/gokiln/kiln/tensor"
)

// latent is the sizes of multi-head latent attention.
type latent struct {
	query  int // features that queries are made of, 0 for those of the layer
	key    int // features that keys and values are made of, which are all that is kept
	plain  int // of a query or key without position
	rotary int // and with one
	value  int
}

// LatentAttention is multi-head latent attention (DeepSeek-V2, 2024): keys and values of all heads
// are products of one vector of few features for each token, and one rotated key is for all heads.
// Only these are kept, and the products with the vector are part of queries and results: to the
// cache it is attention with one head of keys.
type LatentAttention struct {
	Q     *nn.Linear `nn:"q_proj"`   // or nil, and
	QA    *nn.Linear `nn:"q_a_proj"` // by fewer features
	QNorm norm       `nn:"q_a_layernorm"`
	QB    *nn.Linear `nn:"q_b_proj"`
	KVA   *nn.Linear `nn:"kv_a_proj_with_mqa"`
	KNorm norm       `nn:"kv_a_layernorm"`
	KB    *nn.Param  `nn:"k_b_proj"` // (heads, plain, key)
	VB    *nn.Param  `nn:"v_b_proj"` // (heads, key, value)
	O     *nn.Linear `nn:"o_proj"`

	latent
	heads   int
	options attention.Options `nn:"-"`
}

// newLatentAttention returns the attention of a layer.
func newLatentAttention(c *Config, t *traits) *LatentAttention {
	l, in := *t.latent, c.HiddenSize
	a := &LatentAttention{
		KVA:   linear(in, l.key+l.rotary, t.qkvBias),
		KNorm: nn.NewRMSNorm(1e-6, l.key),
		KB:    nn.NewParam(nn.Normal(0, 0.02), c.Heads, l.plain, l.key),
		VB:    nn.NewParam(nn.Normal(0, 0.02), c.Heads, l.key, l.value),
		O:     linear(c.Heads*l.value, in, t.outBias), latent: l, heads: c.Heads,
		options: attention.Options{Causal: true, Scale: c.AttentionScale},
	}
	if q := c.Heads * (l.plain + l.rotary); l.query == 0 {
		a.Q = linear(in, q, false)
	} else {
		a.QA, a.QB = linear(in, l.query, t.qkvBias), linear(l.query, q, false)
		a.QNorm = nn.NewRMSNorm(1e-6, l.query)
	}
	return a
}

func (a *LatentAttention) newState(*LM) layerState {
	return &keysValues{all: attention.NewCache(cacheStep)}
}

// forward returns (tokens, features) of (tokens, features) for layer i of a batch.
func (a *LatentAttention) forward(x *tensor.Tensor, b *batch, i int) *tensor.Tensor {
	q, k, v := a.project(x, b)
	if q.Err() != nil {
		return q
	}
	y := a.attend(q, k, v, b, i).Squeeze(0).MatMul(a.VB.Tensor().Cast(x.DType())) // (heads, tokens, value)
	return a.O.Forward(y.Transpose(0, 1).Reshape(x.Size(0), a.heads*a.value))
}

// attend stores keys and values, and returns (1, heads, tokens, key).
func (a *LatentAttention) attend(q, k, v *tensor.Tensor, b *batch, i int) *tensor.Tensor {
	if b.step != nil {
		return b.attendStep(q, k, v, nil, i, a.options).Transpose(0, 2)
	}
	parts := make([]*tensor.Tensor, len(b.list))
	for n, s := range b.list {
		at, count := b.starts[n], b.count(n)
		cache := s.layers[i].(*keysValues).all
		parts[n] = cache.Attend(q.Narrow(2, at, count), k.Narrow(2, at, count), v.Narrow(2, at, count),
			a.options)
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return tensor.Cat(2, parts...)
}

// project returns queries (1, heads, tokens, key+rotary), and keys (1, 1, tokens, key+rotary) and
// values (1, 1, tokens, key) for all heads.
func (a *LatentAttention) project(x *tensor.Tensor, b *batch) (q, k, v *tensor.Tensor) {
	if a.Q != nil {
		q = a.Q.Forward(x)
	} else {
		q = a.QB.Forward(a.QNorm.Forward(a.QA.Forward(x)))
	}
	kv := a.KVA.Forward(x)
	if q.Err() != nil || kv.Err() != nil {
		return q.Add(kv), kv, kv
	}
	r, tokens := b.rows[0], x.Size(0)
	turn := func(x *tensor.Tensor) *tensor.Tensor { return fn.RopeInterleaved(x, r.Cos, r.Sin) }
	q = q.Reshape(1, tokens, a.heads, a.plain+a.rotary).Transpose(1, 2)
	near := q.Narrow(3, 0, a.plain).Squeeze(0).MatMul(a.KB.Tensor().Cast(x.DType())).Unsqueeze(0)
	q = tensor.Cat(3, near, turn(q.Narrow(3, a.plain, a.rotary)))
	v = a.KNorm.Forward(kv.Narrow(1, 0, a.key).Contiguous()).Reshape(1, 1, tokens, a.key)
	one := turn(kv.Narrow(1, a.key, a.rotary).Reshape(1, 1, tokens, a.rotary))
	return q, tensor.Cat(3, v, one), v
}

// deepseek is what the models of DeepSeek have, and those that are like them.
func deepseek(c *Config) traits {
	k := &c.keys
	if c.gguf {
		k.ggufLatent(c)
	}
	l := &latent{
		query: k.int("q_lora_rank"), key: k.int("kv_lora_rank"), plain: k.int("qk_nope_head_dim"),
		rotary: k.int("qk_rope_head_dim"), value: k.int("v_head_dim"),
	}
	if min(l.key, l.plain, l.rotary, l.value) < 1 || max(l.key, l.plain, l.rotary, l.value) > limit {
		k.err = fmt.Errorf("sizes of latent attention: %+v", *l)
	}
	t := llamaLike(c)
	t.latent, t.mlpBias = l, false
	c.HeadDim, c.RotaryDim = max(l.rotary, c.RotaryDim), l.rotary
	c.AttentionScale = 1 / math.Sqrt(float64(l.plain+l.rotary))
	if s := c.RopeScaling; s.Type == fn.RopeYarn && s.MScaleAllDim != 0 && s.Factor > 1 {
		m := 0.1*s.MScaleAllDim*math.Log(s.Factor) + 1
		c.AttentionScale *= m * m
	}
	dense := k.int("first_k_dense_replace")
	t.moe = func(i int) bool { return i >= dense }
	c.SharedWidth = k.int("n_shared_experts") * c.ExpertWidth
	t.routing = nn.MoEOptions{
		Normalise: c.NormaliseTopK, Scale: k.float("routed_scaling_factor"),
		Groups: k.int("n_group"), TopGroups: k.int("topk_group"),
	}
	sigmoid := c.ModelType != "deepseek_v2"
	if c.gguf {
		sigmoid = k.int("expert_gating_func") == 2
	}
	if sigmoid {
		t.routing.Sigmoid, t.routing.Bias, t.routing.GroupTop = true, true, 2
	} else if k.text("topk_method") == "greedy" {
		t.routing.Groups = 0
	}
	return t
}

// ggufLatent says the sizes of latent attention in the words of config.json. Older GGUF files have
// the sizes of heads as they are multiplied, newer ones those of what is kept and the others beside.
func (k *keys) ggufLatent(c *Config) {
	head, value := k.int("head_dim_mla", "head_dim"), k.int("value_length_mla", "value_length")
	for name, n := range map[string]int{
		"qk_rope_head_dim": c.RotaryDim, "qk_nope_head_dim": head - c.RotaryDim, "v_head_dim": value,
		"first_k_dense_replace": k.int("num_dense_layers"),
	} {
		k.of[name], _ = json.Marshal(n)
	}
	if s := &c.RopeScaling; s.Type == fn.RopeYarn { // the attention factor is 1 with it
		s.MScaleAllDim = 10 * k.float("yarn_log_multiplier")
		s.MScale = s.MScaleAllDim
	}
}

// deepseekGGUF finds keys' and values' part of one tensor of older files, and turns those of newer
// ones.
func deepseekGGUF(c *Config, name string, o *origin) {
	switch {
	case !strings.HasSuffix(name, "k_b_proj") && !strings.HasSuffix(name, "v_b_proj"):
	case c.keys.has("head_dim_mla"):
		o.change = func(t *tensor.Tensor) *tensor.Tensor { return t.Transpose(1, 2).Contiguous() }
	default:
		o.name = strings.NewReplacer("k_b.", "kv_b.", "v_b.", "kv_b.").Replace(o.name)
		deepseekParts(c, name, o)
	}
}

// deepseekParts finds keys' and values' part of one tensor, which has both for each head.
func deepseekParts(c *Config, name string, o *origin) {
	plain, value := c.keys.int("qk_nope_head_dim"), c.keys.int("v_head_dim")
	at, n := 0, plain
	switch {
	case strings.HasSuffix(name, "k_b_proj"):
	case strings.HasSuffix(name, "v_b_proj"):
		at, n = plain, value
	default:
		return
	}
	o.change = func(t *tensor.Tensor) *tensor.Tensor {
		if t.Err() != nil {
			return t
		}
		t = t.Reshape(c.Heads, plain+value, t.Size(-1)).Narrow(1, at, n)
		if at > 0 {
			t = t.Transpose(1, 2)
		}
		return t.Contiguous()
	}
}
