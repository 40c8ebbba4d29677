package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// DefaultEndpoint is the hub.
const DefaultEndpoint = "https://huggingface.co"

// Client downloads from a hub into a cache. It may be used from several goroutines, and several
// processes may use one cache.
type Client struct {
	Endpoint  string            // "" for [DefaultEndpoint]
	Cache     string            // a folder, which is made
	Token     string            // "" for none; sent to the endpoint only
	Offline   bool              // nothing is asked for, the cache is all there is
	Parallel  int               // files at a time; 0 for 8
	Transport http.RoundTripper // nil for [http.DefaultTransport]

	pause time.Duration // before the second try, and twice as long before each other; 0 for 1 s
	stall time.Duration // without a byte, before a request is given up; 0 for 30 s
}

const (
	tries      = 5               // in a row, without a byte
	longestAsk = 5 * time.Minute // that a server may ask to wait
)

// FromEnvironment returns a client by the variables of the environment that the documentation of
// the package names.
func FromEnvironment() (*Client, error) {
	home, err := os.UserHomeDir()
	env := func(name, otherwise string) string {
		v := os.ExpandEnv(cmp.Or(os.Getenv(name), otherwise))
		if rest, ok := strings.CutPrefix(v, "~"); ok {
			v = home + rest
		}
		return v
	}
	on := func(name string) bool {
		return slices.Contains([]string{"1", "ON", "YES", "TRUE"}, strings.ToUpper(os.Getenv(name)))
	}
	caches := env("XDG_CACHE_HOME", filepath.Join(home, ".cache"))
	hf := env("HF_HOME", filepath.Join(caches, "huggingface"))
	c := &Client{
		Endpoint: env("HF_ENDPOINT", DefaultEndpoint),
		Cache:    env("HF_HUB_CACHE", env("HUGGINGFACE_HUB_CACHE", filepath.Join(hf, "hub"))),
		Token:    strings.TrimSpace(cmp.Or(os.Getenv("HF_TOKEN"), os.Getenv("HUGGING_FACE_HUB_TOKEN"))),
		Offline:  on("HF_HUB_OFFLINE"),
	}
	if err != nil && !filepath.IsAbs(c.Cache) {
		return nil, fmt.Errorf("hub: %w: set HF_HUB_CACHE to a folder for models", err)
	}
	if c.Token == "" && !on("HF_HUB_DISABLE_IMPLICIT_TOKEN") {
		b, err := os.ReadFile(env("HF_TOKEN_PATH", filepath.Join(hf, "token")))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("hub: token: %w", err)
		}
		c.Token = strings.TrimSpace(string(b))
	}
	return c, c.check()
}

// endpoint is where the hub is, without a slash at the end.
func (c *Client) endpoint() string {
	return strings.TrimRight(cmp.Or(c.Endpoint, DefaultEndpoint), "/")
}

// check looks at what the client is to use.
func (c *Client) check() error {
	u, err := url.Parse(c.endpoint())
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("hub: the endpoint %q is no address such as %s", c.Endpoint, DefaultEndpoint)
	}
	if c.Cache == "" {
		return errors.New("hub: no folder for the cache")
	}
	return nil
}

// carrier adds the token to requests to the endpoint, and to no others: neither redirects nor links
// of pages lead it elsewhere.
type carrier struct {
	*Client
	to *url.URL
}

// RoundTrip sends a request.
func (t carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.to.Scheme == "https" && r.URL.Scheme != "https" {
		return nil, fmt.Errorf("%w: from https to %s", ErrAnswer, r.URL.Redacted())
	}
	r = r.Clone(r.Context())
	r.Header.Del("Authorization")
	if t.Token != "" && r.URL.Scheme == t.to.Scheme && r.URL.Host == t.to.Host {
		r.Header.Set("Authorization", "Bearer "+t.Token)
	}
	if t.Transport != nil {
		return t.Transport.RoundTrip(r)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// get asks for an address, from a byte on. The answer is one of 2xx, or 416 for a byte that is
// none. Its body ends with an error when nothing comes for a while.
func (c *Client) get(ctx context.Context, address string, from int64) (*http.Response, error) {
	to, err := url.Parse(c.endpoint())
	if err != nil {
		return nil, err
	}
	outer := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		cancel(nil)
		return nil, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	r.Header.Set("Accept-Encoding", "identity") // or bytes could not be counted
	r.Header.Set("User-Agent", "kiln")
	if from > 0 {
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-", from))
	}
	stall := cmp.Or(c.stall, 30*time.Second)
	timer := time.AfterFunc(stall, func() { cancel(fmt.Errorf("nothing came for %v", stall)) })
	a, err := (&http.Client{Transport: carrier{c, to}}).Do(r)
	if err != nil {
		timer.Stop()
		cause := context.Cause(ctx)
		cancel(nil)
		switch {
		case outer.Err() != nil:
			return nil, context.Cause(outer)
		case errors.Is(err, ErrAnswer):
			return nil, err
		case cause != nil:
			err = fmt.Errorf("%s: %w", r.URL.Redacted(), cause)
		}
		return nil, &temporary{error: err}
	}
	a.Body = &watched{a.Body, ctx, cancel, timer, stall}
	if a.StatusCode/100 != 2 && a.StatusCode != http.StatusRequestedRangeNotSatisfiable {
		defer a.Body.Close()
		return nil, c.refused(a)
	}
	return a, nil
}

// watched is a body that ends when nothing comes for a while.
type watched struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	stall  time.Duration
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	w.timer.Reset(w.stall)
	if cause := context.Cause(w.ctx); err != nil && err != io.EOF && cause != nil {
		err = cause
	}
	return n, err
}

func (w *watched) Close() error {
	w.timer.Stop()
	w.cancel(nil)
	return w.ReadCloser.Close()
}

// attempts calls f until its error is none that may pass, most times in a row without progress.
func (c *Client) attempts(
	ctx context.Context, most int, f func() (progress bool, err error),
) error {
	for try := 0; ; try++ {
		progress, err := f()
		if progress {
			try = 0
		}
		var t *temporary
		if err == nil || ctx.Err() != nil || !errors.As(err, &t) || try+1 >= most {
			return err
		}
		if t.after > longestAsk {
			return fmt.Errorf("%w: the hub asks to wait %v", err, t.after)
		}
		select {
		case <-time.After(max(t.after, cmp.Or(c.pause, time.Second)<<try)):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
