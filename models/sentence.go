package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/fn"
	"github.com/gokiln/kiln/tensor"
)

// Pooling is how one vector is made of the hidden states of a text.
type Pooling int

const (
	PoolMean     Pooling = iota // the mean of all tokens
	PoolCLS                     // the first token
	PoolLast                    // the last token
	PoolMax                     // the maximum of each feature
	PoolSqrt                    // the sum of all tokens, divided by the root of their number
	PoolWeighted                // the mean, token i of 1, 2, … i times
)

// poolings are their names, and what the configurations of sentence-transformers call them.
var poolings = []struct{ name, key string }{
	{"mean", "pooling_mode_mean_tokens"}, {"cls", "pooling_mode_cls_token"},
	{"last", "pooling_mode_lasttoken"}, {"max", "pooling_mode_max_tokens"},
	{"sqrt", "pooling_mode_mean_sqrt_len_tokens"}, {"weighted", "pooling_mode_weightedmean_tokens"},
}

// String is the name: mean, cls, last, max, sqrt or weighted.
func (p Pooling) String() string {
	if p < 0 || int(p) >= len(poolings) {
		return fmt.Sprintf("Pooling(%d)", int(p))
	}
	return poolings[p].name
}

// ParsePooling is the inverse of [Pooling.String].
func ParsePooling(name string) (Pooling, error) {
	var names []string
	for i, p := range poolings {
		if names = append(names, p.name); p.name == name {
			return Pooling(i), nil
		}
	}
	return 0, fmt.Errorf("models: %w: pooling %q, want one of %s",
		tensor.ErrArgument, name, strings.Join(names, ", "))
}

// Pool returns one vector in float32 for each text, (texts, features). Each is computed by itself:
// the other texts of a batch make no difference.
func (s *States) Pool(p Pooling) *tensor.Tensor {
	if s.Hidden.Err() != nil {
		return s.Hidden
	}
	out := make([]*tensor.Tensor, len(s.Starts)-1)
	for i := range out {
		h := s.Of(i).Cast(tensor.F32)
		n := h.Size(0)
		switch p {
		case PoolMean:
			h = h.Mean(0)
		case PoolCLS:
			h = h.Get(0)
		case PoolLast:
			h = h.Get(n - 1)
		case PoolMax:
			h = h.Max(0)
		case PoolSqrt:
			h = h.Sum(0).DivScalar(math.Sqrt(float64(n)))
		case PoolWeighted:
			at := tensor.ArangeStep(h.Device(), float32(1), float32(n+1), 1).Unsqueeze(1)
			h = h.Mul(at).Sum(0).DivScalar(float64(n) * float64(n+1) / 2)
		default:
			return tensor.Fail("models: pool", fmt.Errorf("%w: %v", tensor.ErrArgument, p))
		}
		out[i] = h
	}
	return tensor.Stack(0, out...)
}

// normalized has rows divided by their Euclidean norms.
func normalized(x *tensor.Tensor) *tensor.Tensor {
	if x.Err() != nil {
		return x
	}
	return x.Div(x.Norm(1).Unsqueeze(1).MaximumScalar(1e-12))
}

// Dense is a layer behind pooled vectors: act(x·Wᵀ + b).
type Dense struct {
	*nn.Linear `nn:",inline"`
	Act        fn.Activation `nn:"-"`
}

// Forward returns (texts, features) of (texts, features).
func (d *Dense) Forward(x *tensor.Tensor) *tensor.Tensor { return d.Act.Apply(d.Linear.Forward(x)) }

// sentence is what the files of sentence-transformers say about a model.
type sentence struct {
	folder  string // "" if there are none
	weights string // the path of the network
	modules []module
}

// module is an element of modules.json.
type module struct {
	Path, Type string
}

// kind is the type without the packages it is in.
func (m module) kind() string { return m.Type[strings.LastIndex(m.Type, ".")+1:] }

// readJSON reads a file if there is one.
func readJSON(path string, to any) (bool, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(b, to); err != nil {
		return false, fmt.Errorf("%w: %s: %w", ErrConfig, filepath.Base(path), err)
	}
	return true, nil
}

// findSentence finds the files of a folder.
func findSentence(path string) (*sentence, error) {
	s := &sentence{weights: path}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return s, err
	}
	s.folder = path
	if _, err := readJSON(filepath.Join(path, "modules.json"), &s.modules); err != nil {
		return nil, err
	}
	if len(s.modules) > 0 {
		if kind := s.modules[0].kind(); kind != "Transformer" {
			return nil, fmt.Errorf("%w: modules.json: the first module is %s, want Transformer",
				ErrConfig, kind)
		}
		s.weights = filepath.Join(path, s.modules[0].Path)
	}
	return s, nil
}

// finish gives an encoder what is behind the network.
func (s *sentence) finish(e *Encoder, p *published) error {
	if p.meta != nil {
		return e.ggufPooling()
	}
	if s.folder == "" {
		return nil
	}
	var about struct {
		MaxTokens int  `json:"max_seq_length"`
		Lower     bool `json:"do_lower_case"`
	}
	if _, err := readJSON(filepath.Join(s.weights, "sentence_bert_config.json"), &about); err != nil {
		return err
	}
	if n := about.MaxTokens; n > 0 && (e.MaxTokens == 0 || n < e.MaxTokens) {
		e.MaxTokens = n
	}
	e.lower = about.Lower
	var prompts struct {
		Prompts map[string]string `json:"prompts"`
		Default string            `json:"default_prompt_name"`
	}
	file := filepath.Join(s.folder, "config_sentence_transformers.json")
	if _, err := readJSON(file, &prompts); err != nil {
		return err
	}
	e.Prompts, e.Prompt = prompts.Prompts, prompts.Prompts[prompts.Default]
	for _, m := range s.modules[min(1, len(s.modules)):] {
		if err := s.add(e, m); err != nil {
			return fmt.Errorf("modules.json: %s: %w", m.Type, err)
		}
	}
	return nil
}

// ggufPooling reads the pooling of a GGUF file.
func (e *Encoder) ggufPooling() error {
	if !e.Config.keys.has("pooling_type") {
		return nil
	}
	switch n := e.Config.keys.int("pooling_type"); n {
	case 0: // none: each token by itself
	case 1:
		e.Pooling = PoolMean
	case 2:
		e.Pooling = PoolCLS
	case 3:
		e.Pooling = PoolLast
	default:
		return fmt.Errorf("%w: pooling_type is %d: not supported", ErrConfig, n)
	}
	return nil
}

// add gives an encoder a module behind the network.
func (s *sentence) add(e *Encoder, m module) error {
	folder := filepath.Join(s.folder, m.Path)
	switch m.kind() {
	case "Pooling":
		return s.pooling(e, filepath.Join(folder, "config.json"))
	case "Normalize":
		e.Normalize = true
		return nil
	case "Dense":
		return s.dense(e, folder)
	case "Dropout":
		return nil
	}
	return fmt.Errorf("%w: not supported", ErrConfig)
}

// pooling reads the configuration of a Pooling module.
func (s *sentence) pooling(e *Encoder, path string) error {
	k := keys{}
	ok, err := readJSON(path, &k.of)
	if err != nil || !ok {
		return err
	}
	var given []Pooling
	for i, p := range poolings {
		if k.bool(p.key) {
			given = append(given, Pooling(i))
		}
	}
	if name := k.text("pooling_mode"); name != "" { // of newer files
		for i, p := range poolings {
			long := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(p.key, "pooling_mode_"),
				"_tokens"), "_token")
			if name == p.name || name == long {
				given = []Pooling{Pooling(i)}
			}
		}
	}
	switch {
	case k.err != nil:
		return fmt.Errorf("%w: %w", ErrConfig, k.err)
	case len(given) != 1:
		return fmt.Errorf("%w: %d kinds of pooling that are known, want one", ErrConfig, len(given))
	case !value(&k, true, "include_prompt"):
		return fmt.Errorf("%w: include_prompt is false: not supported", ErrConfig)
	}
	e.Pooling = given[0]
	return nil
}

// dense reads a Dense module.
func (s *sentence) dense(e *Encoder, folder string) error {
	var c struct {
		In   int    `json:"in_features"`
		Out  int    `json:"out_features"`
		Bias bool   `json:"bias"`
		Act  string `json:"activation_function"`
	}
	if ok, err := readJSON(filepath.Join(folder, "config.json"), &c); err != nil {
		return err
	} else if !ok {
		return fmt.Errorf("%w: no config.json in %s", ErrConfig, folder)
	}
	if c.In < 1 || c.Out < 1 || c.In > limit || c.Out > limit {
		return fmt.Errorf("%w: %d features of %d", ErrConfig, c.Out, c.In)
	}
	d := &Dense{Linear: linear(c.In, c.Out, c.Bias)}
	var err error
	if d.Act, err = fn.ParseActivation(c.Act[strings.LastIndex(c.Act, ".")+1:]); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	set, err := openWeights(folder, true)
	if err != nil {
		return err
	}
	defer set.Close()
	// Vectors are in float32 whatever the network is.
	_, err = nn.Load(d.Linear, nn.File(set), nn.LoadOptions{
		On:     nn.On{Device: e.Device, DType: tensor.F32},
		Rename: func(name string) string { return "linear." + name },
	})
	if err != nil {
		return err
	}
	e.Net.Dense = append(e.Net.Dense, d)
	return nn.SetFrozen(d.Linear, true)
}
