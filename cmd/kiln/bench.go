package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/gokiln/kiln/internal/lmbench"
	"github.com/gokiln/kiln/models"
)

// benchFlags are the flags of kiln bench.
type benchFlags struct {
	device, dtype  string
	prompt, tokens int
	batch          []int
	paged, json    bool
}

func benchCommand() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench model",
		Short: "measure how fast a language model takes prompts and makes tokens",
		Long: "Bench loads a model as kiln run does and measures, for each number of sequences at a time,\n" +
			"how many tokens of a prompt and how many new tokens it takes a second: medians, behind a\n" +
			"run that compiles kernels. Ids are made up, so that no tokenizer is needed. The share is\n" +
			"that of a device which reads the weights once a step, at the rate of a copy, and does\n" +
			"nothing else.",
		Example: "  kiln bench model.Q4_K_M.gguf\n  kiln bench Qwen/Qwen3-0.6B -device cpu -prompt 512 -tokens 128\n  kiln bench model -batch 1,16,64 -paged -json",
		Args:    wanting(cobra.ExactArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	s := cmd.Flags()
	s.StringVar(&f.device, "device", "auto", "the `device`, such as cpu or cuda:0")
	s.StringVar(&f.dtype, "dtype", "auto", "the `type` of weights that are not quantized, such as bf16")
	s.IntVar(&f.prompt, "prompt", 512, "tokens of a prompt")
	s.IntVar(&f.tokens, "tokens", 128, "tokens that are made behind it")
	s.IntSliceVar(&f.batch, "batch", []int{1}, "`numbers` of sequences at a time, such as 1,16")
	s.BoolVar(&f.paged, "paged", false, "keep all sequences in pages of one pool, as a server does")
	s.BoolVar(&f.json, "json", false, "print one JSON array")
	return cmd
}

// benchResult is a row of what is printed.
type benchResult struct {
	Batch   int     `json:"batch"`
	Prompt  float64 `json:"prompt_tokens_per_second"`
	Decode  float64 `json:"decode_tokens_per_second"`
	Share   float64 `json:"share_of_bandwidth"`
	Host    float64 `json:"host_microseconds_per_step"`
	Mallocs float64 `json:"allocations_per_step"`
	Eager   string  `json:"no_graph,omitempty"`
}

func (f *benchFlags) run(cmd *cobra.Command, name string) error {
	if f.prompt < 1 || f.tokens < 1 {
		return usageError{errors.New("-prompt and -tokens: want 1 at least")}
	}
	for _, n := range f.batch {
		if n < 1 {
			return usageError{fmt.Errorf("-batch %d: want 1 at least", n)}
		}
	}
	path, err := localModel(cmd, name)
	if err != nil {
		return err
	}
	o, stop, err := modelOptions(cmd.ErrOrStderr(), f.device, f.dtype)
	if err != nil {
		return err
	}
	o.Paged = f.paged
	lm, err := models.Open(path, o)
	stop()
	if err != nil {
		return err
	}
	if most := lm.Config.MaxPositions; most > 0 && f.prompt+f.tokens > most {
		return usageError{fmt.Errorf("-prompt %d and -tokens %d: the model is made for %d in all", f.prompt, f.tokens, most)}
	}
	return f.measure(cmd.OutOrStdout(), lm)
}

// measure prints a line for each number of sequences.
func (f *benchFlags) measure(out io.Writer, lm *models.LM) error {
	bytes, err := lmbench.WeightBytes(lm)
	if err != nil {
		return err
	}
	copied, err := lmbench.CopyRate(lm.Device)
	if err != nil {
		return err
	}
	var list []benchResult
	for _, n := range f.batch {
		r, err := lmbench.Measure(lm, lmbench.Work{Prompt: f.prompt, Tokens: f.tokens, Batch: n})
		if err != nil {
			return err
		}
		row := benchResult{
			Batch: n, Prompt: r.Prompt, Decode: r.Decode, Share: r.Decode / float64(n) * bytes / copied,
			Host: r.Host.Seconds() * 1e6, Mallocs: r.Mallocs,
		}
		if r.Replayed != nil {
			row.Eager = r.Replayed.Error()
		}
		list = append(list, row)
	}
	if f.json {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(list)
	}
	fmt.Fprintf(out, "%s: copies at %.1f GB/s, %.2f GB of weights a step\n", lm.Device, copied/1e9, bytes/1e9)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "sequences\tprompt of %d, tokens/s\tnew tokens/s\tshare of bandwidth\thost µs/step\t\n", f.prompt)
	for _, r := range list {
		fmt.Fprintf(w, "%d\t%.1f\t%.1f\t%.2f\t%.0f\t\n", r.Batch, r.Prompt, r.Decode, r.Share, r.Host)
	}
	return w.Flush()
}
