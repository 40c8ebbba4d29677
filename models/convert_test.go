package models

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn/fn"
	"github.com/gokiln/kiln/quantized/gguf"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
)

// array is a tensor on the host.
type array struct {
	shape []int
	x     []float32
}

func (a array) entry(t testing.TB, name string) *file.Entry {
	var b []byte
	for _, x := range a.x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	e, err := file.FromMemory(name, tensor.F32, a.shape, b)
	require.NoError(t, err)
	return e
}

// rows returns a tensor of some rows.
func (a array) rows(list []int) array {
	n := len(a.x) / a.shape[0]
	out := array{shape: append([]int{len(list)}, a.shape[1:]...)}
	for _, r := range list {
		out.x = append(out.x, a.x[r*n:(r+1)*n]...)
	}
	return out
}

func (a array) transposed() array {
	r, c := a.shape[0], a.shape[1]
	out := array{[]int{c, r}, make([]float32, len(a.x))}
	for i, x := range a.x {
		out.x[i%c*r+i/c] = x
	}
	return out
}

// halves divides dimension 1 of three, or dimension 0 of two.
func (a array) halves() (first, second array) {
	if len(a.shape) == 2 {
		r := a.shape[0] / 2
		first.shape, second.shape = []int{r, a.shape[1]}, []int{r, a.shape[1]}
		first.x, second.x = a.x[:len(a.x)/2], a.x[len(a.x)/2:]
	}
	if len(a.shape) < 3 {
		return first, second
	}
	n := a.shape[1] * a.shape[2] / 2
	first.shape = []int{a.shape[0], a.shape[1] / 2, a.shape[2]}
	second.shape = first.shape
	for i := range a.shape[0] {
		first.x = append(first.x, a.x[2*i*n:(2*i+1)*n]...)
		second.x = append(second.x, a.x[(2*i+1)*n:(2*i+2)*n]...)
	}
	return first, second
}

// matricesTransposed transposes each of some matrices.
func (a array) matricesTransposed() array {
	out, n := array{shape: []int{a.shape[0], a.shape[2], a.shape[1]}}, a.shape[1]*a.shape[2]
	for i := range a.shape[0] {
		out.x = append(out.x, array{a.shape[1:], a.x[i*n : (i+1)*n]}.transposed().x...)
	}
	return out
}

// inTurn divides dimension 1, of which every other is of the second.
func (a array) inTurn() (first, second array) {
	rest := len(a.x) / (a.shape[0] * a.shape[1])
	first.shape = slices.Clone(a.shape)
	first.shape[1] /= 2
	second.shape = first.shape
	for i := 0; i < len(a.x); i += 2 * rest {
		first.x = append(first.x, a.x[i:i+rest]...)
		second.x = append(second.x, a.x[i+rest:i+2*rest]...)
	}
	return first, second
}

// What llama.cpp's converter does to tensors of architectures.
var (
	convertPermuted   = []string{"llama", "granite", "granitemoe", "granitehybrid", "smollm3", "arcee", "olmo"}
	convertPlusOne    = []string{"gemma", "gemma2", "gemma3", "nemotron", "qwen3next", "qwen35", "qwen35moe"}
	convertGroups     = []string{"gptneox", "falcon", "bloom"}
	oneExpert         = regexp.MustCompile(`experts\.\d+\.`)
	convertTransposed = regexp.MustCompile(`(attn_qkv|attn_output|ffn_up|ffn_down)\.weight$`)
)

// permuted has the halves of each head's pairs as neighbours.
func permuted(heads, rows int) (list []int) {
	d := rows / heads
	for h := range heads {
		for i := range d / 2 {
			list = append(list, h*d+i, h*d+d/2+i)
		}
	}
	return list
}

// ungrouped has queries, keys and values behind one another.
func ungrouped(c *Config) (list []int) {
	g, d := c.Heads/c.KVHeads, c.HeadDim
	for _, part := range [][2]int{{0, g}, {g, g + 1}, {g + 1, g + 2}} {
		for k := range c.KVHeads {
			for h := part[0]; h < part[1]; h++ {
				for i := range d {
					list = append(list, (k*(g+2)+h)*d+i)
				}
			}
		}
	}
	return list
}

// convert writes the model as llama.cpp's converter does, and returns the path.
func (g *golden) convert(t testing.TB, c *Config) string {
	t.Helper()
	var list []*file.Entry
	experts := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(g.Tensors)) {
		to := g.Names[name]
		a := array{g.Tensors[name], numbers(name, g.Tensors[name])}
		if g.Arch == "gpt-oss" && len(a.shape) == 3 {
			a = a.matricesTransposed()
		}
		if strings.Contains(name, "linear_attn.") {
			list = append(list, g.linear(t, c, to, a)...)
			continue
		}
		if layer, ok := strings.CutSuffix(to, ".attn_kv_b.weight"); ok && latentSplit(c) {
			k, v := a.latent(c)
			list = append(list, k.entry(t, layer+".attn_k_b.weight"), v.entry(t, layer+".attn_v_b.weight"))
			continue
		}
		if strings.Contains(to, ".ssm_") {
			list = append(list, a.stateSpace(c, to).entry(t, to))
			continue
		}
		if first, second, ok := strings.Cut(to, "|"); ok {
			gate, up := a.halves()
			if g.Arch == "gpt-oss" {
				gate, up = a.inTurn()
			}
			list = append(list, gate.entry(t, first), up.entry(t, second))
			continue
		}
		if part, ok := strings.CutSuffix(name, ".x_r"); ok { // RWKV: six become one
			a.shape, a.x = []int{6, 1, 1, c.HiddenSize}, nil
			for _, x := range "rwkvag" {
				a.x = append(a.x, numbers(part+".x_"+string(x), g.Tensors[name])...)
			}
		} else if strings.HasSuffix(to, "lerp_fused.weight") {
			continue
		}
		if oneExpert.MatchString(name) {
			experts[to] = append(experts[to], name)
			continue
		}
		list = append(list, g.converted(c, to, a).entry(t, to))
	}
	for _, to := range slices.Sorted(maps.Keys(experts)) {
		a := array{shape: append([]int{len(experts[to])}, g.Tensors[experts[to][0]]...)}
		for _, name := range experts[to] { // fewer than ten: in order
			a.x = append(a.x, numbers(name, g.Tensors[name])...)
		}
		list = append(list, a.entry(t, to))
	}
	if g.Arch == "qwen35" { // of a layer that guesses tokens further on
		name := fmt.Sprintf("blk.%d.nextn.enorm.weight", c.Layers)
		list = append(list, array{[]int{1}, []float32{1}}.entry(t, name))
	}
	m := g.metadata(c)
	list = append(list, ropeFactors(t, c, m)...)
	path := filepath.Join(t.TempDir(), "model.gguf")
	require.NoError(t, gguf.WriteFile(path, m, list...))
	return path
}

// latentSplit reports whether a file has keys and values of latent attention apart, as newer files
// have.
func latentSplit(c *Config) bool { return c.ModelType == "deepseek_v3" }

// latent divides what makes keys and values, of which keys are transposed.
func (a array) latent(c *Config) (k, v array) {
	plain, value, in := c.keys.int("qk_nope_head_dim"), c.keys.int("v_head_dim"), a.shape[1]
	k.shape, v.shape = []int{c.Heads, in, plain}, []int{c.Heads, value, in}
	for h := range c.Heads {
		x := a.x[h*(plain+value)*in:]
		k.x = append(k.x, array{[]int{plain, in}, x[:plain*in]}.transposed().x...)
		v.x = append(v.x, x[plain*in:(plain+value)*in]...)
	}
	return k, v
}

// latentKeys is what a file says of latent attention and the experts beside it.
func latentKeys(c *Config, m *gguf.Metadata) {
	k := &c.keys
	plain, rotary, value := k.int("qk_nope_head_dim"), k.int("qk_rope_head_dim"), k.int("v_head_dim")
	list := map[string]int{
		"attention.kv_lora_rank": k.int("kv_lora_rank"), "attention.head_count_kv": c.Heads,
		"attention.key_length": plain + rotary, "attention.value_length": value,
		"rope.dimension_count": rotary, "expert_shared_count": k.int("n_shared_experts"),
		"leading_dense_block_count": k.int("first_k_dense_replace"),
	}
	if latentSplit(c) {
		list["attention.head_count_kv"] = 1
		list["attention.key_length"], list["attention.key_length_mla"] = k.int("kv_lora_rank")+rotary, plain+rotary
		list["attention.value_length"], list["attention.value_length_mla"] = k.int("kv_lora_rank"), value
		list["expert_gating_func"] = 2
		list["expert_group_count"], list["expert_group_used_count"] = k.int("n_group"), k.int("topk_group")
	}
	if n := k.int("q_lora_rank"); n > 0 {
		list["attention.q_lora_rank"] = n
	}
	for key, n := range list {
		m.Set("deepseek2."+key, gguf.Of(uint32(n)))
	}
	m.Set("deepseek2.expert_weights_norm", gguf.Of(c.NormaliseTopK))
	if c.RopeScaling.MScaleAllDim != 0 {
		m.Set("deepseek2.rope.scaling.yarn_log_multiplier", gguf.Of(float32(0.1*c.RopeScaling.MScaleAllDim)))
	}
}

// stateSpace is a tensor of a state-space model.
func (a array) stateSpace(c *Config, to string) array {
	mamba2 := c.ssm().heads > 0
	switch {
	case strings.Contains(to, "conv1d.weight"):
		a.shape = []int{a.shape[0], a.shape[2]}
	case strings.HasSuffix(to, "ssm_norm.weight"):
		groups := c.ssm().group
		a.shape = []int{groups, a.shape[0] / groups}
	case mamba2 && len(a.shape) == 1 && !strings.HasSuffix(to, "bias"):
		a.shape = []int{a.shape[0], 1}
	}
	if strings.HasSuffix(to, "ssm_a") {
		for i, x := range a.x {
			a.x[i] = float32(-math.Exp(float64(x)))
		}
	}
	return a
}

// stateSpaceKeys is what a file says of the sizes of a state-space model.
func stateSpaceKeys(c *Config, m *gguf.Metadata, arch string) {
	s := c.ssm()
	for key, n := range map[string]int{
		"conv_kernel": s.width, "inner_size": s.inner, "state_size": s.state, "group_count": s.group,
		"time_step_rank": cmp.Or(s.heads, s.rank),
	} {
		m.Set(arch+".ssm."+key, gguf.Of(uint32(n)))
	}
	if c.ModelType == "falcon_mamba" {
		m.Set(arch+".ssm.dt_b_c_rms", gguf.Of(true))
	}
	if c.KVHeads == 0 {
		return
	}
	m.Set(arch+".rope.scaling.finetuned", gguf.Of(c.keys.text("position_embedding_type") == "rope"))
	heads, widths := make([]uint32, c.Layers), make([]uint32, c.Layers)
	for i := range heads {
		widths[i] = uint32(c.Width)
		if c.layerIs(i, "full_attention", i%2 == 1) { // of Jamba's case
			heads[i] = uint32(c.KVHeads)
		}
		if strings.HasPrefix(arch, "nemotron_h") && !c.layerIs(i, "mlp", false) && !c.layerIs(i, "moe", false) {
			widths[i] = 0
		}
	}
	m.Set(arch+".attention.head_count_kv", gguf.ListOf(heads))
	m.Set(arch+".feed_forward_length", gguf.ListOf(widths))
}

// converted is a tensor as it is under a name in a GGUF file.
func (g *golden) converted(c *Config, to string, a array) array {
	qkv := strings.Contains(to, "attn_qkv")
	switch {
	case strings.Contains(to, "attn_q.") && slices.Contains(convertPermuted, g.Arch):
		return a.rows(permuted(c.Heads, a.shape[0]))
	case strings.Contains(to, "attn_k.") && slices.Contains(convertPermuted, g.Arch):
		return a.rows(permuted(c.KVHeads, a.shape[0]))
	case strings.HasSuffix(to, "norm.weight") && slices.Contains(convertPlusOne, g.Arch):
		for i := range a.x {
			a.x[i]++
		}
	case g.Arch == "gpt2" && convertTransposed.MatchString(to):
		return a.transposed()
	case qkv && slices.Contains(convertGroups, g.Arch):
		return a.rows(ungrouped(c))
	case strings.Contains(to, "gate_inp_shexp"):
		a.shape = a.shape[1:]
	case strings.Contains(to, "time_mix_r_k"):
		a.shape = []int{len(a.x)}
	case strings.Contains(to, "conv.weight"):
		a.shape = []int{a.shape[0], a.shape[2]}
	}
	return a
}

// metadata is what a file says of a configuration.
func (g *golden) metadata(c *Config) *gguf.Metadata {
	m := &gguf.Metadata{}
	m.Set(gguf.KeyArchitecture, gguf.Of(g.Arch))
	for key, n := range map[string]int{
		"vocab_size": c.VocabSize, "context_length": c.MaxPositions, "embedding_length": c.HiddenSize,
		"block_count": c.Layers, "feed_forward_length": c.Width, "attention.head_count": c.Heads,
		"attention.head_count_kv": c.KVHeads, "attention.key_length": c.HeadDim,
		"rope.dimension_count": c.RotaryDim, "attention.sliding_window": c.Window,
		"expert_count": c.Experts, "expert_used_count": c.ExpertsUsed,
		"expert_feed_forward_length": c.ExpertWidth, "expert_shared_feed_forward_length": c.SharedWidth,
	} {
		if n > 0 {
			m.Set(g.Arch+"."+key, gguf.Of(uint32(n)))
		}
	}
	if strings.HasPrefix(g.Arch, "lfm2") {
		heads := make([]int32, c.Layers)
		for i, kind := range c.LayerTypes {
			if kind == "full_attention" {
				heads[i] = int32(c.KVHeads)
			}
		}
		m.Set(g.Arch+".attention.head_count_kv", gguf.ListOf(heads))
		m.Set(g.Arch+".shortconv.l_cache", gguf.Of(uint32(c.keys.int("conv_L_cache"))))
		m.Set(g.Arch+".leading_dense_block_count", gguf.Of(uint32(c.keys.int("num_dense_layers"))))
	}
	if c.keys.has("linear_num_key_heads") {
		linearKeys(c, m, g.Arch)
	}
	if g.Arch == "deepseek2" {
		latentKeys(c, m)
	}
	if g.Arch == "rwkv7" {
		for key, name := range map[string]string{
			"wkv.head_size": "head_dim", "attention.decay_lora_rank": "decay_low_rank_dim",
			"attention.iclr_lora_rank": "a_low_rank_dim", "attention.gate_lora_rank": "gate_low_rank_dim",
			"attention.value_residual_mix_lora_rank": "v_low_rank_dim",
		} {
			m.Set("rwkv7."+key, gguf.Of(uint32(c.keys.int(name))))
		}
	}
	for key, name := range map[string]string{
		"expert_group_count": "n_group", "expert_group_used_count": "topk_group", "moe_latent_size": "moe_latent_size",
	} {
		if n := c.keys.int(name); n > 0 && g.Arch != "deepseek2" {
			m.Set(g.Arch+"."+key, gguf.Of(uint32(n)))
		}
	}
	if x := c.keys.float("routed_scaling_factor"); x != 0 {
		m.Set(g.Arch+".expert_weights_scale", gguf.Of(float32(x)))
	}
	logit := c.LogitScale
	if strings.HasPrefix(g.Arch, "co") { // Cohere's models multiply by it
		logit = 1 / logit
	}
	for key, x := range map[string]float64{
		"attention.layer_norm_rms_epsilon": c.NormEps, "attention.layer_norm_epsilon": c.NormEps,
		"rope.freq_base": c.RopeTheta, "attn_logit_softcapping": c.AttentionSoftCap,
		"final_logit_softcapping": c.LogitSoftCap, "embedding_scale": c.EmbeddingScale,
		"residual_scale": c.ResidualScale, "logit_scale": logit, "attention.clamp_kqv": c.ClipQKV,
		"attention.scale": c.AttentionScale, "rope.freq_base_swa": c.LocalTheta,
	} {
		if x != 0 {
			m.Set(g.Arch+"."+key, gguf.Of(float32(x)))
		}
	}
	if c.keys.has("state_size", "mamba_d_state", "ssm_state_size") {
		stateSpaceKeys(c, m, g.Arch)
	}
	if g.Arch == "gptneox" {
		m.Set("gptneox.use_parallel_residual", gguf.Of(c.keys.bool("use_parallel_residual")))
	}
	return m
}

// ropeFactors writes how rotary embeddings are scaled, and returns tensors of factors.
func ropeFactors(t testing.TB, c *Config, m *gguf.Metadata) []*file.Entry {
	s, arch := c.RopeScaling, m
	name, err := gguf.Get[string](arch, gguf.KeyArchitecture)
	require.NoError(t, err)
	factors := func(name string, list []float64) *file.Entry {
		a := array{shape: []int{len(list)}}
		for _, x := range list {
			a.x = append(a.x, float32(x))
		}
		return a.entry(t, name)
	}
	switch s.Type {
	case fn.RopeLinear, fn.RopeYarn:
		m.Set(name+".rope.scaling.type", gguf.Of(s.Type.String()))
		m.Set(name+".rope.scaling.factor", gguf.Of(float32(s.Factor)))
		m.Set(name+".rope.scaling.original_context_length", gguf.Of(uint32(s.OriginalMax)))
	case fn.RopeLlama3:
		scaled, _, err := s.Frequencies(c.RotaryDim, 1, c.RopeTheta)
		require.NoError(t, err)
		for i := range scaled {
			scaled[i] = math.Pow(c.RopeTheta, -2*float64(i)/float64(c.RotaryDim)) / scaled[i]
		}
		return []*file.Entry{factors("rope_freqs.weight", scaled)}
	case fn.RopeLong:
		m.Set(name+".rope.scaling.original_context_length", gguf.Of(uint32(s.OriginalMax)))
		return []*file.Entry{factors("rope_factors_short.weight", s.Short),
			factors("rope_factors_long.weight", s.Long)}
	}
	return nil
}

// What a GGUF file cannot say: windows of some layers, bases that grow, layers without experts,
// bounds of steps.
var notConverted = []string{"qwen2 windows", "llama dynamic", "mistral", "smollm3 windows",
	"mamba2 groups"}

// TestConverted runs the golden models as GGUF files with names of llama.cpp's converter.
func TestConverted(t *testing.T) {
	all, err := readGolden()
	require.NoError(t, err)
	n := 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		g := all[name]
		if g.Names == nil || slices.Contains(notConverted, name) {
			continue
		}
		n++
		t.Run(name, func(t *testing.T) {
			c, err := ParseConfig(g.Config)
			require.NoError(t, err)
			a, err := architectureOf(c)
			require.NoError(t, err)
			a.traits(c)
			m, err := Open(g.convert(t, c), Options{Device: cpu(t)})
			require.NoError(t, err)
			want, got := g.logits(), floats(t, m.StepAll(m.NewSequence(), g.Prompt))
			for i, w := range want {
				if d := math.Abs(float64(w - got[i])); !(d <= 2e-4) {
					t.Fatalf("element %d: %v, want %v", i, got[i], w)
				}
			}
			require.Equal(t, g.Greedy, greedy(t, m, g.Prompt, len(g.Greedy)))
		})
	}
	require.Greater(t, n, 30)
}
