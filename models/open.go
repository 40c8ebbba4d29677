package models

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/fn"
	"github.com/gokiln/kiln/quantized"
	"github.com/gokiln/kiln/quantized/checkpoint"
	"github.com/gokiln/kiln/quantized/gguf"
	"github.com/gokiln/kiln/quantized/qnn"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tokenizers"
)

// Options are how a model is opened.
type Options struct {
	Device *tensor.Device // nil for the first GPU, or the CPU
	// DType is the type of weights that are in no blocks, and of what is between layers. Invalid is
	// F32 on the CPU, and on a GPU that of the published weights if it has 16 bits, or else BF16.
	DType tensor.DType
	// Lenient says that weights which are missing or unexpected are reported only, see [LM.Report].
	// A model with missing weights cannot be used before they are set.
	Lenient  bool
	Progress func(done, all int) // called behind each parameter, or nil

	// Paged says that sequences share pages of one pool for each layer without a window, which grows,
	// in place of memory of their own: a step of one token for each of many sequences then takes few
	// launches however many there are.
	Paged bool

	// Eager says that no step is captured as a graph. While one is, no other goroutine may use
	// tensors of the device: see [tensor.Device.Capture].
	Eager bool

	// Adapters are added to the weights, all of them together. Merge makes them a part of weights
	// that are in no blocks, where they then cost nothing; over others they stay apart.
	Adapters []Adapter
	Merge    bool
}

// Open loads a model: a folder with config.json, weights and tokenizer as they are on the Hugging
// Face hub, a file of these weights or their index, or a GGUF file. Weights are in safetensors
// files, or else in those of PyTorch (.bin), of which nothing is executed. The files are closed when
// it returns. Package hub downloads them:
//
//	path, err := client.Model(ctx, "Qwen/Qwen3-0.6B", nil)
//	lm, err := models.Open(path, models.Options{})
//
// Weights that are missing, or that the model does not have, are an error of kind [nn.ErrNames]
// with their names, and an architecture that there is none of is one of kind [ErrConfig].
func Open(path string, o Options) (*LM, error) {
	p, err := find(path)
	if err != nil {
		return nil, fmt.Errorf("models: open %s: %w", path, err)
	}
	defer p.set.Close()
	m, err := p.load(o)
	if err != nil {
		return nil, fmt.Errorf("models: open %s: %w", path, err)
	}
	return m, nil
}

// published is the files of a model.
type published struct {
	config *Config
	set    *file.Set
	from   nn.Source
	meta   *gguf.Metadata // of a GGUF file, or nil
	folder string
	traits *traits // once they are known
}

// find opens the files of a model.
func find(path string) (*published, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() && strings.HasSuffix(path, ".gguf") {
		return findGGUF(path)
	}
	p := &published{folder: path}
	if !info.IsDir() {
		p.folder = filepath.Dir(path)
	}
	text, err := os.ReadFile(filepath.Join(p.folder, "config.json"))
	if errors.Is(err, fs.ErrNotExist) && info.IsDir() {
		if list, _ := filepath.Glob(filepath.Join(path, "*.gguf")); len(list) == 1 {
			return findGGUF(list[0])
		}
		return nil, fmt.Errorf("%w: no config.json, and not one GGUF file alone", ErrConfig)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: it is no GGUF file, and has no config.json beside it", ErrConfig)
	}
	if err != nil {
		return nil, err
	}
	if p.config, err = ParseConfig(text); err != nil {
		return nil, err
	}
	if p.set, err = openWeights(path, info.IsDir()); err != nil {
		return nil, err
	}
	p.from = nn.File(p.set)
	if p.config.keys.has("quantization_config") {
		q, err := checkpoint.ParseConfig(text)
		if err != nil {
			return nil, errors.Join(err, p.set.Close())
		}
		if q.Method == checkpoint.MXFP4 {
			return p, p.joinMXFP4()
		}
		p.from = qnn.Checkpoint(p.set, q)
	}
	return p, nil
}

func findGGUF(path string) (*published, error) {
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	p := &published{set: f.Set, from: qnn.File(f.Set), meta: f.Meta, folder: filepath.Dir(path)}
	if p.config, err = ConfigGGUF(f.Meta); err == nil {
		p.ggufBiases()
		err = p.ggufFactors()
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return p, nil
}

// load makes the model of files.
func (p *published) load(o Options) (*LM, error) {
	a, err := architectureOf(p.config)
	if err != nil {
		return nil, err
	}
	m, err := newLM(p.config, o)
	if err != nil {
		return nil, err
	}
	t := a.traits(p.config)
	if t.bidirectional {
		return nil, noText(p.config)
	}
	t.interleaved = t.interleaved || a.permuted && p.config.gguf
	p.traits = &t
	of, err := a.originOf(p.config, &t, p.from.Names())
	if err != nil {
		return nil, err
	}
	p.decideTie(of("lm_head.weight").name)
	if x := t.crossing; x != nil && !slices.Contains(p.from.Names(), of("final_logits_bias").name) {
		x.logitsBias = false // files of the layers alone have none
	}
	net, err := a.build(p.config, t)
	if err != nil {
		return nil, err
	}
	m.Net = net
	if err := p.weights(m, net, a, of, o); err != nil {
		return nil, err
	}
	if err := p.tokenizer(m); err != nil {
		return nil, err
	}
	return m, p.generation(m.Config)
}

// newLM returns a model without network.
func newLM(c *Config, o Options) (m *LM, err error) {
	m = &LM{Config: c, Device: o.Device, DType: o.DType, paged: o.Paged, steps: stepper{eager: o.Eager, why: errNone}}
	if m.Device == nil {
		if m.Device, err = tensor.Open("auto"); err != nil {
			return nil, err
		}
	}
	if m.DType == 0 {
		m.DType = c.autoDType(m.Device)
	}
	return m, nil
}

// New makes a model of a configuration with random weights, to be trained or measured.
func New(c *Config, o Options) (*LM, error) {
	a, err := architectureOf(c)
	if err != nil {
		return nil, err
	}
	m, err := newLM(c, o)
	if err != nil {
		return nil, err
	}
	t := a.traits(c)
	if t.bidirectional {
		return nil, noText(c)
	}
	if m.Net, err = a.build(c, t); err != nil {
		return nil, err
	}
	if err := nn.Init(m.Net, nn.On{Device: m.Device, DType: m.DType}); err != nil {
		return nil, err
	}
	if err := nn.SetFrozen(m.Net, true); err != nil {
		return nil, err
	}
	return m, nn.Join(m.Net)
}

// build returns the network of a configuration, without weights.
func (a *architecture) build(c *Config, t traits) (Network, error) {
	if err := c.keys.err; err != nil {
		return nil, fmt.Errorf("models: %w: %w", ErrConfig, err)
	}
	if t.crossing != nil {
		return newSeq2Seq(c, t)
	}
	return newDecoder(c, t)
}

// decideTie decides whether the last layer has the embedding's weights, if the configuration does
// not say.
func (p *published) decideTie(head string) {
	if p.config.TieEmbedding == nil {
		tie := !slices.Contains(p.from.Names(), head)
		p.config.TieEmbedding = &tie
	}
}

// weights loads the parameters.
func (p *published) weights(
	m *LM, net any, a *architecture, of func(string) *origin, o Options,
) error {
	ignore := a.ignore
	if *p.config.TieEmbedding {
		ignore = append(slices.Clone(ignore), `(^|\.)lm_head\.`, `^output\.weight$`)
	}
	// Layers behind the last guess tokens further on.
	for i := range min(p.config.keys.int("num_nextn_predict_layers"), 16) {
		n := strconv.Itoa(p.config.Layers + i)
		ignore = append(slices.Clone(ignore), `(layers|blk)\.`+n+`\.`)
	}
	w, r, err := newWeights(net, p.set, p.from, of, ignore)
	if err != nil {
		return err
	}
	m.Report = r
	if err := fits(r); err != nil && !o.Lenient {
		return err
	}
	if err := nn.SetFrozen(net, true); err != nil { // so that layers can share memory
		return err
	}
	on := nn.On{Device: m.Device, DType: m.DType}
	_, err = nn.Load(net, w, nn.LoadOptions{On: on, Lenient: true, Progress: o.Progress, Join: true})
	if err != nil {
		return err
	}
	if err := p.adapt(m, net, a, of, o); err != nil {
		return err
	}
	if err := nn.SetFrozen(net, true); err != nil {
		return err
	}
	return nn.Join(net) // what adapters have replaced
}

// autoDType is the type of weights that none is asked for.
func (c *Config) autoDType(d *tensor.Device) tensor.DType {
	switch {
	case d.Kind() == "cpu":
		return tensor.F32
	case c.DType == "float16" || !d.Supports(tensor.BF16):
		return tensor.F16
	}
	return tensor.BF16
}

// quantizedEntry is a part of a quantized tensor of a file.
func quantizedEntry(d *tensor.Device, e *file.Entry) nn.Quantized { return quantized.Load(d, e) }

// tokenizer reads the tokenizer and the chat template that are beside the weights.
func (p *published) tokenizer(m *LM) error {
	if p.meta != nil {
		if t, err := gguf.Get[string](p.meta, "tokenizer.chat_template"); err == nil {
			m.Template = t
		}
		kind, err := gguf.Get[string](p.meta, "tokenizer.ggml.model")
		if err == nil && kind != "none" && kind != "no_vocab" {
			m.Tokenizer, m.TokenizerErr = tokenizers.FromGGUF(p.meta)
		}
		return nil
	}
	if t, err := tokenizers.Open(p.folder); err == nil {
		m.Tokenizer = t
	} else if !errors.Is(err, fs.ErrNotExist) {
		m.TokenizerErr = err
	}
	if b, err := os.ReadFile(filepath.Join(p.folder, "chat_template.jinja")); err == nil {
		m.Template = string(b)
		return nil
	}
	b, err := os.ReadFile(filepath.Join(p.folder, "tokenizer_config.json"))
	if err != nil {
		return nil // without it there is no template
	}
	return m.template(b)
}

// template reads the template of a tokenizer_config.json: a text, or texts with names, of which
// that called default is taken.
func (m *LM) template(b []byte) error {
	var c struct {
		Template json.RawMessage `json:"chat_template"`
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return fmt.Errorf("tokenizer_config.json: %w", err)
	}
	if len(c.Template) == 0 || json.Unmarshal(c.Template, &m.Template) == nil {
		return nil
	}
	var list []struct{ Name, Template string }
	if err := json.Unmarshal(c.Template, &list); err != nil {
		return fmt.Errorf("tokenizer_config.json: chat_template: %w", err)
	}
	for _, t := range list {
		if t.Name == "default" || m.Template == "" {
			m.Template = t.Template
		}
	}
	return nil
}

// generation reads which tokens end a text from generation_config.json, where it says more.
func (p *published) generation(c *Config) error {
	if p.meta != nil {
		return nil
	}
	b, err := os.ReadFile(filepath.Join(p.folder, "generation_config.json"))
	if err != nil {
		return nil // few models need it
	}
	k := keys{}
	if err := json.Unmarshal(b, &k.of); err != nil {
		return fmt.Errorf("generation_config.json: %w", err)
	}
	if c.DecoderStart < 0 {
		c.DecoderStart = int32(value(&k, -1, "decoder_start_token_id"))
	}
	for _, id := range k.ids("eos_token_id") {
		if !c.IsEOS(id) {
			c.EOS = append(c.EOS, id)
		}
	}
	if k.err != nil {
		return fmt.Errorf("generation_config.json: %w", k.err)
	}
	return nil
}

// ggufBiases says in the words of config.json which biases and norms there are, of which the
// metadata say nothing.
func (p *published) ggufBiases() {
	has := func(names ...string) bool { return slices.ContainsFunc(names, p.set.Has) }
	some := func(name string) bool { // in one of the layers
		for i := range p.config.Layers {
			if has(fmt.Sprintf("blk.%d.%s", i, name)) {
				return true
			}
		}
		return false
	}
	for key, is := range map[string]bool{
		"attention_bias":        has("blk.0.attn_q.bias", "blk.0.attn_qkv.bias"),
		"use_qkv_bias":          has("blk.0.attn_q.bias", "blk.0.attn_qkv.bias"),
		"attention_out_bias":    has("blk.0.attn_output.bias"),
		"mlp_bias":              has("blk.0.ffn_up.bias"),
		"use_bias":              has("blk.0.ffn_up.bias"),
		"bias":                  has("blk.0.ffn_up.bias"),
		"use_parallel_residual": !has("blk.0.ffn_norm.weight"),

		"conv_bias":       has("blk.0.shortconv.in_proj.bias", "blk.1.shortconv.in_proj.bias"),
		"mamba_proj_bias": some("ssm_in.bias"),
		"mamba_conv_bias": some("ssm_conv1d.bias"),

		"new_decoder_architecture": has("blk.0.attn_norm_2.weight"), // of Falcon
	} {
		if !p.config.keys.has(key) {
			p.config.keys.of[key] = json.RawMessage(strconv.FormatBool(is))
		}
	}
	p.ggufLayers()
	if e, err := p.set.Get("token_types.weight"); err == nil {
		p.config.keys.of["type_vocab_size"] = json.RawMessage(strconv.Itoa(e.Shape()[0]))
	} else {
		p.config.keys.of["type_vocab_size"] = json.RawMessage("0")
	}
	if has("enc.blk.0.attn_rel_b.weight") { // T5
		p.config.keys.of["tie_word_embeddings"] = json.RawMessage(strconv.FormatBool(!has("output.weight")))
		if has("enc.blk.0.ffn_gate.weight") {
			p.config.keys.of["feed_forward_proj"] = json.RawMessage(`"gated-gelu"`)
		}
	}
}

// ggufLayers says which layers have what, of models with state-space models or experts.
func (p *published) ggufLayers() {
	types, dense := make([]string, p.config.Layers), []int{}
	for i := range types {
		has := func(name string) bool { return p.set.Has(fmt.Sprintf("blk.%d.%s", i, name)) }
		switch types[i] = "mlp"; {
		case has("ssm_a"):
			types[i] = "linear_attention"
		case has("attn_output.weight"):
			types[i] = "full_attention"
		}
		switch sparse := has("ffn_gate_inp.weight"); {
		case !sparse:
			dense = append(dense, i)
		case types[i] == "mlp":
			types[i] = "moe"
		}
	}
	if slices.Contains(types, "linear_attention") {
		p.config.LayerTypes = types
	}
	if len(dense) < len(types) {
		p.config.keys.of["mlp_only_layers"], _ = json.Marshal(dense)
	}
}

// ggufFactors reads the divisors of frequencies that GGUF files have as tensors in place of a rule:
// one list for Llama 3, or two for short and long sequences.
func (p *published) ggufFactors() error {
	read := func(name string) ([]float64, error) {
		e, err := p.set.Get(name)
		if errors.Is(err, file.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		list, err := file.Values[float32](e)
		out := make([]float64, len(list))
		for i, x := range list {
			if out[i] = float64(x); x <= 0 {
				return nil, fmt.Errorf("%w: %s has %v", ErrConfig, name, x)
			}
		}
		return out, err
	}
	c, s := p.config, &p.config.RopeScaling
	all, err := read("rope_freqs.weight")
	if err != nil {
		return err
	}
	short, err := read("rope_factors_short.weight")
	if err != nil {
		return err
	}
	long, err := read("rope_factors_long.weight")
	switch {
	case err != nil:
		return err
	case all != nil:
		n := max(c.MaxPositions, 1)
		*s = fn.RopeScaling{Type: fn.RopeLong, Short: all, Long: all, OriginalMax: n, AttentionFactor: 1}
	case short != nil && long != nil:
		original := cmp.Or(s.OriginalMax, c.keys.int("original_max_position_embeddings"), c.MaxPositions)
		*s = fn.RopeScaling{Type: fn.RopeLong, Short: short, Long: long, OriginalMax: original,
			AttentionFactor: cmp.Or(s.AttentionFactor, c.keys.float("attention_factor"))}
		if original > 0 {
			s.Factor = float64(c.MaxPositions) / float64(original)
		}
	}
	return nil
}
