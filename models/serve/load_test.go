package serve

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/models"
	"github.com/gokiln/kiln/models/generate"
)

// client is what one of many asks for, and what a session answers.
type client struct {
	body         object
	text, reason string
}

func (f *fixture) clients(n int) []client {
	r := rand.New(rand.NewPCG(1, 2))
	list := make([]client, n)
	for i := range list {
		prompt := strings.Repeat("lorem ipsum ", 1+r.IntN(12))[:1+r.IntN(12)]
		prompt += strings.Repeat(fmt.Sprint(i), r.IntN(30))
		n := 1 + r.IntN(25)
		o := seeded(uint64(i), []float64{0, 0.7, 1.2}[i%3], n)
		c := &list[i]
		c.body = object{"prompt": prompt, "max_tokens": n, "seed": i, "temperature": o.Temperature}
		if i%4 == 1 {
			o.Stop = []string{"e", "1"}
			c.body["stop"] = o.Stop
		}
		if i%5 == 2 {
			o.TopK, o.RepetitionPenalty = 20, 1.2
			c.body["top_k"], c.body["repetition_penalty"] = 20, 1.2
		}
		c.text, c.reason = f.alone(prompt, o)
	}
	return list
}

// run asks, and compares; as a stream, or all at once, or it leaves after the first part.
func (c *client) run(url string, how int) error {
	url += "/v1/completions"
	body := object{"stream": how > 0}
	for k, v := range c.body {
		body[k] = v
	}
	if how == 2 {
		return leave(url, body)
	}
	text, reason := "", any(nil)
	if how == 1 {
		list, err := readEvents(url, body)
		if err != nil {
			return err
		}
		for _, e := range list {
			choices, _ := e["choices"].([]any)
			if len(choices) != 1 {
				return fmt.Errorf("event %v", e)
			}
			one := choices[0].(object)
			text += one["text"].(string)
			reason = one["finish_reason"]
		}
	} else {
		status, got, err := post(url, body)
		if err != nil || status != 200 {
			return fmt.Errorf("%d, %v: %w", status, got, err)
		}
		one := got["choices"].([]any)[0].(object)
		text, reason = one["text"].(string), one["finish_reason"]
	}
	if text != c.text || reason != c.reason {
		return fmt.Errorf("%v: %q, %v, want %q, %v", c.body, text, reason, c.text, c.reason)
	}
	return nil
}

// leave reads the first part of a stream without an end.
func leave(url string, body object) error {
	delete(body, "max_tokens")
	delete(body, "stop")
	body["ignore_eos"] = true
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "POST", url, strings.NewReader(text(body)))
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.ReadFull(answer.Body, make([]byte, 20))
	return err
}

// Many clients at once get what each would get alone; those that leave free their memory.
func TestClients(t *testing.T) {
	f := newFixture(t, generate.BatchOptions{Sequences: 24, Tokens: 900, Page: models.PageTokens, Kept: 4}, Options{})
	list := f.clients(64)
	long := 0 * time.Second
	if text := os.Getenv("KILN_SOAK"); text != "" {
		var err error
		long, err = time.ParseDuration(text)
		require.NoError(t, err, "KILN_SOAK is a time such as 10m")
	}
	goroutines, memory := runtime.NumGoroutine(), uint64(0)
	end := time.Now().Add(long)
	for round := 0; round == 0 || time.Now().Before(end); round++ {
		var wait sync.WaitGroup
		errs := make(chan error, len(list))
		for i := range list {
			wait.Go(func() { errs <- list[i].run(f.URL, (i+round)%7%3) })
		}
		wait.Wait()
		for range list {
			require.NoError(t, <-errs)
		}
		if round == 20 {
			memory = heap()
		}
		if round > 20 && round%20 == 0 {
			require.Less(t, heap(), memory+memory/2+16<<20, "round %d", round)
		}
	}
	require.Eventually(t, func() bool {
		s := f.batch.Stats()
		return s.Running == 0 && s.Waiting == 0 && s.Kept <= 4
	}, time.Minute, 10*time.Millisecond)
	stats := f.batch.Stats()
	require.Positive(t, stats.Preempted, "the limit was not reached")
	http.DefaultClient.CloseIdleConnections()
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines+3 }, time.Minute, 10*time.Millisecond,
		"%d goroutines, before %d", runtime.NumGoroutine(), goroutines)
	require.NoError(t, f.batch.Close(context.Background()))
	require.Zero(t, f.batch.Stats().Tokens)
}

// heap is how much memory is in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestOneDevice has two models on a device, whose steps are captured as graphs and replayed meanwhile.
func TestOneDevice(t *testing.T) {
	device := &sync.Mutex{}
	var list [2]*fixture
	var want [2]string
	for i := range list {
		list[i] = newFixture(t, generate.BatchOptions{Device: device}, Options{})
		want[i], _ = list[i].alone("A text", endless(seeded(5, 0.9, 60)))
	}
	var all sync.WaitGroup
	for i, f := range list {
		for range 3 {
			all.Go(func() {
				for range 4 {
					status, out, err := post(f.URL+"/v1/completions", object{"prompt": "A text", "seed": 5,
						"temperature": 0.9, "top_p": 1, "max_tokens": 60, "ignore_eos": true})
					if assert.NoError(t, err) && assert.Equal(t, 200, status, out) {
						assert.Equal(t, want[i], get(t, out, "choices.0.text"))
					}
				}
			})
		}
	}
	all.Wait()
}
