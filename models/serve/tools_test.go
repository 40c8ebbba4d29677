package serve

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/models/generate"
)

// Calls are found however the text is cut, and what is none stays text.
func TestCallReader(t *testing.T) {
	hermes := formatOf("tools <tool_call>")
	mistral := formatOf("tools [TOOL_CALLS]")
	llama := formatOf("tools python_tag")
	require.Empty(t, formatOf("<tool_call>").arguments)
	require.Empty(t, formatOf("tools <tool_call><function=").arguments)
	type want = [][2]string
	for name, c := range map[string]struct {
		f     toolFormat
		in    string
		text  string
		calls want
	}{
		"none": {hermes, "a <b> <tool_cat>", "a <b> <tool_cat>", nil},
		"one": {hermes, "Let me see.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": 1}}\n</tool_call>", "Let me see.\n",
			want{{"f", `{"x": 1}`}}},
		"two": {hermes, `<tool_call>{"name":"f"}</tool_call>` + "\n" + `<tool_call>{"name":"g","parameters":{}}</tool_call>`, "",
			want{{"f", `{}`}, {"g", `{}`}}},
		"no end": {hermes, `<tool_call>{"name":"f","arguments":{}}`, "", want{{"f", `{}`}}},
		"broken": {hermes, `<tool_call>{"name":</tool_call>z`, `<tool_call>{"name":</tool_call>z`, nil},
		"list":   {mistral, `[TOOL_CALLS] [{"name": "f", "arguments": {"a": []}}, {"name": "g"}]`, "", want{{"f", `{"a": []}`}, {"g", `{}`}}},
		"args":   {mistral, `[TOOL_CALLS]f[ARGS]{"a": 1}[TOOL_CALLS]g[ARGS]{}`, "", want{{"f", `{"a": 1}`}, {"g", `{}`}}},
		"empty":  {mistral, `[TOOL_CALLS][]`, "", nil},
		"llama":  {llama, `{"name": "f", "parameters": {"x": "é"}}; {"name": "g", "parameters": {}}`, "", want{{"f", `{"x": "é"}`}, {"g", `{}`}}},
		"tag":    {llama, `<|python_tag|>{"name": "f", "parameters": {}}`, "", want{{"f", `{}`}}},
		"plain":  {llama, `No {"name": "f"}`, `No {"name": "f"}`, nil},
		"json":   {llama, ` {"a": 1} `, ` {"a": 1} `, nil},
		"junk":   {llama, `{"name": "f", "parameters": {}} x`, `{"name": "f", "parameters": {}} x`, nil},
	} {
		for size := 1; size <= len(c.in); size++ {
			r, text, calls := &callReader{f: c.f}, "", want(nil)
			for at := 0; at < len(c.in); at += size {
				end := min(at+size, len(c.in))
				more, list := r.add(c.in[at:end], end == len(c.in))
				text += more
				for _, one := range list {
					require.Equal(t, len(calls), *one.Index)
					require.Len(t, one.ID, 9)
					calls = append(calls, [2]string{one.Function.Name, one.Function.Arguments})
				}
			}
			if name == "broken" {
				require.Equal(t, c.text, text, "%s by %d", name, size)
			}
			require.Equal(t, c.text, text, "%s by %d", name, size)
			require.Equal(t, c.calls, calls, "%s by %d", name, size)
		}
	}
}

// A choice of the client makes the answer a call, and the template sees tools and calls.
func TestTools(t *testing.T) {
	f := newFixture(t, generate.BatchOptions{}, Options{})
	parameters := object{"type": "object", "$defs": object{"c": object{"enum": []string{"a", "b"}}},
		"properties": object{"x": object{"$ref": "#/$defs/c"}}, "required": []string{"x"}}
	tools := []any{
		object{"type": "function", "function": object{"name": "f", "parameters": parameters}},
		object{"type": "function", "function": object{"name": "g", "description": "does"}},
	}
	body := object{"messages": []any{object{"role": "user", "content": "x"}}, "tools": tools, "temperature": 1,
		"tool_choice": object{"type": "function", "function": object{"name": "f"}}}
	check := func(c any) {
		require.Equal(t, "f", get(t, c, "function.name"))
		require.Equal(t, "function", get(t, c, "type"))
		var arguments struct{ X string }
		require.NoError(t, json.Unmarshal([]byte(get(t, c, "function.arguments").(string)), &arguments))
		require.Contains(t, "ab", arguments.X)
		require.NotEmpty(t, arguments.X)
	}
	_, got := f.post("/v1/chat/completions", body)
	check(get(t, got, "choices.0.message.tool_calls.0"))
	require.NotContains(t, get(t, got, "choices.0.message"), "content")
	require.NotContains(t, get(t, got, "choices.0.message.tool_calls.0"), "index")
	require.Equal(t, "tool_calls", get(t, got, "choices.0.finish_reason"))
	n := 0
	for _, e := range f.stream("/v1/chat/completions", body) {
		if list, ok := get(t, e, "choices.0.delta").(object)["tool_calls"]; ok {
			check(list.([]any)[0])
			require.EqualValues(t, 0, get(t, list, "0.index"))
			n++
		}
	}
	require.Equal(t, 1, n)
	body["tool_choice"] = "required"
	_, got = f.post("/v1/chat/completions", body)
	require.Contains(t, []any{"f", "g"}, get(t, got, "choices.0.message.tool_calls.0.function.name"))

	want, _ := f.alone(`[f][g]<user>x<assistant><tool_call>{"name": "f", "arguments": {"x": 1}}</tool_call><tool>5<assistant>`, seeded(1, 0, 5))
	q := object{"max_tokens": 5, "temperature": 0, "tools": tools, "messages": []any{
		object{"role": "user", "content": "x"},
		object{"role": "assistant", "content": "", "tool_calls": []any{object{"id": "abc", "type": "function",
			"function": object{"name": "f", "arguments": `{"x": 1}`}}}},
		object{"role": "tool", "content": "5", "tool_call_id": "abc"},
	}}
	_, got = f.post("/v1/chat/completions", q)
	require.Equal(t, want, get(t, got, "choices.0.message.content"))
	q["tool_choice"] = "none"
	want, _ = f.alone(`<user>x<assistant><tool_call>{"name": "f", "arguments": {"x": 1}}</tool_call><tool>5<assistant>`, seeded(1, 0, 5))
	_, got = f.post("/v1/chat/completions", q)
	require.Equal(t, want, get(t, got, "choices.0.message.content"))
}
