package tokenizers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gokiln/kiln/tokenizers/internal/pattern"
)

// bpeFamily is how models of some names split text before byte-pair encoding. Where llama.cpp
// approximates a pattern of the published tokenizer, this is the published one.
type bpeFamily struct {
	names        []string // of tokenizer.ggml.pre
	split        []string // patterns, one after the other
	ignoreMerges bool     // a word that is a token is that token
	bos          bool     // a text begins with it unless the file says otherwise
	spaced       bool     // of characters, with a visible one for spaces, and no byte level
}

// Patterns, and parts that several have.
const (
	splitContractions = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`
	splitSpaces       = `\s*[\r\n]+|\s+(?!\S)|\s+`
	splitSymbols      = ` ?[^\s\p{L}\p{N}]+[\r\n]*|` + splitSpaces
	splitWord         = `[^\r\n\p{L}\p{N}]?\p{L}+|`

	splitLlama3 = splitContractions + `|` + splitWord + `\p{N}{1,3}|` + splitSymbols
	splitQwen2  = splitContractions + `|` + splitWord + `\p{N}|` + splitSymbols
	splitGPT2   = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

	splitUpper = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`
	splitLower = `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`
	splitPaths = `| ?[^\s\p{L}\p{N}]+[\r\n/]*|` + splitSpaces
	splitGPT4o = splitUpper + `*` + splitLower + `+` + splitContractions + `?|` +
		splitUpper + `+` + splitLower + `*` + splitContractions + `?`
	splitTekken = splitUpper + `*` + splitLower + `+|` + splitUpper + `+` + splitLower + `*`

	splitASCIIWord = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|" +
		`[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+`
	splitEastAsian = `[\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+`
	splitIdeograms = `[\x{4E00}-\x{9FA5}\x{0800}-\x{4E00}\x{AC00}-\x{D7FF}]+`
	splitBloom     = ` ?[^(\s|.,!?…。，、।۔،)]+`

	splitThree = `[0-9][0-9][0-9]`
	splitHan   = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]`
	splitCase  = `[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]`
	splitStart = `|[^\r\n\p{L}\p{N}]?`
	splitKimi  = `[\p{Han}]+` + splitStart + splitHan + `*` + splitCase + `+` + splitContractions +
		`?` + splitStart + splitHan + `+` + splitCase + `*` + splitContractions + `?|\p{N}{1,3}|` +
		splitSymbols
)

// splitCased has the letters that DeepSeek's first vocabulary makes words of, those of scripts
// with upper and lower case.
const splitCased = `\s?[` +
	`A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293}` +
	`\x{295}-\x{2AF}\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A}` +
	`\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556}` +
	`\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF}` +
	`\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}` +
	`\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}` +
	`\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}` +
	`\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}` +
	`\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}` +
	`\x{2126}\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}` +
	`\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}` +
	`\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F}` +
	`\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}` +
	`\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3}` +
	`\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}` +
	`\x{1E900}-\x{1E943}` + `]+`

var gemmaFamily = &bpeFamily{names: []string{"gemma4", "granite-embed-multi-311m", "sarvam-moe"},
	split: []string{`[^\n]+|\n+`}, spaced: true}

// bpeFamilies are those of llama.cpp, by the names that its converter writes.
var bpeFamilies = []*bpeFamily{
	gemmaFamily,
	{names: []string{"default"}, split: []string{`[\p{P}$+<=>^~|]+`, splitGPT2, `\p{N}+`, splitThree}},
	{names: []string{"llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0",
		"lfm2", "jina-v5-nano"}, split: []string{splitLlama3}, ignoreMerges: true, bos: true},
	{names: []string{"dbrx", "smaug-bpe", "chatglm-bpe"}, split: []string{splitLlama3}},
	{names: []string{"glm4", "glm5"}, split: []string{splitLlama3}, ignoreMerges: true},
	{names: []string{"jais-2"}, split: []string{splitContractions + `|` + splitWord +
		`\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|` +
		`\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|` +
		`\s{1,2}(?!\S)|\s`}},
	{names: []string{"minicpm5"}, split: []string{`\p{N}{1,3}`, splitContractions + `|` + splitWord +
		`\p{N}+|` + splitSymbols}, ignoreMerges: true},
	{names: []string{"qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "megrez", "stablelm2",
		"hunyuan", "solar-open", "grok-2"}, split: []string{splitQwen2}},
	{names: []string{"qwen35"}, split: []string{splitContractions + `|[^\r\n\p{L}\p{N}]?` +
		`[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|` + splitSpaces}},
	{names: []string{"ufakzeka"}, split: []string{splitWord + `\p{N}|` + splitSymbols}},
	{names: []string{"laguna"}, split: []string{`[^\n]+|\n+`, splitQwen2}},
	{names: []string{"seed-coder"}, split: []string{splitContractions + `|` + splitWord +
		`\p{N}| ?[^\s\p{L}\p{N}\r\n]+|` + splitSpaces}},
	{names: []string{"bailingmoe", "bailingmoe2", "llada-moe"}, split: []string{
		`'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|` +
			`\s*[\r\n]|\s+(?!\S)|\s+`}},
	{names: []string{"exaone-moe"}, split: []string{splitContractions + `|[^\r\n\p{L}\p{N}]?` +
		`(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|` +
		`\s+(?!\S)|\s+`}},
	{names: []string{"deepseek-llm"}, split: []string{`[\r\n]`, splitCased,
		`\s?[!-/:-~！-／：-～‘-‟　-。]+`, `\s+$`, splitIdeograms, `\p{N}+`}},
	{names: []string{"deepseek-coder"}, split: []string{`[\r\n]`, `\s?\p{L}+`, `\s?\p{P}+`,
		splitIdeograms, `\p{N}`}},
	{names: []string{"deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"}, split: []string{
		`\p{N}{1,3}`, splitEastAsian, splitASCIIWord + `[\r\n]*|` + splitSpaces}},
	{names: []string{"spark2_5"}, split: []string{`\p{N}{1,3}`, splitEastAsian,
		splitASCIIWord + `|[\r\n]|\s+(?!\S)|\s+`, `\p{N}`}},
	{names: []string{"afmoe"}, split: []string{`\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))`,
		`[一-鿿㐀-䶿豈-﫿぀-ゟ゠-ヿ･-ﾟ⼀-⿟เ-๿຀-໿ក-៿က-႟ꩠ-ꩿꧠ-꧿가-힯ᄀ-ᇿ]+`,
		splitASCIIWord + `[\r\n]*|` + splitSpaces}},
	{names: []string{"youtu"}, split: []string{
		`[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|` + splitEastAsian,
		splitGPT4o + `|\p{N}` + splitPaths}, ignoreMerges: true},
	{names: []string{"falcon"}, split: []string{"[\\p{P}$+<=>^~|`]+", splitGPT2, splitThree}},
	{names: []string{"starcoder", "refact", "command-r", "smollm", "codeshell", "exaone",
		"minerva-7b", "mellum2"}, split: []string{`\p{N}`, splitGPT2}},
	{names: []string{"gpt-2", "phi-2", "mpt", "olmo", "jais", "trillion", "granite-docling", "exaone4",
		"jina-es", "jina-de", "jina-v2-es", "jina-v2-de", "jina-v1-en", "jina-v2-code", "roberta-bpe",
		"gigachat", "a.x-4.0", "mellum", "modern-bert"}, split: []string{splitGPT2}},
	{names: []string{"poro-chat", "bloom", "gpt3-finnish"}, split: []string{splitBloom}},
	{names: []string{"viking"}, split: []string{splitBloom, `\p{N}`}},
	{names: []string{"tekken"}, split: []string{splitTekken + `|\p{N}` + splitPaths},
		ignoreMerges: true, bos: true},
	{names: []string{"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"},
		split: []string{splitGPT4o + `|\p{N}{1,3}` + splitPaths}},
	{names: []string{"granite-embed-multi-97m"}, split: []string{splitGPT4o + `|\p{N}{1,3}` +
		splitPaths}, ignoreMerges: true},
	{names: []string{"tiny_aya", "cohere2moe"}, split: []string{`\d{1,3}(?=(?:\d{3})*\b)`,
		splitGPT4o + `|\p{N}{1,3}` + splitPaths}},
	{names: []string{"kimi-k2"}, split: []string{splitKimi}},
	{names: []string{"superbpe"}, split: []string{`\p{N}+`, `(?=(\d{3})+(?!\d))`}},
	{names: []string{"chameleon"}, split: []string{`<sentinel:[0-9]+>`,
		`(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z`, `([\t\n]|    |  )`, `\p{N}`,
		"[\\p{P}!-/:-@\\[-`{-~]", splitGPT2}, bos: true},
}

// bpeFamilyOf returns the family of a name.
func bpeFamilyOf(name string) (*bpeFamily, error) {
	for _, f := range bpeFamilies {
		if slices.Contains(f.names, name) {
			return f, nil
		}
	}
	var known []string
	for _, f := range bpeFamilies {
		known = append(known, f.names...)
	}
	slices.Sort(known)
	return nil, fmt.Errorf("metadata %q: the pre-tokenizer %q is %w; known are %s", keyGGUF+"pre", name,
		ErrUnsupported, strings.Join(known, ", "))
}

// splittersOf makes pre-tokenizers of patterns.
func splittersOf(split []string) (preTokenizers, error) {
	var list preTokenizers
	for _, s := range split {
		p, err := pattern.Compile(s)
		if err != nil {
			return nil, err
		}
		list = append(list, &splitter{pattern: p, behaviour: isolated})
	}
	return list, nil
}
