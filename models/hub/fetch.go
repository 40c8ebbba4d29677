package hub

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/gokiln/kiln/internal/atomicfile"
)

// longestLock is how long a process waits for one that downloads the same file.
const longestLock = 24 * time.Hour

// blob downloads a file to its place among the blobs.
func (s *Snapshot) blob(ctx context.Context, p *part, blob string) error {
	had, err := p.open()
	if err == nil {
		err = s.receiveAll(ctx, p)
	}
	if errors.Is(err, ErrChecksum) && had { // what was there from before may be wrong
		if err = p.restart(); err == nil {
			err = s.receiveAll(ctx, p)
		}
	}
	if errors.Is(err, ErrChecksum) {
		err = errors.Join(err, p.restart())
	}
	if err != nil {
		return errors.Join(err, p.close())
	}
	if err := errors.Join(p.f.Sync(), p.close()); err != nil {
		return err
	}
	return os.Rename(p.name, blob)
}

// receiveAll downloads what is missing of a file, and checks it.
func (s *Snapshot) receiveAll(ctx context.Context, p *part) error {
	path := strings.Split(p.file.Path, "/")
	for i := range path {
		path[i] = url.PathEscape(path[i])
	}
	address := s.c.endpoint() + "/" + s.Repo + "/resolve/" + s.Commit + "/" + strings.Join(path, "/")
	most := p.n
	err := s.c.attempts(ctx, tries, func() (bool, error) {
		err := s.receive(ctx, p, address)
		progress := p.n > most
		most = max(most, p.n)
		return progress, err
	})
	if err != nil {
		return err
	}
	if sum := hex.EncodeToString(p.hash.Sum(nil)); sum != p.file.sum {
		return fmt.Errorf("%w: %s: %s, want %s: the file was changed on the way", ErrChecksum, address,
			sum, p.file.sum)
	}
	return nil
}

// receive downloads what is missing of a file until that is all or an error.
func (s *Snapshot) receive(ctx context.Context, p *part, address string) error {
	if p.n == p.file.Size {
		return nil
	}
	a, err := s.c.get(ctx, address, p.n)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	ranged := strings.HasPrefix(a.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", p.n))
	if encoded := a.Header.Get("Content-Encoding"); encoded != "" && encoded != "identity" {
		return fmt.Errorf("%w: %s: encoded as %q, which was not asked for", ErrAnswer, address,
			encoded)
	}
	if p.n > 0 && (a.StatusCode != http.StatusPartialContent || !ranged) {
		if err := p.restart(); err != nil {
			return err
		}
		if a.StatusCode != http.StatusOK { // else the server knows no ranges and sends all
			return &temporary{error: fmt.Errorf("%w: %s: %s to a request for a part", ErrAnswer,
				address, a.Status)}
		}
	}
	_, err = io.CopyBuffer(p, a.Body, make([]byte, 1<<18))
	switch {
	case p.err != nil:
		return p.err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil && p.n < p.file.Size:
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return &temporary{error: fmt.Errorf("%s: byte %d of %d: %w", address, p.n, p.file.Size, err)}
	}
	return nil
}

// part is a file of which a part is there.
type part struct {
	name  string
	file  *File
	count func(n int64) // called with bytes that come or are lost
	f     *os.File
	n     int64
	hash  hash.Hash
	err   error // of what is no fault of the server
}

// open opens the file with what is there of it, and reports whether that is anything.
func (p *part) open() (had bool, err error) {
	if p.f, err = os.OpenFile(p.name, os.O_CREATE|os.O_RDWR, 0o644); err != nil {
		return false, err
	}
	p.reset()
	n, err := io.Copy(p.hash, io.LimitReader(p.f, p.file.Size+1))
	if err != nil {
		return false, err
	}
	if n > p.file.Size {
		return false, p.restart()
	}
	p.n = n
	p.count(n)
	return n > 0, nil
}

// reset begins the checksum: of blobs of git it is over their kind and length, too.
func (p *part) reset() {
	if p.hash = sha256.New(); len(p.file.sum) == 2*sha1.Size {
		p.hash = sha1.New()
		fmt.Fprintf(p.hash, "blob %d\x00", p.file.Size)
	}
}

// restart drops what is there.
func (p *part) restart() error {
	p.count(-p.n)
	p.n = 0
	p.reset()
	_, err := p.f.Seek(0, io.SeekStart)
	return errors.Join(err, p.f.Truncate(0))
}

// Write adds bytes, not more than the file has.
func (p *part) Write(b []byte) (int, error) {
	if int64(len(b)) > p.file.Size-p.n {
		p.err = fmt.Errorf("%w: it has more than the %d bytes that the list of files says", ErrAnswer,
			p.file.Size)
		return 0, p.err
	}
	n, err := p.f.Write(b)
	p.hash.Write(b[:n])
	p.n += int64(n)
	p.count(int64(n))
	p.err = err
	return n, err
}

func (p *part) close() error {
	if p.f == nil {
		return nil
	}
	return p.f.Close()
}

// copyFile copies a file, which appears as a whole.
func copyFile(from, to string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	return atomicfile.Write(to, 0o644, func(w io.Writer) error {
		_, err := io.Copy(w, f)
		return err
	})
}
