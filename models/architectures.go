package models

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gokiln/kiln/nn"
)

// architecture is a row of the table of what this package has.
type architecture struct {
	names []string // model_type in config.json
	gguf  []string // general.architecture in GGUF files

	// traits says what a model of a configuration has that differs from Llama. It may fill in what
	// the configuration leaves out.
	traits func(c *Config) traits

	// rename has regular expressions and what replaces them: from the names of parameters to those of
	// tensors in safetensors files. A * in the result stands for the number of each expert.
	rename [][2]string
	// renameGGUF has such rules for GGUF files, before the usual ones.
	renameGGUF [][2]string
	// prefix is in front of the names of all but the head, in some files.
	prefix string
	// edit says which part of a tensor a parameter is, and how it is changed, in safetensors files.
	edit func(c *Config, name string, o *origin)
	// editGGUF says such things of GGUF files, behind what is usual there.
	editGGUF func(c *Config, name string, o *origin)

	permuted bool     // GGUF files have queries and keys permuted for pairs of neighbours
	ignore   []string // regular expressions of tensors that are no parameters
	reject   []string // keys that must not be true: this package has not what they ask for
}

// normKind is which norms a model has.
type normKind int

const (
	rmsNorm        normKind = iota
	layerNorm               // with weight and bias
	layerNormPlain          // without weight and bias
	layerNormNoBias
)

// qkNorm is which norms queries and keys have.
type qkNorm int

const (
	noNorm      qkNorm = iota
	normOfHeads        // over each head
	normOfAll          // over all heads together
)

// traits is what a network of the kind of Llama has. The zero value is Llama's without rotary
// embeddings.
type traits struct {
	norm      normKind
	noPreNorm bool // no norms before attention and the feed-forward network
	postNorm  bool // norms of what both add
	oneNorm   bool // no norm of its own before the feed-forward network
	parallel  bool // attention and feed-forward network have the same input
	embedNorm bool

	relative      *relative // scores by how far keys are from queries, or nil
	bidirectional bool      // tokens attend to all of their sequence
	sumNorm       bool      // norms are those of sums, x + attention and x + the feed-forward network
	noFirstNorm   bool      // the first layer has no norm before attention
	noLastNorm    bool      // there is none behind the layers
	segments      int       // kinds of tokens that have embeddings of their own
	embedWidth    int       // features of embeddings, 0 for those between layers
	sharedLayers  bool      // all layers have the weights of the first
	convWidth     int       // tokens of a convolution beside the first layer, 0 for none

	qkvBias, outBias, mlpBias, headBias bool

	qkNorm      qkNorm
	ropes       []rope
	ropeOf      func(layer int) int  // which of them, −1 for none; nil: the first
	windowed    func(layer int) bool // whether a layer has the window of the configuration; nil: none
	interleaved bool                 // neighbours are rotated

	mixer            func(layer int) mixer // in place of attention; nil, or nil of a layer: attention
	latent           *latent               // attention is that of DeepSeek, or nil
	learnedPositions bool
	sinks            bool      // attention has sinks
	gatedAttention   bool      // results of attention have a gate, made with the queries
	slopes           []float64 // of ALiBi, for each head; nil: none

	noMLP      bool // no feed-forward networks
	plainMLP   bool // down(act(up(x)))
	channelMix bool // feed-forward networks are those of RWKV
	downBias   bool // of the last layer of a gated feed-forward network
	moe        func(layer int) bool
	routing    nn.MoEOptions
	sharedGate bool // the expert for all tokens has a factor for each
	moeBias    bool // routers and experts have biases

	crossing *crossing // of models from sequences to sequences, or nil
}

// newNorm returns a norm over n features.
func (t *traits) newNorm(c *Config, n int) norm {
	if t.norm == rmsNorm {
		return nn.NewRMSNorm(cmp.Or(c.NormEps, 1e-6), n)
	}
	l := nn.NewLayerNorm(n)
	l.Eps = cmp.Or(c.NormEps, 1e-5)
	switch t.norm {
	case layerNormPlain:
		l.Weight, l.Bias = nil, nil
	case layerNormNoBias:
		l.Bias = nil
	}
	return l
}

// Architectures lists the names that language models have in config.json (model_type) and in GGUF
// files (general.architecture), those of the latter with "gguf:" in front of them. [Encoders] lists
// encoders.
func Architectures() []string {
	list := make([]*architecture, len(architectures))
	for i := range list {
		list[i] = &architectures[i]
	}
	return namesOf(list)
}

// namesOf lists the names of rows.
func namesOf(list []*architecture) []string {
	var out []string
	for _, a := range list {
		out = append(out, a.names...)
		for _, g := range a.gguf {
			out = append(out, "gguf:"+g)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// has reports whether a row is that of a configuration.
func (a *architecture) has(c *Config) bool {
	if c.gguf {
		return slices.Contains(a.gguf, c.ModelType)
	}
	return slices.Contains(a.names, c.ModelType)
}

// rejected returns an error if a configuration needs a feature that is not supported.
func (a *architecture) rejected(c *Config) error {
	for _, key := range a.reject {
		if c.keys.has(key) && c.keys.bool(key) {
			return fmt.Errorf("models: %w: %s with %s, which is not supported",
				ErrConfig, c.ModelType, key)
		}
	}
	return nil
}

// architectureOf finds the row of a configuration.
func architectureOf(c *Config) (*architecture, error) {
	for i := range architectures {
		if a := &architectures[i]; a.has(c) {
			return a, a.rejected(c)
		}
	}
	if slices.ContainsFunc(encoders, func(r encoderRow) bool { return r.has(c) }) {
		return nil, noText(c)
	}
	return nil, unknown(c, Architectures())
}

// noText is the error of an encoder that is opened as a language model.
func noText(c *Config) error {
	return fmt.Errorf("models: %w: this %s is an encoder, which makes no text: see OpenEncoder",
		ErrConfig, c.ModelType)
}

// unknown is the error of a configuration whose row is not among some names.
func unknown(c *Config, names []string) error {
	where, prefix := "model_type in config.json", ""
	if c.gguf {
		where, prefix = "general.architecture in the GGUF file", "gguf:"
	}
	var have []string
	for _, name := range names {
		rest, ok := strings.CutPrefix(name, prefix)
		if ok && (c.gguf || !strings.Contains(name, ":")) {
			have = append(have, rest)
		}
	}
	return fmt.Errorf("models: %w: %q, the %s, is no architecture that is known; there are %s",
		ErrConfig, c.ModelType, where, strings.Join(have, ", "))
}
