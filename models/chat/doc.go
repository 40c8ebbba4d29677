// Package chat makes the text of a conversation that a language model was trained on, by the chat
// template that comes with it: the Jinja text chat_template of tokenizer_config.json, and
// tokenizer.chat_template of a GGUF file.
//
//	t, err := chat.Parse(source)
//	prompt, err := t.Render([]chat.Message{
//		{Role: "system", Content: "Be brief."},
//		{Role: "user", Content: "Why is the sky blue?"},
//	}, chat.Options{AddGenerationPrompt: true, BOS: "<s>", EOS: "</s>"})
//
// The language is that of Jinja 3.1 as Hugging Face's transformers sets it up: trim_blocks,
// lstrip_blocks, break and continue, the tag generation, a tojson that escapes nothing for HTML,
// raise_exception and strftime_now, and values that templates cannot change. Inheritance, includes,
// recursive loops, and filters that no published template uses are errors that name them.
//
// Templates are not trusted: they see what is passed to them and nothing else, and the steps they
// take and the text they make are bounded. What is wrong in one, or what it refuses by
// raise_exception, is an error with its line.
package chat
