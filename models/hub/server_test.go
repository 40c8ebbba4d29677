package hub

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

// server is a hub of one repository, org/name, whose large files are on another host.
type server struct {
	*httptest.Server
	cdn   *httptest.Server
	files map[string][]byte // those of more than 100 bytes are large ones
	page  int               // files in a page of the list
	token string            // that is wanted, or ""
	noted map[string]string // sums that the list has in place of the right ones

	// before is called before a file is served, and reports whether it has answered.
	before func(w http.ResponseWriter, r *http.Request) bool

	mu   sync.Mutex
	seen []string // requests: host, path and range
}

func large(n int) []byte {
	b, r := make([]byte, n), rand.NewChaCha8([32]byte{byte(n)})
	_, _ = r.Read(b)
	return b
}

func newServer(t *testing.T) *server {
	s := &server{page: 2, files: map[string][]byte{
		"config.json": []byte(`{"model_type":"llama"}`), "model.safetensors": large(300_000),
		"tokenizer.json": []byte("{}"), "onnx/model.onnx": large(500), "a b/ü%.txt": []byte("x"),
		"empty.txt": {},
	}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.hub))
	s.cdn = httptest.NewServer(http.HandlerFunc(s.content))
	t.Cleanup(s.Close)
	t.Cleanup(s.cdn.Close)
	return s
}

// client returns one with a cache of its own.
func (s *server) client(t *testing.T) *Client {
	return &Client{Endpoint: s.URL, Cache: t.TempDir(), Token: "secret", pause: time.Millisecond,
		stall: 5 * time.Second}
}

func (s *server) sum(name string) (sum string, lfs bool) {
	b := s.files[name]
	if n := s.noted[name]; n != "" {
		return n, len(n) == 64
	}
	if len(b) > 100 {
		h := sha256.Sum256(b)
		return hex.EncodeToString(h[:]), true
	}
	h := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(b)), b...))
	return hex.EncodeToString(h[:]), false
}

func (s *server) note(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, strings.TrimSpace(r.URL.Path+" "+r.Header.Get("Range")))
}

// requests are those since the last call.
func (s *server) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen
	s.seen = nil
	return seen
}

// hub answers as the hub does.
func (s *server) hub(w http.ResponseWriter, r *http.Request) {
	if s.token != "" && r.Header.Get("Authorization") != "Bearer "+s.token {
		w.Header().Set("X-Error-Code", "GatedRepo")
		w.Header().Set("X-Error-Message", "Access to model org/name is restricted.")
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	path := r.URL.Path
	switch {
	case path == "/api/models/org/name/revision/main", path == "/api/models/org/name/revision/refs/pr/1":
		s.note(r)
		_ = json.NewEncoder(w).Encode(map[string]any{"sha": commit, "id": "org/name"})
	case path == "/api/models/org/name/tree/"+commit:
		s.note(r)
		s.tree(w, r)
	case strings.HasPrefix(path, "/org/name/resolve/"+commit+"/"):
		name := strings.TrimPrefix(path, "/org/name/resolve/"+commit+"/")
		if len(s.files[name]) > 100 {
			w.Header().Set("X-Repo-Commit", commit)
			http.Redirect(w, r, s.cdn.URL+"/"+name, http.StatusFound)
			return
		}
		s.content(w, r)
	case strings.HasPrefix(path, "/api/models/org/name/"):
		w.Header().Set("X-Error-Code", "RevisionNotFound")
		w.WriteHeader(http.StatusNotFound)
	default:
		w.Header().Set("X-Error-Code", "RepoNotFound")
		w.WriteHeader(http.StatusNotFound)
	}
}

// tree answers with a page of the list of files.
func (s *server) tree(w http.ResponseWriter, r *http.Request) {
	names := slices.Sorted(maps.Keys(s.files))
	at, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
	end := min(at+s.page, len(names))
	list := []map[string]any{{"type": "directory", "path": "onnx", "oid": commit, "size": 0}}
	for _, n := range names[at:end] {
		sum, lfs := s.sum(n)
		e := map[string]any{"type": "file", "path": n, "oid": sum, "size": len(s.files[n])}
		if lfs {
			e["oid"] = commit
			e["lfs"] = map[string]any{"oid": sum, "size": len(s.files[n]), "pointerSize": 130}
		}
		list = append(list, e)
	}
	if end < len(names) {
		w.Header().Set("Link", fmt.Sprintf(`<%s%s?recursive=true&cursor=%d>; rel="next"`, s.URL, r.URL.Path, end))
	}
	_ = json.NewEncoder(w).Encode(list)
}

// content answers with a file.
func (s *server) content(w http.ResponseWriter, r *http.Request) {
	s.note(r)
	if r.Header.Get("Authorization") != "" && r.Host != strings.TrimPrefix(s.URL, "http://") {
		panic("the token went to another host")
	}
	if s.before != nil && s.before(w, r) {
		return
	}
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/org/name/resolve/"+commit), "/")
	b, ok := s.files[name]
	if !ok {
		w.Header().Set("X-Error-Code", "EntryNotFound")
		w.WriteHeader(http.StatusNotFound)
		return
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
}

// cut sends a part of a file and ends the connection.
func cut(w http.ResponseWriter, b []byte, n int) {
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	_, _ = w.Write(b[:n])
	panic(http.ErrAbortHandler)
}

// once returns a function that reports true the first n times.
func once(n int) func() bool {
	var mu sync.Mutex
	return func() bool {
		mu.Lock()
		defer mu.Unlock()
		n--
		return n >= 0
	}
}

func background(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}
