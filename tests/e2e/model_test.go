package e2e

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/safetensors"
)

// The model of the tests has a token for each byte and one that ends texts, which follows z.
const (
	modelVocab  = 257
	modelWidth  = 320
	modelEnd    = 256
	modelMiddle = 16
)

// writeModel writes a language model that goes on with the alphabet, with that of capitals for ever:
// write-model folder [template].
// The embedding of a token is a unit vector, attention and the gated layer give zeros, and the head
// sees the next letter in each.
func writeModel(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: write-model folder [template]")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	write := func(name string, v any) {
		b, err := json.Marshal(v)
		ts.Check(err)
		ts.Check(os.WriteFile(filepath.Join(dir, name), b, 0o644))
	}
	write("config.json", map[string]any{
		"model_type": "llama", "architectures": []string{"LlamaForCausalLM"}, "hidden_size": modelWidth,
		"intermediate_size": modelMiddle, "num_hidden_layers": 1, "num_attention_heads": 5,
		"num_key_value_heads": 1, "vocab_size": modelVocab, "max_position_embeddings": 20000,
		"rms_norm_eps": 1e-5, "hidden_act": "silu", "eos_token_id": modelEnd,
	})
	write("tokenizer.json", byteTokenizer())
	if len(args) == 2 {
		write("tokenizer_config.json", map[string]any{"chat_template": ts.ReadFile(args[1])})
	}
	ts.Check(safetensors.WriteFile(filepath.Join(dir, "model.safetensors"), nil, modelWeights(ts)...))
}

// weight is a tensor of numbers by their index.
func weight(ts *testscript.TestScript, name string, shape layout.Shape, at func(i int) float32) *file.Entry {
	var b []byte
	for i := range shape.Count() {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(at(i)))
	}
	e, err := file.FromMemory(name, dtype.F32, shape, b)
	ts.Check(err)
	return e
}

// writeTranslator writes a model with an encoder, T5, that answers with the most frequent letter of
// a text: write-translator folder.
// Attention is the mean of all tokens; that to the encoder puts it behind the features of the
// decoder's own tokens, and the head sees it there, and the end behind each letter.
func writeTranslator(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: write-translator folder")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	for name, v := range map[string]any{
		"tokenizer.json": byteTokenizer(),
		"config.json": map[string]any{
			"model_type": "t5", "d_model": 2 * modelWidth, "d_kv": 64, "d_ff": modelMiddle, "num_layers": 1,
			"num_heads": 5, "vocab_size": modelVocab, "pad_token_id": 0, "eos_token_id": modelEnd,
			"decoder_start_token_id": 0, "tie_word_embeddings": false,
		},
		"generation_config.json": map[string]any{"num_beams": 3, "max_length": 8},
	} {
		b, err := json.Marshal(v)
		ts.Check(err)
		ts.Check(os.WriteFile(filepath.Join(dir, name), b, 0o644))
	}
	var list []*file.Entry
	add := func(name string, rows, columns int, at func(row, column int) float32) {
		list = append(list, weight(ts, name+".weight", layout.Shape{rows, columns}, func(i int) float32 {
			return at(i/columns, i%columns)
		}))
	}
	none := func(int, int) float32 { return 0 }
	same := func(r, c int) float32 {
		if r == c {
			return 1
		}
		return 0
	}
	norm := func(name string) {
		list = append(list, weight(ts, name+".layer_norm.weight", layout.Shape{2 * modelWidth},
			func(int) float32 { return 1 }))
	}
	attention := func(name string, v, o func(r, c int) float32) {
		add(name+".q", modelWidth, 2*modelWidth, none)
		add(name+".k", modelWidth, 2*modelWidth, none)
		add(name+".v", modelWidth, 2*modelWidth, v)
		add(name+".o", 2*modelWidth, modelWidth, o)
	}
	add("shared", modelVocab, 2*modelWidth, same)
	for i, part := range []string{"encoder", "decoder"} {
		layer := part + ".block.0.layer."
		attention(layer+"0.SelfAttention", none, none)
		add(layer+"0.SelfAttention.relative_attention_bias", 32, 5, none)
		norm(layer + "0")
		if i == 1 {
			behind := func(r, c int) float32 { return same(r-modelWidth, c) }
			attention(layer+"1.EncDecAttention", same, behind)
			norm(layer + "1")
		}
		mlp := layer + string(rune('1'+i))
		add(mlp+".DenseReluDense.wi", modelMiddle, 2*modelWidth, none)
		add(mlp+".DenseReluDense.wo", 2*modelWidth, modelMiddle, none)
		norm(mlp)
		list = append(list, weight(ts, part+".final_layer_norm.weight", layout.Shape{2 * modelWidth},
			func(int) float32 { return 1 }))
	}
	add("lm_head", modelVocab, 2*modelWidth, func(r, c int) float32 {
		switch {
		case r == modelEnd && c >= 'a' && c <= 'z':
			return 100
		case r >= 'a' && r <= 'z':
			return same(r+modelWidth, c)
		}
		return 0
	})
	ts.Check(safetensors.WriteFile(filepath.Join(dir, "model.safetensors"), nil, list...))
}

// writeRanker writes a cross-encoder that scores texts by how much of them is the letter x:
// write-ranker folder.
// The embedding of a token is a unit vector, attention is the mean of all tokens, and the head sees
// the feature of the letter.
func writeRanker(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: write-ranker folder")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	for name, v := range map[string]any{
		"tokenizer.json": byteTokenizer(),
		"config.json": map[string]any{
			"model_type": "roberta", "architectures": []string{"RobertaForSequenceClassification"},
			"hidden_size": modelWidth, "intermediate_size": modelMiddle, "num_hidden_layers": 1,
			"num_attention_heads": 5, "vocab_size": modelVocab, "max_position_embeddings": 102,
			"type_vocab_size": 1, "pad_token_id": 1, "num_labels": 1, "layer_norm_eps": 1e-5,
		},
	} {
		b, err := json.Marshal(v)
		ts.Check(err)
		ts.Check(os.WriteFile(filepath.Join(dir, name), b, 0o644))
	}
	var list []*file.Entry
	add := func(name string, rows int, at func(row, column int) bool) {
		list = append(list, weight(ts, name, layout.Shape{rows, modelWidth}, func(i int) float32 {
			if at(i/modelWidth, i%modelWidth) {
				return 1
			}
			return 0
		}))
	}
	same := func(r, c int) bool { return r == c }
	none := func(int, int) bool { return false }
	const layer = "roberta.encoder.layer.0."
	add("roberta.embeddings.word_embeddings.weight", modelVocab, same)
	add("roberta.embeddings.position_embeddings.weight", 102, none)
	add("roberta.embeddings.token_type_embeddings.weight", 1, none)
	add(layer+"attention.self.query.weight", modelWidth, none)
	add(layer+"attention.self.key.weight", modelWidth, none)
	add(layer+"attention.self.value.weight", modelWidth, same)
	add(layer+"attention.output.dense.weight", modelWidth, same)
	add(layer+"intermediate.dense.weight", modelMiddle, none)
	add("classifier.dense.weight", modelWidth, func(r, c int) bool { return r == 0 && c == 'x' })
	add("classifier.out_proj.weight", 1, same)
	zero := func(int) float32 { return 0 }
	list = append(list, weight(ts, layer+"output.dense.weight", layout.Shape{modelWidth, modelMiddle}, zero))
	for name, n := range map[string]int{
		"attention.self.query": modelWidth, "attention.self.key": modelWidth,
		"attention.self.value": modelWidth, "attention.output.dense": modelWidth,
		"intermediate.dense": modelMiddle, "output.dense": modelWidth,
	} {
		list = append(list, weight(ts, layer+name+".bias", layout.Shape{n}, zero))
	}
	for _, name := range []string{
		"roberta.embeddings.LayerNorm", layer + "attention.output.LayerNorm", layer + "output.LayerNorm",
	} {
		list = append(list, weight(ts, name+".bias", layout.Shape{modelWidth}, zero),
			weight(ts, name+".weight", layout.Shape{modelWidth}, func(int) float32 { return 1 }))
	}
	list = append(list, weight(ts, "classifier.dense.bias", layout.Shape{modelWidth}, zero),
		weight(ts, "classifier.out_proj.bias", layout.Shape{1}, zero))
	ts.Check(safetensors.WriteFile(filepath.Join(dir, "model.safetensors"), nil, list...))
}

// modelWeights are the tensors of the model.
func modelWeights(ts *testscript.TestScript) (list []*file.Entry) {
	add := func(name string, shape layout.Shape, at func(i int) float32) {
		list = append(list, weight(ts, name, shape, at))
	}
	zero := func(int) float32 { return 0 }
	one := func(int) float32 { return 1 }
	unit := func(from func(row int) int) func(i int) float32 {
		return func(i int) float32 {
			if i%modelWidth == from(i/modelWidth) {
				return 1
			}
			return 0
		}
	}
	matrix := layout.Shape{modelVocab, modelWidth}
	add("model.embed_tokens.weight", matrix, unit(func(id int) int { return id }))
	add("lm_head.weight", matrix, unit(func(id int) int {
		switch id {
		case modelEnd:
			return 'z'
		case 'A':
			return 'Z'
		case 'z' + 1, 'Z' + 1:
			return -1
		}
		return id - 1
	}))
	const layer = "model.layers.0."
	for name, shape := range map[string]layout.Shape{
		"self_attn.q_proj": {modelWidth, modelWidth}, "self_attn.k_proj": {modelWidth / 5, modelWidth},
		"self_attn.v_proj": {modelWidth / 5, modelWidth}, "self_attn.o_proj": {modelWidth, modelWidth},
		"mlp.gate_proj": {modelMiddle, modelWidth}, "mlp.up_proj": {modelMiddle, modelWidth},
		"mlp.down_proj": {modelWidth, modelMiddle},
	} {
		add(layer+name+".weight", shape, zero)
	}
	for _, name := range []string{layer + "input_layernorm", layer + "post_attention_layernorm", "model.norm"} {
		add(name+".weight", layout.Shape{modelWidth}, one)
	}
	return list
}

// writeAdapter writes an adapter of the model's head, which goes back in the alphabet:
// write-adapter folder.
func writeAdapter(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: write-adapter folder")
	}
	const rank = 'z' - 'a' + 1 // one for each letter
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	config := fmt.Sprintf(`{"peft_type": "LORA", "r": %d, "lora_alpha": %d}`, rank, rank)
	ts.Check(os.WriteFile(filepath.Join(dir, "adapter_config.json"), []byte(config), 0o644))
	var list []*file.Entry
	for name, shape := range map[string]layout.Shape{"A": {rank, modelWidth}, "B": {modelVocab, rank}} {
		b := make([]byte, 4*shape.Count())
		for k := range rank {
			at, x := k*modelWidth+'a'+k, float32(1)
			if name == "B" {
				at, x = ('a'+k-1)*rank+k, 2
			}
			binary.LittleEndian.PutUint32(b[4*at:], math.Float32bits(x))
		}
		e, err := file.FromMemory("base_model.model.lm_head.lora_"+name+".weight", dtype.F32, shape, b)
		ts.Check(err)
		list = append(list, e)
	}
	ts.Check(safetensors.WriteFile(filepath.Join(dir, "adapter_model.safetensors"), nil, list...))
}

// byteTokenizer is a tokenizer.json with a token for each byte, as GPT-2 writes them.
func byteTokenizer() map[string]any {
	vocab, extra := map[string]int{}, rune(256)
	for b := range 256 {
		r := rune(b)
		if !(b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE) {
			r, extra = extra, extra+1
		}
		vocab[string(r)] = b
	}
	return map[string]any{
		"version": "1.0",
		"added_tokens": []any{map[string]any{
			"id": modelEnd, "content": "<end>", "special": true, "normalized": false,
			"single_word": false, "lstrip": false, "rstrip": false,
		}},
		"pre_tokenizer": map[string]any{"type": "ByteLevel", "add_prefix_space": false,
			"use_regex": false, "trim_offsets": false},
		"decoder": map[string]any{"type": "ByteLevel"},
		"model":   map[string]any{"type": "BPE", "vocab": vocab, "merges": []string{}},
	}
}

// interrupt runs a program until it has written a text to the standard output, interrupts it then,
// and wants that the program ends by itself with status 1: interrupt text program [arguments].
func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: interrupt text program [arguments]")
	}
	cmd := exec.Command(filepath.Join(bin, args[1]), args[2:]...)
	cmd.Env = append(os.Environ(), "KILN_CACHE_DIR="+ts.Getenv("KILN_CACHE_DIR"))
	cmd.Dir = ts.MkAbs(".")
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	seen, part := "", make([]byte, 256)
	for !strings.Contains(seen, args[0]) {
		n, err := out.Read(part)
		seen += string(part[:n])
		if err != nil {
			ts.Fatalf("%v: it ended with %q before %q came", args[1:], seen, args[0])
		}
	}
	ts.Check(cmd.Process.Signal(os.Interrupt))
	_, err = io.Copy(io.Discard, out)
	ts.Check(err)
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		ts.Fatalf("%v: %v, want exit status 1", args[1:], err)
	}
}
