package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/gokiln/kiln/internal/atomicfile"
)

// Options are which files of a repository are downloaded, and how. In patterns * stands for any
// characters, slashes too, and ? for one; a pattern with a slash at its end is a folder.
type Options struct {
	Revision string   // a branch, tag or commit; "" for the branch main
	Allow    []string // only files that match one of these patterns; nil for all
	Ignore   []string // no files that match one of these
	// Progress is called as bytes come, one call at a time: how many of all are there. It may be nil.
	Progress func(done, all int64)
}

// Download brings files of a repository into the cache, and returns the folder that they are in,
// which has no others but those that earlier calls brought.
func (c *Client) Download(ctx context.Context, repo string, o Options) (string, error) {
	s, err := c.Files(ctx, repo, o.Revision)
	if err != nil {
		return "", err
	}
	return s.Download(ctx, o)
}

// Download is [Client.Download] of the files of a snapshot.
func (s *Snapshot) Download(ctx context.Context, o Options) (string, error) {
	var list []*File
	for i := range s.Files {
		f := &s.Files[i]
		if (o.Allow == nil || matches(o.Allow, f.Path)) && !matches(o.Ignore, f.Path) {
			list = append(list, f)
		}
	}
	if len(list) == 0 {
		return "", fmt.Errorf("hub: %s: %w: no file matches %s", s.Repo, ErrNotFound,
			strings.Join(o.Allow, ", "))
	}
	if err := s.fetch(ctx, list, o.Progress); err != nil {
		return "", fmt.Errorf("hub: %s: %w", s.Repo, err)
	}
	return s.Dir, nil
}

// fetch brings files into the cache.
func (s *Snapshot) fetch(ctx context.Context, list []*File, report func(done, all int64)) error {
	var done, all int64
	var todo []*File
	for _, f := range list {
		all += f.Size
		if s.has(f) {
			done += f.Size
		} else {
			todo = append(todo, f)
		}
	}
	if s.c.Offline && len(todo) > 0 {
		return fmt.Errorf("%s and %d more: %w", todo[0].Path, len(todo)-1, errOffline)
	}
	var mu sync.Mutex
	count := func(n int64) {
		mu.Lock()
		defer mu.Unlock()
		if done += n; report != nil {
			report(done, all)
		}
	}
	count(0)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(cmp.Or(s.c.Parallel, 8))
	for _, f := range todo {
		g.Go(func() error {
			err := s.one(ctx, f, count)
			if err != nil {
				err = fmt.Errorf("%s: %w", f.Path, full(err, f, s.c.Cache))
			}
			return err
		})
	}
	return g.Wait()
}

// place is where a file of the snapshot is.
func (s *Snapshot) place(f *File) string { return filepath.Join(s.Dir, filepath.FromSlash(f.Path)) }

// has reports whether a file is there.
func (s *Snapshot) has(f *File) bool { return hasSize(s.place(f), f.Size) }

func hasSize(name string, size int64) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular() && info.Size() == size
}

// one brings a file into the cache.
func (s *Snapshot) one(ctx context.Context, f *File, count func(n int64)) error {
	blob := filepath.Join(s.c.folder(s.Repo), "blobs", f.sum)
	if f.sum == "" {
		return errOffline
	}
	part := &part{name: blob + ".incomplete", file: f, count: count}
	unlock, err := s.lock(ctx, f)
	switch {
	case errors.Is(err, atomicfile.ErrNoLock): // a name that no other process has
		part.name = atomicfile.TempName(blob)
		defer os.Remove(part.name)
	case err != nil:
		return err
	default:
		defer unlock()
	}
	if hasSize(blob, f.Size) {
		count(f.Size)
	} else if err := s.blob(ctx, part, blob); err != nil {
		return err
	}
	return link(blob, s.place(f))
}

// lock waits until no other process downloads the file.
func (s *Snapshot) lock(ctx context.Context, f *File) (unlock func(), err error) {
	repo := s.c.folder(s.Repo)
	dir := filepath.Join(s.c.Cache, ".locks", filepath.Base(repo))
	for _, d := range []string{dir, filepath.Join(repo, "blobs"), filepath.Dir(s.place(f))} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, err
		}
	}
	type result struct {
		unlock func()
		err    error
	}
	got := make(chan result, 1)
	go func() {
		unlock, err := atomicfile.Lock(filepath.Join(dir, f.sum+".lock"), longestLock)
		got <- result{unlock, err}
	}()
	select {
	case r := <-got:
		return r.unlock, r.err
	case <-ctx.Done():
		go func() {
			if r := <-got; r.err == nil {
				r.unlock()
			}
		}()
		return nil, context.Cause(ctx)
	}
}

// link makes a link to a blob, relative so that the cache can be moved, or a copy of it where
// there are no links.
func link(blob, name string) error {
	to, err := filepath.Rel(filepath.Dir(name), blob)
	if err != nil {
		return err
	}
	temp := atomicfile.TempName(name)
	if os.Symlink(to, temp) == nil {
		if err := os.Rename(temp, name); err != nil {
			return errors.Join(err, os.Remove(temp))
		}
		return nil
	}
	return copyFile(blob, name)
}

// choose returns the files of some names.
func (s *Snapshot) choose(is func(f *File) bool) (list []*File) {
	for i := range s.Files {
		if is(&s.Files[i]) {
			list = append(list, &s.Files[i])
		}
	}
	return slices.Clip(list)
}
