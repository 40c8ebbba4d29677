package chat_test

import (
	"fmt"

	"github.com/gokiln/kiln/models/chat"
)

func Example() {
	t, err := chat.Parse("{% for m in messages %}<|{{ m.role }}|>{{ m.content | trim }}<|end|>\n" +
		"{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}")
	if err != nil {
		fmt.Println(err)
		return
	}
	prompt, err := t.Render([]chat.Message{
		{Role: "system", Content: "Be brief. "},
		{Role: "user", Content: "Why is the sky blue?"},
	}, chat.Options{AddGenerationPrompt: true})
	fmt.Println(prompt, err)
	// Output:
	// <|system|>Be brief.<|end|>
	// <|user|>Why is the sky blue?<|end|>
	// <|assistant|> <nil>
}
