// Package tokenizers makes ids of text, as language models read it, and text of
// ids. It reads the tokenizer.json of published models, Mistral's tekken.json,
// models of SentencePiece, vocabularies of tiktoken and the metadata of GGUF files.
//
// A text goes through these steps; a file says what each is:
//
//	added tokens   <|endoftext|>, [MASK]: found first, and passed by the rest
//	normalizer     Unicode forms, lower case, accents, replacements
//	pre-tokenizer  splits into pieces, mostly words
//	model          makes tokens of each piece: BPE, WordPiece, Unigram, WordLevel
//	post-processor special tokens around the text: [CLS] … [SEP], <s> …
//
// Truncation and padding follow; [Tokenizer.Parts] returns what truncation leaves out, too. Every
// token knows which bytes of the text it is from. The way back is a decoder; a [Stream] decodes ids
// as a model makes them and never returns a part of a character.
//
//	t, err := tokenizers.Open("tokenizer.json")
//	e, err := t.Encode("Hello", tokenizers.Options{SpecialTokens: true})
//	text, err := t.Decode(e.IDs, true)
//
// Ids, offsets and texts are those of the reference library, Hugging Face's
// tokenizers, and for GGUF files those of llama.cpp: their results are the golden
// files of the tests. What a file asks
// for and the package lacks is an error when the file is read, and names it.
// Files and texts are bounded, and time grows with n·log n at most of a text's
// length. The package is plain Go, and of this module needs the reader of GGUF
// files alone.
package tokenizers
