package tokenizers_test

import (
	"fmt"
	"strings"

	"github.com/gokiln/kiln/tokenizers"
)

const tiny = `{
	"added_tokens": [{"id": 0, "content": "[UNK]", "special": true},
		{"id": 1, "content": "[CLS]", "special": true}],
	"normalizer": {"type": "Lowercase"},
	"pre_tokenizer": {"type": "Whitespace"},
	"post_processor": {"type": "TemplateProcessing",
		"single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}},
			{"Sequence": {"id": "A", "type_id": 0}}],
		"pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
		"special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [1], "tokens": ["[CLS]"]}}},
	"decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
	"model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
		"vocab": {"[UNK]": 0, "[CLS]": 1, "token": 2, "##izer": 3, "##s": 4, "are": 5, "fun": 6}}
}`

func Example() {
	t, err := tokenizers.FromJSON(strings.NewReader(tiny))
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := t.Encode("Tokenizers are fun", tokenizers.Options{SpecialTokens: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(e.IDs, e.Tokens)
	fmt.Println(e.Offsets)

	s := t.Stream(true)
	for _, id := range e.IDs {
		text, err := s.Next(id)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print(text)
	}
	fmt.Println()
	// Output:
	// [1 2 3 4 5 6] [[CLS] token ##izer ##s are fun]
	// [{0 0} {0 5} {5 9} {9 10} {11 14} {15 18}]
	// tokenizers are fun
}
