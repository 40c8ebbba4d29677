package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"strconv"
	"strings"

	"github.com/gokiln/kiln/internal/lmbench"
	"github.com/gokiln/kiln/models"
	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/quantized"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/tensor"
)

// shapes are the configurations of published models.
var shapes = map[string]string{
	"llama-3-8b": `{"model_type": "llama", "vocab_size": 128256, "hidden_size": 4096, "num_hidden_layers": 32,
		"num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "rope_theta": 500000,
		"max_position_embeddings": 8192, "rms_norm_eps": 1e-5, "tie_word_embeddings": false}`,
	"llama-3.2-1b": `{"model_type": "llama", "vocab_size": 128256, "hidden_size": 2048, "num_hidden_layers": 16,
		"num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 8192,
		"rope_theta": 500000, "max_position_embeddings": 131072, "rms_norm_eps": 1e-5, "tie_word_embeddings": true}`,
	"qwen3-30b-a3b": `{"model_type": "qwen3_moe", "vocab_size": 151936, "hidden_size": 2048, "num_hidden_layers": 48,
		"num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 6144,
		"moe_intermediate_size": 768, "num_experts": 128, "num_experts_per_tok": 8, "norm_topk_prob": true,
		"rope_theta": 1000000, "max_position_embeddings": 40960, "rms_norm_eps": 1e-6, "tie_word_embeddings": false}`,
	"tiny": `{"model_type": "llama", "vocab_size": 512, "hidden_size": 256, "num_hidden_layers": 2,
		"num_attention_heads": 8, "num_key_value_heads": 4, "intermediate_size": 512, "max_position_embeddings": 8192}`,
}

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "models:", err)
			os.Exit(1)
		}
		os.Exit(2)
	}
}

// options are what is measured.
type options struct {
	device, model, dtype, quantize, batch, profile string

	prompt, tokens int
	paged, eager   bool
}

func run(args []string, out, errs io.Writer) error {
	var o options
	flags := flag.NewFlagSet("models", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.StringVar(&o.device, "device", "cpu", "device to measure")
	flags.StringVar(&o.model, "model", "tiny", "which shapes: llama-3-8b, llama-3.2-1b, qwen3-30b-a3b or tiny")
	flags.StringVar(&o.dtype, "dtype", "", "type of weights: bf16, f16, f32; none is what package models chooses")
	flags.StringVar(&o.quantize, "quantize", "", "formats of linear layers, in turn, such as Q4_0,Q4_K")
	flags.StringVar(&o.batch, "batch", "1", "how many sequences, such as 1,64")
	flags.IntVar(&o.prompt, "prompt", 512, "tokens of a prompt")
	flags.IntVar(&o.tokens, "tokens", 64, "tokens that are generated")
	flags.BoolVar(&o.paged, "paged", false, "sequences are in pages of one pool")
	flags.BoolVar(&o.eager, "eager", false, "steps are no graphs")
	flags.StringVar(&o.profile, "cpuprofile", "", "file for a profile of the host")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.profile != "" {
		f, err := os.Create(o.profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	text, ok := shapes[o.model]
	if !ok {
		return fmt.Errorf("-model %s: there are no such shapes", o.model)
	}
	d, err := tensor.Open(o.device)
	if err != nil {
		return err
	}
	copied, err := lmbench.CopyRate(d)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s, copies at %.0f GB/s\n", d, copied/1e9)
	for _, q := range strings.Split(o.quantize, ",") {
		if err := o.measure(out, d, text, q, copied); err != nil {
			return err
		}
	}
	return nil
}

// measure measures a model with weights in a format, or in none.
func (o *options) measure(out io.Writer, d *tensor.Device, text, quantize string, copied float64) error {
	c, err := models.ParseConfig([]byte(text))
	if err != nil {
		return err
	}
	mo := models.Options{Device: d, Paged: o.paged, Eager: o.eager}
	if o.dtype != "" {
		if mo.DType, err = dtype.Parse(o.dtype); err != nil {
			return err
		}
	}
	m, err := models.New(c, mo)
	if err != nil {
		return err
	}
	if err := nn.SetFrozen(m.Net, true); err != nil {
		return err
	}
	if quantize != "" {
		if err := quantizeLinear(m, quantize); err != nil {
			return err
		}
	}
	bytes, err := lmbench.WeightBytes(m)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%s %v", o.model, m.DType)
	if quantize != "" {
		name += " " + quantize
	}
	for _, text := range strings.Split(o.batch, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("-batch %s: want numbers of sequences", o.batch)
		}
		r, err := lmbench.Measure(m, lmbench.Work{Prompt: o.prompt, Tokens: o.tokens, Batch: n})
		if err != nil {
			return err
		}
		eager := ""
		if r.Replayed != nil {
			eager = "; no graph: " + r.Replayed.Error()
		}
		fmt.Fprintf(out, "%-28s batch %3d: prompt of %d %8.0f tokens/s, decode %8.1f tokens/s (%.2f of reading %.2f GB of weights), host %.0f µs and %.0f allocations a step%s\n",
			name, n, o.prompt, r.Prompt, r.Decode, r.Decode/float64(n)*bytes/copied, bytes/1e9, r.Host.Seconds()*1e6, r.Mallocs, eager)
	}
	return nil
}

// quantizeLinear makes blocks of the weights of all linear layers.
func quantizeLinear(m *models.LM, name string) error {
	t, err := format.Parse(name)
	if err != nil {
		return err
	}
	_, err = nn.Quantize(m.Net, func(name string, w *tensor.Tensor) nn.Quantized {
		if w.Rank() < 2 {
			return nil
		}
		return quantized.Quantize(w, t)
	})
	return err
}
