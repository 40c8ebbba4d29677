package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/gokiln/kiln/cmd/kiln/internal/talk"
	"github.com/gokiln/kiln/models"
	"github.com/gokiln/kiln/models/generate"
	"github.com/gokiln/kiln/models/generate/grammar"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/tensor"
)

// runFlags are the flags of kiln run.
type runFlags struct {
	device, dtype, system string
	temp, topP, minP      float64
	repeat                float64
	topK, n, context      int
	seed                  uint64
	stop                  []string
	raw, interactive      bool
	think                 bool
	lookup                int
	lora                  []string
	schema, gbnf, pattern string
	to                    string
}

func runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run model [prompt]",
		Short: "talk with a language model, or have it go on with a text",
		Long: "Run loads a model, a folder as it is on the Hugging Face hub or a GGUF file, and answers\n" +
			"the prompt. A name on the hub, where there is no such path, is downloaded as by kiln pull.\n" +
			"Without a prompt it answers lines of the terminal, where /help lists commands,\n" +
			"or all of the standard input. A model without a chat template, or -raw, goes on with the\n" +
			"text, and one with an encoder translates or summarises it. An interrupt (Ctrl-C) ends the answer.\n" +
			"Rates are on the standard error.\n\n" +
			"How tokens are chosen is what the model's generation_config.json says, if it does, and else\n" +
			"a temperature of 0.8 and a min-p of 0.05.",
		Example: "  kiln run Qwen/Qwen3-0.6B\n  kiln run org/name-GGUF:Q4_K_M\n  kiln run llama.Q4_K_M.gguf -temp 0 -n 100 \"Why is the sky blue?\"",
		Args:    wanting(cobra.RangeArgs(1, 2)),
		RunE:    func(cmd *cobra.Command, args []string) error { return runModel(cmd, f, args) },
	}
	s := cmd.Flags()
	s.StringVar(&f.device, "device", "auto", "the `device`, such as cpu or cuda:0")
	s.StringVar(&f.dtype, "dtype", "auto", "the `type` of weights that are not quantized, such as bf16")
	s.StringVar(&f.system, "system", "", "a `text` that the model is told first")
	s.Float64Var(&f.temp, "temp", 0, "temperature; 0 takes the most likely token")
	s.Float64Var(&f.topP, "top-p", 0, "keep the most likely tokens of this probability")
	s.IntVar(&f.topK, "top-k", 0, "keep so many of the most likely tokens")
	s.Float64Var(&f.minP, "min-p", 0, "keep tokens that are this times as likely as the first")
	s.Float64Var(&f.repeat, "repeat-penalty", 0, "divide the logits of tokens that were seen")
	s.Uint64Var(&f.seed, "seed", 0, "makes answers reproducible; random without it")
	s.IntVarP(&f.n, "max-tokens", "n", 0, "so many tokens at most; 0 for all that fit")
	s.IntVar(&f.context, "context", 0, "look at so many tokens at most; 0 for what the model is made for")
	s.StringArrayVar(&f.stop, "stop", nil, "a `text` that ends the answer; may be given several times")
	s.StringArrayVar(&f.lora, "lora", nil, "add the adapter at this `path`, or path:scale; may be given several times")
	s.IntVar(&f.lookup, "lookup", 0, "guess so many tokens at once from the text so far")
	s.StringVar(&f.schema, "schema", "", "a `file` with a JSON schema that answers fit")
	s.StringVar(&f.gbnf, "grammar", "", "a `file` with a grammar in GBNF that answers follow")
	s.StringVar(&f.pattern, "regexp", "", "a regular `expression` that answers match")
	s.StringVar(&f.to, "to", "", "the `token` that answers begin with, for models that translate to several\n"+
		"languages, such as deu_Latn")
	s.BoolVar(&f.think, "think", true, "have the model think first, where its chat template knows that")
	s.BoolVar(&f.raw, "raw", false, "go on with the text, without the chat template")
	s.BoolVarP(&f.interactive, "interactive", "i", false, "answer line by line, whatever the input is")
	return cmd
}

func runModel(cmd *cobra.Command, f runFlags, args []string) error {
	path, err := localModel(cmd, args[0])
	if err != nil {
		return err
	}
	o, err := f.options(cmd, path)
	if err != nil {
		return err
	}
	rules, err := f.grammar()
	if err != nil {
		return err
	}
	lm, err := f.open(cmd, path)
	if err != nil {
		return err
	}
	if lm.Tokenizer == nil {
		return fmt.Errorf("%s: there is no tokenizer beside the weights", args[0])
	}
	g := &generate.Generator[*models.Sequence]{
		Model: lm, Tokenizer: lm.Tokenizer, EOS: lm.Config.EOS, Context: lm.Config.MaxPositions,
	}
	if f.context > 0 {
		g.Context = f.context
	}
	t := &talk.Talk[*models.Sequence]{
		Generator: g, Options: o, System: f.system, Out: cmd.OutOrStdout(), Err: cmd.ErrOrStderr(),
	}
	defer t.Close()
	if rules != nil {
		v, err := grammar.NewVocabulary(lm.Tokenizer, lm.Config.EOS, lm.Config.VocabSize)
		if err != nil {
			return err
		}
		t.Constrain = func() generate.Constraint { return rules.Constrain(v) }
	}
	switch {
	case lm.Encodes():
		if err := f.writes(cmd, t, lm, path); err != nil {
			return err
		}
	case f.to != "":
		return usageError{errors.New("-to: the model has no encoder, and so does not translate")}
	case lm.Template != "" && !f.raw:
		if t.Render, err = chatTemplate(lm, f.thinking(cmd)); err != nil {
			return fmt.Errorf("%s: %w (-raw does without its chat template)", args[0], err)
		}
	}
	if f.system != "" && t.Render == nil {
		return usageError{errors.New("-system: the model has no chat template, and so no system message")}
	}
	return f.converse(cmd, t, args[1:])
}

// converse answers the prompt, lines, or the whole input.
func (f *runFlags) converse(cmd *cobra.Command, t *talk.Talk[*models.Sequence], prompt []string) error {
	ctx, in := cmd.Context(), cmd.InOrStdin()
	if ctx == nil {
		ctx = context.Background()
	}
	if len(prompt) == 0 {
		tty, ok := in.(*os.File)
		t.Terminal = ok && isTerminal(tty)
		if t.Terminal || f.interactive {
			return t.Loop(ctx, in)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		prompt = []string{string(text)}
	}
	return t.Answer(ctx, prompt[0])
}

// options are those of the model, and those that were given.
func (f *runFlags) options(cmd *cobra.Command, model string) (o generate.Options, err error) {
	if o.Sampling, err = published(model); err != nil {
		return o, err
	}
	given := cmd.Flags().Changed
	for _, flag := range []struct {
		name string
		to   *float64
		x    float64
	}{
		{"temp", &o.Temperature, f.temp}, {"top-p", &o.TopP, f.topP}, {"min-p", &o.MinP, f.minP},
		{"repeat-penalty", &o.RepetitionPenalty, f.repeat},
	} {
		if given(flag.name) {
			*flag.to = flag.x
		}
	}
	if given("top-k") {
		o.TopK = f.topK
	}
	if given("seed") {
		o.Seed = &f.seed
	}
	if f.n < 0 || f.context < 0 || f.lookup < 0 {
		return o, usageError{errors.New("-n, -context and -lookup are not negative")}
	}
	o.MaxTokens, o.Stop = f.n, f.stop
	if f.lookup > 0 {
		o.Draft, o.DraftTokens = generate.PromptLookup{}, f.lookup
	}
	if _, err := generate.NewSampler(o.Sampling); err != nil {
		return o, usageError{err}
	}
	return o, nil
}

// grammar is what answers have to follow, or nil.
func (f *runFlags) grammar() (*grammar.Grammar, error) {
	type source struct {
		flag, value string
		read        func(string) (*grammar.Grammar, error)
	}
	var given []source
	for _, s := range []source{
		{"schema", f.schema, ofFile(func(text string) (*grammar.Grammar, error) { return grammar.JSONSchema([]byte(text)) })},
		{"grammar", f.gbnf, ofFile(grammar.GBNF)}, {"regexp", f.pattern, grammar.Regexp},
	} {
		if s.value != "" {
			given = append(given, s)
		}
	}
	if len(given) == 0 {
		return nil, nil
	}
	if len(given) > 1 {
		return nil, usageError{errors.New("-schema, -grammar and -regexp: want one of them")}
	}
	g, err := given[0].read(given[0].value)
	if err != nil {
		return nil, fmt.Errorf("-%s: %w", given[0].flag, err)
	}
	return g, nil
}

// ofFile has read get the text of a file.
func ofFile(read func(text string) (*grammar.Grammar, error)) func(string) (*grammar.Grammar, error) {
	return func(path string) (*grammar.Grammar, error) {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		return read(string(text))
	}
}

// thinking is what was asked for, or nil.
func (f *runFlags) thinking(cmd *cobra.Command) *bool {
	if cmd.Flags().Changed("think") {
		return &f.think
	}
	return nil
}

// published is how a model wants to be sampled.
func published(model string) (generate.Sampling, error) {
	o := generate.Sampling{Temperature: 0.8, MinP: 0.05}
	if info, err := os.Stat(model); err != nil || !info.IsDir() {
		model = filepath.Dir(model)
	}
	b, err := os.ReadFile(filepath.Join(model, "generation_config.json"))
	if err != nil {
		return o, nil // few models need it
	}
	var c struct {
		Sample      *bool    `json:"do_sample"`
		Temperature *float64 `json:"temperature"`
		TopK        int      `json:"top_k"`
		TopP        float64  `json:"top_p"`
		MinP        float64  `json:"min_p"`
		TypicalP    float64  `json:"typical_p"`
		Repetition  float64  `json:"repetition_penalty"`
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return o, fmt.Errorf("generation_config.json: %w", err)
	}
	if c.Sample == nil && c.Temperature == nil {
		return o, nil
	}
	o = generate.Sampling{Temperature: 1, TopK: c.TopK, TopP: c.TopP, MinP: c.MinP, TypicalP: c.TypicalP,
		RepetitionPenalty: c.Repetition}
	if c.Temperature != nil {
		o.Temperature = *c.Temperature
	}
	if c.Sample != nil && !*c.Sample {
		o.Temperature = 0
	}
	return o, nil
}

// open loads the model, and shows on a terminal how far it is.
func (f *runFlags) open(cmd *cobra.Command, path string) (*models.LM, error) {
	adapters, err := f.adapters(cmd)
	if err != nil {
		return nil, err
	}
	o, stop, err := modelOptions(cmd.ErrOrStderr(), f.device, f.dtype)
	if err != nil {
		return nil, err
	}
	o.Adapters, o.Merge = adapters, true
	defer stop()
	return models.Open(path, o)
}

// modelOptions are options for a model on a device, with weights of a type unless it is auto. How far
// loading is shows on a terminal until stop is called.
func modelOptions(
	stderr io.Writer, device, dt string,
) (o models.Options, stop func(), err error) {
	if dt != "auto" {
		if o.DType, err = dtype.Parse(strings.ToLower(dt)); err != nil || !o.DType.IsFloat() {
			err = usageError{fmt.Errorf("-dtype %s: want a floating-point type, such as bf16", dt)}
			return o, nil, err
		}
	}
	if o.Device, err = tensor.Open(device); err != nil {
		return o, nil, err
	}
	o.Progress, stop = partProgress(stderr)
	return o, stop, nil
}

// adapters are those of -lora: paths, or names on the hub, which a colon and a scale may follow.
func (f *runFlags) adapters(cmd *cobra.Command) (list []models.Adapter, err error) {
	for _, text := range f.lora {
		a := models.Adapter{Path: text}
		if at := strings.LastIndexByte(text, ':'); at > 0 {
			if x, err := strconv.ParseFloat(text[at+1:], 64); err == nil && x != 0 {
				a = models.Adapter{Path: text[:at], Scale: x}
			}
		}
		if a.Path, err = localModel(cmd, a.Path); err != nil {
			return nil, fmt.Errorf("-lora: %w", err)
		}
		list = append(list, a)
	}
	return list, nil
}

// partProgress shows on a terminal how many of some parts are done.
func partProgress(stderr io.Writer) (show func(done, all int), stop func()) {
	if f, ok := stderr.(*os.File); !ok || !isTerminal(f) {
		return nil, func() {}
	}
	p := mpb.New(mpb.WithOutput(stderr), mpb.WithWidth(40))
	bar := p.AddBar(0, mpb.PrependDecorators(decor.CountersNoUnit("%d of %d parameters ")), mpb.BarRemoveOnComplete())
	show = func(done, all int) {
		bar.SetTotal(int64(all), false)
		bar.SetCurrent(int64(done))
	}
	return show, func() { bar.Abort(true); p.Wait() }
}
