package checkpoint_test

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/quantized/checkpoint"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
)

// part is a tensor of a layer to be loaded.
type part struct {
	name  string
	dt    tensor.DType
	shape []int
	data  []byte // zeros if nil
}

func setOf(t testing.TB, parts ...part) *file.Set {
	t.Helper()
	set := file.NewSet()
	for _, p := range parts {
		if p.data == nil {
			p.data = make([]byte, p.dt.Bytes(tensor.Shape(p.shape).Count()))
		}
		e, err := file.FromMemory("l."+p.name, p.dt, p.shape, p.data)
		require.NoError(t, err)
		require.NoError(t, set.Add(e))
	}
	return set
}

// indices are g_idx as bytes.
func indices(of ...int32) (b []byte) {
	for _, i := range of {
		b = binary.LittleEndian.AppendUint32(b, uint32(i))
	}
	return b
}

// groupsOf are k indices of groups of so many.
func groupsOf(k, size int) (list []int32) {
	for i := range k {
		list = append(list, int32(i/size))
	}
	return list
}

// with returns parts with some in place of those of the same name, and without those that have no
// element type.
func with(parts []part, others ...part) []part {
	parts = slices.Clone(parts)
	for _, o := range others {
		parts = slices.DeleteFunc(parts, func(p part) bool { return p.name == o.name })
		if o.dt.Valid() {
			parts = append(parts, o)
		}
	}
	return parts
}

const state = `{"quant_type": "nf4", "blocksize": 64, "dtype": "float32", "shape": [4, 32]}`

const nested = `{"quant_type": "nf4", "blocksize": 64, "shape": [4, 32], "nested_blocksize": 256, "nested_offset": 1.5}`

func stateOf(text string) part {
	return part{"weight.quant_state.bitsandbytes__nf4", tensor.U8, []int{len(text)}, []byte(text)}
}

var (
	gptqParts = []part{
		{"qweight", tensor.I32, []int{8, 16}, nil},
		{"qzeros", tensor.I32, []int{2, 2}, nil},
		{"scales", tensor.F16, []int{2, 16}, nil},
		{"g_idx", tensor.I32, []int{64}, indices(groupsOf(64, 32)...)},
	}
	awqParts = []part{
		{"qweight", tensor.I32, []int{64, 2}, nil},
		{"qzeros", tensor.I32, []int{2, 2}, nil},
		{"scales", tensor.F16, []int{2, 16}, nil},
	}
	nf4Parts = []part{
		{"weight", tensor.U8, []int{64, 1}, nil},
		{"weight.absmax", tensor.F32, []int{2}, nil},
		{"weight.quant_map", tensor.F32, []int{16}, nil},
		stateOf(state),
	}
	nestedParts = with(nf4Parts, stateOf(nested),
		part{"weight.absmax", tensor.U8, []int{2}, nil},
		part{"weight.nested_absmax", tensor.F32, []int{1}, nil},
		part{"weight.nested_quant_map", tensor.F32, []int{256}, nil})
	fp8Parts = []part{
		{"weight", tensor.F8E4M3, []int{130, 136}, nil},
		{"weight_scale_inv", tensor.F32, []int{2, 2}, nil},
	}
)

var packedParts = []part{
	{"weight_packed", tensor.I32, []int{16, 8}, nil},
	{"weight_scale", tensor.BF16, []int{16, 2}, nil},
	{"weight_shape", tensor.I64, []int{2}, shapeBytes(16, 64)},
}

// shapeBytes are a shape as a tensor of I64.
func shapeBytes(of ...int64) (b []byte) {
	for _, n := range of {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	return b
}

func none(name string) part { return part{name: name} }

// Tensors that do not fit are refused by name, whatever a file says.
func TestBroken(t *testing.T) {
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	type config = checkpoint.Config
	format, unsupported := checkpoint.ErrFormat, checkpoint.ErrUnsupported
	for name, c := range map[string]struct {
		parts []part
		c     config
		kind  error // nil: it is fine
		text  string
	}{
		"gptq":             {parts: gptqParts},
		"gptq, configured": {parts: gptqParts, c: config{Method: checkpoint.GPTQ, Bits: 4, GroupSize: 32}},
		"awq":              {parts: awqParts, c: config{Method: checkpoint.AWQ, Bits: 4, GroupSize: 32}},
		"nf4":              {parts: nf4Parts, c: config{Method: checkpoint.BitsAndBytes}},
		"nested":           {parts: nestedParts},
		"fp8":              {parts: fp8Parts, c: config{Method: checkpoint.FP8}},

		"no weight":      {nil, config{}, file.ErrNotFound, "l.weight"},
		"plain weight":   {[]part{{"weight", tensor.F16, []int{8, 8}, nil}}, config{}, file.ErrNotFound, "f16"},
		"8-bit integers": {[]part{{"SCB", tensor.F32, []int{8}, nil}}, config{}, unsupported, "SCB"},
		"another method": {gptqParts, config{Method: checkpoint.FP8}, format, "tensors are those of gptq"},

		"bits of config":    {gptqParts, config{Bits: 8}, format, "8 words for 64 inputs of 8 bits"},
		"5 bits":            {gptqParts, config{Bits: 5}, unsupported, "5 bits"},
		"huge bits":         {gptqParts, config{Bits: 1 << 40}, unsupported, "bits"},
		"negative bits":     {with(gptqParts, none("g_idx")), config{Bits: -4}, unsupported, "bits"},
		"no bits":           {with(gptqParts, none("g_idx")), config{}, format, "Config.Bits"},
		"groups of config":  {gptqParts, config{GroupSize: 16}, format, "2 groups for 64 inputs in groups of 16"},
		"negative groups":   {gptqParts, config{GroupSize: -32}, format, "groups of -32"},
		"no scales":         {with(gptqParts, none("scales")), config{}, format, "l.scales"},
		"type of scales":    {with(gptqParts, part{"scales", tensor.F64, []int{2, 16}, nil}), config{}, format, "scales is of f64"},
		"shape of scales":   {with(gptqParts, part{"scales", tensor.F16, []int{2, 8}, nil}), config{}, format, "scales has shape [2, 8]"},
		"rank of scales":    {with(gptqParts, part{"scales", tensor.F16, []int{32}, nil}), config{}, format, "2 dimensions"},
		"empty scales":      {with(gptqParts, part{"scales", tensor.F16, []int{0, 16}, nil}), config{}, format, "scales has shape [0, 16]"},
		"no zero points":    {with(gptqParts, none("qzeros")), config{}, format, "l.qzeros"},
		"zero points":       {with(gptqParts, part{"qzeros", tensor.I32, []int{2, 3}, nil}), config{}, format, "qzeros has shape [2, 3], want [2 2]"},
		"type of codes":     {with(gptqParts, part{"qweight", tensor.F32, []int{8, 16}, nil}), config{}, format, "qweight is of f32"},
		"no codes":          {with(gptqParts, part{"qweight", tensor.I32, []int{8, 0}, nil}), config{}, format, "qweight has shape [8, 0]"},
		"outputs":           {with(gptqParts, part{"qweight", tensor.I32, []int{8, 12}, nil}), config{}, format, "zero points of 12 outputs"},
		"index below":       {with(gptqParts, part{"g_idx", tensor.I32, []int{64}, indices(append(groupsOf(63, 32), -1)...)}), config{}, format, "input 63 is group -1 of 2"},
		"index above":       {with(gptqParts, part{"g_idx", tensor.I32, []int{64}, indices(append(groupsOf(63, 32), math.MaxInt32)...)}), config{}, format, "input 63"},
		"uneven groups":     {with(gptqParts, part{"g_idx", tensor.I32, []int{64}, indices(append(groupsOf(63, 32), 0)...)}), config{GroupSize: 32}, unsupported, "33 inputs in group 0, want 32"},
		"short index":       {with(gptqParts, part{"g_idx", tensor.I32, []int{60}, nil}), config{Bits: 4}, format, "60 inputs"},
		"group of few":      {with(gptqParts, part{"g_idx", tensor.I32, []int{64}, indices(groupsOf(64, 4)...)}, part{"scales", tensor.F16, []int{16, 16}, nil}, part{"qzeros", tensor.I32, []int{16, 2}, nil}), config{}, unsupported, "multiples of 8"},
		"awq, 3 bits":       {awqParts, config{Method: checkpoint.AWQ, Bits: 3}, unsupported, "AWQ of 3 bits"},
		"awq, groups":       {with(awqParts, part{"scales", tensor.F16, []int{3, 16}, nil}), config{Method: checkpoint.AWQ}, format, "3 groups for 64 inputs"},
		"awq, inputs":       {with(awqParts, part{"qweight", tensor.I32, []int{60, 2}, nil}), config{Method: checkpoint.AWQ}, unsupported, "60 inputs"},
		"awq, other codes":  {gptqParts, config{Method: checkpoint.AWQ}, unsupported, ""},
		"awq, more outputs": {with(awqParts, part{"scales", tensor.F16, []int{2, 24}, nil}), config{Method: checkpoint.AWQ}, format, "scales has shape [2, 24]"},

		"packed":              {parts: packedParts},
		"packed, configured":  {parts: packedParts, c: config{Method: checkpoint.CompressedTensors, Bits: 4, GroupSize: 32}},
		"packed, no scale":    {with(packedParts, none("weight_scale")), config{}, format, "l.weight_scale"},
		"packed, scale":       {with(packedParts, part{"weight_scale", tensor.BF16, []int{8, 2}, nil}), config{}, format, "weight_scale has shape [8, 2], want [16 2]"},
		"packed, no shape":    {with(packedParts, none("weight_shape")), config{}, format, "l.weight_shape"},
		"packed, rows":        {with(packedParts, part{"weight_shape", tensor.I64, []int{2}, shapeBytes(15, 64)}), config{}, format, "weight_shape [15 64]"},
		"packed, columns":     {with(packedParts, part{"weight_shape", tensor.I64, []int{2}, shapeBytes(16, 60)}), config{}, format, "weight_shape [16 60]"},
		"packed, no columns":  {with(packedParts, part{"weight_shape", tensor.I64, []int{2}, shapeBytes(16, 0)}), config{}, unsupported, "0 bits"},
		"packed, huge":        {with(packedParts, part{"weight_shape", tensor.I64, []int{2}, shapeBytes(16, math.MaxInt64)}), config{Bits: 4}, format, "weight_shape"},
		"packed, 3 bits":      {packedParts, config{Bits: 3}, unsupported, "3 bits"},
		"packed, zero points": {with(packedParts, part{"weight_zero_point", tensor.I32, []int{3, 2}, nil}), config{}, format, "weight_zero_point has shape [3, 2], want [2 2]"},
		"packed, index":       {with(packedParts, part{"weight_g_idx", tensor.I32, []int{8}, nil}), config{}, format, "8 inputs, want 64"},

		"state":             {with(nf4Parts, stateOf("{")), config{}, format, "quant_state"},
		"long state":        {with(nf4Parts, stateOf(strings.Repeat(" ", 1<<17))), config{}, format, "bytes, want"},
		"shape":             {with(nf4Parts, stateOf(strings.Replace(state, "[4, 32]", "[128]", 1))), config{}, unsupported, "[128]"},
		"negative shape":    {with(nf4Parts, stateOf(strings.Replace(state, "[4, 32]", "[-4, -32]", 1))), config{}, unsupported, "-4 outputs"},
		"huge shape":        {with(nf4Parts, stateOf(strings.Replace(state, "[4, 32]", "[4611686018427387904, 32]", 1))), config{}, unsupported, "outputs"},
		"large shape":       {with(nf4Parts, stateOf(strings.Replace(state, "[4, 32]", "[2147483640, 2147483640]", 1))), config{}, unsupported, "outputs"},
		"other shape":       {with(nf4Parts, stateOf(strings.Replace(state, "[4, 32]", "[4, 64]", 1))), config{}, format, "want the 128 bytes"},
		"more codes":        {with(nf4Parts, part{"weight", tensor.U8, []int{68, 1}, nil}), config{}, format, "want the 64 bytes"},
		"few columns":       {with(nf4Parts, stateOf(strings.Replace(state, "[4, 32]", "[32, 4]", 1))), config{}, unsupported, "4 inputs"},
		"block":             {with(nf4Parts, stateOf(strings.Replace(state, "64", "48", 1))), config{}, unsupported, "blocksize 48"},
		"no block":          {with(nf4Parts, stateOf(strings.Replace(state, "64", "0", 1))), config{}, unsupported, "blocksize 0"},
		"absmax":            {with(nf4Parts, part{"weight.absmax", tensor.F32, []int{3}, nil}), config{}, format, "absmax has shape [3], want [2]"},
		"map":               {with(nf4Parts, part{"weight.quant_map", tensor.F32, []int{15}, nil}), config{}, format, "quant_map"},
		"no map":            {with(nf4Parts, none("weight.quant_map")), config{}, format, "quant_map"},
		"no codes of nf4":   {with(nf4Parts, none("weight")), config{}, format, "l.weight"},
		"no nested absmax":  {with(nestedParts, none("weight.nested_absmax")), config{}, format, "nested"},
		"no nested offset":  {with(nestedParts, stateOf(state)), config{}, format, "nested"},
		"no nested map":     {with(nestedParts, none("weight.nested_quant_map")), config{}, format, "nested_quant_map"},
		"nested absmax":     {with(nestedParts, part{"weight.nested_absmax", tensor.F32, []int{2}, nil}), config{}, format, "nested_absmax has shape [2], want [1]"},
		"nested block":      {with(nestedParts, stateOf(strings.Replace(nested, "256", "-256", 1))), config{}, unsupported, "nested_blocksize -256"},
		"nested and floats": {with(nestedParts, part{"weight.absmax", tensor.F32, []int{2}, nil}), config{}, format, "absmax is of f32"},

		"fp8, no scales":     {with(fp8Parts, none("weight_scale_inv")), config{}, format, "weight_scale"},
		"fp8, scales":        {with(fp8Parts, part{"weight_scale_inv", tensor.F32, []int{2, 3}, nil}), config{}, format, "shape [2, 3]"},
		"fp8, blocks":        {fp8Parts, config{BlockSize: [2]int{64, 64}}, format, "blocks of [64 64]"},
		"fp8, wrong blocks":  {fp8Parts, config{BlockSize: [2]int{-1, 64}}, format, "blocks of [-1 64]"},
		"fp8, narrow blocks": {with(fp8Parts, part{"weight_scale_inv", tensor.F32, []int{2, 34}, nil}), config{BlockSize: [2]int{128, 4}}, unsupported, "multiples of 8"},
		"fp8, no matrix":     {with(fp8Parts, part{"weight", tensor.F8E4M3, []int{130}, nil}), config{}, format, "2 dimensions"},
		"fp8, columns":       {with(fp8Parts, part{"weight", tensor.F8E4M3, []int{8, 12}, nil}), config{}, unsupported, "12 inputs"},
		"fp8, type":          {with(fp8Parts, part{"weight_scale_inv", tensor.F64, []int{2, 2}, nil}), config{}, unsupported, "is of f64"},
		"fp8, empty":         {with(fp8Parts, part{"weight", tensor.F8E4M3, []int{0, 8}, nil}), config{}, format, "shape [0, 8]"},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := checkpoint.Load(d, setOf(t, c.parts...), "l", c.c)
			if c.kind == nil {
				require.NoError(t, err)
				require.NoError(t, w.Dequantize(tensor.F32).Err())
				return
			}
			require.ErrorIs(t, err, c.kind)
			require.ErrorContains(t, err, c.text)
			require.ErrorContains(t, err, `load "l"`)
			require.Nil(t, w)
		})
	}
	_, err = checkpoint.Load(nil, setOf(t), "l", config{})
	require.ErrorIs(t, err, tensor.ErrArgument)
}

func TestParseConfig(t *testing.T) {
	type config = checkpoint.Config
	for text, want := range map[string]config{
		`{"bits": 4, "group_size": 128, "desc_act": true}`:                                                                                               {Method: checkpoint.GPTQ, Bits: 4, GroupSize: 128},
		`{"bits": 3, "group_size": -1, "checkpoint_format": "gptq_v2"}`:                                                                                  {Method: checkpoint.GPTQ, Bits: 3, GroupSize: -1, ZeroPointV2: true},
		`{"w_bit": 4, "q_group_size": 64, "version": "GEMM"}`:                                                                                            {Method: checkpoint.AWQ, Bits: 4, GroupSize: 64},
		`{"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 64]}}`:                                                               {Method: checkpoint.FP8, BlockSize: [2]int{128, 64}},
		`{"quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": true}}`:                                                                {Method: checkpoint.BitsAndBytes},
		`{"quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}}`:                                                      {Method: checkpoint.MXFP4},
		`{"quant_method": "compressed-tensors", "config_groups": {"g": {"weights": {"num_bits": 8, "group_size": null, "block_structure": [64, 128]}}}}`: {Method: checkpoint.CompressedTensors, Bits: 8, BlockSize: [2]int{64, 128}},
	} {
		got, err := checkpoint.ParseConfig([]byte(text))
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, kind := range map[string]error{
		`{`:                        checkpoint.ErrFormat,
		`{"model_type": "llama"}`:  checkpoint.ErrFormat,
		`{"bits": "four"}`:         checkpoint.ErrFormat,
		`{"quant_method": "quip"}`: checkpoint.ErrUnsupported,
		`{"bits": 4, "checkpoint_format": "marlin"}`:                               checkpoint.ErrUnsupported,
		`{"bits": 4, "pack_dtype": "int16"}`:                                       checkpoint.ErrUnsupported,
		`{"w_bit": 4, "version": "gemv"}`:                                          checkpoint.ErrUnsupported,
		`{"quant_method": "bitsandbytes", "load_in_8bit": true}`:                   checkpoint.ErrUnsupported,
		`{"quant_method": "fp8", "fmt": "e5m2"}`:                                   checkpoint.ErrUnsupported,
		`{"quant_method": "fp8", "weight_block_size": [128]}`:                      checkpoint.ErrFormat,
		`{"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized"}`: checkpoint.ErrUnsupported,
		strings.Repeat(" ", 16<<20) + `{"bits": 4}`:                                checkpoint.ErrFormat,
	} {
		_, err := checkpoint.ParseConfig([]byte(text))
		require.ErrorIs(t, err, kind, text[:min(len(text), 80)])
	}
}
