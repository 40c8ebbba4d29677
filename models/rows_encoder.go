package models

import (
	"cmp"
	"strings"

	"github.com/gokiln/kiln/nn/fn"
)

// encoderRow is a row of the table of encoders.
type encoderRow struct {
	architecture
	heads map[Task]headRow
}

// bertEmbeddings are some names, and those of BERT's embeddings below a prefix.
func bertEmbeddings(prefix string, rest ...[2]string) [][2]string {
	return append(rest, [][2]string{
		{`^model\.embed_tokens`, prefix + "embeddings.word_embeddings"},
		{`^model\.embed_positions`, prefix + "embeddings.position_embeddings"},
		{`^model\.embed_segments`, prefix + "embeddings.token_type_embeddings"},
		{`^model\.embed_norm`, prefix + "embeddings.LayerNorm"},
	}...)
}

// bertNames are some names, and those of BERT's files below a prefix.
func bertNames(prefix string, rest ...[2]string) [][2]string {
	return bertEmbeddings(prefix, append(rest, [][2]string{
		{`^model\.layers`, prefix + "encoder.layer"},
		{`self_attn\.q_proj`, "attention.self.query"}, {`self_attn\.k_proj`, "attention.self.key"},
		{`self_attn\.v_proj`, "attention.self.value"}, {`self_attn\.o_proj`, "attention.output.dense"},
		{`attn_post_norm`, "attention.output.LayerNorm"}, {`mlp_post_norm`, "output.LayerNorm"},
		{`mlp\.up_proj`, "intermediate.dense"}, {`mlp\.down_proj`, "output.dense"},
	}...)...)
}

// ggufBERT are the names that GGUF files of encoders have otherwise than those of decoders.
var ggufBERT = [][2]string{
	{`^model\.embed_segments`, "token_types"}, {`attn_post_norm`, "attn_output_norm"},
	{`mlp_post_norm`, "layer_output_norm"},
}

// The heads of BERT and of RoBERTa.
var (
	bertHeads = map[Task]headRow{
		MaskedLM: {dense: "cls.predictions.transform.dense", norm: "cls.predictions.transform.LayerNorm",
			out: "cls.predictions.decoder", bias: "cls.predictions.bias", ownAct: true},
		ClassifyText:   {dense: "pooler.dense", act: fn.KindTanh, out: "classifier", pool: PoolCLS},
		ClassifyTokens: {out: "classifier"},
	}
	robertaHeads = map[Task]headRow{
		MaskedLM: {dense: "lm_head.dense", norm: "lm_head.layer_norm", out: "lm_head.decoder",
			bias: "lm_head.bias", act: fn.KindGelu},
		ClassifyText: {dense: "classifier.dense", act: fn.KindTanh, out: "classifier.out_proj",
			pool: PoolCLS},
		ClassifyTokens: {out: "classifier"},
	}
)

// other is some heads with another one for a task.
func other(heads map[Task]headRow, t Task, change func(*headRow)) map[Task]headRow {
	out := map[Task]headRow{}
	for k, h := range heads {
		if k == t {
			change(&h)
		}
		out[k] = h
	}
	return out
}

// decoderHeads are those of language models.
var decoderHeads = map[Task]headRow{ClassifyText: {out: "score", noBiasO: true, pool: PoolLast}}

// bert is what BERT has (Devlin et al., 2019).
func bert(c *Config) traits {
	c.KVHeads = c.Heads
	c.NormEps = cmp.Or(c.NormEps, 1e-12)
	c.act(fn.KindGelu)
	return traits{
		norm: layerNorm, noPreNorm: true, sumNorm: true, noLastNorm: true, embedNorm: true,
		bidirectional: true, learnedPositions: true, segments: value(&c.keys, 2, "type_vocab_size"),
		plainMLP: true, qkvBias: true, outBias: true, mlpBias: true,
	}
}

// rotaryBERT is BERT with rotary embeddings in place of learned positions, and without biases.
func rotaryBERT(c *Config, theta float64) traits {
	t := bert(c)
	t.learnedPositions, t.qkvBias, t.outBias, t.mlpBias = false, false, false, false
	if !c.keys.has("rope_theta", "rotary_emb_base", "rope_parameters") {
		c.RopeTheta = theta
	}
	t.ropes = []rope{{c.RopeTheta, c.RopeScaling}}
	return t
}

// paddedPositions is for learned positions that begin behind the one of padding.
func paddedPositions(c *Config, name string, o *origin) {
	if strings.Contains(name, "embed_positions") {
		o.start, o.rows = c.padding()+1, c.MaxPositions
	}
}

func (c *Config) padding() int { return value(&c.keys, 1, "pad_token_id") }

// roberta is what RoBERTa has (Liu et al., 2019).
func roberta(c *Config) traits {
	if !c.gguf {
		c.MaxPositions -= c.padding() + 1
	}
	return bert(c)
}

// encoders is the table of encoders, the most used first.
var encoders = []encoderRow{
	{
		architecture: architecture{
			names: []string{"bert"}, gguf: []string{"bert"},
			prefix: "bert.", rename: bertNames("bert."), renameGGUF: ggufBERT, traits: bert,
		},
		heads: bertHeads,
	},
	{
		architecture: architecture{
			names:  []string{"roberta", "xlm-roberta", "camembert"},
			prefix: "roberta.", rename: bertNames("roberta."), edit: paddedPositions, traits: roberta,
		},
		heads: robertaHeads,
	},
	{
		architecture: architecture{
			names: []string{"distilbert"}, prefix: "distilbert.",
			rename: bertEmbeddings("distilbert.", [][2]string{
				{`self_attn\.([qkvo])_proj`, "attention.${1}_lin"}, {`o_lin`, "out_lin"},
				{`attn_post_norm`, "sa_layer_norm"}, {`mlp_post_norm`, "output_layer_norm"},
				{`mlp\.up_proj`, "ffn.lin1"}, {`mlp\.down_proj`, "ffn.lin2"},
				{`^model\.layers`, "distilbert.transformer.layer"},
			}...),
			traits: func(c *Config) traits {
				t := bert(c)
				t.segments = 0
				return t
			},
		},
		heads: map[Task]headRow{
			MaskedLM: {dense: "vocab_transform", norm: "vocab_layer_norm", out: "vocab_projector",
				bias: "vocab_projector.bias", act: fn.KindGelu},
			ClassifyText:   {dense: "pre_classifier", act: fn.KindRelu, out: "classifier", pool: PoolCLS},
			ClassifyTokens: {out: "classifier"},
		},
	},
	{
		architecture: architecture{
			names: []string{"electra"}, prefix: "electra.",
			rename: bertNames("electra.", [2]string{`^model\.embed_proj`, "electra.embeddings_project"}),
			traits: func(c *Config) traits {
				t := bert(c)
				t.embedWidth = c.keys.int("embedding_size")
				return t
			},
		},
		heads: map[Task]headRow{
			MaskedLM: {dense: "generator_predictions.dense", norm: "generator_predictions.LayerNorm",
				out: "generator_lm_head", bias: "generator_lm_head.bias", act: fn.KindGelu},
			ClassifyText: {dense: "classifier.dense", act: fn.KindGelu, out: "classifier.out_proj",
				pool: PoolCLS},
			ClassifyTokens: {out: "classifier"},
		},
	},
	{
		architecture: architecture{
			names: []string{"albert"}, prefix: "albert.",
			rename: bertEmbeddings("albert.", [][2]string{
				{`^model\.embed_proj`, "albert.encoder.embedding_hidden_mapping_in"},
				{`^model\.layers\.0`, "albert.encoder.albert_layer_groups.0.albert_layers.0"},
				{`self_attn\.q_proj`, "attention.query"}, {`self_attn\.k_proj`, "attention.key"},
				{`self_attn\.v_proj`, "attention.value"}, {`self_attn\.o_proj`, "attention.dense"},
				{`attn_post_norm`, "attention.LayerNorm"}, {`mlp_post_norm`, "full_layer_layer_norm"},
				{`mlp\.up_proj`, "ffn"}, {`mlp\.down_proj`, "ffn_output"},
			}...),
			traits: func(c *Config) traits {
				t := bert(c)
				t.sharedLayers, t.embedWidth = true, value(&c.keys, 128, "embedding_size")
				c.keys.between("num_hidden_groups", 1, 1, 1)
				c.keys.between("inner_group_num", 1, 1, 1)
				return t
			},
		},
		heads: map[Task]headRow{
			MaskedLM: {dense: "predictions.dense", norm: "predictions.LayerNorm",
				out: "predictions.decoder", bias: "predictions.bias", ownAct: true},
			ClassifyText:   {dense: "pooler", act: fn.KindTanh, out: "classifier", pool: PoolCLS},
			ClassifyTokens: {out: "classifier"},
		},
	},
	{
		architecture: architecture{
			names: []string{"modernbert"}, gguf: []string{"modern-bert"}, edit: modernParts,
			rename: [][2]string{
				{`model\.embed_tokens`, "model.embeddings.tok_embeddings"},
				{`model\.embed_norm`, "model.embeddings.norm"}, {`model\.norm`, "model.final_norm"},
				{`input_layernorm`, "attn_norm"}, {`post_attention_layernorm`, "mlp_norm"},
				{`self_attn\.[qkv]_proj`, "attn.Wqkv"}, {`self_attn\.o_proj`, "attn.Wo"},
				{`mlp\.(gate|up)_proj`, "mlp.Wi"}, {`mlp\.down_proj`, "mlp.Wo"},
			},
			traits: modernBERT,
		},
		heads: map[Task]headRow{
			MaskedLM: {dense: "head.dense", norm: "head.norm", out: "decoder", bias: "decoder.bias",
				act: fn.KindGelu, noBias: true},
			ClassifyText: {dense: "head.dense", norm: "head.norm", out: "classifier", act: fn.KindGelu,
				noBias: true, pool: PoolCLS},
			ClassifyTokens: {dense: "head.dense", norm: "head.norm", out: "classifier",
				act: fn.KindGelu, noBias: true},
		},
	},
	{
		architecture: architecture{
			names: []string{"nomic_bert"}, gguf: []string{"nomic-bert"}, prefix: "nomic_bert.",
			renameGGUF: ggufBERT, edit: splitQKV, reject: []string{"prenorm", "qkv_proj_bias"},
			rename: bertEmbeddings("nomic_bert.", [][2]string{
				{`self_attn\.[qkv]_proj`, "attn.Wqkv"}, {`self_attn\.o_proj`, "attn.out_proj"},
				{`attn_post_norm`, "norm1"}, {`mlp_post_norm`, "norm2"}, {`mlp\.up_proj`, "mlp.fc11"},
				{`mlp\.gate_proj`, "mlp.fc12"}, {`mlp\.down_proj`, "mlp.fc2"},
				{`^model\.layers`, "nomic_bert.encoder.layers"}, {`^model\.embed_norm`, "nomic_bert.emb_ln"},
			}...),
			traits: func(c *Config) traits {
				t := rotaryBERT(c, 1000)
				c.Act, t.plainMLP = fn.Activation{Kind: fn.KindSilu}, false
				return t
			},
		},
		heads: other(bertHeads, MaskedLM, func(h *headRow) {
			h.norm = "cls.predictions.transform.layer_norm"
		}),
	},
	gte("gte"), gte("new"),
	{
		architecture: architecture{
			names: []string{"jina_embeddings_v3"}, prefix: "roberta.", edit: splitQKV,
			rename: bertEmbeddings("roberta.", [][2]string{
				{`self_attn\.[qkv]_proj`, "mixer.Wqkv"}, {`self_attn\.o_proj`, "mixer.out_proj"},
				{`attn_post_norm`, "norm1"}, {`mlp_post_norm`, "norm2"}, {`mlp\.up_proj`, "mlp.fc1"},
				{`mlp\.down_proj`, "mlp.fc2"}, {`^model\.layers`, "roberta.encoder.layers"},
				{`^model\.embed_norm`, "roberta.emb_ln"},
			}...),
			traits: func(c *Config) traits {
				t := rotaryBERT(c, 20000)
				t.qkvBias, t.outBias, t.mlpBias = true, true, true
				return t
			},
		},
		heads: robertaHeads,
	},
	{
		architecture: architecture{
			names: []string{"mpnet"}, prefix: "mpnet.", edit: paddedPositions,
			rename: bertNames("mpnet.", [][2]string{
				{`self_attn\.([qkvo])_proj`, "attention.attn.$1"}, {`attn_post_norm`, "attention.LayerNorm"},
				{`^model\.relative\.embed`, "mpnet.encoder.relative_attention_bias"},
			}...),
			traits: func(c *Config) traits {
				t := roberta(c)
				n := value(&c.keys, 32, "relative_attention_num_buckets")
				t.segments, t.relative = 0, &relative{rows: n, bias: true, bucket: bucketsT5(n, 128)}
				return t
			},
		},
		heads: robertaHeads,
	},
	{
		architecture: architecture{
			names: []string{"deberta-v2"}, prefix: "deberta.",
			rename: bertNames("deberta.", [][2]string{
				{`self_attn\.q_proj`, "attention.self.query_proj"},
				{`self_attn\.k_proj`, "attention.self.key_proj"},
				{`self_attn\.v_proj`, "attention.self.value_proj"},
				{`self_attn\.pos_(query|key)_proj`, "attention.self.pos_${1}_proj"},
				{`^model\.relative\.embed`, "deberta.encoder.rel_embeddings"},
				{`^model\.relative\.norm`, "deberta.encoder.LayerNorm"},
				{`^model\.conv\.conv`, "deberta.encoder.conv.conv"},
				{`^model\.conv\.norm`, "deberta.encoder.conv.LayerNorm"},
			}...),
			traits: deberta, edit: neighbourParts,
		},
		heads: other(bertHeads, ClassifyText, func(h *headRow) { h.act = fn.KindGelu }),
	},
	{
		architecture: architecture{
			names: []string{"eurobert"}, gguf: []string{"eurobert"},
			traits: func(c *Config) traits {
				t := llamaLike(c)
				t.bidirectional = true
				return t
			},
		},
		heads: map[Task]headRow{
			MaskedLM:       {out: "lm_head"},
			ClassifyText:   {dense: "dense", act: fn.KindGelu, out: "classifier", pool: PoolMean},
			ClassifyTokens: {out: "classifier"},
		},
	},
}

// deberta is what DeBERTa's second and third version have (He et al., 2021).
func deberta(c *Config) traits {
	c.NormEps = cmp.Or(c.NormEps, 1e-7)
	t := bert(c)
	t.segments = c.keys.int("type_vocab_size")
	t.learnedPositions = value(&c.keys, true, "position_biased_input")
	t.convWidth = c.keys.between("conv_kernel_size", 0, 0, 1023)
	if t.convWidth > 0 && (t.convWidth%2 == 0 || value(&c.keys, 1, "conv_groups") != 1) ||
		value(&c.keys, c.HiddenSize, "embedding_size") != c.HiddenSize {
		c.keys.err = errDeBERTa
	}
	if c.keys.bool("relative_attention") {
		t.relative = disentangled(c)
	}
	return t
}

// modernBERT is what ModernBERT has (Warner et al., 2024).
func modernBERT(c *Config) traits {
	c.KVHeads = c.Heads
	c.act(fn.KindGelu)
	bias := c.keys.bool("attention_bias") && !c.gguf
	t := traits{
		norm: layerNormNoBias, embedNorm: true, noFirstNorm: true, bidirectional: true,
		qkvBias: bias, outBias: bias, mlpBias: c.keys.bool("mlp_bias") && !c.gguf,
	}
	if c.keys.bool("norm_bias") {
		t.norm = layerNorm
	}
	c.NormEps = cmp.Or(c.NormEps, 1e-5)
	c.Window = cmp.Or(c.keys.int("local_attention"), c.Window, 128)
	step := cmp.Or(c.keys.int("global_attn_every_n_layers", "sliding_window_pattern"), 3)
	t.windowed = func(i int) bool { return c.layerIs(i, "sliding_attention", i%step != 0) }
	global, local := 160000.0, 10000.0
	if c.keys.has("rope_parameters", "rope_theta") {
		global = c.RopeTheta
	}
	t.ropes = []rope{
		{theta: value(&c.keys, global, "global_rope_theta"), scaling: c.RopeScaling},
		{theta: cmp.Or(c.LocalTheta, value(&c.keys, local, "local_rope_theta"))},
	}
	t.ropeOf = func(i int) int {
		if t.windowed(i) {
			return 1
		}
		return 0
	}
	return t
}

// modernParts finds parameters that are rows of one tensor.
func modernParts(c *Config, name string, o *origin) {
	splitQKV(c, name, o)
	splitGateUp(c, name, o)
}

// gte is the row of GTE 1.5 (Zhang et al., 2024) under a name that is also in front of its tensors:
// that of the reference library, or that of the first files.
func gte(name string) encoderRow {
	return encoderRow{
		architecture: architecture{
			names: []string{name}, prefix: name + ".", edit: gteParts,
			reject: []string{"logn_attention_scale"},
			rename: bertEmbeddings(name+".", [][2]string{
				{`^model\.layers`, name + ".encoder.layer"},
				{`self_attn\.[qkv]_proj`, "attention.qkv_proj"}, {`self_attn\.o_proj`, "attention.o_proj"},
				{`attn_post_norm`, "attn_ln"}, {`mlp_post_norm`, "mlp_ln"},
				{`mlp\.(gate|up)_proj`, "mlp.up_gate_proj"},
			}...),
			traits: func(c *Config) traits {
				t := rotaryBERT(c, 160000)
				t.plainMLP, t.qkvBias, t.outBias, t.downBias = false, true, true, true
				return t
			},
		},
		heads: map[Task]headRow{
			MaskedLM: {dense: "lm_head.dense", norm: "lm_head.norm", out: "lm_head.decoder",
				bias: "lm_head.decoder.bias", act: fn.KindGelu},
			ClassifyText:   bertHeads[ClassifyText],
			ClassifyTokens: bertHeads[ClassifyTokens],
		},
	}
}

// gteParts is modernParts with gates last.
func gteParts(c *Config, name string, o *origin) {
	splitQKV(c, name, o)
	switch {
	case strings.Contains(name, "mlp.up_proj"):
		o.rows = c.Width
	case strings.Contains(name, "mlp.gate_proj"):
		o.start, o.rows = c.Width, c.Width
	}
}

// Encoders lists the names that encoders have in config.json (model_type) and in GGUF files
// (general.architecture), those of the latter with "gguf:" in front of them. Language models,
// see [Architectures], are opened as encoders, too.
func Encoders() []string {
	list := make([]*architecture, len(encoders))
	for i := range encoders {
		list[i] = &encoders[i].architecture
	}
	return namesOf(list)
}

// encoderOf finds the row of a configuration.
func encoderOf(c *Config) (*encoderRow, error) {
	for i := range encoders {
		if r := &encoders[i]; r.has(c) {
			return r, r.rejected(c)
		}
	}
	for i := range architectures {
		if a := &architectures[i]; a.has(c) {
			return &encoderRow{architecture: *a, heads: decoderHeads}, a.rejected(c)
		}
	}
	return nil, unknown(c, append(Encoders(), Architectures()...))
}
