package models

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/fn"
	"github.com/gokiln/kiln/nn/recurrent"
	"github.com/gokiln/kiln/tensor"
)

// mambaNames are the names of Mamba's models.
var mambaNames = [][2]string{
	{`model\.layers`, "backbone.layers"}, {`model\.embed_tokens`, "backbone.embeddings"},
	{`model\.norm`, "backbone.norm_f"}, {`input_layernorm`, "norm"}, {`self_attn\.mamba`, "mixer"},
}

// stateSpaces are the rows of models with state-space models in layers.
var stateSpaces = []architecture{
	{
		names: []string{"mamba", "falcon_mamba"}, gguf: []string{"mamba"},
		rename: mambaNames, edit: mambaParts, traits: mamba,
	},
	{
		names: []string{"mamba2"}, gguf: []string{"mamba2"},
		rename: mambaNames, edit: mambaParts, traits: mamba2,
	},
	{
		names: []string{"granitemoehybrid"}, gguf: []string{"granitehybrid"}, permuted: true,
		rename: [][2]string{
			{`self_attn\.mamba`, "mamba"}, {`mlp\.gate\.`, "block_sparse_moe.router.layer."},
			{`mlp\.experts\.(gate|up)_proj`, "block_sparse_moe.input_linear.weight"},
			{`mlp\.experts\.down_proj`, "block_sparse_moe.output_linear.weight"},
			{`mlp\.(shared_experts\.|)(gate|up)_proj`, "shared_mlp.input_linear"},
			{`mlp\.(shared_experts\.|)down_proj`, "shared_mlp.output_linear"},
		},
		edit: graniteHybridParts, traits: graniteHybrid,
	},
	{
		names: []string{"bamba"}, edit: mambaParts, traits: bamba,
		rename: [][2]string{
			{`self_attn\.mamba`, "mamba"}, {`^model\.norm`, "model.final_layernorm"},
			{`post_attention_layernorm`, "pre_ff_layernorm"}, {`mlp`, "feed_forward"},
		},
	},
	{
		names: []string{"jamba"}, gguf: []string{"jamba"}, edit: mambaParts, traits: jamba,
		rename: [][2]string{
			{`self_attn\.mamba`, "mamba"}, {`^model\.norm`, "model.final_layernorm"},
			{`post_attention_layernorm`, "pre_ff_layernorm"}, {`mlp\.gate\.`, "feed_forward.router."},
			{`mlp\.experts\.(\w+)_proj`, "feed_forward.experts.*.${1}_proj.weight"}, {`mlp`, "feed_forward"},
		},
	},
	{
		names: []string{"nemotron_h"}, gguf: []string{"nemotron_h", "nemotron_h_moe"},
		edit: mambaParts, traits: nemotronH, ignore: []string{`^mtp\.`},
		rename: append([][2]string{
			{`self_attn\.mlp\.experts\.(\w+)_proj$`, "mixer.experts.*.${1}_proj.weight"},
			{`latent_in`, "fc1_latent_proj"}, {`latent_out`, "fc2_latent_proj"},
			{`self_attn(\.mamba|\.mlp|)\.`, "mixer."},
		}, mambaNames...),
		renameGGUF: [][2]string{
			{`self_attn\.mlp\.latent_in`, "ffn_latent_down"},
			{`self_attn\.mlp\.latent_out`, "ffn_latent_up"},
			{`self_attn\.mlp\.gate\.e_score_correction_bias`, "exp_probs_b.bias"},
		},
	},
}

// ssm is the sizes of layers with a state-space model.
type ssm struct {
	inner int // channels of all heads
	state int // numbers of a channel's state
	width int // tokens of the convolution
	rank  int // features that steps are made of, in Mamba
	heads int // in Mamba-2, and
	group int // groups of them with the same B and C

	bias, convBias bool
	low, high      float64 // bounds of steps; high 0 for none
}

// ssm reads the sizes of a state-space model, by all the names that configurations have for them.
func (c *Config) ssm() *ssm {
	k := &c.keys
	s := &ssm{
		inner: k.int("ssm_inner_size"), // of GGUF files
		state: k.int("mamba_d_state", "ssm_state_size", "state_size"),
		width: k.int("mamba_d_conv", "conv_kernel"),
		rank:  k.auto("mamba_dt_rank", "time_step_rank"),
		heads: k.int("mamba_n_heads", "mamba_num_heads", "num_heads"),
		group: k.int("mamba_n_groups", "n_groups"),
		bias:  k.bool("mamba_proj_bias", "use_bias"),

		convBias: value(k, true, "mamba_conv_bias", "use_conv_bias"),
	}
	if s.inner == 0 {
		s.inner = int(value(k, 2.0, "mamba_expand", "expand") * float64(c.HiddenSize))
	}
	if s.rank == 0 {
		s.rank = (c.HiddenSize + 15) / 16
	}
	if c.gguf {
		s.heads = s.rank // which Mamba-2 has none of
	} else if d := k.auto("mamba_d_head", "mamba_head_dim", "head_dim"); s.heads > 0 && d > 0 {
		s.inner = s.heads * d
	}
	if limits := value[[]bound](k, nil, "time_step_limit"); len(limits) == 2 {
		s.low, s.high = float64(limits[0]), float64(limits[1])
	}
	for _, n := range []int{s.inner, s.state, s.width, s.rank} {
		if (n < 1 || n > limit) && k.err == nil {
			k.err = fmt.Errorf("sizes of a state-space model: %+v", *s)
		}
	}
	if c.Act.Kind != fn.KindSilu && k.err == nil {
		k.err = fmt.Errorf("activation %v of a state-space model, want silu", c.Act)
	}
	return s
}

// auto is an integer, or 0 where a configuration has a word for it, "auto".
func (k *keys) auto(names ...string) int {
	if _, v := k.raw(names); bytes.Equal(v, []byte(`"auto"`)) {
		return 0
	}
	return k.int(names...)
}

// bound is a number, or 0 for infinity, which configurations have several words for.
type bound float64

// UnmarshalJSON reads a number; anything else is infinity.
func (b *bound) UnmarshalJSON(text []byte) error {
	var x float64
	if json.Unmarshal(text, &x) == nil {
		*b = bound(x)
	}
	return nil
}

// Mamba is a selective state-space model (Gu and Dao, "Mamba: linear-time sequence modeling with
// selective state spaces", 2023): a convolution of each channel over few tokens, a linear
// recurrence whose parameters depend on the token, and a gate.
type Mamba struct {
	In       *nn.Linear  `nn:"mamba.in_proj"` // channels, and gates
	Conv     *causalConv `nn:"mamba.conv1d"`
	X        *nn.Linear  `nn:"mamba.x_proj"` // features of steps, B and C
	Step     *nn.Linear  `nn:"mamba.dt_proj"`
	StepBias *nn.Param   `nn:"mamba.dt_proj.bias"`
	A        *nn.Param   `nn:"mamba.A_log"` // (channels, state), negative
	D        *nn.Param   `nn:"mamba.D"`     // (channels)
	Out      *nn.Linear  `nn:"mamba.out_proj"`

	// Norms of what X makes, or nil (Falcon Mamba).
	StepNorm norm `nn:"mamba.dt_layernorm"`
	BNorm    norm `nn:"mamba.b_layernorm"`
	CNorm    norm `nn:"mamba.c_layernorm"`

	ssm    `nn:"-"`
	states *stateRows `nn:"-"`
}

// newMamba returns a layer.
func newMamba(c *Config, s *ssm) *Mamba {
	return &Mamba{
		In:   linear(c.HiddenSize, 2*s.inner, s.bias),
		Conv: newCausalConv(s.inner, s.width, s.convBias),
		X:    linear(s.inner, s.rank+2*s.state, false),
		Step: linear(s.rank, s.inner, false), StepBias: nn.NewParam(nn.Zeros, s.inner).Wide(),
		A:   nn.NewParam(nn.Uniform(-16, -1), s.inner, s.state).Wide(),
		D:   nn.NewParam(nn.Ones, s.inner).Wide(),
		Out: linear(s.inner, c.HiddenSize, s.bias),
		ssm: *s, states: newStateRows(s.inner, s.state),
	}
}

func (m *Mamba) newState(*LM) layerState { return &fixed{} }

// forward returns (tokens, features) of (tokens, features) for layer i of a batch.
func (m *Mamba) forward(x *tensor.Tensor, b *batch, i int) *tensor.Tensor {
	in := m.In.Forward(x)
	on, err := b.recurrent(i, in.DType(), m.Conv.state, m.states)
	if err != nil {
		return tensor.Fail("mamba", err)
	}
	u, gate := in.Narrow(1, 0, m.inner), in.Narrow(1, m.inner, m.inner)
	u = m.Conv.forward(u, on, recurrent.SiLU)
	p := m.X.Forward(u)
	step := m.Step.Forward(after(m.StepNorm, p.Narrow(1, 0, m.rank)))
	bs := after(m.BNorm, p.Narrow(1, m.rank, m.state))
	cs := after(m.CNorm, p.Narrow(1, m.rank+m.state, m.state))
	y := recurrent.SelectiveScan(u, step, m.A.Tensor(), bs, cs, m.states.t, on, recurrent.ScanOptions{
		Bias: m.StepBias.Tensor(), Skip: m.D.Tensor(), Gate: gate,
	})
	return m.Out.Forward(y)
}

// Mamba2 is the state-space model of Dao and Gu, "Transformers are SSMs", 2024: heads of channels
// with one number of A for each head, and a norm of the result times the gate.
type Mamba2 struct {
	In       *nn.Linear  `nn:"mamba.in_proj"` // gates; channels, B and C; steps
	Conv     *causalConv `nn:"mamba.conv1d"`  // of channels, B and C
	StepBias *nn.Param   `nn:"mamba.dt_bias"` // (heads)
	A        *nn.Param   `nn:"mamba.A_log"`   // (heads), negative
	D        *nn.Param   `nn:"mamba.D"`       // (heads)
	Norm     *nn.Param   `nn:"mamba.norm.weight"`
	Out      *nn.Linear  `nn:"mamba.out_proj"`

	ssm    `nn:"-"`
	eps    float64
	states *stateRows `nn:"-"`
}

// newMamba2 returns a layer.
func newMamba2(c *Config, s *ssm) *Mamba2 {
	mixed := s.inner + 2*s.group*s.state
	return &Mamba2{
		In:       linear(c.HiddenSize, s.inner+mixed+s.heads, s.bias),
		Conv:     newCausalConv(mixed, s.width, s.convBias),
		StepBias: nn.NewParam(nn.Zeros, s.heads).Wide(),
		A:        nn.NewParam(nn.Uniform(-16, -1), s.heads).Wide(), D: nn.NewParam(nn.Ones, s.heads).Wide(),
		Norm: nn.NewParam(nn.Ones, s.inner), Out: linear(s.inner, c.HiddenSize, s.bias),
		ssm: *s, eps: c.NormEps, states: newStateRows(s.inner, s.state),
	}
}

func (m *Mamba2) newState(*LM) layerState { return &fixed{} }

// forward returns (tokens, features) of (tokens, features) for layer i of a batch.
func (m *Mamba2) forward(x *tensor.Tensor, b *batch, i int) *tensor.Tensor {
	in := m.In.Forward(x)
	on, err := b.recurrent(i, in.DType(), m.Conv.state, m.states)
	if err != nil {
		return tensor.Fail("mamba2", err)
	}
	mixed, bc := m.inner+2*m.group*m.state, m.group*m.state
	gate, step := in.Narrow(1, 0, m.inner), in.Narrow(1, m.inner+mixed, m.heads)
	u := m.Conv.forward(in.Narrow(1, m.inner, mixed), on, recurrent.SiLU)
	y := recurrent.SelectiveScan(u.Narrow(1, 0, m.inner), step, m.A.Tensor(),
		u.Narrow(1, m.inner, bc), u.Narrow(1, m.inner+bc, bc), m.states.t, on, recurrent.ScanOptions{
			Bias: m.StepBias.Tensor(), Skip: m.D.Tensor(), Low: m.low, High: m.high,
		})
	return m.Out.Forward(m.gated(y, gate))
}

// gated is the norm of y·silu(gate), over each group by itself.
func (m *Mamba2) gated(y, gate *tensor.Tensor) *tensor.Tensor {
	y = y.Mul(gate.Silu())
	if y.Err() != nil || m.group == 1 {
		return y.RMSNorm(-1, m.Norm.Tensor(), m.eps)
	}
	n := y.Size(0)
	y = y.Reshape(n, m.group, m.inner/m.group).RMSNorm(-1, nil, m.eps)
	return y.Reshape(n, m.inner).Mul(m.Norm.Tensor())
}

// mamba is what models of Mamba have, of which all layers are such ones.
func mamba(c *Config) traits {
	s := c.mambaOnly()
	t := traits{noMLP: true, mixer: func(int) mixer { return newMamba(c, s) }}
	if c.ModelType == "falcon_mamba" || c.keys.bool("mamba_dt_b_c_rms") {
		eps := value(&c.keys, c.NormEps, "mixer_rms_eps")
		plain := func(n int) norm { return &nn.RMSNorm{Shape: tensor.Shape{n}, Eps: eps} }
		t.mixer = func(int) mixer {
			m := newMamba(c, s)
			m.StepNorm, m.BNorm, m.CNorm = plain(s.rank), plain(s.state), plain(s.state)
			return m
		}
	}
	return t
}

// mamba2 is what models of Mamba-2 have.
func mamba2(c *Config) traits {
	s := c.mambaOnly()
	c.checkMamba2(s)
	return traits{noMLP: true, mixer: func(int) mixer { return newMamba2(c, s) }}
}

// mambaOnly is for models of which no layer has attention, nor what this needs of a configuration.
func (c *Config) mambaOnly() *ssm {
	if c.NormEps == 0 {
		c.NormEps = 1e-5
	}
	return c.ssm()
}

// checkMamba2 reports heads and groups that cannot be.
func (c *Config) checkMamba2(s *ssm) {
	if s.group == 0 {
		s.group = 1
	}
	if min(s.heads, s.group) < 1 || s.heads%s.group != 0 || s.inner%s.heads != 0 {
		if c.keys.err == nil {
			c.keys.err = fmt.Errorf("a state-space model of %d channels in %d heads and %d groups",
				s.inner, s.heads, s.group)
		}
	}
}

// hybrid is for models with layers of Mamba-2 and, where the types of layers say so, attention.
func hybrid(c *Config, t traits) traits {
	s := c.ssm()
	c.checkMamba2(s)
	t.mixer = func(i int) mixer {
		if c.layerIs(i, "full_attention", false) || c.layerIs(i, "attention", false) {
			return nil
		}
		return newMamba2(c, s)
	}
	return t
}

// graniteHybrid is what Granite 4's models have. They are without positions, or say otherwise.
func graniteHybrid(c *Config) traits {
	t := llamaLike(c)
	if c.keys.text("position_embedding_type") != "rope" && !c.keys.bool("rope_finetuned") {
		t.ropes, t.ropeOf = nil, func(int) int { return -1 }
	}
	if c.Experts == 0 && c.SharedWidth > 0 { // the expert for all tokens is all that there is
		c.Width, c.SharedWidth = c.SharedWidth, 0
	}
	return hybrid(c, t)
}

// graniteHybridParts finds parts of Granite 4's tensors.
func graniteHybridParts(c *Config, name string, o *origin) {
	mambaParts(c, name, o)
	graniteExperts(c, name, o)
	splitGateUp(c, name, o)
	switch {
	case strings.Contains(name, "shared_experts.gate_proj"):
		o.rows = c.SharedWidth
	case strings.Contains(name, "shared_experts.up_proj"):
		o.start, o.rows = c.SharedWidth, c.SharedWidth
	}
}

// bamba is what Bamba's models have.
func bamba(c *Config) traits {
	if len(c.LayerTypes) == 0 {
		c.LayerTypes = make([]string, c.Layers)
		for _, i := range value[[]int](&c.keys, nil, "attn_layer_indices") {
			if i >= 0 && i < c.Layers {
				c.LayerTypes[i] = "attention"
			}
		}
	}
	if !c.keys.has("rope_parameters") { // as of the first models
		c.RotaryDim = value(&c.keys, c.HeadDim/2, "attn_rotary_emb")
	}
	return hybrid(c, llamaLike(c))
}

// jamba is what Jamba's models have: layers of Mamba with norms, and attention without positions.
func jamba(c *Config) traits {
	t := without(c)
	t.ropes, t.ropeOf, t.routing.Normalise = nil, func(int) int { return -1 }, false
	s := c.ssm()
	attends := c.inPeriod("attn_layer_period", "attn_layer_offset")
	t.mixer = func(i int) mixer {
		if c.layerIs(i, "full_attention", attends(i)) {
			return nil
		}
		m := newMamba(c, s)
		m.StepNorm, m.BNorm = t.newNorm(c, s.rank), t.newNorm(c, s.state)
		m.CNorm = t.newNorm(c, s.state)
		return m
	}
	sparse := c.inPeriod("expert_layer_period", "expert_layer_offset")
	dense := value[[]int](&c.keys, nil, "mlp_only_layers")
	t.moe = func(i int) bool { return c.Experts > 1 && sparse(i) && !slices.Contains(dense, i) }
	return t
}

// inPeriod is for layers of which there is one in each period, at an offset.
func (c *Config) inPeriod(period, offset string) func(layer int) bool {
	n, at := max(c.keys.int(period), 1), c.keys.int(offset)
	return func(i int) bool { return i%n == at }
}

// nemotronH is what hybrid models of Nemotron have, whose layers are Mamba-2, attention without
// positions, or a feed-forward network, of experts without gates in the later ones.
func nemotronH(c *Config) traits {
	if p := c.keys.text("hybrid_override_pattern"); len(c.LayerTypes) == 0 && len(p) == c.Layers {
		words := map[rune]string{'M': "mamba", '*': "attention", '-': "mlp", 'E': "moe"}
		for _, x := range p {
			if c.LayerTypes = append(c.LayerTypes, words[x]); words[x] == "" && c.keys.err == nil {
				c.keys.err = fmt.Errorf("hybrid_override_pattern has %q, want M, *, - or E", x)
			}
		}
	}
	act, err := fn.ParseActivation(cmp.Or(c.keys.text("mlp_hidden_act"), "relu2"))
	if n := c.ExpertsUsed; slices.Contains(c.LayerTypes, "moe") && (n < 1 || n > c.Experts) {
		err = fmt.Errorf("%d of %d experts", n, c.Experts)
	}
	if err != nil && c.keys.err == nil {
		c.keys.err = err
	}
	t := hybrid(c, llamaLike(c))
	t.noMLP, t.plainMLP, t.ropes, t.ropeOf = true, true, nil, func(int) int { return -1 }
	other := t.mixer
	t.mixer = func(i int) mixer {
		switch {
		case c.layerIs(i, "moe", false):
			return &feedForward{MLP: newPlainExperts(c, &t, act)}
		case c.layerIs(i, "mlp", false):
			return &feedForward{MLP: newPlainMLP(c, &t, act, c.Width)}
		}
		return other(i)
	}
	return t
}

// newPlainExperts returns a mixture of experts without gates, which may work on fewer features.
func newPlainExperts(c *Config, t *traits, act fn.Activation) *nn.MoE {
	k := &c.keys
	features := value(k, c.HiddenSize, "moe_latent_size")
	m := nn.NewMoE(features, c.ExpertWidth, c.Experts, nn.MoEOptions{
		TopK: c.ExpertsUsed, Sigmoid: true, Bias: true, GroupTop: 2,
		Normalise: value(k, true, "norm_topk_prob"), Scale: k.float("routed_scaling_factor"),
		Groups: k.int("n_group"), TopGroups: k.int("topk_group"),
		Gated: func(_, up *tensor.Tensor) *tensor.Tensor { return act.Apply(up) },
	})
	m.Gate, m.GateProj = linear(c.HiddenSize, c.Experts, false), nil
	if k.has("moe_latent_size") {
		m.LatentIn = linear(c.HiddenSize, features, t.mlpBias)
		m.LatentOut = linear(features, c.HiddenSize, t.mlpBias)
	}
	if c.SharedWidth > 0 {
		m.Shared = newPlainMLP(c, t, act, c.SharedWidth)
	}
	return m
}

// feedForward is a feed-forward network in place of attention, in models whose layers have one of
// both.
type feedForward struct {
	MLP nn.Layer `nn:"mlp"`
}

func (f *feedForward) forward(x *tensor.Tensor, _ *batch, _ int) *tensor.Tensor {
	return f.MLP.Forward(x)
}

func (f *feedForward) newState(*LM) layerState { return stateless{} }

// stateless is a layer of which sequences keep nothing.
type stateless struct{}

func (stateless) oldest() int                      { return 0 }
func (stateless) truncate(int) error               { return nil }
func (stateless) reset()                           {}
func (stateless) reserve(int) error                { return nil }
func (stateless) memory() (keys, v *tensor.Tensor) { return nil, nil }
func (stateless) advance()                         {}

// mambaParts makes parameters of state-space models of tensors in safetensors files.
func mambaParts(c *Config, name string, o *origin) {
	flatConv(name, o)
	if strings.HasSuffix(name, "mamba.A_log") {
		o.change = func(t *tensor.Tensor) *tensor.Tensor { return t.Cast(tensor.F32).Exp().Neg() }
	}
}

// mambaGGUF makes them of tensors in GGUF files, of which some have dimensions of size 1, or one
// for groups.
func mambaGGUF(name string, o *origin) {
	one := strings.HasSuffix(name, "mamba.A_log") || strings.HasSuffix(name, "mamba.D")
	if !one && !strings.HasSuffix(name, "mamba.norm.weight") {
		return
	}
	o.change = func(t *tensor.Tensor) *tensor.Tensor {
		if t.Err() != nil || t.Rank() != 2 || one && t.Size(1) != 1 {
			return t
		}
		return t.Reshape(t.Count())
	}
}
