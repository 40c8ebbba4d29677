package serve

import (
	"crypto/subtle"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Options are the limits of a [Server], and who may use it.
type Options struct {
	APIKey  string   // what clients give as a bearer token; "" for none
	Origins []string // of pages of other servers that may use it, "*" for all

	MaxBody    int64         // bytes of a request; 0 for 8 MB
	MaxTokens  int           // of an answer; 0 for as many as the model can look at
	MaxAnswers int           // of a request: prompts times n; 0 for 64
	Timeout    time.Duration // of a request; 0 for 10 minutes
	// Stall is how long a client may take to send a request, or to receive a part of an answer; 0 for
	// 30 s.
	Stall time.Duration
}

// Server answers requests. It is safe for concurrent use.
type Server struct {
	o        Options
	models   []*Model
	mux      *http.ServeMux
	metrics  metrics
	draining atomic.Bool
}

//go:embed page.html
var page []byte

// New returns a server of models, of which the first is the one of requests that name none.
func New(models []*Model, o Options) (*Server, error) {
	if len(models) == 0 {
		return nil, errors.New("serve: no models")
	}
	for i, m := range models {
		if m.ID == "" {
			return nil, fmt.Errorf("serve: model %d has no name", i)
		}
		if slices.IndexFunc(models, func(o *Model) bool { return o.ID == m.ID }) != i {
			return nil, fmt.Errorf("serve: two models have the name %q", m.ID)
		}
	}
	if o.MaxBody <= 0 {
		o.MaxBody = 8 << 20
	}
	if o.MaxAnswers <= 0 {
		o.MaxAnswers = 64
	}
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Minute
	}
	if o.Stall <= 0 {
		o.Stall = 30 * time.Second
	}
	s := &Server{o: o, models: models, mux: http.NewServeMux()}
	s.routes()
	return s, nil
}

// routes says what answers which path.
func (s *Server) routes() {
	api := func(pattern string, f func(http.ResponseWriter, *http.Request) error) {
		_, path, _ := strings.Cut(pattern, " ")
		path, _, _ = strings.Cut(path, "/{")
		s.mux.Handle(pattern, s.metrics.watch(path, func(w http.ResponseWriter, r *http.Request) {
			err := s.allow(r)
			if err == nil {
				r.Body = http.MaxBytesReader(w, r.Body, s.o.MaxBody)
				err = f(w, r)
			}
			if err != nil {
				fail(w, err)
			}
		}))
	}
	api("POST /v1/chat/completions", s.chat)
	api("POST /v1/completions", s.complete)
	api("POST /v1/embeddings", s.embed)
	api("GET /v1/models", s.list)
	api("GET /v1/models/{id...}", s.one)
	api("GET /metrics", s.showMetrics)
	s.mux.HandleFunc("GET /health", s.health)
	s.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; connect-src 'self'; "+
			"style-src 'unsafe-inline'; script-src 'unsafe-inline'; "+
			"base-uri 'none'; frame-ancestors 'none'")
		_, _ = w.Write(page)
	})
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, refused(http.StatusNotFound, fmt.Sprintf("there is no %s %s", r.Method, r.URL.Path)))
	})
}

// Drain has further requests refused, and says so to who asks for its health. Those that are
// running go on.
func (s *Server) Drain() { s.draining.Store(true) }

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	if origin := r.Header.Get("Origin"); origin != "" && s.origin(origin) {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Add("Vary", "Origin")
		if r.Method == http.MethodOptions {
			h.Set("Access-Control-Allow-Methods", "GET, POST")
			h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type")
			h.Set("Access-Control-Max-Age", "3600")
			w.WriteHeader(http.StatusNoContent)
			return
		}
	}
	s.mux.ServeHTTP(w, r)
}

// origin says whether pages of another server may use this one.
func (s *Server) origin(of string) bool {
	return slices.Contains(s.o.Origins, "*") || slices.Contains(s.o.Origins, of)
}

// allow refuses clients without the key, and pages of other servers.
func (s *Server) allow(r *http.Request) error {
	if o := r.Header.Get("Origin"); o != "" && !s.origin(o) {
		if u, err := url.Parse(o); err != nil || u.Host != r.Host {
			return refused(http.StatusForbidden, "pages of "+o+" may not use this server")
		}
	}
	if s.o.APIKey == "" {
		return nil
	}
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if subtle.ConstantTimeCompare([]byte(key), []byte(s.o.APIKey)) == 1 {
		return nil
	}
	return &problem{Status: http.StatusUnauthorized, Code: "invalid_api_key",
		Message: "the header Authorization has to be Bearer and the key of this server"}
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	if s.draining.Load() {
		reply(w, http.StatusServiceUnavailable, map[string]string{"status": "draining"})
		return
	}
	reply(w, http.StatusOK, map[string]string{"status": "ok"})
}

// about is what is told of a model.
type about struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Owner   string `json:"owned_by"`
	Context int    `json:"max_model_len,omitempty"`
}

func (m *Model) about() about {
	return about{m.ID, "model", m.Created.Unix(), "kiln", m.Context}
}

func (s *Server) list(w http.ResponseWriter, _ *http.Request) error {
	var all []about
	for _, m := range s.models {
		all = append(all, m.about())
	}
	reply(w, http.StatusOK, map[string]any{"object": "list", "data": all})
	return nil
}

func (s *Server) one(w http.ResponseWriter, r *http.Request) error {
	m, err := s.model(r.PathValue("id"))
	if err == nil {
		reply(w, http.StatusOK, m.about())
	}
	return err
}

// model is the one of a name, the first for none.
func (s *Server) model(id string) (*Model, error) {
	var names []string
	for _, m := range s.models {
		if m.ID == id || id == "" {
			return m, nil
		}
		names = append(names, m.ID)
	}
	return nil, &problem{Status: http.StatusNotFound, Param: "model", Code: "model_not_found",
		Message: fmt.Sprintf("there is no model %q; there are %s", id, strings.Join(names, ", "))}
}

// reply writes JSON.
func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // the client is gone
}
