package recipe

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gokiln/kiln/quantized/format"
)

// part is what a tensor is for.
type part int

const (
	other part = iota
	output
	embedding
	attnQ
	attnK
	attnV
	attnQKV
	attnOut
	ffnDown
	ffnGate
	ffnUp
)

// parts are found by the first of these that a name contains.
var parts = []struct {
	text string
	part part
}{
	{"attn_qkv.weight", attnQKV}, {"attn_v.weight", attnV}, {"attn_k.weight", attnK},
	{"attn_q.weight", attnQ}, {"attn_output.weight", attnOut},
	{"ffn_down", ffnDown}, {"ffn_gate", ffnGate}, {"ffn_up", ffnUp},
}

// state is where in a model a plan is.
type state struct {
	recipe Recipe
	model  Model
	tied   bool // the embedding is the output layer too
	values int  // attention layers, by their tensors of values

	seenV, seenDown, seenGate, seenUp int

	// Of the tensor that is asked for:
	layer, layers int
}

func newState(r Recipe, m Model, tensors []Tensor) *state {
	s := &state{recipe: r, model: m, tied: true}
	for _, t := range tensors {
		switch {
		case t.Name == "output.weight":
			s.tied = false
		case strings.Contains(t.Name, "attn_v.weight"), strings.Contains(t.Name, "attn_qkv.weight"),
			strings.Contains(t.Name, "attn_kv_b.weight"):
			s.values++
		}
	}
	return s
}

// partOf is what a tensor is for.
func (s *state) partOf(name string) part {
	switch {
	case name == "output.weight", name == "token_embd.weight" && s.tied:
		return output
	case name == "token_embd.weight", name == "per_layer_token_embd.weight":
		return embedding
	}
	for _, p := range parts {
		if strings.Contains(name, p.text) {
			return p.part
		}
	}
	return other
}

// typeOf is the type of the next tensor.
func (s *state) typeOf(t Tensor) format.Type {
	p := s.partOf(t.Name)
	if s.recipe.Type == format.MXFP4 {
		return s.ofExperts(p, t)
	}
	s.locate(p, t.Name)
	f := s.recipe.Type
	if p == output && (s.falcon() || t.Shape[len(t.Shape)-1]%256 != 0) {
		return format.Q8_0
	}
	for _, r := range rules {
		if r.part == p && r.applies(s) {
			f = r.to
			break
		}
	}
	if low := s.is(lowest); p == attnV && !low || p == attnK && low {
		f = s.shared(p, f)
	}
	return f
}

// ofExperts is the type by the recipe that is for the weights of experts, which have three
// dimensions, and leaves all others 8 bits. Of Bailing MoE 3 projections of attention have three
// dimensions too.
func (s *state) ofExperts(p part, t Tensor) format.Type {
	n := len(t.Shape)
	forward := p == ffnDown || p == ffnGate || p == ffnUp
	if n > 2 && t.Shape[n-3] > 1 && p != output &&
		(forward || s.model.Architecture != "bailingmoe3") {
		return s.recipe.Type
	}
	return format.Q8_0
}

// shared are rules of attention that hold for all recipes: values that many heads share are small.
func (s *state) shared(p part, f format.Type) format.Type {
	large := s.model.Layers == 80 && slices.Contains([]string{"llama", "qwen2"}, s.model.Architecture)
	switch {
	case s.model.Experts == 8 && p == attnK:
		return format.Q4_K
	case s.model.Experts == 8:
		return format.Q8_0
	case p == attnV && large && (f == format.Q3_K || f == format.Q4_K):
		return format.Q5_K
	}
	return f
}

// locate counts the tensors of a kind. With experts the layer is that of the name.
func (s *state) locate(p part, name string) {
	s.layer, s.layers = 0, s.model.Layers
	count := map[part]*int{attnV: &s.seenV, ffnDown: &s.seenDown, ffnGate: &s.seenGate,
		ffnUp: &s.seenUp}[p]
	if count == nil {
		return
	}
	s.layer = *count
	*count++
	if p == attnV {
		s.layers = s.values
	} else if s.model.Experts > 1 && !s.is(lowest) {
		s.layer = LayerOf(name)
	}
}

// LayerOf is the number of the layer in a name such as blk.12.attn_q.weight, -1 if it has none.
func LayerOf(name string) int {
	rest, ok := strings.CutPrefix(name, "blk.")
	if !ok {
		return -1
	}
	digits, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(digits)
	if err != nil {
		return -1
	}
	return n
}

// is reports whether the recipe is in a list.
func (s *state) is(names string) bool {
	return slices.Contains(strings.Fields(names), s.recipe.Name)
}

func (s *state) falcon() bool { return s.model.Architecture == "falcon" }

// Conditions of rules.
type condition func(*state) bool

func first(n int) condition     { return func(s *state) bool { return s.layer < n } }
func firstOf(n int) condition   { return func(s *state) bool { return s.layer < s.layers/n } }
func not(c condition) condition { return func(s *state) bool { return !c(s) } }
func falcon(s *state) bool      { return s.falcon() }
func imatrix(s *state) bool     { return s.model.Imatrix }
func experts8(s *state) bool    { return s.model.Experts == 8 }

func all(list ...condition) condition {
	return func(s *state) bool {
		return !slices.ContainsFunc(list, func(c condition) bool { return !c(s) })
	}
}

// grouped: four or more heads share keys and values.
func grouped(s *state) bool { return s.model.KVHeads > 0 && s.model.Heads/s.model.KVHeads >= 4 }

// sparse: values are a small part of the model.
func sparse(s *state) bool { return grouped(s) || s.model.Experts >= 4 }

// moreBits: the first and the last eighth of the layers, and every third between.
func moreBits(s *state) bool {
	n := s.layers
	return s.layer < n/8 || s.layer >= 7*n/8 || (s.layer-n/8)%3 == 2
}

// middle: all but the first and the last eighth of the layers.
func middle(s *state) bool { return s.layer >= s.layers/8 && s.layer < 7*s.layers/8 }

// lowest are the recipes of about two bits and fewer, whose layers have rules of their own.
const lowest = "IQ1_S IQ1_M IQ2_XXS IQ2_XS IQ2_S IQ2_M"

// rule says that tensors become a type.
type rule struct {
	part    part
	recipes string // "" for all that are not in lowest
	when    condition
	to      format.Type
}

func (r *rule) applies(s *state) bool {
	return (r.recipes == "" && !s.is(lowest) || s.is(r.recipes)) && (r.when == nil || r.when(s))
}
