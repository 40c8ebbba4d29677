package chat

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// goldenFile is what testdata/gen.py makes.
type goldenFile struct {
	Cases     []goldenCase
	Templates []struct {
		Name string
		Rows []goldenRow
	}
	Small []struct {
		Source string
		goldenRow
	}
}

type goldenCase struct {
	Messages []map[string]json.RawMessage
	Options  map[string]json.RawMessage
}

// goldenRow is a text, or the error that the reference stops with.
type goldenRow struct {
	Text  *string
	Error string
}

func readGolden(t testing.TB, path string) *goldenFile {
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	g := &goldenFile{}
	require.NoError(t, json.Unmarshal(b, g))
	return g
}

func unmarshal[T any](t testing.TB, raw json.RawMessage) (out T) {
	if len(raw) > 0 {
		require.NoError(t, json.Unmarshal(raw, &out))
	}
	return out
}

// message makes a message of its JSON.
func message(t testing.TB, m map[string]json.RawMessage) Message {
	out := Message{Role: unmarshal[string](t, m["role"]), Name: unmarshal[string](t, m["name"]),
		Reasoning:  unmarshal[string](t, m["reasoning_content"]),
		ToolCallID: unmarshal[string](t, m["tool_call_id"])}
	if strings.HasPrefix(string(m["content"]), "[") {
		out.Parts = unmarshal[[]Part](t, m["content"])
	} else {
		out.Content = unmarshal[string](t, m["content"])
	}
	type call struct {
		ID       string
		Function struct {
			Name      string
			Arguments json.RawMessage
		}
	}
	for _, c := range unmarshal[[]call](t, m["tool_calls"]) {
		out.ToolCalls = append(out.ToolCalls, ToolCall{c.ID, c.Function.Name, c.Function.Arguments})
	}
	return out
}

func (c goldenCase) conversation(t testing.TB) ([]Message, Options) {
	var list []Message
	for _, m := range c.Messages {
		list = append(list, message(t, m))
	}
	left := maps.Clone(c.Options)
	o := Options{BOS: "<s>", EOS: "</s>", Now: time.Date(2026, 7, 4, 9, 5, 6, 0, time.UTC),
		AddGenerationPrompt: unmarshal[bool](t, left["add_generation_prompt"]),
		Tools:               unmarshal[[]json.RawMessage](t, left["tools"]),
		Documents:           unmarshal[[]json.RawMessage](t, left["documents"]),
		EnableThinking:      unmarshal[*bool](t, left["enable_thinking"]), Variables: map[string]any{}}
	for _, k := range []string{"add_generation_prompt", "tools", "documents", "enable_thinking"} {
		delete(left, k)
	}
	for k, v := range left {
		o.Variables[k] = v
	}
	return list, o
}

// check renders a template and compares with what the reference made.
func (row goldenRow) check(t testing.TB, tm *Template, list []Message, o Options) {
	text, err := tm.Render(list, o)
	if row.Text == nil {
		require.Error(t, err, "the reference: %s; made %q", row.Error, text)
		return
	}
	require.NoError(t, err)
	require.Equal(t, *row.Text, text)
}

// TestTemplates renders all conversations with the templates of testdata.
func TestTemplates(t *testing.T) { checkFolder(t, "testdata") }

// publishedFolder has published templates and the golden.json that `testdata/gen.py FOLDER` makes.
const publishedFolder = "KILN_CHAT_TEMPLATES"

func TestPublished(t *testing.T) {
	folder := os.Getenv(publishedFolder)
	if folder == "" {
		t.Skipf("%s names no folder with published templates", publishedFolder)
	}
	checkFolder(t, folder)
}

func checkFolder(t *testing.T, folder string) {
	g := readGolden(t, filepath.Join(folder, "golden.json"))
	require.NotEmpty(t, g.Templates)
	for _, c := range g.Templates {
		t.Run(c.Name, func(t *testing.T) {
			source, err := os.ReadFile(filepath.Join(folder, c.Name))
			require.NoError(t, err)
			tm, err := Parse(string(source))
			require.NoError(t, err)
			require.Len(t, c.Rows, len(g.Cases))
			for i, row := range c.Rows {
				list, o := g.Cases[i].conversation(t)
				row.check(t, tm, list, o)
			}
		})
	}
}

// TestSmall looks at one construct of the language after the other.
func TestSmall(t *testing.T) {
	g := readGolden(t, "testdata/golden.json")
	require.NotEmpty(t, g.Small)
	list, o := g.Cases[2].conversation(t)
	o.AddGenerationPrompt = false
	for _, c := range g.Small {
		t.Run(c.Source, func(t *testing.T) {
			tm, err := Parse(c.Source)
			if err != nil {
				require.Nil(t, c.Text, "%v, the reference: %v", err, c.Text)
				var e *Error
				require.ErrorAs(t, err, &e)
				require.Positive(t, e.Line)
				return
			}
			c.check(t, tm, list, o)
		})
	}
}
