package models

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/quantized/gguf"
	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/safetensors"
	"github.com/gokiln/kiln/tensor/torch"
)

// goldenAdapters is a tiny model with adapters, and its logits: see testdata/adapters.py.
type goldenAdapters struct {
	golden
	Adapters []goldenAdapter
}

type goldenAdapter struct {
	Config  json.RawMessage
	Tensors map[string][]int
	Scale   float64
}

var readAdapters = sync.OnceValues(func() (out map[string]*goldenAdapters, err error) {
	err = decode("testdata/adapters.json.gz", &out)
	return out, err
})

// entries are the tensors of adapter i.
func (g *goldenAdapter) entries(t testing.TB, i int) (list []*file.Entry) {
	for _, name := range slices.Sorted(maps.Keys(g.Tensors)) {
		shape, key := g.Tensors[name], fmt.Sprintf("%d %s", i, name)
		if strings.HasSuffix(name, "vector") {
			key += ".weight"
		}
		list = append(list, array{shape, numbers(key, shape)}.entry(t, name))
	}
	return list
}

// folders writes the adapters as PEFT does.
func (g *goldenAdapters) folders(t testing.TB) (list []Adapter) {
	for i, a := range g.Adapters {
		dir := t.TempDir()
		write := func() error {
			return safetensors.WriteFile(filepath.Join(dir, "adapter_model.safetensors"), nil, a.entries(t, i)...)
		}
		if i > 0 {
			write = func() error {
				return torch.WriteFile(filepath.Join(dir, "adapter_model.bin"), a.entries(t, i)...)
			}
		}
		require.NoError(t, write())
		require.NoError(t, os.WriteFile(filepath.Join(dir, "adapter_config.json"), a.Config, 0o644))
		list = append(list, Adapter{dir, a.Scale})
	}
	return list
}

// TestAdapters compares with PEFT: apart from the weights and merged, over a folder and, where its
// rows are in another order, over a GGUF file.
func TestAdapters(t *testing.T) {
	all, err := readAdapters()
	require.NoError(t, err)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			g := all[name]
			o := Options{Device: cpu(t), Adapters: g.folders(t)}
			paths := []string{g.folder(t)}
			if strings.HasPrefix(name, "llama") {
				base, err := readGolden()
				require.NoError(t, err)
				c, err := ParseConfig(g.golden.Config)
				require.NoError(t, err)
				g.Arch, g.Names = base["llama"].Arch, base["llama"].Names
				paths = append(paths, g.convert(t, c))
			}
			for _, path := range paths {
				for _, o.Merge = range []bool{false, true} {
					m, err := Open(path, o)
					require.NoError(t, err)
					apart, err := nn.Adapters(m.Net)
					require.NoError(t, err)
					require.Equal(t, o.Merge, len(apart) == 0)
					got := floats(t, m.StepAll(m.NewSequence(), g.Prompt))
					require.InDeltaSlice(t, g.logits(), got, 2e-4)
					s, vocab := m.NewSequence(), m.Config.VocabSize
					for i, id := range g.Prompt { // also by graphs, where the device has some
						got := floats(t, m.Step([]*Sequence{s}, [][]int32{{id}}))
						require.InDeltaSlice(t, g.logits()[i*vocab:(i+1)*vocab], got, 2e-4)
					}
				}
			}
		})
	}
}

// TestAdapterGGUF takes an adapter of llama.cpp's converter, which permutes the rows of queries and
// keys as those of the model.
func TestAdapterGGUF(t *testing.T) {
	all, err := readAdapters()
	require.NoError(t, err)
	base, err := readGolden()
	require.NoError(t, err)
	g, lora := all["llama two"], all["llama"].Adapters[0]
	g.Arch, g.Names = base["llama"].Arch, base["llama"].Names
	c, err := ParseConfig(g.golden.Config)
	require.NoError(t, err)
	var list []*file.Entry
	for name, shape := range lora.Tensors {
		if strings.Contains(name, "v_proj") || strings.Contains(name, "o_proj") {
			continue // of another rank or scale
		}
		a := array{shape, numbers("0 "+name, shape)}
		module, part, _ := strings.Cut(strings.TrimPrefix(name, "base_model.model."), ".lora_")
		to := g.Names[module+".weight"]
		if part == "B.weight" {
			a = g.converted(c, to, a)
		}
		list = append(list, a.entry(t, to+".lora_"+strings.ToLower(part[:1])))
	}
	path := filepath.Join(t.TempDir(), "lora.gguf")
	m := &gguf.Metadata{}
	m.Set(gguf.KeyArchitecture, gguf.Of("llama"))
	m.Set("general.type", gguf.Of("adapter"))
	m.Set("adapter.type", gguf.Of("lora"))
	m.Set("adapter.lora.alpha", gguf.Of(float32(6)))
	require.NoError(t, gguf.WriteFile(path, m, list...))

	model := g.convert(t, c)
	got, err := Open(model, Options{Device: cpu(t), Adapters: []Adapter{{path, 0.5}}})
	require.NoError(t, err)
	peft := all["llama"].folders(t)[0]
	kept := lora
	kept.Tensors = maps.Clone(lora.Tensors)
	maps.DeleteFunc(kept.Tensors, func(n string, _ []int) bool {
		return strings.Contains(n, "v_proj") || strings.Contains(n, "o_proj")
	})
	require.NoError(t, safetensors.WriteFile(filepath.Join(peft.Path, "adapter_model.safetensors"), nil, kept.entries(t, 0)...))
	want, err := Open(g.folder(t), Options{Device: cpu(t), Adapters: []Adapter{{peft.Path, 0.5}}})
	require.NoError(t, err)
	require.InDeltaSlice(t, floats(t, want.StepAll(want.NewSequence(), g.Prompt)),
		floats(t, got.StepAll(got.NewSequence(), g.Prompt)), 2e-4)

	_, err = Open(g.folder(t), Options{Device: cpu(t), Adapters: []Adapter{{Path: path}}})
	require.ErrorContains(t, err, "a GGUF file fits a GGUF model only")
	m.Set("adapter.type", gguf.Of("other"))
	require.NoError(t, gguf.WriteFile(path, m, list...))
	_, err = Open(model, Options{Device: cpu(t), Adapters: []Adapter{{Path: path}}})
	require.ErrorContains(t, err, `adapter.type is "other"`)
}

// TestAdapterQuantized keeps adapters apart from weights in blocks, and computes as with these
// dequantized.
func TestAdapterQuantized(t *testing.T) {
	const path = "testdata/llama_a.Q4_K_M.gguf"
	plain, err := Open(path, Options{Device: cpu(t)})
	require.NoError(t, err)
	var list []*file.Entry
	params, err := nn.List(plain.Net)
	require.NoError(t, err)
	for _, p := range params {
		module, ok := strings.CutSuffix(p.Name, "_proj.weight")
		if !ok {
			continue
		}
		name := "base_model.model." + module + "_proj.lora_"
		a, b := []int{4, p.Shape()[1]}, []int{p.Shape()[0], 4}
		list = append(list, array{a, numbers(name+"A", a)}.entry(t, name+"A.weight"))
		list = append(list, array{b, numbers(name+"B", b)}.entry(t, name+"B.weight"))
	}
	dir := t.TempDir()
	require.NoError(t, safetensors.WriteFile(filepath.Join(dir, "adapter_model.safetensors"), nil, list...))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "adapter_config.json"), []byte(`{"peft_type":"LORA","lora_alpha":2}`), 0o644))
	o := Options{Device: cpu(t), Adapters: []Adapter{{Path: dir}}, Merge: true}
	m, err := Open(path, o)
	require.NoError(t, err)
	apart, err := nn.Adapters(m.Net)
	require.NoError(t, err)
	require.Len(t, apart, len(list))
	ids := []int32{1, 17, 93, 4}
	got := floats(t, m.StepAll(m.NewSequence(), ids))

	before := floats(t, plain.StepAll(plain.NewSequence(), ids))
	for _, p := range params {
		if p.Quantized() != nil && strings.HasSuffix(p.Name, "_proj.weight") {
			require.NoError(t, p.Set(p.Tensor()))
		}
	}
	_, err = nn.AdaptEach(plain.Net, func(name string, _ *nn.Linear) (*nn.LoRA, error) {
		if apart[name+".lora_A.weight"] == nil {
			return nil, nil
		}
		return &nn.LoRA{A: apart[name+".lora_A.weight"], B: apart[name+".lora_B.weight"], Scale: 0.5}, nil
	})
	require.NoError(t, err)
	require.NoError(t, nn.Merge(plain.Net, false))
	want := floats(t, plain.StepAll(plain.NewSequence(), ids))
	var change, wrong float64
	for i := range want {
		change += float64((want[i] - before[i]) * (want[i] - before[i]))
		wrong += float64((want[i] - got[i]) * (want[i] - got[i]))
	}
	require.Less(t, wrong, 1e-3*change) // activations are rounded for products with blocks
}

// TestAdapterErrors loads adapters that do not match the model or need unsupported features.
func TestAdapterErrors(t *testing.T) {
	all, err := readAdapters()
	require.NoError(t, err)
	g := all["llama"]
	model := g.folder(t)
	two := []int{2, 48}
	for _, c := range []struct {
		config, tensor string
		shape          []int
		says           string
	}{
		{`{"peft_type":"IA3"}`, "", nil, `peft_type is "IA3"`},
		{`{"peft_type":"LORA","lora_bias":true}`, "", nil, "lora_bias of adapter_config.json is not supported"},
		{`{"peft_type":"LORA","init_lora_weights":"pissa_niter_4"}`, "", nil, `init_lora_weights is "pissa_niter_4"`},
		{`{"peft_type":"LORA","alpha_pattern":{"(":1}}`, "", nil, "missing closing )"},
		{`{"peft_type":"LORA","alpha_pattern":{"x":"y"}}`, "", nil, "adapter_config.json"},
		{`{`, "", nil, "adapter_config.json"},
		{`{"peft_type":"LORA"}`, "model.embed_tokens.lora_embedding_A", two, "only adapters of linear layers"},
		{`{"peft_type":"LORA"}`, "model.layers.0.self_attn.x_proj.lora_A.weight", two, "has only one of A and B"},
		{`{"peft_type":"LORA"}`, "model.layers.9.mlp.up_proj.lora_*.weight", two, "no linear layers for model.layers.9.mlp.up_proj.weight"},
		{`{"peft_type":"LORA"}`, "model.layers.0.mlp.up_proj.lora_*.weight", two, "A has shape [2, 48] and B [2, 48], for a weight of [80, 48]"},
		{`{"peft_type":"LORA"}`, "model.layers.0.mlp.up_proj.lora_*.weight", []int{2}, "shape mismatch: A has shape [2]"},
		{`{"peft_type":"LORA"}`, "model.x.weight", two, "the model has no model.x.weight"},
		{`{"peft_type":"LORA"}`, "lm_head.weight", two, "lm_head.weight"},
	} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "adapter_config.json"), []byte(c.config), 0o644))
		var list []*file.Entry
		for _, part := range []string{"A", "B"} {
			if c.tensor != "" && (part == "A" || strings.Contains(c.tensor, "*")) {
				name := "base_model.model." + strings.Replace(c.tensor, "*", part, 1)
				list = append(list, array{c.shape, numbers(name, c.shape)}.entry(t, name))
			}
		}
		require.NoError(t, safetensors.WriteFile(filepath.Join(dir, "adapter_model.safetensors"), nil, list...))
		_, err := Open(model, Options{Device: cpu(t), Adapters: []Adapter{{Path: dir}}})
		require.ErrorContains(t, err, c.says)
		require.ErrorContains(t, err, "adapter "+dir)
		require.ErrorIs(t, err, ErrAdapter)
	}
	_, err = Open(model, Options{Device: cpu(t), Adapters: []Adapter{{Path: t.TempDir()}}})
	require.ErrorContains(t, err, "adapter_config.json")
	dora := append(all["llama dora"].folders(t), g.folders(t)...)
	_, err = Open(model, Options{Device: cpu(t), Adapters: dora})
	require.ErrorContains(t, err, "merge them")
	_, err = Open(model, Options{Device: cpu(t), Adapters: dora, Merge: true})
	require.NoError(t, err)
	for text, want := range map[string]float64{`{"peft_type":"LORA"}`: 2, `{"peft_type":"LORA","lora_alpha":0}`: 0,
		`{"peft_type":"LORA","use_rslora":true,"lora_alpha":3,"alora_invocation_tokens":null}`: 1.5} {
		c, err := parsePEFT([]byte(text))
		require.NoError(t, err)
		require.Equal(t, want, c.scale("x", 4))
	}
	var p patterns
	require.NoError(t, json.Unmarshal([]byte("null"), &p))
	require.Equal(t, 3., p.of("x", 3))
}
