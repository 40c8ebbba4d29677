package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/models"
	"github.com/gokiln/kiln/models/generate"
	"github.com/gokiln/kiln/models/internal/bytetokens"
	"github.com/gokiln/kiln/tensor"
)

// A completion is the text that a session gives.
func TestCompletions(t *testing.T) {
	f := newFixture(t, generate.BatchOptions{}, Options{})
	want, reason := f.alone("hello", endless(seeded(7, 0.8, 12)))
	body := object{"model": "tiny", "prompt": "hello", "seed": 7, "temperature": 0.8, "max_tokens": 12, "ignore_eos": true}
	status, got := f.post("/v1/completions", body)
	require.Equal(t, 200, status, got)
	require.Equal(t, want, get(t, got, "choices.0.text"))
	require.Equal(t, reason, get(t, got, "choices.0.finish_reason"))
	require.Nil(t, get(t, got, "choices.0.logprobs"))
	require.EqualValues(t, 5, get(t, got, "usage.prompt_tokens"))
	require.EqualValues(t, 17, get(t, got, "usage.total_tokens"))
	require.Equal(t, "text_completion", got["object"])

	// Several prompts, several answers of each, of which the first has the seed.
	other, _ := f.alone("hello", endless(seeded(8, 0.8, 12)))
	third, _ := f.alone("ab", endless(seeded(7, 0.8, 12)))
	body["prompt"], body["n"] = []string{"hello", "ab"}, 2
	status, got = f.post("/v1/completions", body)
	require.Equal(t, 200, status, got)
	for i, text := range []string{want, other, third} {
		require.Equal(t, text, get(t, got, "choices").([]any)[i].(object)["text"])
	}
	require.EqualValues(t, 7, get(t, got, "usage.prompt_tokens"))
	require.EqualValues(t, 48, get(t, got, "usage.completion_tokens"))

	// Ids, as a stream.
	body = object{"prompt": []int{'h', 'e', 'l', 'l', 'o'}, "seed": 7, "temperature": 0.8, "max_tokens": 12, "ignore_eos": true,
		"stream_options": object{"include_usage": true}}
	text := ""
	events := f.stream("/v1/completions", body)
	for _, e := range events[:len(events)-1] {
		text += get(t, e, "choices.0.text").(string)
	}
	require.Equal(t, want, text)
	require.Empty(t, events[len(events)-1]["choices"])
	require.EqualValues(t, 12, get(t, events[len(events)-1], "usage.completion_tokens"))
}

// Texts stop before stop strings; probabilities are those of each token.
func TestStopAndProbabilities(t *testing.T) {
	f := newFixture(t, generate.BatchOptions{}, Options{MaxTokens: 30})
	f.m.Defaults.LogitBias = map[int32]float64{}
	for id := range int32(257) {
		if id < 'a' || id > 'z' {
			f.m.Defaults.LogitBias[id] = -1000
		}
	}
	_, got := f.post("/v1/completions", object{"prompt": "x", "logprobs": 3})
	text := get(t, got, "choices.0.text").(string)
	require.Len(t, text, 30)
	require.Equal(t, "length", get(t, got, "choices.0.finish_reason"))
	require.Equal(t, text[:1], get(t, got, "choices.0.logprobs.tokens.0"))
	require.EqualValues(t, 29, get(t, got, "choices.0.logprobs.text_offset.29"))
	require.Len(t, get(t, got, "choices.0.logprobs.top_logprobs.4"), 3)
	first := get(t, got, "choices.0.logprobs.token_logprobs.0").(float64)
	require.Negative(t, first)

	_, got = f.post("/v1/completions", object{"prompt": "x", "stop": []string{text[7:10], "§"}})
	require.Equal(t, text[:strings.Index(text, text[7:10])], get(t, got, "choices.0.text"))
	require.Equal(t, "stop", get(t, got, "choices.0.finish_reason"))

	chat := object{"messages": []any{object{"role": "user", "content": "hi"}}, "logprobs": true, "top_logprobs": 2}
	_, got = f.post("/v1/chat/completions", chat)
	text = get(t, got, "choices.0.message.content").(string)
	list := get(t, got, "choices.0.logprobs.content").([]any)
	require.Len(t, list, 30)
	require.Equal(t, text[3:4], get(t, list, "3.token"))
	require.Equal(t, []any{float64(text[3])}, get(t, list, "3.bytes"))
	require.Len(t, get(t, list, "3.top_logprobs"), 2)
	n := 0
	for _, e := range f.stream("/v1/chat/completions", chat) {
		n += len(get(t, e, "choices.0.logprobs.content").([]any))
	}
	require.Equal(t, 30, n)
}

// A chat is what the template makes of it.
func TestChat(t *testing.T) {
	f := newFixture(t, generate.BatchOptions{Kept: 3}, Options{})
	want, reason := f.alone("<system>be<user>héllo<assistant>", seeded(3, 1, 20))
	body := object{"max_completion_tokens": 20, "seed": 3, "temperature": 1, "messages": []any{
		object{"role": "developer", "content": "be"},
		object{"role": "user", "content": []any{object{"type": "text", "text": "hé"}, object{"type": "text", "text": "llo"}}},
	}}
	status, got := f.post("/v1/chat/completions", body)
	require.Equal(t, 200, status, got)
	require.Equal(t, want, get(t, got, "choices.0.message.content"))
	require.Equal(t, "assistant", get(t, got, "choices.0.message.role"))
	require.Equal(t, reason, get(t, got, "choices.0.finish_reason"))
	require.Equal(t, "chat.completion", got["object"])
	require.Equal(t, "tiny", got["model"])

	text, finish := "", any(nil)
	events := f.stream("/v1/chat/completions", body)
	require.Equal(t, "assistant", get(t, events[0], "choices.0.delta.role"))
	for _, e := range events {
		require.Equal(t, "chat.completion.chunk", e["object"])
		if part, ok := get(t, e, "choices.0.delta").(object)["content"]; ok {
			text += part.(string)
		}
		require.Nil(t, finish)
		finish = get(t, e, "choices.0.finish_reason")
	}
	require.Equal(t, want, text)
	require.Equal(t, reason, finish)
	_, got = f.post("/v1/chat/completions", body)
	require.Positive(t, get(t, got, "usage.prompt_tokens_details.cached_tokens"))
}

// Answers follow what is asked for.
func TestFormats(t *testing.T) {
	f := newFixture(t, generate.BatchOptions{}, Options{})
	messages := []any{object{"role": "user", "content": "x"}}
	schema := object{"type": "object", "properties": object{"n": object{"type": "integer"}, "s": object{"enum": []string{"a", "b"}}},
		"required": []string{"n", "s"}}
	for range 2 {
		_, got := f.post("/v1/chat/completions", object{"messages": messages, "temperature": 1, "n": 2, "response_format": object{
			"type": "json_schema", "json_schema": object{"name": "x", "schema": schema}}})
		for i := range 2 {
			var v struct {
				N *int
				S string
			}
			text := get(t, got, "choices").([]any)[i].(object)["message"].(object)["content"].(string)
			require.NoError(t, json.Unmarshal([]byte(text), &v), text)
			require.NotNil(t, v.N)
			require.Contains(t, "ab", v.S)
		}
	}
	_, got := f.post("/v1/completions", object{"prompt": "x", "regexp": "[0-9]{3}-[a-c]"})
	require.Regexp(t, "^[0-9]{3}-[a-c]$", get(t, got, "choices.0.text"))
	_, got = f.post("/v1/completions", object{"prompt": "x", "grammar": `root ::= "yes" | "no"`, "stream": false})
	require.Contains(t, []any{"yes", "no"}, get(t, got, "choices.0.text"))
}

// Errors name the field and the reason.
func TestMistakes(t *testing.T) {
	f := newFixture(t, generate.BatchOptions{}, Options{MaxBody: 20_000, MaxTokens: 3, MaxAnswers: 5})
	user := []any{object{"role": "user", "content": "x"}}
	tools := []any{object{"type": "function", "function": object{"name": "f"}}}
	for _, c := range []struct {
		path   string
		body   any
		status int
		param  string
		reason string
	}{
		{"chat/completions", `{`, 400, "", "unexpected end of JSON"},
		{"chat/completions", `[]`, 400, "", "array"},
		{"chat/completions", `{"model": 5}`, 400, "model", "number is no string"},
		{"chat/completions", object{"model": "big"}, 404, "model", `no model "big"; there are tiny`},
		{"chat/completions", object{}, 400, "messages", "there are none"},
		{"chat/completions", object{"messages": "x"}, 400, "messages", "string is no"},
		{"chat/completions", object{"messages": []any{object{"role": "king", "content": ""}}}, 400, "messages.role", "king"},
		{"chat/completions", object{"messages": []any{object{"role": "user"}}}, 400, "messages.content", "message 0 has none"},
		{"chat/completions", object{"messages": []any{object{"role": "user", "content": []any{object{"type": "image_url"}}}}},
			400, "messages.content", "image_url"},
		{"chat/completions", object{"messages": []any{object{"role": "user", "content": "refuse me"}}}, 400, "messages", "no user"},
		{"chat/completions", object{"messages": user, "temperature": -1}, 400, "temperature", "want 0 to"},
		{"chat/completions", object{"messages": user, "temperature": "hot"}, 400, "temperature", "string is no float64"},
		{"chat/completions", object{"messages": user, "top_p": 7}, 400, "top_p", "want 0 to 1"},
		{"chat/completions", object{"messages": user, "n": 9}, 400, "n", "want 1 to 5"},
		{"chat/completions", object{"messages": user, "max_tokens": 0}, 400, "max_tokens", "want 1"},
		{"chat/completions", object{"messages": user, "seed": 1.5}, 400, "seed", "no integer"},
		{"chat/completions", object{"messages": user, "stop": []string{""}}, 400, "stop", "empty"},
		{"chat/completions", object{"messages": user, "logit_bias": object{"x": 1}}, 400, "logit_bias", "no int32"},
		{"chat/completions", object{"messages": user, "top_logprobs": 2}, 400, "top_logprobs", "without logprobs"},
		{"chat/completions", object{"messages": user, "logprobs": 2}, 400, "logprobs", "true or false"},
		{"chat/completions", object{"messages": user, "stream_options": object{}}, 400, "stream_options", "without stream"},
		{"chat/completions", object{"messages": user, "response_format": object{"type": "xml"}}, 400, "response_format.type", "xml"},
		{"chat/completions", object{"messages": user, "response_format": object{"type": "json_schema"}}, 400,
			"response_format.json_schema.schema", "missing"},
		{"chat/completions", object{"messages": user, "response_format": object{"type": "json_schema",
			"json_schema": object{"schema": object{"type": "integer", "minimum": 3}}}}, 400,
			"response_format.json_schema.schema", "minimum"},
		{"chat/completions", object{"messages": user, "regexp": "(", "response_format": object{"type": "text"}}, 400, "regexp", "missing"},
		{"chat/completions", object{"messages": user, "regexp": "a", "response_format": object{"type": "json_object"}}, 400,
			"response_format", "want one of them"},
		{"chat/completions", object{"messages": user, "tool_choice": "required"}, 400, "tool_choice", "no tools"},
		{"chat/completions", object{"messages": user, "tools": tools, "tool_choice": "often"}, 400, "tool_choice", "often"},
		{"chat/completions", object{"messages": user, "tools": tools,
			"tool_choice": object{"type": "function", "function": object{"name": "g"}}}, 400, "tool_choice", `no tool "g"`},
		{"chat/completions", object{"messages": user, "tools": []any{object{"type": "x"}}}, 400, "tools", "function"},
		{"chat/completions", object{"messages": []any{object{"role": "user", "content": strings.Repeat("x", 500)}}}, 400, "", "400"},
		{"chat/completions", strings.Repeat("x", 30_000), 413, "", "more than 20000 bytes"},
		{"completions", object{}, 400, "prompt", "none"},
		{"completions", object{"prompt": ""}, 400, "prompt", "no tokens"},
		{"completions", object{"prompt": 5}, 400, "prompt or input", "want a text"},
		{"completions", object{"prompt": []int{300}}, 400, "prompt", "id 300 of a vocabulary of 257"},
		{"completions", object{"prompt": []string{"a", "b", "c"}, "n": 2}, 400, "n", "3 prompts times 2"},
		{"completions", object{"prompt": "x", "echo": true}, 400, "echo", "not supported"},
		{"completions", object{"prompt": "x", "best_of": 3}, 400, "best_of", "want n"},
		{"completions", object{"prompt": "x", "logprobs": 99}, 400, "logprobs", "0 to 20"},
		{"embeddings", object{"input": "x"}, 400, "model", "no embeddings"},
		{"nothing", object{}, 404, "", "there is no POST /v1/nothing"},
	} {
		status, got := f.post("/v1/"+c.path, c.body)
		require.Equal(t, c.status, status, "%v: %v", c.body, got)
		require.Contains(t, get(t, got, "error.message"), c.reason, c.body)
		if c.path == "nothing" {
			continue
		}
		param, _ := get(t, got, "error.param").(string)
		require.Equal(t, c.param, param, "%v: %v", c.body, got)
	}
}

// ask sends a request with headers, and returns the answer and its body.
func (f *fixture) ask(method, path string, headers map[string]string, body string) (*http.Response, string) {
	f.t.Helper()
	r, err := http.NewRequest(method, f.URL+path, strings.NewReader(body))
	require.NoError(f.t, err)
	for k, v := range headers {
		r.Header.Set(k, v)
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(f.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(f.t, err)
	return answer, string(text)
}

// Keys and origins decide who may use the server.
func TestAccess(t *testing.T) {
	f := newFixture(t, generate.BatchOptions{}, Options{APIKey: "secret", Origins: []string{"https://good.example"}})
	type h = map[string]string
	for _, c := range []struct {
		method, path string
		headers      h
		status       int
	}{
		{"GET", "/v1/models", nil, 401},
		{"GET", "/v1/models", h{"Authorization": "Bearer wrong"}, 401},
		{"GET", "/v1/models", h{"Authorization": "Bearer secret"}, 200},
		{"GET", "/v1/models/tiny", h{"Authorization": "Bearer secret"}, 200},
		{"GET", "/v1/models/large", h{"Authorization": "Bearer secret"}, 404},
		{"GET", "/metrics", nil, 401},
		{"GET", "/health", nil, 200},
		{"GET", "/", nil, 200},
		{"GET", "/v1/models", h{"Authorization": "Bearer secret", "Origin": "https://bad.example"}, 403},
		{"GET", "/v1/models", h{"Authorization": "Bearer secret", "Origin": "https://good.example"}, 200},
		{"GET", "/v1/models", h{"Authorization": "Bearer secret", "Origin": f.URL}, 200},
		{"OPTIONS", "/v1/models", h{"Origin": "https://good.example"}, 204},
		{"DELETE", "/v1/models", nil, 404},
	} {
		r, text := f.ask(c.method, c.path, c.headers, "")
		require.Equal(t, c.status, r.StatusCode, "%+v: %s", c, text)
		allowed := r.Header.Get("Access-Control-Allow-Origin")
		require.Equal(t, c.headers["Origin"] == "https://good.example", allowed != "", c)
	}
	// The page asks for nothing of other servers.
	_, text := f.ask("GET", "/", nil, "")
	require.NotRegexp(t, `https?:|src=|href=|import|innerHTML`, text)
	for _, path := range []string{"v1/models", "v1/chat/completions"} {
		require.Contains(t, text, `fetch("`+path+`"`)
	}
}

// Queues are bounded, time too, and who drains takes no more.
func TestLimits(t *testing.T) {
	f := newFixture(t, generate.BatchOptions{Sequences: 1, Waiting: 1}, Options{Timeout: 300 * time.Millisecond})
	endless := object{"prompt": "x", "ignore_eos": true, "stream": true}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	// Generations that begin anew, so that the batch is busy for as long as that takes.
	go func() {
		for ctx.Err() == nil {
			s, err := f.batch.Start(ctx, []int32{1}, generate.Options{IgnoreEOS: true})
			if err != nil {
				time.Sleep(time.Millisecond)
				continue
			}
			_, _ = s.Text()
		}
	}()
	require.Eventually(t, func() bool { return f.batch.Stats().Running == 1 }, time.Minute, time.Millisecond)
	refused := false
	for range 200 {
		go func() { _, _ = readEvents(f.URL+"/v1/completions", endless) }()
		status, got := f.post("/v1/completions", object{"prompt": "x", "ignore_eos": true})
		if refused = status == 429; refused {
			require.Equal(t, "rate_limit_error", get(t, got, "error.type"))
			break
		}
		require.Contains(t, []int{200, 504}, status, got)
	}
	require.True(t, refused, "nothing was refused")
	cancel()
	f.s.Drain()
	status, got := f.post("/v1/completions", object{"prompt": "x"})
	require.Equal(t, 503, status)
	require.Contains(t, get(t, got, "error.message"), "shutting down")
	r, text := f.ask("GET", "/health", nil, "")
	require.Equal(t, 503, r.StatusCode)
	require.Contains(t, text, "draining")
}

// An answer that takes too long is an error, also within a stream.
func TestTimeout(t *testing.T) {
	f := newFixture(t, generate.BatchOptions{}, Options{Timeout: time.Nanosecond})
	status, got := f.post("/v1/completions", object{"prompt": "x"})
	require.Equal(t, 504, status, got)
	require.Equal(t, "the answer took too long", get(t, got, "error.message"))
	list, err := readEvents(f.URL+"/v1/completions", object{"prompt": "x", "stream": true})
	require.Error(t, err) // without the mark of its end
	require.Len(t, list, 1)
	require.Equal(t, "the answer took too long", get(t, list[0], "error.message"))
}

// A connection that had a stream goes on being used.
func TestConnection(t *testing.T) {
	f := newFixture(t, generate.BatchOptions{}, Options{Stall: 300 * time.Millisecond})
	for range 2 {
		require.NotEmpty(t, f.stream("/v1/completions", object{"prompt": "x", "max_tokens": 3}))
		time.Sleep(400 * time.Millisecond) // longer than Stall
		status, got := f.post("/v1/completions", object{"prompt": "x", "max_tokens": 3})
		require.Equal(t, 200, status, got)
	}
	// A body that does not come is not waited for.
	r, w := io.Pipe()
	defer w.Close()
	answer, err := http.Post(f.URL+"/v1/completions", "application/json", r)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, 408, answer.StatusCode)
}

// The metrics are in the form that Prometheus reads.
func TestMetrics(t *testing.T) {
	f := newFixture(t, generate.BatchOptions{}, Options{})
	_, got := f.post("/v1/completions", object{"prompt": "hello", "max_tokens": 4, "ignore_eos": true})
	require.NotNil(t, got["choices"])
	f.post("/v1/completions", "{")
	r, text := f.ask("GET", "/metrics", nil, "")
	require.Contains(t, r.Header.Get("Content-Type"), "version=0.0.4")
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		require.Regexp(t, `^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+)$`, line)
	}
	for _, line := range []string{
		`kiln_requests_total{path="/v1/completions",code="200"} 1`, `kiln_requests_total{path="/v1/completions",code="400"} 1`,
		`kiln_request_seconds_count 2`, `kiln_first_token_seconds_bucket{le="+Inf"} 1`,
		`kiln_prompt_tokens_total{model="tiny"} 5`, `kiln_completion_tokens_total{model="tiny"} 4`,
		`kiln_running{model="tiny"} 0`, `kiln_cache_tokens{model="tiny"} 0`,
	} {
		require.Contains(t, text, line+"\n")
	}
}

// encoder is a BERT with random weights.
func encoder(t testing.TB) *models.Encoder {
	t.Helper()
	c, err := models.ParseConfig([]byte(`{"model_type": "bert", "vocab_size": 257, "hidden_size": 24,
		"num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32, "max_position_embeddings": 64,
		"architectures": ["BertModel"]}`))
	require.NoError(t, err)
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	e, err := models.NewEncoder(c, models.Options{Device: d})
	require.NoError(t, err)
	e.Tokenizer, e.MaxTokens = bytetokens.New(t), 64
	return e
}

// Vectors are those of the encoder.
func TestEmbeddings(t *testing.T) {
	f := newFixture(t, generate.BatchOptions{}, Options{})
	e := encoder(t)
	want, err := tensor.ToSlice[float32](e.Embed("a", "abc"))
	require.NoError(t, err)
	f.s.models = append(f.s.models, NewEncoder("bert", e, &sync.Mutex{}))
	_, got := f.post("/v1/embeddings", object{"model": "bert", "input": []string{"a", "abc"}})
	for i, x := range want {
		require.InDelta(t, x, get(t, got, fmt.Sprintf("data.%d.embedding.%d", i/24, i%24)), 1e-6)
	}
	require.EqualValues(t, 4, get(t, got, "usage.total_tokens"))
	_, got = f.post("/v1/embeddings", object{"model": "bert", "input": "abc", "encoding_format": "base64", "dimensions": 1})
	require.Contains(t, []any{"AACAPw==", "AACAvw=="}, get(t, got, "data.0.embedding")) // 1 or -1
	_, got = f.post("/v1/embeddings", object{"model": "bert", "input": strings.Split(strings.Repeat("x", 150), "")})
	require.Len(t, got["data"], 150)
	for param, body := range map[string]object{
		"dimensions":      {"input": "a", "dimensions": 25},
		"encoding_format": {"input": "a", "encoding_format": "zip"},
		"input":           {"input": []int{1, 2}},
		"model":           {"prompt": "a"},
	} {
		path := "/v1/embeddings"
		if param == "model" {
			path = "/v1/completions"
		}
		body["model"] = "bert"
		status, got := f.post(path, body)
		require.Equal(t, 400, status)
		require.Equal(t, param, get(t, got, "error.param"))
	}
	_, text := f.ask("GET", "/metrics", nil, "")
	require.Contains(t, text, `kiln_running{model="bert"} 0`)
}

// FuzzRequest wants an answer or a reason for every body.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		`{"messages": [{"role": "user", "content": "x"}], "tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": "required"}`,
		`{"prompt": ["a", "b"], "n": 2, "stop": "x", "logprobs": 2, "seed": -1}`,
		`{"prompt": [[1, 2], [3]], "stream": true, "stream_options": {"include_usage": true}}`,
		`{"input": "x", "messages": null, "prompt": null, "response_format": {"type": "json_schema", "json_schema": {"schema": {"$ref": "#"}}}}`,
		`{"prompt": "a", "grammar": "root ::= root", "logit_bias": {"1": -100}, "dry_multiplier": 1}`,
	} {
		f.Add(0, []byte(seed))
		f.Add(1, []byte(seed))
		f.Add(2, []byte(seed))
	}
	x := newFixture(f, generate.BatchOptions{Sequences: 8, Tokens: 2000, Kept: 2}, Options{MaxTokens: 3, MaxAnswers: 4, MaxBody: 1 << 16})
	f.Fuzz(func(t *testing.T, path int, body []byte) {
		paths := []string{"/v1/chat/completions", "/v1/completions", "/v1/embeddings"}
		r, err := http.Post(x.URL+paths[uint(path)%3], "application/json", strings.NewReader(string(body)))
		require.NoError(t, err)
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		if r.StatusCode == 200 {
			return
		}
		require.True(t, 400 <= r.StatusCode && r.StatusCode < 500, "%d: %s", r.StatusCode, text)
		var got struct{ Error struct{ Message string } }
		require.NoError(t, json.Unmarshal(text, &got))
		require.NotEmpty(t, got.Error.Message)
	})
}
