package models

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/gokiln/kiln/nn/fn"
)

// crossings are the rows of models from sequences to sequences.
var crossings = []architecture{
	{
		names: []string{"t5", "mt5", "umt5"}, gguf: []string{"t5", "t5encoder"},
		traits: t5, rename: t5Names, renameGGUF: t5GGUF, edit: t5Parts,
		ignore: []string{`^(en|de)coder\.embed_tokens\.`, `^decoder\.block\.0\.layer\.1\.\w+\.relative_`},
	},
	{
		names: []string{"marian"}, rename: bartNames, ignore: bartIgnored,
		traits: func(c *Config) traits {
			t := bart(c)
			t.learnedPositions, t.embedNorm = false, false
			t.crossing.waves(0, c.HiddenSize/2)
			if !value(&c.keys, true, "share_encoder_decoder_embeddings") {
				t.crossing.own, t.crossing.sourceVocab = true, c.VocabSize
				c.VocabSize = cmp.Or(c.keys.int("decoder_vocab_size"), c.VocabSize)
			}
			return t
		},
	},
	{
		names: []string{"bart", "plbart"}, traits: bart,
		rename: bartNames, ignore: bartIgnored, edit: bartPositions,
	},
	{
		names: []string{"mbart"}, rename: bartNames, ignore: bartIgnored, edit: bartPositions,
		traits: func(c *Config) traits {
			t := bart(c)
			t.crossing.behind, t.crossing.finalNorm = false, true
			return t
		},
	},
	{
		names: []string{"blenderbot"}, rename: bartNames, ignore: bartIgnored,
		traits: func(c *Config) traits {
			t := bart(c)
			t.crossing.behind, t.crossing.finalNorm, t.embedNorm = false, true, false
			return t
		},
	},
	{
		names: []string{"pegasus"}, rename: bartNames, ignore: bartIgnored,
		traits: func(c *Config) traits {
			t := bart(c)
			t.crossing.behind, t.crossing.finalNorm = false, true
			t.learnedPositions, t.embedNorm = false, false
			t.crossing.waves(0, c.HiddenSize/2)
			return t
		},
	},
	{
		names: []string{"m2m_100"}, rename: bartNames, ignore: bartIgnored,
		traits: func(c *Config) traits {
			t := bart(c)
			t.crossing.behind, t.crossing.finalNorm, t.crossing.logitsBias = false, true, false
			t.learnedPositions, t.embedNorm = false, false
			t.crossing.waves(c.keys.int("pad_token_id")+1, c.HiddenSize/2-1)
			return t
		},
	},
}

// waves gives positions by sinusoids.
func (x *crossing) waves(offset, divisor int) {
	x.sinusoidal, x.offset, x.divisor = true, offset, divisor
}

// bart is what BART has, of which models that came after it changed the norms or the positions.
func bart(c *Config) traits {
	k := &c.keys
	if k.bool("scale_embedding") {
		c.EmbeddingScale = math.Sqrt(float64(c.HiddenSize))
	}
	c.act(fn.KindGelu)
	return traits{
		norm: layerNorm, embedNorm: true, learnedPositions: true,
		qkvBias: true, outBias: true, mlpBias: true, plainMLP: true,
		crossing: &crossing{
			behind: true, logitsBias: true,
			encoderLayers: k.int("encoder_layers"), decoderLayers: k.int("decoder_layers"),
			encoderHeads: k.int("encoder_attention_heads"), decoderHeads: k.int("decoder_attention_heads"),
			encoderWidth: k.int("encoder_ffn_dim"), decoderWidth: k.int("decoder_ffn_dim"),
		},
	}
}

var bartNames = [][2]string{
	{`o_proj`, "out_proj"}, {`mlp\.up_proj`, "fc1"}, {`mlp\.down_proj`, "fc2"},
}

// bartIgnored are copies of the shared embeddings, and sinusoids that are stored.
var bartIgnored = []string{`coder\.embed_tokens\.weight$`, `coder\.embed_positions\.weights?$`}

// bartPositions finds positions behind the first two, which are for padding.
func bartPositions(c *Config, name string, o *origin) {
	if strings.Contains(name, "embed_positions") {
		o.start, o.rows = 2, c.MaxPositions
	}
}

// t5 is what T5 has, and the models that differ from it by their feed-forward networks and by
// factors (Raffel et al., 2020; Shazeer, "GLU variants improve Transformer", 2020).
func t5(c *Config) traits {
	k := &c.keys
	c.AttentionScale = 1
	c.KVHeads = c.Heads
	act, gated := t5Activation(c)
	var err error
	if c.Act, err = fn.ParseActivation(act); err != nil && k.err == nil {
		k.err = fmt.Errorf("feed_forward_proj: %w", err)
	}
	tied := value(k, true, "tie_word_embeddings")
	if c.ModelType != "mt5" && value(k, tied, "scale_decoder_outputs") {
		c.LogitScale = math.Sqrt(float64(c.HiddenSize))
	}
	c.TieEmbedding = nil    // files of tied models are called untied and the other way round
	if c.DecoderStart < 0 { // padding, of which the first configurations say nothing else
		c.DecoderStart = int32(k.int("pad_token_id"))
	}
	encoderOnly := c.ModelType == "t5encoder"
	for _, name := range c.Names {
		encoderOnly = encoderOnly || strings.HasSuffix(name, "EncoderModel")
	}
	return traits{
		norm: rmsNorm, plainMLP: !gated,
		crossing: &crossing{
			finalNorm: true, encoderOnly: encoderOnly, relative: true, eachLayer: c.ModelType == "umt5",
			buckets:       value(k, 32, "relative_attention_num_buckets"),
			maxDistance:   value(k, 128, "relative_attention_max_distance"),
			decoderLayers: k.int("num_decoder_layers"),
		},
	}
}

// t5Activation is the activation, and whether the feed-forward network is gated.
func t5Activation(c *Config) (act string, gated bool) {
	or := "relu"
	if c.ModelType == "mt5" || c.ModelType == "umt5" {
		or = "gated-gelu"
	}
	act, gated = strings.CutPrefix(value(&c.keys, or, "feed_forward_proj"), "gated-")
	if gated && act == "gelu" {
		act = "gelu_new"
	}
	return act, gated
}

// t5Parts has the name of the first layer of a network without gates.
func t5Parts(c *Config, _ string, o *origin) {
	if _, gated := t5Activation(c); !gated {
		o.name = strings.Replace(o.name, ".wi_1.", ".wi.", 1)
	}
}

var t5Names = [][2]string{
	{`^model\.(en|de)coder\.layers\.(\d+)\.self_attn_layer_norm`,
		"${1}coder.block.$2.layer.0.layer_norm"},
	{`^model\.(en|de)coder\.layers\.(\d+)\.self_attn\.(.*?)(_proj)?\.weight`,
		"${1}coder.block.$2.layer.0.SelfAttention.$3.weight"},
	{`^model\.decoder\.layers\.(\d+)\.encoder_attn_layer_norm`, "decoder.block.$1.layer.1.layer_norm"},
	{`^model\.decoder\.layers\.(\d+)\.encoder_attn\.(.*?)_proj`,
		"decoder.block.$1.layer.1.EncDecAttention.$2"},
	{`^model\.encoder\.layers\.(\d+)\.final_layer_norm`, "encoder.block.$1.layer.1.layer_norm"},
	{`^model\.encoder\.layers\.(\d+)\.mlp`, "encoder.block.$1.layer.1.DenseReluDense"},
	{`^model\.decoder\.layers\.(\d+)\.final_layer_norm`, "decoder.block.$1.layer.2.layer_norm"},
	{`^model\.decoder\.layers\.(\d+)\.mlp`, "decoder.block.$1.layer.2.DenseReluDense"},
	{`^model\.(en|de)coder\.layer_norm`, "${1}coder.final_layer_norm"},
	{`^model\.shared`, "shared"},
	{`gate_proj`, "wi_0"}, {`up_proj`, "wi_1"}, {`down_proj`, "wo"},
}

// t5GGUF are the names of T5's tensors in GGUF files.
var t5GGUF = [][2]string{
	{`^model\.(en|de)coder\.layers\.`, "${1}c.blk."},
	{`^model\.(en|de)coder\.layer_norm`, "${1}c.output_norm"}, {`^model\.shared`, "token_embd"},
	{`encoder_attn\.(\w)_proj`, "cross_attn_$1"}, {`encoder_attn_layer_norm`, "cross_attn_norm"},
	{`self_attn_layer_norm`, "attn_norm"}, {`final_layer_norm`, "ffn_norm"},
	{`self_attn\.o_proj`, "attn_o"}, {`self_attn\.relative_attention_bias`, "attn_rel_b"},
}
