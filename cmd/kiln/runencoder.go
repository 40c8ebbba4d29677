package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gokiln/kiln/cmd/kiln/internal/talk"
	"github.com/gokiln/kiln/models"
	"github.com/gokiln/kiln/models/generate"
	"github.com/gokiln/kiln/tokenizers"
)

// mostWritten is how many tokens a model with an encoder writes where nothing is said.
const mostWritten = 512

// beamOptions is how a model with an encoder wants to write: what its configuration says, which
// older ones have in config.json, and what flags say.
func (f *runFlags) beamOptions(
	cmd *cobra.Command, lm *models.LM, folder string,
) (o generate.BeamOptions, err error) {
	o = generate.BeamOptions{Width: 1, LengthPenalty: 1, EarlyStopping: generate.StopWhenLikely}
	length := struct {
		Least int `json:"min_length"`
		Most  int `json:"max_length"`
	}{}
	for _, name := range []string{"config.json", "generation_config.json"} {
		b, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			continue // few models need it
		}
		if err := errors.Join(json.Unmarshal(b, &o), json.Unmarshal(b, &length)); err != nil {
			return o, fmt.Errorf("%s: %w", name, err)
		}
	}
	start := len(lm.Start())
	o.MinTokens = max(o.MinTokens, length.Least-start)
	if o.MaxTokens = f.n; f.n == 0 {
		o.MaxTokens = mostWritten
		if length.Most > start {
			o.MaxTokens = length.Most - start
		}
	}
	if f.to == "" {
		return o, nil
	}
	id, ok := lm.Tokenizer.ID(f.to)
	if !ok {
		return o, usageError{fmt.Errorf("-to %s: the model has no such token", f.to)}
	}
	o.ForcedBOS = &id
	return o, nil
}

// writes has a talk use a model with an encoder.
func (f *runFlags) writes(
	cmd *cobra.Command, t *talk.Talk[*models.Sequence], lm *models.LM, path string,
) error {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		path = filepath.Dir(path)
	}
	o, err := f.beamOptions(cmd, lm, path)
	if err != nil {
		return err
	}
	given := cmd.Flags().Changed
	t.Options.Rules, t.Options.MaxTokens = o.Rules, o.MaxTokens
	if !given("temp") {
		t.Options.Temperature = 0
	}
	if o.Width > 1 && t.Options.Temperature == 0 && t.Constrain == nil && len(f.stop) == 0 {
		t.Beams = &o
	}
	t.Encode = func(text string) (generate.Model[*models.Sequence], []int32, error) {
		ids, err := lm.Tokenizer.IDs(text, tokenizers.Options{SpecialTokens: true})
		if err != nil {
			return nil, nil, err
		}
		sources, err := lm.Encode([][]int32{ids})
		if err != nil {
			return nil, nil, err
		}
		return sources[0], lm.Start(), nil
	}
	return nil
}
