package serve

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gokiln/kiln/models/generate"
)

// metrics counts requests.
type metrics struct {
	mu       sync.Mutex
	requests map[[2]string]int // by path and status
	seconds  histogram         // of requests
	first    histogram         // until the first token
}

// bounds are those of the histograms, in seconds.
var bounds = [...]float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300}

// histogram counts times. The zero value is empty.
type histogram struct {
	mu     sync.Mutex
	counts [len(bounds)]int
	n      int
	sum    float64
}

func (h *histogram) add(x float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.n++
	h.sum += x
	for i, b := range bounds {
		if x <= b {
			h.counts[i]++
		}
	}
}

// write writes the histogram in Prometheus' text form.
func (h *histogram) write(b *bytes.Buffer, name, help string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %[1]s histogram\n", name, help)
	for i, bound := range bounds {
		fmt.Fprintf(b, "%s_bucket{le=\"%v\"} %d\n", name, bound, h.counts[i])
	}
	fmt.Fprintf(b, "%s_bucket{le=\"+Inf\"} %d\n%[1]s_sum %[3]v\n%[1]s_count %[2]d\n", name, h.n, h.sum)
}

// statusWriter sees the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for [http.ResponseController].
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// watch counts what a handler does.
func (m *metrics) watch(path string, f http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sw, start := &statusWriter{w, http.StatusOK}, time.Now()
		defer func() {
			m.seconds.add(time.Since(start).Seconds())
			m.mu.Lock()
			defer m.mu.Unlock()
			if m.requests == nil {
				m.requests = map[[2]string]int{}
			}
			m.requests[[2]string{path, strconv.Itoa(sw.status)}]++
		}()
		f(sw, r)
	})
}

// series are what is shown of each model.
var series = []struct {
	name, help string
	of         func(s *stats) int
}{
	{"running", "Generations that grow.", func(s *stats) int { return s.Running }},
	{"waiting", "Generations that wait.", func(s *stats) int { return s.Waiting }},
	{"kept_sequences", "Sequences of ended generations that are kept.", func(s *stats) int { return s.Kept }},
	{"cache_tokens", "Tokens whose keys and values are kept.", func(s *stats) int { return s.Tokens }},
	{"steps_total", "Steps of the model.", func(s *stats) int { return s.Steps }},
	{"prompt_tokens_total", "Tokens of prompts.", func(s *stats) int { return s.PromptTokens }},
	{"cached_tokens_total", "Tokens of prompts that were known.", func(s *stats) int { return s.CachedTokens }},
	{"completion_tokens_total", "Tokens that were made.", func(s *stats) int { return s.CompletionTokens }},
	{"preemptions_total", "Generations that had to wait again.", func(s *stats) int { return s.Preempted }},
	{"refusals_total", "Generations refused as too many waited.", func(s *stats) int { return s.Refused }},
}

type stats = generate.BatchStats

// showMetrics answers /metrics, in Prometheus' text form.
func (s *Server) showMetrics(w http.ResponseWriter, _ *http.Request) error {
	var b bytes.Buffer
	b.WriteString("# HELP kiln_requests_total Requests by path and status.\n" +
		"# TYPE kiln_requests_total counter\n")
	m := &s.metrics
	m.mu.Lock()
	var lines []string
	for k, n := range m.requests {
		lines = append(lines, fmt.Sprintf("kiln_requests_total{path=%q,code=%q} %d\n", k[0], k[1], n))
	}
	m.mu.Unlock()
	slices.Sort(lines)
	for _, line := range lines {
		b.WriteString(line)
	}
	m.seconds.write(&b, "kiln_request_seconds", "Time that requests took.")
	m.first.write(&b, "kiln_first_token_seconds", "Time until an answer's first token, with waiting.")
	all := make([]stats, len(s.models))
	for i, m := range s.models {
		if m.Engine != nil {
			all[i] = m.Engine.Stats()
		}
	}
	for _, x := range series {
		kind := "gauge"
		if strings.HasSuffix(x.name, "_total") {
			kind = "counter"
		}
		fmt.Fprintf(&b, "# HELP kiln_%s %s\n# TYPE kiln_%[1]s %[3]s\n", x.name, x.help, kind)
		for i, m := range s.models {
			fmt.Fprintf(&b, "kiln_%s{model=%q} %d\n", x.name, m.ID, x.of(&all[i]))
		}
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(b.Bytes())
	return nil
}
