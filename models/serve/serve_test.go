package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/models"
	"github.com/gokiln/kiln/models/generate"
	"github.com/gokiln/kiln/models/internal/bytetokens"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tokenizers"
)

func TestMain(m *testing.M) { os.Exit(tooltest.Run(m)) }

// template shows tools and messages, and refuses one text.
const template = `{% for t in tools or [] %}[{{ t.function.name }}]{% endfor %}{% for m in messages %}` +
	`{% if m.content == "refuse me" %}{{ raise_exception("no " + m.role) }}{% endif %}` +
	`<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}` +
	`{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}`

// tiny is a Llama with random weights.
func tiny(t testing.TB) *models.LM {
	t.Helper()
	c, err := models.ParseConfig([]byte(`{"model_type": "llama", "vocab_size": 257, "hidden_size": 32,
		"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
		"intermediate_size": 48, "max_position_embeddings": 400, "eos_token_id": 256}`))
	require.NoError(t, err)
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	lm, err := models.New(c, models.Options{Device: d, Paged: true})
	require.NoError(t, err)
	lm.Tokenizer, lm.Template = bytetokens.New(t), template
	return lm
}

// fixture is a server of a tiny model.
type fixture struct {
	*httptest.Server
	t     testing.TB
	s     *Server
	m     *Model
	batch *generate.Batch[*models.Sequence]
	g     *generate.Generator[*models.Sequence]
}

func newFixture(t testing.TB, b generate.BatchOptions, o Options) *fixture {
	t.Helper()
	lm := tiny(t)
	f := &fixture{t: t, g: &generate.Generator[*models.Sequence]{
		Model: lm, Tokenizer: lm.Tokenizer, EOS: lm.Config.EOS, Context: 400, Chunk: 48,
	}}
	f.batch = generate.NewBatch(f.g, b)
	var err error
	f.m, err = NewModel("tiny", lm, f.batch, 400)
	require.NoError(t, err)
	f.s, err = New([]*Model{f.m}, o)
	require.NoError(t, err)
	f.Server = httptest.NewServer(f.s)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = f.batch.Close(ctx)
		f.Server.Close()
	})
	return f
}

// object is JSON.
type object = map[string]any

// text is a body in JSON.
func text(body object) string {
	b, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// post sends a body, and returns the status and the answer.
func (f *fixture) post(path string, body any) (int, object) {
	f.t.Helper()
	status, out, err := post(f.URL+path, body)
	require.NoError(f.t, err)
	return status, out
}

func post(url string, body any) (status int, out object, err error) {
	s, ok := body.(string)
	if !ok {
		s = text(body.(object))
	}
	r, err := http.Post(url, "application/json", strings.NewReader(s))
	if err != nil {
		return 0, nil, err
	}
	defer r.Body.Close()
	err = json.NewDecoder(r.Body).Decode(&out)
	return r.StatusCode, out, err
}

// get is a path of an answer, such as choices.0.text.
func get(t testing.TB, v any, path string) any {
	t.Helper()
	for _, key := range strings.Split(path, ".") {
		switch x := v.(type) {
		case object:
			require.Contains(t, x, key, path)
			v = x[key]
		case []any:
			var i int
			_, err := fmt.Sscan(key, &i)
			require.NoError(t, err)
			require.Less(t, i, len(x), path)
			v = x[i]
		default:
			require.Fail(t, "no object", "%s of %v", path, v)
		}
	}
	return v
}

// stream reads the events of an answer.
func (f *fixture) stream(path string, body object) []object {
	f.t.Helper()
	body = maps.Clone(body)
	body["stream"] = true
	list, err := readEvents(f.URL+path, body)
	require.NoError(f.t, err)
	return list
}

func readEvents(url string, body object) (list []object, err error) {
	r, err := http.Post(url, "application/json", strings.NewReader(text(body)))
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	if kind := r.Header.Get("Content-Type"); kind != "text/event-stream" {
		text, _ := io.ReadAll(r.Body)
		return nil, fmt.Errorf("%d, %s: %s", r.StatusCode, kind, text)
	}
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok && lines.Text() != "" {
			return nil, fmt.Errorf("line %q", lines.Text())
		}
		if data == "[DONE]" {
			_, err := io.Copy(io.Discard, r.Body) // so that the connection is used again
			return list, err
		}
		var o object
		if ok {
			if err := json.Unmarshal([]byte(data), &o); err != nil {
				return nil, err
			}
			list = append(list, o)
		}
	}
	return list, fmt.Errorf("the stream ended early: %w", cmpErr(lines.Err()))
}

func cmpErr(err error) error {
	if err == nil {
		return io.ErrUnexpectedEOF
	}
	return err
}

// alone is the text and the reason of a generation in a session.
func (f *fixture) alone(text string, o generate.Options) (string, string) {
	f.t.Helper()
	lm := f.g.Model.(*models.LM)
	ids, err := lm.Tokenizer.IDs(text, tokenizers.Options{})
	require.NoError(f.t, err)
	s := f.g.NewSession()
	defer s.Close()
	run, err := s.Generate(context.Background(), ids, o)
	require.NoError(f.t, err)
	out, err := run.Text()
	require.NoError(f.t, err)
	return out, run.Usage().Reason
}

func seeded(seed uint64, temperature float64, n int) generate.Options {
	o := generate.Options{MaxTokens: n}
	o.Temperature, o.Seed = temperature, &seed
	return o
}

func endless(o generate.Options) generate.Options {
	o.IgnoreEOS = true
	return o
}
