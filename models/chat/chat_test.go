package chat

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func parse(t testing.TB, source string) *Template {
	tm, err := Parse(source)
	require.NoError(t, err)
	return tm
}

func TestMessageFields(t *testing.T) {
	tm := parse(t, "{{ messages | tojson }}|{{ tools | tojson }}|{{ x }}|{{ enable_thinking }}")
	yes := true
	text, err := tm.Render([]Message{
		{Role: "user", Parts: []Part{{Type: "text", Text: "a"},
			{Type: "image", Extra: map[string]any{"url": "u"}}}},
		{Role: "assistant", Reasoning: "r", ToolCalls: []ToolCall{
			{"1", "f", json.RawMessage(`{"b":1,"a":2.50}`)},
			{Name: "g", Arguments: json.RawMessage(`"{}"`)}, {Name: "h"}}},
		{Role: "tool", Content: "c", ToolCallID: "1", Name: "f", Extra: map[string]any{"k": []int{1}}},
	}, Options{Tools: []json.RawMessage{json.RawMessage(`{"z":1,"y":null}`)}, EnableThinking: &yes,
		Variables: map[string]any{"x": map[string]any{"q": true}}})
	require.NoError(t, err)
	require.Equal(t, `[{"role": "user", "content": [{"type": "text", "text": "a"}, `+
		`{"type": "image", "url": "u"}]}, `+
		`{"role": "assistant", "content": null, "reasoning_content": "r", "tool_calls": [`+
		`{"id": "1", "type": "function", "function": {"name": "f", "arguments": {"b": 1, "a": 2.5}}}, `+
		`{"type": "function", "function": {"name": "g", "arguments": "{}"}}, `+
		`{"type": "function", "function": {"name": "h", "arguments": {}}}]}, `+
		`{"role": "tool", "content": "c", "tool_call_id": "1", "name": "f", "k": [1]}]|`+
		`[{"z": 1, "y": null}]|{'q': True}|True`, text)
}

func TestBroken(t *testing.T) {
	for source, want := range map[string]string{
		"a\n{{ x":                    "template line 2: the tag is not closed by }}",
		"{% if x %}\n\n":             `template line 2: the template ends where "endif" is missing`,
		"a\n\n{% include 'x' %}":     `template line 3: the statement "include" is not supported`,
		"{% for x in y recursive %}": "recursive loop is not supported",
		"{{ " + strings.Repeat("(", 300) + strings.Repeat(")", 300) + " }}": "more than 200 levels",
	} {
		_, err := Parse(source)
		var e *Error
		require.ErrorAs(t, err, &e, source)
		require.ErrorContains(t, err, want)
	}
	for source, want := range map[string]string{
		"a\n{{ raise_exception('no') }}":                  "template line 2: the template refuses: no",
		"\n\n{{ nothing.x }}":                             `template line 3: "nothing" is undefined`,
		"{{ 1 | nofilter }}":                              `there is no filter "nofilter"`,
		"{{ 1 is notest }}":                               `there is no test "notest"`,
		"{{ messages.append(1) }}":                        "templates cannot change lists",
		"{{ messages[0].update({}) }}":                    "templates cannot change mappings",
		"{{ 'a' | upper(1) }}":                            "arguments too many",
		"{{ strftime_now('%Q') }}":                        "the code %Q is not supported",
		"{{ range(1000000) }}":                            "range has more than 100000 elements",
		"{{ 9223372036854775807 + 1 }}":                   "more than 64 bits",
		"{% break %}":                                     "break is outside of a loop",
		"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}": "more than 200 macros",
		"{% set x = messages[0] %}{% set x.role = 1 %}":   "namespace only",
	} {
		_, err := parse(t, source).Render([]Message{{Role: "user"}}, Options{})
		require.ErrorContains(t, err, want, source)
	}
	tm := parse(t, "x")
	_, err := tm.Render([]Message{{}}, Options{})
	require.ErrorContains(t, err, "message 0: the role is missing")
	_, err = tm.Render(nil, Options{Tools: []json.RawMessage{json.RawMessage("{")}})
	require.ErrorContains(t, err, "tools[0]")
	call := ToolCall{Arguments: json.RawMessage("1 2")}
	_, err = tm.Render([]Message{{Role: "a", ToolCalls: []ToolCall{call}}}, Options{})
	require.ErrorContains(t, err, "behind the JSON value")
	_, err = tm.Render(nil, Options{Variables: map[string]any{"f": func() {}}})
	require.ErrorContains(t, err, `"f"`)
	_, err = Parse(strings.Repeat("x", MaxTemplate+1))
	require.ErrorContains(t, err, "at most")
}

// TestBudget has templates that would run for ever or fill the memory.
func TestBudget(t *testing.T) {
	const (
		text   = "{% set s = 'ab' * 999999 %}"
		grow   = "{% set ns = namespace(x=[1]) %}{% for i in range(99) %}"
		nested = grow + "{% set ns.x = [ns.x, ns.x] %}{% endfor %}"
		many   = "{% for i in range(99999) %}"
	)
	for _, source := range []string{
		"{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
		"{{ 'x' * 100000000000 }}", "{{ [1] * 100000000000 }}", "{{ ('x' * 60000000) * 60000000 }}",
		grow + "{% if loop.first %}{% set ns.x = 'aaaaaaaa' %}{% endif %}" +
			"{% set ns.x = ns.x + ns.x %}{% endfor %}",
		grow + "{% set ns.x = ns.x + ns.x %}{% endfor %}",
		nested + "{{ ns.x }}",
		nested + "{{ ns.x | tojson }}",
		nested + "{{ ns.x == ns.x + [] }}",
		text + "{{ s | replace('', s) }}", "{{ ('a\n' * 9999999) | indent(999) }}",
		text + many + "{% set x = s | upper %}{% endfor %}",
		text + "{{ ([s] * 99) | join(s) }}", text + many + "{% set x = s.split('b') %}{% endfor %}",
		text + many + "{% if 'ac' in s %}{% endif %}{% endfor %}",
		text + many + "{% if s.find('ac') == 0 or s.count('ac') %}{% endif %}{% endfor %}",
		text + many + "{% if s is upper or s == s ~ '' %}{% endif %}{% endfor %}",
	} {
		start := time.Now()
		_, err := parse(t, source).Render(nil, Options{})
		require.Error(t, err, source)
		require.True(t, errors.Is(err, ErrBudget), "%s: %v", source, err)
		require.Less(t, time.Since(start), 20*time.Second, source)
	}
}

func FuzzTemplate(f *testing.F) {
	g := readGolden(f, "testdata/golden.json")
	for _, c := range g.Small {
		f.Add(c.Source)
	}
	paths, err := filepath.Glob("testdata/*.jinja")
	require.NoError(f, err)
	for _, path := range paths {
		b, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(string(b))
	}
	list, o := g.Cases[11].conversation(f)
	f.Fuzz(func(t *testing.T, source string) {
		tm, err := Parse(source)
		if err != nil {
			var e *Error
			require.ErrorAs(t, err, &e)
			return
		}
		a, errA := tm.Render(list, o)
		b, errB := tm.Render(list, o)
		require.Equal(t, a, b)
		require.Equal(t, errA == nil, errB == nil)
	})
}
