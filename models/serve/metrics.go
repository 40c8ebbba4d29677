package serve

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
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
	name, kind, help string
	of               func(s generate.BatchStats) int
}{
	{"kiln_running", "gauge", "Generations that grow.", func(s generate.BatchStats) int { return s.Running }},
	{"kiln_waiting", "gauge", "Generations that wait.", func(s generate.BatchStats) int { return s.Waiting }},
	{"kiln_kept_sequences", "gauge", "Sequences that are kept for prompts that begin the same.", func(s generate.BatchStats) int { return s.Kept }},
	{"kiln_cache_tokens", "gauge", "Tokens whose keys and values are kept.", func(s generate.BatchStats) int { return s.Tokens }},
	{"kiln_steps_total", "counter", "Steps of the model.", func(s generate.BatchStats) int { return s.Steps }},
	{"kiln_prompt_tokens_total", "counter", "Tokens of prompts.", func(s generate.BatchStats) int { return s.PromptTokens }},
	{"kiln_cached_tokens_total", "counter", "Tokens of prompts that were known.", func(s generate.BatchStats) int { return s.CachedTokens }},
	{"kiln_completion_tokens_total", "counter", "Tokens that were generated.", func(s generate.BatchStats) int { return s.CompletionTokens }},
	{"kiln_preemptions_total", "counter", "Generations that had to wait again.", func(s generate.BatchStats) int { return s.Preempted }},
	{"kiln_refusals_total", "counter", "Generations that were refused as too many waited.", func(s generate.BatchStats) int { return s.Refused }},
}

// showMetrics answers /metrics, in Prometheus' text form.
func (s *Server) showMetrics(w http.ResponseWriter, _ *http.Request) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# HELP kiln_requests_total Requests by path and status.\n# TYPE kiln_requests_total counter\n")
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
	m.first.write(&b, "kiln_first_token_seconds", "Time until the first token of an answer, waiting included.")
	stats := make([]generate.BatchStats, len(s.models))
	for i, m := range s.models {
		if m.Engine != nil {
			stats[i] = m.Engine.Stats()
		}
	}
	for _, x := range series {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %[1]s %[3]s\n", x.name, x.help, x.kind)
		for i, m := range s.models {
			fmt.Fprintf(&b, "%s{model=%q} %d\n", x.name, m.ID, x.of(stats[i]))
		}
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(b.Bytes())
	return nil
}
