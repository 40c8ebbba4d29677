package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDownload looks at the whole layout of a cache, and that nothing is asked for twice.
func TestDownload(t *testing.T) {
	s := newServer(t)
	c := s.client(t)
	s.token = "secret"
	var last, all int64
	dir, err := c.Download(background(t), "org/name", Options{Progress: func(d, a int64) { last, all = d, a }})
	require.NoError(t, err)
	repo := filepath.Join(c.Cache, "models--org--name")
	require.Equal(t, filepath.Join(repo, "snapshots", commit), dir)
	var total int64
	for name, b := range s.files {
		sum, _ := s.sum(name)
		got, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, string(b), string(got), name)
		to, err := os.Readlink(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, strings.Repeat("../", 2+strings.Count(name, "/"))+"blobs/"+sum, to)
		total += int64(len(b))
	}
	require.Equal(t, []int64{total, total}, []int64{last, all})
	ref, err := os.ReadFile(filepath.Join(repo, "refs", "main"))
	require.NoError(t, err)
	require.Equal(t, commit, string(ref))
	var tree tree // in the form of the hub's own library
	text, err := os.ReadFile(filepath.Join(repo, "trees", commit+".json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &tree))
	sum, _ := s.sum("model.safetensors")
	require.Equal(t, entry{Size: 300_000, Blob: commit, SHA256: sum, LFS: 300_000},
		tree.Files["model.safetensors"])
	sum, _ = s.sum("config.json")
	require.Equal(t, entry{Size: 22, Blob: sum}, tree.Files["config.json"])
	blobs, err := os.ReadDir(filepath.Join(repo, "blobs"))
	require.NoError(t, err)
	require.Len(t, blobs, len(s.files), "nothing else is left")

	s.requests()
	again, err := c.Download(background(t), "org/name", Options{})
	require.NoError(t, err)
	require.Equal(t, dir, again)
	require.Equal(t, []string{"/api/models/org/name/revision/main"}, s.requests())
	_, err = c.Download(background(t), "org/name", Options{Revision: commit})
	require.NoError(t, err)
	require.Empty(t, s.requests())
	_, err = c.Download(background(t), "org/name", Options{Revision: "refs/pr/1"})
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(repo, "refs", "refs", "pr", "1"))
	require.NoError(t, os.Remove(filepath.Join(dir, "config.json")))
	s.requests()
	_, err = c.Download(background(t), "org/name", Options{})
	require.NoError(t, err)
	require.Len(t, s.requests(), 1, "the blob is there")
	require.FileExists(t, filepath.Join(dir, "config.json"))
}

// TestPatterns takes some files only.
func TestPatterns(t *testing.T) {
	s := newServer(t)
	for _, c := range []struct {
		o    Options
		want []string
	}{
		{Options{Allow: []string{"*.json"}}, []string{"config.json", "tokenizer.json"}},
		{Options{Allow: []string{"onnx/", "e?pty.txt"}}, []string{"empty.txt", "onnx/model.onnx"}},
		{Options{Allow: []string{"*.t*t"}, Ignore: []string{"a b/*"}}, []string{"empty.txt"}},
	} {
		dir, err := s.client(t).Download(background(t), "org/name", c.o)
		require.NoError(t, err)
		var got []string
		require.NoError(t, filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				rel, _ := filepath.Rel(dir, name)
				got = append(got, rel)
			}
			return err
		}))
		require.Equal(t, c.want, got)
	}
	_, err := s.client(t).Download(background(t), "org/name", Options{Allow: []string{"*.gguf"}})
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorContains(t, err, "*.gguf")
}

var onlyModel = Options{Allow: []string{"model.safetensors"}}

// TestInterrupted has connections that end in the middle, servers without ranges and with wrong
// ones, and those that ask to wait.
func TestInterrupted(t *testing.T) {
	const name = "model.safetensors"
	for _, c := range []struct {
		name   string
		answer func(s *server, first func() bool, w http.ResponseWriter, r *http.Request) bool
		times  int // that answer is to go wrong
		ranges []string
	}{
		{"cut", func(s *server, first func() bool, w http.ResponseWriter, _ *http.Request) bool {
			if first() {
				cut(w, s.files[name], 100_000)
			}
			return false
		}, 1, []string{"", "bytes=100000-"}},
		{"no ranges", func(s *server, first func() bool, w http.ResponseWriter, r *http.Request) bool {
			if first() {
				cut(w, s.files[name], 100_000)
			}
			r.Header.Del("Range")
			return false
		}, 1, []string{"", "bytes=100000-"}},
		{"other range", func(s *server, first func() bool, w http.ResponseWriter, r *http.Request) bool {
			if first() {
				cut(w, s.files[name], 100_000)
			}
			if r.Header.Get("Range") != "" {
				r.Header.Set("Range", "bytes=99-")
			}
			return false
		}, 1, []string{"", "bytes=100000-", ""}},
		{"busy", func(_ *server, first func() bool, w http.ResponseWriter, _ *http.Request) bool {
			is := first()
			if is {
				w.Header().Set("Retry-After", "0")
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			return is
		}, 4, []string{"", "", "", "", ""}},
		{"changed", func(s *server, first func() bool, w http.ResponseWriter, _ *http.Request) bool {
			if first() { // what is there goes wrong, and is had anew
				bad := slices.Clone(s.files[name])
				bad[7]++
				cut(w, bad, 100_000)
			}
			return false
		}, 1, []string{"", "bytes=100000-"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t)
			first := once(c.times)
			s.before = func(w http.ResponseWriter, r *http.Request) bool { return c.answer(s, first, w, r) }
			cl := s.client(t)
			_, err := cl.Files(background(t), "org/name", "")
			require.NoError(t, err)
			s.requests()
			var done int64
			o := onlyModel
			o.Progress = func(d, _ int64) { done = d }
			dir, err := cl.Download(background(t), "org/name", o)
			if c.name == "changed" {
				require.ErrorIs(t, err, ErrChecksum)
				dir, err = cl.Download(background(t), "org/name", o)
			}
			require.NoError(t, err)
			got, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			require.Equal(t, s.files[name], got)
			require.EqualValues(t, len(got), done)
			var ranges []string
			for _, r := range s.requests() {
				if at, ok := strings.CutPrefix(r, "/"+name); ok {
					ranges = append(ranges, strings.TrimSpace(at))
				}
			}
			require.Equal(t, c.ranges, ranges[:len(c.ranges)])
		})
	}
}

// TestResumed goes on in another process's place, from what is there, right or wrong.
func TestResumed(t *testing.T) {
	s := newServer(t)
	right := s.files["model.safetensors"]
	sum, _ := s.sum("model.safetensors")
	wrong := slices.Clone(right[:1000])
	wrong[0]++
	for _, c := range []struct {
		there []byte
		asks  []string
	}{
		{right[:1000], []string{" bytes=1000-"}}, {right, nil},
		{wrong, []string{" bytes=1000-", ""}}, {append(slices.Clone(right), 1), []string{""}},
	} {
		cl := s.client(t)
		blob := filepath.Join(cl.Cache, "models--org--name", "blobs", sum)
		require.NoError(t, os.MkdirAll(filepath.Dir(blob), 0o755))
		require.NoError(t, os.WriteFile(blob+".incomplete", c.there, 0o644))
		_, err := cl.Files(background(t), "org/name", "")
		require.NoError(t, err)
		s.requests()
		_, err = cl.Download(background(t), "org/name", onlyModel)
		require.NoError(t, err)
		got, err := os.ReadFile(blob)
		require.NoError(t, err)
		require.Equal(t, right, got)
		require.NoFileExists(t, blob+".incomplete")
		var asks []string
		for _, r := range s.requests()[1:] {
			asks = append(asks, strings.TrimPrefix(r, "/model.safetensors"))
		}
		require.Equal(t, c.asks, asks)
	}
}

// TestRefused has the errors of what cannot be had.
func TestRefused(t *testing.T) {
	status := func(code int, header ...string) func(w http.ResponseWriter, r *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
			return true
		}
	}
	for _, c := range []struct {
		name string
		set  func(s *server, c *Client)
		repo string
		kind error
		says string
	}{
		{"gated", func(s *server, _ *Client) { s.token = "other" }, "", ErrAccess, "accept its terms on its page at "},
		{"gated says", func(s *server, c *Client) { s.token, c.Token = "other", "" }, "", ErrAccess, "is restricted"},
		{"no repository", nil, "org/none", ErrNotFound, "404"},
		{"forbidden", func(s *server, _ *Client) { s.before = status(403) }, "", ErrAccess, "HF_TOKEN"},
		{"checksum", func(s *server, _ *Client) {
			s.noted = map[string]string{"model.safetensors": strings.Repeat("ab", 32)}
		}, "", ErrChecksum, "want abab"},
		{"checksum of git", func(s *server, _ *Client) {
			s.noted = map[string]string{"config.json": strings.Repeat("ab", 20)}
		}, "", ErrChecksum, "config.json"},
		{"name of a file", func(s *server, _ *Client) { s.files["../x"] = nil }, "", ErrAnswer, `"../x"`},
		{"absolute", func(s *server, _ *Client) { s.files["/etc/x"] = nil }, "", ErrAnswer, `"/etc/x"`},
		{"backslash", func(s *server, _ *Client) { s.files[`..\x`] = nil }, "", ErrAnswer, "is no name of a file"},
		{"stream", func(s *server, _ *Client) { s.files["x:y"] = nil }, "", ErrAnswer, "is no name of a file"},
		{"sum", func(s *server, _ *Client) {
			s.noted = map[string]string{"config.json": "../../x"}
		}, "", ErrAnswer, `checksum "../../x"`},
		{"endless file", func(s *server, _ *Client) {
			s.before = func(w http.ResponseWriter, _ *http.Request) bool {
				for range 10 {
					_, _ = w.Write(large(100_000))
				}
				return true
			}
		}, "", ErrAnswer, "more than the"},
		{"endless list", func(s *server, _ *Client) { s.page = 0 }, "", ErrAnswer, "pages without end"},
		{"encoded", func(s *server, _ *Client) { s.before = status(200, "Content-Encoding", "br") }, "", ErrAnswer, `"br"`},
		{"wait long", func(s *server, _ *Client) { s.before = status(429, "Retry-After", "3600") }, "", nil, "asks to wait 1h0m0s"},
		{"always busy", func(s *server, _ *Client) { s.before = status(503) }, "", nil, "503"},
		{"bad name", nil, "../x", ErrName, "../x"},
		{"no answer", func(_ *server, c *Client) { c.Endpoint = "http://127.0.0.1:1" }, "", ErrOffline, "connection refused"},
		{"endpoint", func(_ *server, c *Client) { c.Endpoint = "huggingface.co" }, "", nil, `endpoint "huggingface.co"`},
		{"offline", func(_ *server, c *Client) { c.Offline = true }, "", ErrOffline, "HF_HUB_OFFLINE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t)
			cl := s.client(t)
			if c.set != nil {
				c.set(s, cl)
			}
			if c.repo == "" {
				c.repo = "org/name"
			}
			_, err := cl.Download(background(t), c.repo, Options{Ignore: []string{"empty.txt"}})
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, c.repo)
			if c.kind != nil {
				require.ErrorIs(t, err, c.kind)
			}
			require.NoFileExists(t, filepath.Join(cl.Cache, "..", "x"))
		})
	}
	s := newServer(t)
	_, err := s.client(t).Download(background(t), "org/name", Options{Revision: "v9"})
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorContains(t, err, "no such revision")
	_, err = s.client(t).Download(background(t), "org/name", Options{Revision: "../../x"})
	require.ErrorIs(t, err, ErrName)
}

// TestStalled gives a server up that sends nothing, and tries again.
func TestStalled(t *testing.T) {
	s := newServer(t)
	first := once(1)
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		if first() {
			_, _ = w.Write(s.files["model.safetensors"][:10])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
		return false
	}
	c := s.client(t)
	c.stall = 100 * time.Millisecond
	_, err := c.Download(background(t), "org/name", onlyModel)
	require.NoError(t, err)
}

// TestSlow waits for a server that sends little by little.
func TestSlow(t *testing.T) {
	s := newServer(t)
	s.before = func(w http.ResponseWriter, _ *http.Request) bool {
		b := s.files["model.safetensors"]
		w.Header().Set("Content-Length", strconv.Itoa(len(b)))
		for i := range 4 {
			_, _ = w.Write(b[i*len(b)/4 : (i+1)*len(b)/4])
			w.(http.Flusher).Flush()
			time.Sleep(700 * time.Millisecond)
		}
		return true
	}
	c := s.client(t)
	c.stall = 2500 * time.Millisecond // less than all of it takes; on a busy machine a part may take twice as long
	_, err := c.Download(background(t), "org/name", onlyModel)
	require.NoError(t, err)
	require.Len(t, s.requests(), 5)
}

// TestNeverWhole gives up a server without ranges that cuts every answer.
func TestNeverWhole(t *testing.T) {
	s := newServer(t)
	n := 0
	s.before = func(w http.ResponseWriter, _ *http.Request) bool {
		n++
		cut(w, s.files["model.safetensors"], 100_000-n%2)
		return true
	}
	_, err := s.client(t).Download(background(t), "org/name", onlyModel)
	require.ErrorContains(t, err, "unexpected EOF")
	require.Less(t, n, 12)
}

// TestAttempts waits as long as is asked.
func TestAttempts(t *testing.T) {
	c, n, start := &Client{pause: 1}, 0, time.Now()
	require.NoError(t, c.attempts(background(t), tries, func() (bool, error) {
		if n++; n == 1 {
			return false, &temporary{errors.New("busy"), 30 * time.Millisecond}
		}
		return false, nil
	}))
	require.GreaterOrEqual(t, time.Since(start), 30*time.Millisecond)
	require.Equal(t, 2, n)
}

// TestCancelled ends a download, whose part is there for the next.
func TestCancelled(t *testing.T) {
	s := newServer(t)
	ctx, cancel := context.WithCancel(background(t))
	first := once(1)
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		is := first()
		if is {
			w.Header().Set("Content-Length", "300000")
			_, _ = w.Write(s.files["model.safetensors"][:1000])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
		return is
	}
	c := s.client(t)
	o := onlyModel
	o.Progress = func(done, _ int64) {
		if done == 1000 {
			cancel()
		}
	}
	_, err := c.Download(ctx, "org/name", o)
	require.ErrorIs(t, err, context.Canceled)
	s.requests()
	_, err = c.Download(background(t), "org/name", onlyModel)
	require.NoError(t, err)
	require.Contains(t, s.requests(), "/model.safetensors bytes=1000-")
}

// TestOffline uses a cache without a hub, also one that another library made.
func TestOffline(t *testing.T) {
	s := newServer(t)
	c := s.client(t)
	dir, err := c.Download(background(t), "org/name", Options{Allow: []string{"*.json"}})
	require.NoError(t, err)
	s.Close()
	c.pause = time.Hour // what is there is not waited for
	for _, offline := range []bool{true, false} {
		c.Offline = offline
		got, err := c.Download(background(t), "org/name", Options{Allow: []string{"*.json"}})
		require.NoError(t, err)
		require.Equal(t, dir, got)
	}
	c.Offline = true
	_, err = c.Download(background(t), "org/name", Options{})
	require.ErrorIs(t, err, ErrOffline)
	require.NoError(t, os.RemoveAll(filepath.Join(c.Cache, "models--org--name", "trees")))
	got, err := c.Download(background(t), "org/name", Options{Allow: []string{"*.json"}})
	require.NoError(t, err)
	require.Equal(t, dir, got)
	_, err = c.Download(background(t), "org/name", Options{Allow: []string{"*.safetensors"}})
	require.ErrorIs(t, err, ErrNotFound)
}

// TestTogether has several clients and processes download one file, which is served once.
func TestTogether(t *testing.T) {
	s := newServer(t)
	s.before = func(http.ResponseWriter, *http.Request) bool { time.Sleep(50 * time.Millisecond); return false }
	c := s.client(t)
	var list []*exec.Cmd
	for range 3 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestChild$")
		cmd.Env = append(os.Environ(), "HUB_TEST_ENDPOINT="+s.URL, "HUB_TEST_CACHE="+c.Cache)
		cmd.Stderr = os.Stderr
		require.NoError(t, cmd.Start())
		list = append(list, cmd)
	}
	failed := make(chan error, 3)
	for range 3 {
		go func() {
			_, err := c.Download(background(t), "org/name", onlyModel)
			failed <- err
		}()
	}
	for range 3 {
		require.NoError(t, <-failed)
	}
	for _, cmd := range list {
		require.NoError(t, cmd.Wait())
	}
	n := 0
	for _, r := range s.requests() {
		if r == "/model.safetensors" {
			n++
		}
	}
	require.Equal(t, 1, n)
}

// TestChild is another process of [TestTogether].
func TestChild(t *testing.T) {
	endpoint := os.Getenv("HUB_TEST_ENDPOINT")
	if endpoint == "" {
		t.Skip("it is run by TestTogether")
	}
	c := &Client{Endpoint: endpoint, Cache: os.Getenv("HUB_TEST_CACHE")}
	_, err := c.Download(background(t), "org/name", onlyModel)
	require.NoError(t, err)
}

// TestFromEnvironment reads the variables.
func TestFromEnvironment(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_ENDPOINT", "HF_TOKEN",
		"HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH", "HF_HUB_OFFLINE", "XDG_CACHE_HOME", "HF_HUB_DISABLE_IMPLICIT_TOKEN"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", home)
	get := func() *Client {
		c, err := FromEnvironment()
		require.NoError(t, err)
		return c
	}
	c := get()
	require.Equal(t, filepath.Join(home, ".cache", "huggingface", "hub"), c.Cache)
	require.Equal(t, DefaultEndpoint, c.endpoint())
	require.Equal(t, DefaultEndpoint, (&Client{}).endpoint())
	require.False(t, c.Offline)
	require.Empty(t, c.Token)

	t.Setenv("HF_HOME", "~/hf")
	require.NoError(t, os.MkdirAll(filepath.Join(home, "hf"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(home, "hf", "token"), []byte("filed\n"), 0o600))
	require.Equal(t, filepath.Join(home, "hf", "hub"), get().Cache)
	require.Equal(t, "filed", get().Token)
	t.Setenv("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")
	require.Empty(t, get().Token)
	t.Setenv("HF_TOKEN", " given ")
	t.Setenv("HF_HUB_CACHE", "/models")
	t.Setenv("HF_ENDPOINT", "https://mirror.example/")
	t.Setenv("HF_HUB_OFFLINE", "yes")
	c = get()
	require.Equal(t, []any{"given", "/models", "https://mirror.example", true}, []any{c.Token, c.Cache, c.endpoint(), c.Offline})
	t.Setenv("HF_ENDPOINT", "mirror")
	_, err := FromEnvironment()
	require.ErrorContains(t, err, `"mirror"`)
}

// TestDowngrade refuses a redirect from https to http.
func TestDowngrade(t *testing.T) {
	to := httptest.NewServer(http.NotFoundHandler())
	defer to.Close()
	s := httptest.NewTLSServer(http.RedirectHandler(to.URL, http.StatusFound))
	defer s.Close()
	c := &Client{Endpoint: s.URL, Cache: t.TempDir(), Transport: s.Client().Transport, pause: 1}
	_, err := c.Files(background(t), "org/name", "")
	require.ErrorIs(t, err, ErrAnswer)
	require.ErrorContains(t, err, "from https to http://")
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "7", 7 * time.Second}, {"Retry-After", "-7", 0}, {"Retry-After", "x", 0},
		{"Retry-After", "Fri, 02 Jan 2026 03:05:05 GMT", time.Minute},
		{"Retry-After", "Fri, 02 Jan 2026 03:00:00 GMT", 0},
		{"RateLimit", `"api";r=0;t=55`, 55 * time.Second}, {"RateLimit", `"api";r=0`, 0},
	} {
		require.Equal(t, c.want, retryAfter(http.Header{http.CanonicalHeaderKey(c.name): {c.value}}, now), c.value)
	}
}

// TestFull says what to do when the disk is full.
func TestFull(t *testing.T) {
	err := full(fmt.Errorf("write x: %w", syscall.ENOSPC), &File{Path: "m.gguf", Size: 5}, "/models")
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.ErrorContains(t, err, "m.gguf has 5 bytes; make room, or set HF_HUB_CACHE to another folder than /models")
	other := errors.New("other")
	require.Equal(t, other, full(other, &File{}, ""))
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full here")
	}
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer f.Close()
	p := &part{f: f, file: &File{Size: 10, sum: commit}, count: func(int64) {}}
	p.reset()
	_, err = p.Write([]byte("hello"))
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.ErrorIs(t, p.err, syscall.ENOSPC)
	require.Zero(t, p.n)
}

func TestNames(t *testing.T) {
	for text, want := range map[string]Name{
		"org/name":              {Repo: "org/name"},
		"org/na.me-GGUF:Q4_K_M": {Repo: "org/na.me-GGUF", Part: "Q4_K_M"},
		"org/name@v1:a/b.gguf":  {Repo: "org/name", Revision: "v1", Part: "a/b.gguf"},
		"org/name@refs/pr/1":    {Repo: "org/name", Revision: "refs/pr/1"},
		"name/":                 {}, "": {}, "name": {}, "./org/name": {}, "/org/name": {}, "a/b/c": {},
		"org/name:": {}, "org/name@": {}, "org/na me": {}, "../name": {}, `C:\x\y`: {}, "org/a--b": {},
		"org/" + strings.Repeat("x", 100): {}, "org/x.git": {},
	} {
		n, err := ParseName(text)
		if want == (Name{}) {
			require.ErrorIs(t, err, ErrName, text)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, want, n, text)
	}
}

// TestModel chooses files.
func TestModel(t *testing.T) {
	index := `{"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}`
	for i, c := range []struct {
		files string // with spaces between them
		part  string
		open  string // "." for the folder
		takes string
		fails string
	}{
		{"config.json model.safetensors tokenizer.json consolidated.safetensors x/model.safetensors pytorch_model.bin README.md", "",
			".", "config.json model.safetensors tokenizer.json", ""},
		{"config.json model-00001-of-00002.safetensors model-00002-of-00002.safetensors consolidated.safetensors model.safetensors.index.json", "",
			".", "config.json model-00001-of-00002.safetensors model-00002-of-00002.safetensors model.safetensors.index.json", ""},
		{"config.json model-00001-of-00002.safetensors model.safetensors.index.json", "", "", "", "names 2 files, of which there are 1"},
		{"config.json pytorch_model.bin tokenizer.model training_args.bin", "", ".", "config.json pytorch_model.bin tokenizer.model", ""},
		{"config.json a.safetensors b.safetensors pytorch_model.bin", "", ".", "a.safetensors b.safetensors config.json", ""},
		{"config.json model.safetensors modules.json 1_Pooling/config.json 2_Dense/model.safetensors 2_Dense/x.bin onnx/config.json", "",
			".", "1_Pooling/config.json 2_Dense/model.safetensors config.json model.safetensors modules.json", ""},
		{"config.json training_args.bin", "", "", "", "no config.json with weights"},
		{"adapter_config.json adapter_model.bin", "", ".", "adapter_config.json adapter_model.bin", ""},
		{"config.json model.safetensors old.safetensors", "old.safetensors", "old.safetensors", "config.json old.safetensors", ""},
		{"adapter_config.json adapter_model.safetensors", "", ".", "adapter_config.json adapter_model.safetensors", ""},
		{"config.json m-Q4_K_M.gguf m-Q8_0.gguf mmproj-F16.gguf", "", "m-Q4_K_M.gguf", "m-Q4_K_M.gguf", ""},
		{"m-Q4_K_M.gguf m-q8_0.gguf", "q8_0", "m-q8_0.gguf", "m-q8_0.gguf", ""},
		{"m-UD-Q4_K_M.gguf m-Q4_K_M.gguf", "Q4_K_M", "m-Q4_K_M.gguf", "m-Q4_K_M.gguf", ""},
		{"m-UD-Q4_K_XL.gguf m-Q4_K_M.gguf", "q4_k_xl", "m-UD-Q4_K_XL.gguf", "m-UD-Q4_K_XL.gguf", ""},
		{"m.Q4_K_M.gguf m.Q4_K_S.gguf", "Q4_K", "", "", "want one of Q4_K_M, Q4_K_S behind a colon"},
		{"a-Q4_K_M.gguf b-Q4_K_M.gguf", "", "", "", "want one of a-Q4_K_M.gguf, b-Q4_K_M.gguf"},
		{"a-Q5_0.gguf b-BF16.gguf", "", "", "", "want one of BF16, Q5_0 behind a colon"},
		{"only.gguf README.md", "", "only.gguf", "only.gguf", ""},
		{"Q8_0/m-Q8_0-00001-of-00002.gguf Q8_0/m-Q8_0-00002-of-00002.gguf m-Q4_0.gguf", "Q8_0", "Q8_0/m-Q8_0-00001-of-00002.gguf",
			"Q8_0/m-Q8_0-00001-of-00002.gguf Q8_0/m-Q8_0-00002-of-00002.gguf", ""},
		{"m-Q4_0.gguf mmproj-F16.gguf", "mmproj-F16.gguf", "mmproj-F16.gguf", "mmproj-F16.gguf", ""},
		{"README.md config.json", "", "", "", "no config.json with weights, and no GGUF file"},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			s := newServer(t)
			clear(s.files)
			for _, name := range strings.Fields(c.files) {
				s.files[name] = []byte(name)
			}
			if s.files["model.safetensors.index.json"] != nil {
				s.files["model.safetensors.index.json"] = []byte(index)
			}
			name := "org/name"
			if c.part != "" {
				name += ":" + c.part
			}
			cl := s.client(t)
			got, err := cl.Model(background(t), name, nil)
			if c.fails != "" {
				require.ErrorContains(t, err, c.fails)
				return
			}
			require.NoError(t, err)
			dir := filepath.Join(cl.Cache, "models--org--name", "snapshots", commit)
			require.Equal(t, filepath.Join(dir, c.open), got)
			var takes []string
			for n := range s.files {
				if _, err := os.Stat(filepath.Join(dir, n)); err == nil {
					takes = append(takes, n)
				}
			}
			slices.Sort(takes)
			require.Equal(t, c.takes, strings.Join(takes, " "))
		})
	}
}
