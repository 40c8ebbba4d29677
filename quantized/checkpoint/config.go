package checkpoint

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Config is what a model says about its quantized weights, in its config.json or beside it. What is
// 0 is found out from the tensors.
type Config struct {
	Method    Method
	Bits      int // of integers
	GroupSize int // how many inputs have one scale, of integers; -1: all
	// ZeroPointV2 says that GPTQ's zero points are stored as they are (checkpoint_format gptq_v2),
	// and not less one.
	ZeroPointV2 bool
	BlockSize   [2]int // outputs and inputs of a block with one scale, of FP8; 128 times 128 if 0
}

// description is the JSON of a configuration, under all names that fields have.
type description struct {
	Nested *description `json:"quantization_config"`

	Method     Method `json:"quant_method"`
	Bits       int    `json:"bits"`
	WBit       int    `json:"w_bit"`
	GroupSize  int    `json:"group_size"`
	QGroupSize int    `json:"q_group_size"`

	CheckpointFormat string `json:"checkpoint_format"` // of GPTQ
	PackDType        string `json:"pack_dtype"`        // of GPTQ
	Version          string `json:"version"`           // of AWQ
	LoadIn8Bit       bool   `json:"load_in_8bit"`      // of bitsandbytes
	BlockSize        []int  `json:"weight_block_size"` // of FP8
	Fmt              string `json:"fmt"`               // of FP8
	Format           string `json:"format"`            // of compressed-tensors

	Groups map[string]struct {
		Weights struct {
			Bits      int   `json:"num_bits"`
			GroupSize int   `json:"group_size"`
			BlockSize []int `json:"block_structure"`
		} `json:"weights"`
	} `json:"config_groups"` // of compressed-tensors
}

// maxConfig is the largest configuration that is parsed, in bytes.
const maxConfig = 16 << 20

// ParseConfig reads what config.json says under quantization_config, or what quantize_config.json
// of GPTQ or quant_config.json of AWQ say. A variant that is not read, such as a packing for the
// kernels of one library, is an error of kind [ErrUnsupported]; a configuration without
// quantization is one of kind [ErrFormat].
func ParseConfig(text []byte) (Config, error) {
	if len(text) > maxConfig {
		return Config{}, fmt.Errorf("checkpoint: %w: a configuration of %d bytes, want %d at most",
			ErrFormat, len(text), maxConfig)
	}
	var d description
	if err := json.Unmarshal(text, &d); err != nil {
		return Config{}, fmt.Errorf("checkpoint: %w: configuration: %w", ErrFormat, err)
	}
	if d.Nested != nil {
		d = *d.Nested
	}
	c, err := d.config()
	if err != nil {
		return Config{}, fmt.Errorf("checkpoint: configuration: %w", err)
	}
	return c, nil
}

func (d *description) config() (Config, error) {
	c := Config{
		Method: d.method(), Bits: max(d.Bits, d.WBit), GroupSize: d.GroupSize + d.QGroupSize,
	}
	refused := func(what, value string, want ...string) error {
		return unsupported("%s of %s is %q, want %q", what, c.Method, value, want)
	}
	among := func(value string, want ...string) bool {
		return slices.Contains(want, strings.ToLower(value))
	}
	block := d.BlockSize
	switch c.Method {
	case GPTQ:
		c.ZeroPointV2 = d.CheckpointFormat == "gptq_v2"
		if !among(d.CheckpointFormat, "", "gptq", "gptq_v2") {
			return c, refused("checkpoint_format", d.CheckpointFormat, "gptq", "gptq_v2")
		}
		if !among(d.PackDType, "", "int32") {
			return c, refused("pack_dtype", d.PackDType, "int32")
		}
	case AWQ:
		if !among(d.Version, "", "gemm") {
			return c, refused("version", d.Version, "gemm")
		}
	case BitsAndBytes:
		if d.LoadIn8Bit {
			return c, refused("load_in_8bit", "true", "false")
		}
	case FP8:
		if !among(d.Fmt, "", "e4m3") {
			return c, refused("fmt", d.Fmt, "e4m3")
		}
	case CompressedTensors:
		if !among(d.Format, "", "float-quantized", "naive-quantized", "pack-quantized", "dense") {
			return c, refused("format", d.Format, "float-quantized", "pack-quantized")
		}
		for _, g := range d.Groups { // of several, tensors tell which one a weight is of
			if len(d.Groups) == 1 {
				c.Bits, c.GroupSize = g.Weights.Bits, max(g.Weights.GroupSize, 0)
				block = g.Weights.BlockSize
			}
		}
	case MXFP4:
	case "":
		return c, malformed("it has no quant_method and no bits")
	default:
		return c, unsupported("method %q, want %q", c.Method,
			[]Method{GPTQ, AWQ, BitsAndBytes, FP8, CompressedTensors, MXFP4})
	}
	switch len(block) {
	case 0:
	case 2:
		c.BlockSize = [2]int(block)
	default:
		return c, malformed("a block of %v: it has two dimensions", block)
	}
	return c, nil
}

// method is that of the description, or the one whose files beside config.json have such fields.
func (d *description) method() Method {
	switch {
	case d.Method != "":
		return Method(strings.ToLower(string(d.Method)))
	case d.WBit != 0 || d.QGroupSize != 0:
		return AWQ
	case d.Bits != 0:
		return GPTQ
	}
	return ""
}
