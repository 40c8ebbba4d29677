package cache

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gokiln/kiln/internal/atomicfile"
)

const (
	// evictEvery limits how often a Put looks at the whole directory; the
	// time of the last look is that of the file evictMark.
	evictEvery = time.Hour
	evictMark  = ".evicted"

	// tempAge is the age at which a temporary file of another machine has no
	// writer any more. Entries are written at once.
	tempAge = time.Hour

	// oldTempPrefix begins the names of temporary files of earlier versions.
	oldTempPrefix = ".tmp-"
)

// GCResult says what [Store.GC] did. Sizes are in bytes.
type GCResult struct {
	Entries int   // entries kept
	Bytes   int64 // size of the entries kept
	Removed int   // entries and left-over temporary files removed
	Freed   int64 // size of what was removed
}

// GC removes the least recently used entries until the rest is no larger than
// maxBytes, and temporary files that dead writers left. The error joins what
// could not be removed; the rest is done.
func (s *Store) GC(maxBytes int64) (GCResult, error) {
	return s.evict(maxBytes, maxBytes)
}

// evict brings the store down to target when it is larger than limit.
func (s *Store) evict(limit, target int64) (GCResult, error) {
	if err := s.usable(); err != nil {
		return GCResult{}, ignoreMissing(err)
	}
	s.ask()
	now := s.clock()
	var r GCResult
	var errs []error
	remove := func(f file) bool {
		if err := ignoreMissing(s.system().Remove(f.path)); err != nil {
			errs = append(errs, err)
			return false
		}
		r.Removed++
		r.Freed += f.size
		return true
	}
	var entries []file
	for f := range s.files {
		switch {
		case isKeyName(f.name):
			if f.used.Sub(now) > touchEvery {
				// A clock was wrong. Left so, the entry would outlive all others.
				f.used = now.Add(-touchEvery)
				_ = s.system().Chtimes(f.path, f.used, f.used)
			}
			entries = append(entries, f)
			r.Entries++
			r.Bytes += f.size
		case isTempName(f.name) && atomicfile.Abandoned(f.name, f.used, now, tempAge):
			remove(f)
		}
	}
	if r.Bytes > limit {
		slices.SortFunc(entries, func(a, b file) int { return a.used.Compare(b.used) })
		for _, f := range entries {
			if r.Bytes <= target {
				break
			}
			if remove(f) {
				r.Entries--
				r.Bytes -= f.size
			}
		}
	}
	// What was left of asking for the time.
	r.Removed += atomicfile.Sweep(filepath.Join(s.root(), clockName), now)
	return r, errors.Join(errs...)
}

// isTempName reports whether a file is one that is being written, or was.
func isTempName(name string) bool {
	return atomicfile.IsTemp(name) || strings.HasPrefix(name, oldTempPrefix)
}

// evictSometimes holds the store to its cap after a Put of n bytes. It looks
// at the directory when this process has written an eighth of the cap, or when
// no process has looked for an hour. What it cannot do is left to the next.
func (s *Store) evictSometimes(n int64) {
	if s.max == 0 {
		return
	}
	written := s.written.Add(n)
	mark := filepath.Join(s.root(), evictMark)
	now := s.clock()
	if written < s.max/8 {
		info, err := s.system().Lstat(mark)
		if err == nil && !apart(info.ModTime(), now, evictEvery) {
			return
		}
		// Where the mark cannot be set, or another host sets it to another time, this
		// process looks once an hour all the same.
		if looked := s.looked.Load(); looked != 0 && !apart(time.Unix(0, looked), now, evictEvery) {
			return
		}
	}
	s.written.Store(0)
	s.looked.Store(now.UnixNano())
	if err := s.system().Chtimes(mark, now, now); err != nil {
		_ = os.WriteFile(mark, nil, 0o600)
	}
	// A tenth of slack, so that a full cache is not walked at every look.
	_, _ = s.evict(s.max, s.max-s.max/10)
}

// file is a file below a shard directory.
type file struct {
	path, name string
	shard      string
	size       int64
	used       time.Time
}

// files yields what lies in the shard directories. Files that vanish meanwhile
// are left out: other processes collect too.
func (s *Store) files(yield func(file) bool) {
	shards, err := s.system().ReadDir(s.root())
	if err != nil {
		return
	}
	for _, shard := range shards {
		if !shard.IsDir() || len(shard.Name()) != 2 || !isLowerHex(shard.Name()) {
			continue
		}
		dir := filepath.Join(s.root(), shard.Name())
		entries, err := s.system().ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil {
				continue
			}
			f := file{filepath.Join(dir, e.Name()), e.Name(), shard.Name(), info.Size(), info.ModTime()}
			if !yield(f) {
				return
			}
		}
	}
}
