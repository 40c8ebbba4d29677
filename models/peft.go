package models

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/gokiln/kiln/quantized/gguf"
	"github.com/gokiln/kiln/tensor/file"
)

// peftConfig is what counts of adapter_config.json.
type peftConfig struct {
	Type         string          `json:"peft_type"`
	Alpha        *float64        `json:"lora_alpha"`
	RankRoot     bool            `json:"use_rslora"`
	Transposed   bool            `json:"fan_in_fan_out"`
	AlphaPattern patterns        `json:"alpha_pattern"`
	Init         json.RawMessage `json:"init_lora_weights"`
}

// peftOthers are keys of unsupported features: each must be absent or empty.
var peftOthers = []string{"alora_invocation_tokens", "arrow_config", "kasa_config",
	"layer_replication", "lora_bias", "monteclora_config", "target_parameters",
	"trainable_token_indices", "use_bdlora", "use_qalora"}

// peftInits are first values of adapters that leave the model's weights as they were. With others,
// such as pissa, the model's are changed when a training begins.
var peftInits = []string{"", "null", "true", "false", `"gaussian"`, `"eva"`, `"orthogonal"`}

// patterns are numbers by regular expressions for the ends of names, of which the first counts.
type patterns []pattern

type pattern struct {
	name *regexp.Regexp
	x    float64
}

// UnmarshalJSON reads an object, whose order counts.
func (p *patterns) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return err // null is none
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		var x float64
		if err := d.Decode(&x); err != nil {
			return err
		}
		name, err := regexp.Compile(`^(?:.*\.)?(?:` + key.(string) + `)$`)
		if err != nil {
			return err
		}
		*p = append(*p, pattern{name, x})
	}
	return nil
}

// of returns the number for a name, or another one.
func (p patterns) of(name string, otherwise float64) float64 {
	for _, e := range p {
		if e.name.MatchString(name) {
			return e.x
		}
	}
	return otherwise
}

// parsePEFT reads an adapter_config.json.
func parsePEFT(text []byte) (*peftConfig, error) {
	var c peftConfig
	var all map[string]json.RawMessage
	if err := cmp.Or(json.Unmarshal(text, &c), json.Unmarshal(text, &all)); err != nil {
		return nil, fmt.Errorf("adapter_config.json: %w", err)
	}
	if c.Type != "LORA" {
		return nil, fmt.Errorf("peft_type is %q, want LORA", c.Type)
	}
	for _, key := range peftOthers {
		if !slices.Contains([]string{"", "null", "false", "[]", "{}"}, string(all[key])) {
			return nil, fmt.Errorf("%s of adapter_config.json is not supported", key)
		}
	}
	if init := string(c.Init); !slices.Contains(peftInits, init) {
		return nil, fmt.Errorf("init_lora_weights is %s, which changes the model's weights, too: save it"+
			" with path_initial_model_for_weight_conversion", init)
	}
	return &c, nil
}

// scale is what B·A is multiplied with, for a module and a rank.
func (c *peftConfig) scale(module string, rank int) float64 {
	alpha := 8. // as PEFT has it
	if c.Alpha != nil {
		alpha = *c.Alpha
	}
	r := float64(rank)
	if c.RankRoot {
		r = math.Sqrt(r)
	}
	return c.AlphaPattern.of(module, alpha) / r
}

// openPEFT opens a folder that PEFT has written.
func openPEFT(from Adapter) (*adapter, error) {
	text, err := os.ReadFile(filepath.Join(from.Path, "adapter_config.json"))
	if err != nil {
		return nil, err
	}
	c, err := parsePEFT(text)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(from.Path, "adapter_model.safetensors")
	if !exists(path) {
		path = filepath.Join(from.Path, "adapter_model.bin")
	}
	set, err := openFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: no adapter_model.safetensors", err)
	}
	if err != nil {
		return nil, err
	}
	ad := &adapter{set: set, transposed: c.Transposed}
	ad.scale = func(module string, rank int) float64 {
		return cmp.Or(from.Scale, 1) * c.scale(module, rank)
	}
	if err := ad.sort(peftName); err != nil {
		return nil, errors.Join(err, set.Close())
	}
	return ad, nil
}

// Names of the tensors of adapters: that of the module, and which of its tensors it is.
var (
	peftName = regexp.MustCompile(`^(.*)\.lora_(A|B|magnitude_vector)(?:\.weight)?$`)
	ggufName = regexp.MustCompile(`^(.*)\.weight\.lora_([ab])$`)
)

// sort finds out which tensors belong together.
func (ad *adapter) sort(name *regexp.Regexp) error {
	ad.parts, ad.whole = map[string]*lowRank{}, file.NewSet()
	for e := range ad.set.All() {
		is := strings.TrimPrefix(e.Name, "base_model.model.")
		m := name.FindStringSubmatch(is)
		if m == nil {
			if strings.Contains(is, "lora_") || ad.gguf {
				return fmt.Errorf("%s: only adapters of linear layers are supported", e.Name)
			}
			other := *e
			other.Name = strings.Replace(is, ".base_layer.", ".", 1)
			if err := ad.whole.Add(&other); err != nil {
				return err
			}
			continue
		}
		weight := m[1] + ".weight"
		if ad.parts[weight] == nil {
			ad.parts[weight] = &lowRank{}
		}
		switch part := ad.parts[weight]; m[2] {
		case "A", "a":
			part.a = e
		case "B", "b":
			part.b = e
		default:
			part.magnitude = e
		}
	}
	return nil
}

// openGGUFAdapter opens a file of llama.cpp's converter.
func openGGUFAdapter(from Adapter) (*adapter, error) {
	f, err := gguf.Open(from.Path)
	if err != nil {
		return nil, err
	}
	ad := &adapter{set: f.Set, gguf: true}
	if kind, _ := gguf.Get[string](f.Meta, "adapter.type"); kind != "lora" {
		err = fmt.Errorf("adapter.type is %q, want lora", kind)
	}
	alpha, missing := gguf.Get[float32](f.Meta, "adapter.lora.alpha")
	ad.scale = func(_ string, rank int) float64 {
		if missing != nil || alpha == 0 {
			return cmp.Or(from.Scale, 1)
		}
		return cmp.Or(from.Scale, 1) * float64(alpha) / float64(rank)
	}
	if err = cmp.Or(err, ad.sort(ggufName)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return ad, nil
}
