package hub

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Kinds of errors, for errors.Is.
var (
	ErrName     = errors.New("name of a model on the hub")
	ErrNotFound = errors.New("not on the hub")
	ErrAccess   = errors.New("no access")
	ErrAnswer   = errors.New("malformed answer of the hub")
	ErrChecksum = errors.New("wrong checksum")
	ErrOffline  = errors.New("not in the cache") // and the hub was not or could not be asked
)

// temporary is an error that may pass.
type temporary struct {
	error
	after time.Duration // what the server asks to wait
}

func (t *temporary) Unwrap() error { return t.error }

// refused returns the error of an answer that is none of what was asked for.
func (c *Client) refused(r *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(r.Body, 1<<10))
	said := r.Header.Get("X-Error-Message")
	if said == "" && strings.HasPrefix(r.Header.Get("Content-Type"), "text/plain") {
		said = strings.TrimSpace(string(text))
	}
	if said != "" {
		said = ": " + strconv.Quote(said)
	}
	err := fmt.Errorf("%s: %s%s", r.Request.URL.Redacted(), r.Status, said)
	switch code := r.Header.Get("X-Error-Code"); {
	case code == "GatedRepo":
		return fmt.Errorf("%w: the repository is gated: accept its terms on its page at %s, and set"+
			" HF_TOKEN to a token of the account: %w", ErrAccess, c.endpoint(), err)
	case r.StatusCode == http.StatusUnauthorized && c.Token == "":
		return fmt.Errorf("%w: there is no such repository, or it is private: for that set HF_TOKEN: %w",
			ErrAccess, err)
	case r.StatusCode == http.StatusUnauthorized, r.StatusCode == http.StatusForbidden:
		return fmt.Errorf("%w: the token, from HF_TOKEN or the file of it, does not allow it: %w",
			ErrAccess, err)
	case code == "RevisionNotFound":
		return fmt.Errorf("%w: there is no such revision: %w", ErrNotFound, err)
	case r.StatusCode == http.StatusNotFound:
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	case r.StatusCode == http.StatusRequestTimeout, r.StatusCode == http.StatusTooManyRequests,
		r.StatusCode >= 500:
		return &temporary{err, retryAfter(r.Header, time.Now())}
	}
	return err
}

// retryAfter is how long a server asks to wait: by Retry-After, in seconds or as a date (RFC 9110,
// 10.2.3), or until a rate limit ends, as in `"api";r=0;t=55`.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if v := h.Get("Retry-After"); v != "" {
		if n, err := strconv.Atoi(v); err == nil {
			return time.Duration(min(max(n, 0), 1<<20)) * time.Second
		}
		if t, err := http.ParseTime(v); err == nil {
			return max(t.Sub(now), 0)
		}
	}
	for _, f := range strings.Split(h.Get("RateLimit"), ";") {
		if v, ok := strings.CutPrefix(strings.TrimSpace(f), "t="); ok {
			n, _ := strconv.Atoi(v)
			return time.Duration(min(max(n, 0), 1<<20)) * time.Second
		}
	}
	return 0
}

// full makes the error of a full disk one that says the way out.
func full(err error, f *File, cache string) error {
	if !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	return fmt.Errorf("%w: %s has %d bytes; make room, or set HF_HUB_CACHE to another folder than %s,"+
		" and run it again: it goes on where it ended", err, f.Path, f.Size, cache)
}
