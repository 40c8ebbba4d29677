package models

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
)

// origin is where a parameter's values are in a file.
type origin struct {
	name    string // of the tensor; with a *, of those of all experts, which are stacked
	experts int
	start   int // of its rows, from which on
	rows    int // how many; 0 for all
	// change makes the parameter of what is read, all rows of it if it is not nil. Quantized tensors
	// are dequantized then.
	change func(t *tensor.Tensor) *tensor.Tensor
}

// parts are the names of the tensors.
func (o *origin) parts() []string {
	if !strings.Contains(o.name, "*") {
		return []string{o.name}
	}
	out := make([]string, o.experts)
	for i := range out {
		out[i] = strings.Replace(o.name, "*", strconv.Itoa(i), 1)
	}
	return out
}

// weights is the tensors of files under the names of a network's parameters.
type weights struct {
	set     *file.Set
	from    nn.Source
	origins map[string]*origin
	list    []string // the names of the parameters that are there
}

// usualGGUF is what tensors of GGUF files are called, as regular expressions of the names of
// parameters.
var usualGGUF = [][2]string{
	{`^model\.layers\.`, "blk."}, {`^model\.embed_tokens`, "token_embd"},
	{`^model\.embed_positions`, "position_embd"}, {`^model\.embed_norm`, "token_embd_norm"},
	{`^model\.norm`, "output_norm"}, {`^lm_head`, "output"},
	{`input_layernorm`, "attn_norm"}, {`post_attention_layernorm`, "ffn_norm"},
	{`attn_post_norm`, "post_attention_norm"}, {`mlp_post_norm`, "post_ffw_norm"},
	{`self_attn\.([qkv])_proj`, "attn_$1"}, {`self_attn\.o_proj`, "attn_output"},
	{`self_attn\.mamba\.A_log`, "ssm_a"}, {`self_attn\.mamba\.D$`, "ssm_d"},
	{`self_attn\.mamba\.dt_bias`, "ssm_dt.bias"}, {`self_attn\.mamba\.(conv1d|norm)`, "ssm_$1"},
	{`self_attn\.mamba\.(in|x|dt|out)_proj`, "ssm_$1"},
	{`self_attn\.mamba\.(dt|b|c)_layernorm`, "ssm_${1}_norm"}, {`self_attn\.mlp\.`, "mlp."},
	{`self_attn\.([qk])_norm`, "attn_${1}_norm"}, {`self_attn\.sinks`, "attn_sinks.weight"},
	{`mlp\.experts\.(\w+)_proj_bias`, "ffn_${1}_exps.bias"},
	{`mlp\.experts\.(\w+)_proj`, "ffn_${1}_exps.weight"},
	{`mlp\.shared_experts\.(\w+)_proj`, "ffn_${1}_shexp"},
	{`mlp\.shared_experts\.gate\.`, "ffn_gate_inp_shexp."},
	{`mlp\.gate\.`, "ffn_gate_inp."}, {`mlp\.(\w+)_proj`, "ffn_$1"},
}

// usual are the rules of most safetensors files.
var usual = [][2]string{{`mlp\.experts\.(gate|up|down)_proj$`, "mlp.experts.*.${1}_proj.weight"}}

// usualIgnored are tensors that files have besides parameters.
var usualIgnored = []string{`rotary_emb\.inv_freq$`, `^rope_freqs\.weight$`,
	`^rope_factors_\w+\.weight$`}

// originOf returns the function that says where parameters are, in files that have some tensors.
func (a *architecture) originOf(
	c *Config, t *traits, names []string,
) (func(name string) *origin, error) {
	rules := slices.Clone(a.rename)
	own := func(r [2]string) bool { return strings.Contains(r[0], `mlp\.experts`) }
	if !slices.ContainsFunc(rules, own) {
		rules = append(rules, usual...)
	}
	if c.gguf {
		rules = append(slices.Clone(a.renameGGUF), usualGGUF...)
	}
	rename, err := nn.Replace(rules...)
	if err != nil {
		return nil, err
	}
	has := map[string]bool{}
	for _, n := range names {
		has[n] = true
	}
	return func(name string) *origin {
		o := &origin{name: rename(name), experts: c.Experts}
		switch {
		case c.gguf:
			o.gguf(c, t, name, has)
			if a.editGGUF != nil {
				a.editGGUF(c, name, o)
			}
		case a.edit != nil:
			a.edit(c, name, o)
		}
		packed := o.packed(c)
		if !o.prefixed(has, a.prefix) && packed != nil && packed.prefixed(has, a.prefix) {
			return packed
		}
		return o
	}, nil
}

// oneOfExperts is the usual name of a tensor of each expert.
var oneOfExperts = regexp.MustCompile(`experts\.\*\.(gate|up|down)_proj\.weight$`)

// packed is where the weights of all experts are in files that have them as one tensor, gates in
// front of the others; nil for what is no such weight.
func (o *origin) packed(c *Config) *origin {
	m := oneOfExperts.FindStringSubmatch(o.name)
	if m == nil || o.change != nil {
		return nil
	}
	p, width := &origin{experts: o.experts}, cmp.Or(c.ExpertWidth, c.Width)
	front := oneOfExperts.ReplaceAllLiteralString(o.name, "experts.")
	switch m[1] {
	case "gate":
		p.columns(0, width)
	case "up":
		p.columns(width, width)
	default:
		p.name = front + "down_proj"
		return p
	}
	p.name = front + "gate_up_proj"
	return p
}

// prefixed finds a tensor, and reports whether it is there. It may be called otherwise in front:
// some files have only the network below the last layer, and some have the network as a part of one
// for images and texts. Files of BERT's first years have gamma and beta for the weights of norms.
func (o *origin) prefixed(has map[string]bool, prefix string) bool {
	is := func(name string) bool { return has[strings.Replace(name, "*", "0", 1)] }
	rest := strings.TrimPrefix(strings.TrimPrefix(o.name, "transformer."), "model.")
	for _, name := range []string{
		o.name, rest, "language_model." + o.name, "model.language_model." + rest, "model." + o.name,
		strings.TrimPrefix(o.name, prefix), prefix + o.name,
	} {
		for _, name := range []string{name, gammaBeta.Replace(name)} {
			if is(name) {
				o.name = name
				return true
			}
		}
	}
	return false
}

// gammaBeta are the older names of the parameters of norms.
var gammaBeta = strings.NewReplacer("LayerNorm.weight", "LayerNorm.gamma",
	"LayerNorm.bias", "LayerNorm.beta")

// packedQKV are the names of attention's tensors in GGUF files where all are one.
var packedQKV = regexp.MustCompile(`attn_[qkv]\.(weight|bias)$`)

// gguf finds parameters of GGUF files that are parts of tensors: those of queries, keys and values,
// and the two of a gated feed-forward network, are one tensor in some files.
func (o *origin) gguf(c *Config, t *traits, name string, has map[string]bool) {
	mambaGGUF(name, o)
	switch {
	case packedQKV.MatchString(o.name) && !has[o.name]:
		o.name = packedQKV.ReplaceAllString(o.name, "attn_qkv.$1")
		splitQKV(c, name, o)
	case c.ModelType == "rwkv7":
	case has["blk.0.attn_norm_2.weight"] && strings.Contains(o.name, ".attn_norm."): // Falcon
		o.name = strings.Replace(o.name, "attn_norm", "attn_norm_2", 1)
	case has["blk.0.attn_norm_2.weight"] && strings.Contains(o.name, ".ffn_norm."):
		o.name = strings.Replace(o.name, "ffn_norm", "attn_norm", 1)
	case strings.Contains(o.name, ".ffn_norm.") && !has[o.name] && !t.postNorm: // Seed-OSS
		o.name = strings.Replace(o.name, "ffn_norm", "post_attention_norm", 1)
	case strings.HasSuffix(name, "shared_experts.gate.weight"):
		o.change = func(t *tensor.Tensor) *tensor.Tensor { return t.Reshape(1, t.Count()) }
	case t.plainMLP:
	case strings.Contains(o.name, "ffn_gate.") && !has[o.name],
		strings.Contains(o.name, "ffn_up.") && !has[strings.Replace(o.name, "_up", "_gate", 1)]:
		o.name = strings.Replace(o.name, "_gate", "_up", 1)
		splitGateUp(c, name, o)
	}
}

// splitQKV is for parameters that are rows of one tensor: queries, keys, values.
func splitQKV(c *Config, name string, o *origin) {
	q, kv := c.Heads*c.HeadDim, c.KVHeads*c.HeadDim
	switch {
	case strings.Contains(name, "self_attn.q_proj"):
		o.rows = q
	case strings.Contains(name, "self_attn.k_proj"):
		o.start, o.rows = q, kv
	case strings.Contains(name, "self_attn.v_proj"):
		o.start, o.rows = q+kv, kv
	}
}

// splitGroups is for parameters that are rows of one tensor: for each head of keys its queries, the
// keys and the values.
func splitGroups(c *Config, name string, o *origin) {
	g := c.Heads / c.KVHeads
	start, n := 0, 0
	switch {
	case strings.Contains(name, "self_attn.q_proj"):
		n = g
	case strings.Contains(name, "self_attn.k_proj"):
		start, n = g, 1
	case strings.Contains(name, "self_attn.v_proj"):
		start, n = g+1, 1
	default:
		return
	}
	o.change = func(t *tensor.Tensor) *tensor.Tensor {
		if t.Err() != nil {
			return t
		}
		in := t.Count() / t.Size(0)
		shape := []int{c.KVHeads * n * c.HeadDim, in}
		if t.Rank() == 1 {
			shape = shape[:1]
		}
		return t.Reshape(c.KVHeads, g+2, c.HeadDim, in).Narrow(1, start, n).Reshape(shape...)
	}
}

// splitGateUp is for parameters that are rows of one tensor: gates first.
func splitGateUp(c *Config, name string, o *origin) {
	switch {
	case strings.Contains(name, "mlp.gate_proj"):
		o.rows = c.Width
	case strings.Contains(name, "mlp.up_proj"):
		o.start, o.rows = c.Width, c.Width
	}
}

// plusOne is for norms whose weight is stored less 1.
func plusOne(_ *Config, name string, o *origin) {
	if strings.HasSuffix(name, "norm.weight") {
		o.change = func(t *tensor.Tensor) *tensor.Tensor { return t.Cast(tensor.F32).AddScalar(1) }
	}
}

// transposed is for weights that are stored as (in, out).
func transposed(name string, o *origin) {
	if strings.HasSuffix(name, "_proj.weight") {
		o.change = func(t *tensor.Tensor) *tensor.Tensor { return t.T().Contiguous() }
	}
}

// newWeights finds the parameters of a network in files, and reports what does not fit.
func newWeights(
	net any, set *file.Set, from nn.Source, of func(name string) *origin, ignore []string,
) (*weights, *nn.Report, error) {
	params, err := nn.List(net)
	if err != nil {
		return nil, nil, err
	}
	rest := map[string]bool{}
	for _, n := range from.Names() {
		rest[n] = true
	}
	w, r := &weights{set: set, from: from, origins: map[string]*origin{}}, &nn.Report{}
	used := map[string]bool{}
	for _, p := range params {
		o := of(p.Name)
		missing := slices.DeleteFunc(o.parts(), func(n string) bool { return rest[n] })
		if len(missing) > 0 {
			r.Missing = append(r.Missing, missing...)
			continue
		}
		w.origins[p.Name] = o
		w.list = append(w.list, p.Name)
		for _, n := range o.parts() {
			used[n] = true
		}
	}
	unknown, err := regexp.Compile(strings.Join(append(slices.Clone(ignore), usualIgnored...), "|"))
	if err != nil {
		return nil, nil, err
	}
	for _, n := range slices.Sorted(maps.Keys(rest)) {
		if !used[n] && !unknown.MatchString(n) {
			r.Unexpected = append(r.Unexpected, n)
		}
	}
	return w, r, nil
}

// Names lists the parameters that are there.
func (w *weights) Names() []string { return w.list }

// Tensor returns the values of a parameter on a device.
func (w *weights) Tensor(d *tensor.Device, name string, _ nn.Shard) *tensor.Tensor {
	o := w.origins[name]
	var list []*tensor.Tensor
	for _, n := range o.parts() {
		t := w.one(d, o, n)
		if t.Err() != nil {
			return t
		}
		list = append(list, t)
	}
	if strings.Contains(o.name, "*") {
		return tensor.Stack(0, list...)
	}
	return list[0]
}

// one returns what an origin takes of a tensor.
func (w *weights) one(d *tensor.Device, o *origin, name string) *tensor.Tensor {
	var t *tensor.Tensor
	switch e, err := w.set.Get(name); {
	case err == nil && o.rows > 0 && o.change == nil && !e.Encoding().Quantized():
		if e, err = e.Narrow(0, o.start, o.rows); err != nil { // only these rows are read
			return tensor.Fail("load", fmt.Errorf("%q: %w", name, err))
		}
		return tensor.Load(d, e)
	default:
		t = w.from.Tensor(d, name, nn.Shard{})
	}
	if q, ok := w.from.(nn.QuantizedSource); ok {
		if blocks, err := q.Quantized(d, name, nn.Shard{}); err != nil {
			return tensor.Fail("load", err)
		} else if blocks != nil {
			t = blocks.Dequantize(tensor.F32)
		}
	}
	if o.change != nil {
		t = o.change(t)
	}
	if o.rows > 0 && t.Err() == nil {
		if t.Rank() == 0 || t.Size(0) < o.start+o.rows {
			return tensor.Fail("load", fmt.Errorf("%w: %q has shape %v, want %d rows",
				tensor.ErrShape, name, t.Shape(), o.start+o.rows))
		}
		t = t.Narrow(0, o.start, o.rows)
	}
	return t
}

// Quantized returns a parameter as it is stored, nil if it has plain numbers or is changed.
func (w *weights) Quantized(d *tensor.Device, name string, _ nn.Shard) (nn.Quantized, error) {
	o := w.origins[name]
	from, ok := w.from.(nn.QuantizedSource)
	if !ok || o.change != nil || strings.Contains(o.name, "*") {
		return nil, nil
	}
	if o.rows == 0 {
		return from.Quantized(d, o.name, nn.Shard{})
	}
	e, err := w.set.Get(o.name)
	if err != nil || !e.Encoding().Quantized() {
		return nil, nil
	}
	if e, err = e.Narrow(0, o.start, o.rows); err != nil {
		return nil, fmt.Errorf("%q: %w", o.name, err)
	}
	q := quantizedEntry(d, e)
	return q, q.Err()
}

// fits is an error that lists what does not fit.
func fits(r *nn.Report) error {
	if len(r.Missing)+len(r.Unexpected) == 0 {
		return nil
	}
	return fmt.Errorf("models: %w: missing: %s; unexpected: %s", nn.ErrNames,
		listed(r.Missing), listed(r.Unexpected))
}

// listed is a list of names, of which there may be thousands.
func listed(names []string) string {
	const most = 10
	switch n := len(names); {
	case n == 0:
		return "none"
	case n > most:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), n-most)
	}
	return strings.Join(names, ", ")
}

var errNoWeights = errors.New("no weights")

var errDeBERTa = errors.New("a convolution of groups or an even width, " +
	"or embeddings of another size: not supported")

var errOPT = errors.New("norms behind layers or embeddings of another size: not supported")

// columns takes part of dimension 1 of a tensor of all experts, (experts, columns, features).
func (o *origin) columns(start, n int) {
	o.change = func(t *tensor.Tensor) *tensor.Tensor {
		if t.Err() != nil {
			return t
		}
		if t.Rank() != 3 || t.Size(1) < start+n {
			err := fmt.Errorf("%w: %v, want %d columns", tensor.ErrShape, t.Shape(), start+n)
			return tensor.Fail("load", err)
		}
		return t.Narrow(1, start, n).Contiguous()
	}
}
