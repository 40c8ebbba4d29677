package main

import (
	"github.com/gokiln/kiln/models"
	"github.com/gokiln/kiln/models/chat"
)

// chatTemplate returns what makes a prompt of messages for a model. Think turns thinking on or off;
// nil leaves it to the template.
func chatTemplate(lm *models.LM, think *bool) (func([]chat.Message) (string, error), error) {
	t, err := chat.Parse(lm.Template)
	if err != nil {
		return nil, err
	}
	o := chat.Options{AddGenerationPrompt: true, EnableThinking: think}
	o.BOS, _ = lm.Tokenizer.Token(lm.Config.BOS)
	if len(lm.Config.EOS) > 0 {
		o.EOS, _ = lm.Tokenizer.Token(lm.Config.EOS[0])
	}
	return func(messages []chat.Message) (string, error) { return t.Render(messages, o) }, nil
}
