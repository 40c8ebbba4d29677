package grammar

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/models/generate"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tokenizers"
)

// texts are checked against a grammar: those behind "not" do not follow it.
func texts(t *testing.T, g *Grammar, err error, list ...string) {
	t.Helper()
	require.NoError(t, err)
	want := true
	for _, text := range list {
		if text == "not" {
			want = false
			continue
		}
		require.Equal(t, want, g.Match(text), "%q", text)
	}
}

// A class has the bytes of its characters and of no others.
func TestClass(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	edges := []rune{0, 0x7F, 0x80, 0x7FF, 0x800, 0xFFF, 0x1000, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x3FFFF, 0x40000, 0x10FFFF}
	pick := func() rune {
		if x := edges[r.IntN(len(edges))] + rune(r.IntN(3)) - 1; r.IntN(2) == 0 && x >= 0 && x <= utf8.MaxRune {
			return x
		}
		return r.Int32N(utf8.MaxRune + 1)
	}
	for range 100 {
		lo, hi := pick(), pick()
		if lo > hi {
			lo, hi = hi, lo
		}
		for _, not := range []bool{false, true} {
			c := class{{lo, hi}}
			if not {
				c = c.inverted()
			}
			g, err := compile(map[string]expr{"root": c}, []string{"root"})
			require.NoError(t, err)
			for _, x := range []rune{lo - 1, lo, lo + 1, hi - 1, hi, hi + 1, pick(), pick(), pick(), pick()} {
				if utf8.ValidRune(x) {
					require.Equal(t, (lo <= x && x <= hi) != not, g.Match(string(x)), "%x in %x-%x, %v", x, lo, hi, not)
				}
			}
			require.False(t, g.Match("\x80"))
			require.False(t, g.Match("\xED\xA0\x80"), "a surrogate")
		}
	}
}

// Expressions match what package regexp matches as a whole.
func TestRegexp(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, pattern := range []string{
		"a*b|c", "(ab){2,3}a?", "[^ab]+", "a.c", "(?i)aB+", "^abc$", "(a|b)*c{0,2}", "é+[а-я]?", "",
		"(?s).{3}", "a{2}", "a{2,}", "((a*)*)*b", `\d{1,2}\.\w`, "(|a)+b", "[a-c]*?b",
	} {
		g, err := Regexp(pattern)
		require.NoError(t, err, pattern)
		whole := regexp.MustCompile("^(?:" + strings.TrimSuffix(strings.TrimPrefix(pattern, "^"), "$") + ")$")
		alphabet := []rune("abcABé1.\nж")
		for range 2000 {
			text := ""
			for range r.IntN(7) {
				text += string(alphabet[r.IntN(len(alphabet))])
			}
			require.Equal(t, whole.MatchString(text), g.Match(text), "%q %q", pattern, text)
		}
	}
	for _, pattern := range []string{`a\bc`, "^a|b$", "(", "a$b", strings.Repeat("(a{1000}){1000}", 3)} {
		_, err := Regexp(pattern)
		require.ErrorIs(t, err, ErrGrammar, pattern)
	}
}

func TestGBNF(t *testing.T) {
	g, err := GBNF(`
# a list
root  ::= "[" ws ( item ("," ws item)* )? "]"   # of items
item  ::= number |
          word
number ::= "-"? [0-9]{1,3}
ws ::= " "?
word ::= [a-zé-]+ [^\]\x41\u00e9-ÿ]? "\"\n"`)
	texts(t, g, err, "[]", "[ 1,2]", "[-12, a\"\n]", "[é-é?\"\n]", "not", "[", "[1,]", "[1234]", "[aA\"\n]", "[a", "")
	g, err = GBNF("root ::= a\na ::= \"x\" a \"y\" | . b{2}\nb ::= \"b\"?\n")
	texts(t, g, err, "q", "xqy", "xxqbbyy", "qb", "not", "xxqy", "qbbb", "xy")
	for text, want := range map[string]string{
		"a ::= \"x\"":                 "no rule root",
		"root ::= b":                  "no rule b",
		"root ::= root \"a\" | \"b\"": "rule root begins with itself",
		"root ::= a? b\na ::= \"x\"\nb ::= a? root": "begins with itself",
		"root ::= \"a":                           "line 1: the line ends in a literal",
		"root ::= (\"a\"":                        "want )",
		"root ::= \"a\")":                        "want the name of a rule",
		"root ::= [b-a]":                         "wrong way round",
		"root ::= \"a\"{3,1}":                    "{3,1}",
		"root ::= \"a\"{3":                       "want }",
		"root ::= \"\\q\"":                       `\q has no meaning`,
		"root ::= \"\\uD800\"":                   "is no character",
		"root = \"a\"":                           "want ::=",
		"root ::= $":                             `"$" has no meaning`,
		"root ::= \"a\"\n\nroot ::= \"b\"":       "line 3: there are two rules root",
		"root ::= (\"a\"{60000}){60000}":         "too large",
		"root ::= ((\"\"{60000}){60000}){60000}": "too large",
		"root ::= \xff":                          "no UTF-8",
		"root ::= " + strings.Repeat("(", 1000):  "parentheses",
	} {
		_, err := GBNF(text)
		require.ErrorIs(t, err, ErrGrammar, text)
		require.ErrorContains(t, err, want)
	}
}

func TestJSONSchema(t *testing.T) {
	schema := func(text string) (*Grammar, error) { return JSONSchema([]byte(text)) }
	g, err := schema(`{"type": "object", "properties": {
		"name": {"type": "string", "minLength": 1, "maxLength": 3}, "age": {"type": "integer"},
		"tags": {"type": "array", "items": {"enum": ["a", "b", 3]}, "maxItems": 2}}, "required": ["name", "tags"]}`)
	texts(t, g, err, `{"name": "xyz", "age": -12, "tags": ["a", 3]}`, `{"name":"é\n","tags":[]}`, "{\n  \"name\":\"\\u00e9\",\"tags\":[\"b\"]}",
		"not", `{"name": "wxyz", "tags": []}`, `{"name": "", "tags": []}`, `{"name": "x"}`, `{"tags": [], "name": "x"}`,
		`{"name": "x", "age": 1.5, "tags": []}`, `{"name": "x", "age": 01, "tags": []}`, `{"name": "x", "tags": ["a", "a", "a"]}`,
		`{"name": "x", "tags": ["c"]}`, `{"name": "x", "tags": [], "more": 1}`, `{"name": "x",, "tags": []}`, `{"name": "x" "tags": []}`)
	g, err = schema(`{"properties": {"a": {}, "b": {"const": {"x": [1, null]}}, "ab": true}, "additionalProperties": {"type": "boolean"}}`)
	texts(t, g, err, `{}`, `{"a": [1, {"q": "r"}]}`, `{"b": {"x": [1, null]}}`, `{"a": 1, "b": {"x":[1,null]}, "ab": 2, "abc": true}`,
		`{"": true, "c": false}`, `{"ac": true}`, "not", `{"ab": 1, "a": 2}`, `{"b": 1}`, `{"c": 1}`, `{"a": 1,}`, `{,"c": true}`)
	g, err = schema(`{"type": ["string", "null"], "pattern": "^[a-z]+-\\d{2}$"}`)
	texts(t, g, err, `"ab-12"`, "null", "not", `"ab-1"`, "ab-12", `"-12"`)
	g, err = schema(`{"$defs": {"tree": {"type": "object", "properties": {"left": {"$ref": "#/$defs/tree"}, "v": {"type": "number"}}}},
		"anyOf": [{"$ref": "#/$defs/tree"}, {"type": "array", "prefixItems": [{"type": "boolean"}, {"type": "null"}], "items": false}]}`)
	texts(t, g, err, `{"left": {"left": {}, "v": 1e5}, "v": -0.25}`, `[true, null]`, "not", `[true]`, `[true, null, 1]`, `{"left": 1}`)
	g, err = schema(`{"type": "array", "minItems": 2, "items": {"type": "object", "minProperties": 1}}`)
	texts(t, g, err, `[{"a": 1}, {"b": {}}]`, "not", `[{"a": 1}]`, `[{}, {"a": 1}]`)
	g, err = schema(`{"required": ["x"], "properties": {"y": {"type": "null"}}}`)
	texts(t, g, err, `{"y": null, "x": 5}`, `{"x": 5}`, "not", `{"y": null}`)
	g, err = JSON()
	texts(t, g, err, `{"a": [true, false, null, -1.5e+10, "\"\\\/\u12aF"], "b": {}}`, "not", `[]`, `{"a": 'x'}`, `{"a": "`+"\n"+`"}`)
	for text, want := range map[string]string{
		`{`:                                   "no JSON",
		`{} {}`:                               "more behind",
		`{"type": "wow"}`:                     "no type wow",
		`{"type": "integer", "minimum": 3}`:   "#: the keyword minimum is not supported",
		`{"$ref": "#/nope"}`:                  "no such part",
		`{"$ref": "http://x"}`:                "parts of the schema itself",
		`{"$ref": "#"}`:                       "begins with itself",
		`{"type": "string", "minLength": -1}`: "minLength is -1",
		`{"maxItems": 1, "minItems": 2}`:      "minItems is 2, and maxItems is 1",
		`{"properties": {"a": {"not": {}}}}`:  "#/properties/a: the keyword not",
		`{"enum": []}`:                        "enum is a list",
		`{"properties": {"a": 1, "a": 2}}`:    "two keys",
		`{"properties": {"a": 1}}`:            "a schema is an object",
		`{"pattern": "\""}`:                   "quotes",
		`{"required": ["x"], "additionalProperties": false}`: "no such property",
	} {
		_, err := schema(text)
		require.ErrorIs(t, err, ErrGrammar, text)
		require.ErrorContains(t, err, want)
	}
}

// noisy is a model that says anything.
type noisy struct {
	dev   *tensor.Device
	vocab int
	r     *rand.Rand
}

type noisySequence struct{ n int }

func (s *noisySequence) Len() int             { return s.n }
func (s *noisySequence) Truncate(n int) error { s.n = n; return nil }
func (s *noisySequence) Close()               {}

func (m *noisy) NewSequence() *noisySequence { return &noisySequence{} }
func (m *noisy) Step(list []*noisySequence, ids [][]int32) *tensor.Tensor {
	list[0].n += len(ids[0])
	return m.logits(1)
}
func (m *noisy) StepAll(s *noisySequence, ids []int32) *tensor.Tensor {
	s.n += len(ids)
	return m.logits(len(ids))
}
func (m *noisy) logits(n int) *tensor.Tensor {
	x := make([]float32, n*m.vocab)
	for i := range x {
		x[i] = float32(m.r.NormFloat64())
	}
	return tensor.From(m.dev, x, n, m.vocab)
}

const end = 300

// tokenizer has the bytes in GPT-2's letters, some longer tokens, and end.
func tokenizer(t testing.TB) *tokenizers.Tokenizer {
	t.Helper()
	vocab := map[string]int{}
	for r, b := range byteOf {
		vocab[string(r)] = int(b)
	}
	for i, s := range []string{`{"`, `":`, "true", "null", `",`, "}}", "Ġa", "12", "Ã©", "ĠÃ"} {
		vocab[s] = 256 + i
	}
	b, err := json.Marshal(map[string]any{
		"added_tokens": []any{map[string]any{"id": end, "content": "<end>", "special": true}},
		"decoder":      map[string]any{"type": "ByteLevel"},
		"model":        map[string]any{"type": "BPE", "vocab": vocab, "merges": []string{}},
	})
	require.NoError(t, err)
	tok, err := tokenizers.FromJSON(strings.NewReader(string(b)))
	require.NoError(t, err)
	return tok
}

func TestVocabulary(t *testing.T) {
	v, err := NewVocabulary(tokenizer(t), []int32{end}, 400)
	require.NoError(t, err)
	require.Equal(t, "a", string(v.bytes['a']))
	require.Equal(t, " ", string(v.bytes[' ']))
	require.Equal(t, "\xC3", string(v.bytes[0xC3]))
	require.Equal(t, "true", string(v.bytes[258]))
	require.Equal(t, "é", string(v.bytes[264]))
	require.Equal(t, " \xC3", string(v.bytes[265]), "a part of a character")
	require.Nil(t, v.bytes[end])
	require.Nil(t, v.bytes[399], "a logit without a token")
	_, err = NewVocabulary(tokenizer(t), nil, -1)
	require.ErrorIs(t, err, ErrGrammar)
}

// Whatever a model says, and however tokens are chosen, the text follows the grammar.
func TestConstraint(t *testing.T) {
	dev, err := tensor.Open("cpu")
	require.NoError(t, err)
	tok := tokenizer(t)
	v, err := NewVocabulary(tok, []int32{end}, 310)
	require.NoError(t, err)
	g, err := JSONSchema([]byte(`{"type": "object", "properties": {"name": {"type": "string", "maxLength": 4},
		"ok": {"type": "boolean"}, "n": {"type": "array", "items": {"type": "number"}, "maxItems": 3}}, "required": ["name", "n"]}`))
	require.NoError(t, err)
	m := &noisy{dev, 310, rand.New(rand.NewPCG(7, 8))}
	for i := range 20 {
		c := g.Constrain(v)
		gen := &generate.Generator[*noisySequence]{Model: m, Tokenizer: tok, EOS: []int32{end}}
		o := generate.Options{Constraint: c, MaxTokens: 500}
		o.Temperature = []float64{0, 1, 1, 1}[i%4]
		o.TopK, o.TopP = []int{0, 0, 20, 0}[i%4], []float64{0, 0, 0, 0.9}[i%4]
		run, err := gen.NewSession().Generate(context.Background(), []int32{1}, o)
		require.NoError(t, err)
		text, err := run.Text()
		require.NoError(t, err)
		require.Equal(t, generate.ReasonStop, run.Usage().Reason)
		require.True(t, g.Match(text) && c.Complete(), "%q", text)
		var got struct {
			Name *string
			N    *[]float64
		}
		require.NoError(t, json.Unmarshal([]byte(text), &got), "%q", text)
		require.NotNil(t, got.Name)
		require.LessOrEqual(t, len(*got.N), 3)
		require.False(t, c.Allowed('a'), "behind the end")
	}
	c := g.Constrain(v)
	require.ErrorIs(t, c.Accept('a'), ErrGrammar)
	require.ErrorIs(t, c.Accept(end), ErrGrammar)
	require.False(t, c.Allowed(-1) || c.Allowed(5000) || c.Allowed(end))
}

// Grammars that could take much time or memory take little.
func TestBounded(t *testing.T) {
	start := time.Now()
	g, err := Regexp("(a|aa|aaa|a*)*(a|b){0,50}(a*){30}c")
	require.NoError(t, err)
	require.True(t, g.Match(strings.Repeat("a", 3000)+"c"))
	require.False(t, g.Match(strings.Repeat("a", 3000)))
	g, err = JSON()
	require.NoError(t, err)
	require.True(t, g.Match(strings.Repeat(`{"a":`, 2000)+"1"+strings.Repeat("}", 2000)))
	g, err = Regexp("(.*a.{20})?b") // a deterministic automaton has 2^20 states
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 1))
	for range 40 {
		text := make([]byte, 1000)
		for i := range text {
			text[i] = "ab"[r.IntN(2)]
		}
		g.Match(string(text))
	}
	require.LessOrEqual(t, len(g.lazy.states), maxStates)
	require.Less(t, time.Since(start), 30*time.Second)
}

func FuzzGBNF(f *testing.F) {
	f.Add("root ::= \"a\" [b-c]{1,2} | x*\nx ::= .", "abc")
	f.Add("root ::= (root)? #", "")
	f.Fuzz(func(t *testing.T, text, match string) {
		if g, err := GBNF(text); err == nil {
			g.Match(match[:min(len(match), 100)])
		} else {
			require.ErrorIs(t, err, ErrGrammar)
		}
	})
}

func FuzzJSONSchema(f *testing.F) {
	f.Add(`{"properties": {"a": {"type": "string", "pattern": "a+"}}, "additionalProperties": true}`, `{"a": "a"}`)
	f.Add(`{"anyOf": [{"$ref": "#/anyOf/1"}, {"enum": [1]}]}`, `1`)
	f.Fuzz(func(t *testing.T, schema, match string) {
		if g, err := JSONSchema([]byte(schema)); err == nil {
			if g.Match(match[:min(len(match), 100)]) && len(match) <= 100 {
				require.True(t, json.Valid([]byte(match)))
			}
		} else {
			require.ErrorIs(t, err, ErrGrammar)
		}
	})
}
