package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
)

// fatal has require end a script.
type fatal struct{ ts *testscript.TestScript }

func (f fatal) Errorf(format string, args ...any) { f.ts.Fatalf(format, args...) }

func (f fatal) FailNow() { f.ts.Fatalf("it cannot go on") }

// service is a running kiln serve.
type service struct {
	t   fatal
	cmd *exec.Cmd
	url string
	mu  sync.Mutex
	log strings.Builder
}

// startService runs kiln serve until it answers.
func startService(t fatal, cache string, args ...string) *service {
	s := &service{t: t, cmd: exec.Command(filepath.Join(bin, "kiln"), append([]string{"serve", "-addr", "127.0.0.1:0"}, args...)...)}
	s.cmd.Env = append(os.Environ(), "KILN_CACHE_DIR="+cache, "KILN_API_KEY=key")
	for _, name := range []string{"PATH", "GOMAXPROCS", "KILN_JIT", "KILN_BUNDLES"} {
		s.cmd.Env = append(s.cmd.Env, name+"="+t.ts.Getenv(name))
	}
	stderr, err := s.cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, s.cmd.Start())
	t.ts.Defer(func() { _ = s.cmd.Process.Kill() })
	ready := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			s.mu.Lock()
			fmt.Fprintln(&s.log, lines.Text())
			s.mu.Unlock()
			if m := regexp.MustCompile(`^serving on (http://\S+)$`).FindStringSubmatch(lines.Text()); m != nil {
				ready <- m[1]
			}
		}
		close(ready)
	}()
	select {
	case s.url = <-ready:
	case <-time.After(time.Minute):
	}
	require.NotEmpty(t, s.url, s.said())
	return s
}

func (s *service) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// ask sends a body.
func (s *service) ask(path string, body any) *http.Response {
	b, err := json.Marshal(body)
	require.NoError(s.t, err)
	r, err := http.NewRequest("POST", s.url+path, bytes.NewReader(b))
	require.NoError(s.t, err)
	r.Header.Set("Authorization", "Bearer key")
	answer, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err, s.said())
	return answer
}

// complete is the answer to a prompt.
func (s *service) complete(model, prompt string) string {
	r := s.ask("/v1/completions", map[string]any{"model": model, "prompt": prompt, "temperature": 0})
	defer r.Body.Close()
	var got struct {
		Choices []struct{ Text string }
	}
	text, err := io.ReadAll(r.Body)
	require.NoError(s.t, err)
	require.Equal(s.t, 200, r.StatusCode, "%s", text)
	require.NoError(s.t, json.Unmarshal(text, &got))
	return got.Choices[0].Text
}

// tryServe has a model of letters served by a process that is killed, by another that ends by a
// signal when what has begun is complete, and by one that has no time for that: try-serve folder.
func tryServe(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: try-serve folder")
	}
	t, dir, cache := fatal{ts}, ts.MkAbs(args[0]), ts.Getenv("KILN_CACHE_DIR")
	s := startService(t, cache, "-device", "cpu", dir, "other="+dir)
	require.Equal(t, "vwxyz", s.complete("letters", "stu"))
	require.Equal(t, "yz", s.complete("other", "vwx"))
	r, err := http.Get(s.url + "/v1/models")
	require.NoError(t, err)
	r.Body.Close()
	require.Equal(t, 401, r.StatusCode)
	endless := map[string]any{"model": "letters", "prompt": "ABC", "temperature": 0, "stream": true, "max_tokens": 3000}
	stream := s.ask("/v1/completions", endless)
	defer stream.Body.Close()
	_, err = io.ReadFull(stream.Body, make([]byte, 100))
	require.NoError(t, err)
	require.NoError(t, s.cmd.Process.Kill())
	_ = s.cmd.Wait()

	s = startService(t, cache, "-device", "cpu", "-drain", "60s", dir)
	require.Equal(t, "vwxyz", s.complete("letters", "stu"))
	stream = s.ask("/v1/completions", endless)
	defer stream.Body.Close()
	in := bufio.NewReader(stream.Body)
	_, err = in.ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	rest, err := io.ReadAll(in)
	require.NoError(t, err)
	require.Equal(t, 3000-1, strings.Count(string(rest), `"text":"`))
	require.True(t, strings.HasSuffix(string(rest), "data: [DONE]\n\n"))
	require.NoError(t, s.cmd.Wait(), s.said())
	require.Contains(t, s.said(), "stopping")

	// Without time, what is not complete is cut off, and told so.
	s = startService(t, cache, "-device", "cpu", "-drain", "10ms", dir)
	endless["max_tokens"] = 15000
	stream = s.ask("/v1/completions", endless)
	defer stream.Body.Close()
	in = bufio.NewReader(stream.Body)
	_, err = in.ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	rest, err = io.ReadAll(in)
	require.NoError(t, err)
	require.Contains(t, string(rest), "the server is shutting down")
	require.NoError(t, s.cmd.Wait(), s.said())
	require.Contains(t, s.said(), "cut off")
}

// serveAll has a model of letters answer requests of many kinds, many of them together:
// serve-all folder device.
func serveAll(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: serve-all folder device")
	}
	t := fatal{ts}
	s := startService(t, ts.Getenv("KILN_CACHE_DIR"), "-device", args[1], "-batch", "3", "-chunk", "32", ts.MkAbs(args[0]))
	var bodies []map[string]any
	for i, options := range []map[string]any{
		{"temperature": 0}, {"temperature": 1, "seed": 1}, {"temperature": 0.8, "top_p": 0.9, "n": 3},
		{"temperature": 1, "top_k": 20, "repetition_penalty": 1.1}, {"temperature": 0, "logprobs": 5},
		{"temperature": 0.7, "min_p": 0.1, "presence_penalty": 0.5, "logprobs": 1},
		{"temperature": 0, "regexp": "[a-z]{3,9}"}, {"temperature": 1, "typical_p": 0.9}, {"mirostat": 2},
	} {
		for _, length := range []int{1, 2 + i, 40 + 7*i} {
			body := map[string]any{"prompt": strings.Repeat("ABCDEFG", length)[:length], "max_tokens": 3 + i}
			maps.Copy(body, options)
			bodies = append(bodies, body)
		}
	}
	answers := make([]string, len(bodies))
	var all sync.WaitGroup
	for round := range 2 { // one after the other, and together
		for i, body := range bodies {
			ask := func() {
				r := s.ask("/v1/completions", body)
				defer r.Body.Close()
				text, err := io.ReadAll(r.Body)
				if err != nil || r.StatusCode != http.StatusOK {
					answers[i] = fmt.Sprintf("%v: %s: %s: %v", body, r.Status, text, err)
				}
			}
			if round == 0 {
				ask()
				continue
			}
			all.Go(ask)
		}
		all.Wait()
		require.Empty(t, strings.Join(answers, ""))
	}
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, s.cmd.Wait(), s.said())
}
