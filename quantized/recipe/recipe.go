package recipe

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gokiln/kiln/quantized/format"
)

// ErrName is a name that no recipe has.
var ErrName = errors.New("unknown recipe")

// Recipe says which type tensors become.
type Recipe struct {
	Name     string
	Type     format.Type // of most tensors
	FileType uint32      // general.file_type of files that were made by it
}

// recipes by name.
var recipes = []Recipe{
	{"F32", format.F32, 0}, {"F16", format.F16, 1}, {"BF16", format.BF16, 32},
	{"Q4_0", format.Q4_0, 2}, {"Q4_1", format.Q4_1, 3}, {"Q5_0", format.Q5_0, 8},
	{"Q5_1", format.Q5_1, 9}, {"Q8_0", format.Q8_0, 7},
	{"Q2_K", format.Q2_K, 10}, {"Q2_K_S", format.Q2_K, 21},
	{"Q3_K_S", format.Q3_K, 11}, {"Q3_K_M", format.Q3_K, 12}, {"Q3_K_L", format.Q3_K, 13},
	{"Q4_K_S", format.Q4_K, 14}, {"Q4_K_M", format.Q4_K, 15},
	{"Q5_K_S", format.Q5_K, 16}, {"Q5_K_M", format.Q5_K, 17}, {"Q6_K", format.Q6_K, 18},
	{"IQ1_S", format.IQ1_S, 24}, {"IQ1_M", format.IQ1_M, 31},
	{"IQ2_XXS", format.IQ2_XXS, 19}, {"IQ2_XS", format.IQ2_XS, 20},
	{"IQ2_S", format.IQ2_XS, 28}, {"IQ2_M", format.IQ2_S, 29},
	{"IQ3_XXS", format.IQ3_XXS, 23}, {"IQ3_XS", format.IQ3_S, 22},
	{"IQ3_S", format.IQ3_S, 26}, {"IQ3_M", format.IQ3_S, 27},
	{"IQ4_NL", format.IQ4_NL, 25}, {"IQ4_XS", format.IQ4_XS, 30},
	{"TQ1_0", format.TQ1_0, 36}, {"TQ2_0", format.TQ2_0, 37},
	{"MXFP4_MOE", format.MXFP4, 38}, {"NVFP4", format.NVFP4, 39},
	{"Q1_0", format.Q1_0, 40}, {"Q2_0", format.Q2_0, 41},
}

// aliases are other names of recipes.
var aliases = map[string]string{"Q3_K": "Q3_K_M", "Q4_K": "Q4_K_M", "Q5_K": "Q5_K_M"}

// Names is the names of all recipes.
func Names() []string {
	var names []string
	for _, r := range recipes {
		names = append(names, r.Name)
	}
	return names
}

// Parse returns the recipe of a name, in any case. Q3_K, Q4_K and Q5_K are those with _M.
func Parse(name string) (Recipe, error) {
	want := strings.ToUpper(name)
	if long, ok := aliases[want]; ok {
		want = long
	}
	for _, r := range recipes {
		if r.Name == want {
			return r, nil
		}
	}
	return Recipe{}, fmt.Errorf("%w: %q; there are %s", ErrName, name, strings.Join(Names(), ", "))
}

// Model is what recipes ask of a model.
type Model struct {
	Architecture string // general.architecture
	Layers       int
	Heads        int  // of attention
	KVHeads      int  // heads of keys and values
	Experts      int  // of feed-forward layers, 0 without
	Imatrix      bool // importance is known
}

// Tensor is a tensor of a model, the last dimension contiguous.
type Tensor struct {
	Name  string
	Shape []int
}

// moved is the type in place of one whose blocks do not divide rows.
var moved = map[format.Type]format.Type{
	format.TQ1_0: format.Q4_0, format.TQ2_0: format.Q4_0, format.Q2_0: format.Q4_0,
	format.IQ1_S: format.IQ4_NL, format.IQ1_M: format.IQ4_NL, format.IQ2_XXS: format.IQ4_NL,
	format.IQ2_XS: format.IQ4_NL, format.IQ2_S: format.IQ4_NL, format.IQ3_XXS: format.IQ4_NL,
	format.IQ3_S: format.IQ4_NL, format.IQ4_XS: format.IQ4_NL,
	format.Q2_K: format.IQ4_NL, format.Q3_K: format.IQ4_NL,
	format.Q4_K: format.Q5_0, format.Q5_K: format.Q5_1, format.Q6_K: format.Q8_0,
}

// Plan returns the type that each tensor becomes, and whether it becomes one: others stay as they
// are. Tensors must be in the order of layers.
func (r Recipe) Plan(m Model, tensors []Tensor) ([]format.Type, []bool) {
	types, changed := make([]format.Type, len(tensors)), make([]bool, len(tensors))
	s := newState(r, m, tensors)
	for i, t := range tensors {
		if !Quantizes(t) {
			continue
		}
		types[i], changed[i] = r.Type, true
		if r.Type.IsQuantized() {
			types[i] = fit(s.typeOf(t), t)
		}
	}
	return types, changed
}

// fit is a type whose blocks divide the rows of a tensor.
func fit(f format.Type, t Tensor) format.Type {
	n := int64(t.Shape[len(t.Shape)-1])
	if _, err := f.RowBytes(n); err == nil {
		return f
	}
	if next, ok := moved[f]; ok {
		if _, err := next.RowBytes(n); err == nil {
			return next
		}
	}
	return format.F16
}

// kept are parts of the names of tensors that stay as they are.
var kept = []string{
	"_norm.weight", "ffn_gate_inp.weight", "ffn_gate_tid2eid.weight", "altup", "laurel",
	"per_layer_model_proj", "indexer.k_proj.weight", "indexer.q_proj.weight",
	"position_embd.", "token_types.", "ssm_conv1d", "shortconv.conv", "attn_rel_b.weight",
	"time_mix_first.weight", "time_mix_w0.weight", "time_mix_w1.weight", "time_mix_w2.weight",
	"time_mix_v0.weight", "time_mix_v1.weight", "time_mix_v2.weight", "time_mix_a0.weight",
	"time_mix_a1.weight", "time_mix_a2.weight", "time_mix_g1.weight", "time_mix_g2.weight",
	"time_mix_decay_w1.weight", "time_mix_decay_w2.weight", "time_mix_lerp_fused.weight",
	".position_embd", "sam.pos_embd", "sam.neck.", "sam.net_", ".rel_pos", ".patch_embd",
	".patch_merger", "a.rvq.codebook", "mm.a.code_embd",
}

// Quantizes reports whether recipes change a tensor: weights of two dimensions or more.
func Quantizes(t Tensor) bool {
	if len(t.Shape) < 2 || !strings.HasSuffix(t.Name, "weight") {
		return false
	}
	for _, part := range kept {
		if strings.Contains(t.Name, part) {
			return false
		}
	}
	return true
}
