package cache

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

const (
	// layout is the sub-directory that holds entries of this file format. A
	// later format gets another, so that old and new programs share a
	// directory without reading each other's files.
	layout = "v1"

	// touchEvery limits how often a hit writes the time of last use.
	touchEvery = time.Hour
)

// A Store is a cache directory. It keeps no index and takes no lock, so its
// methods may be called from any number of goroutines and processes at once.
type Store struct {
	dir string // absolute; "" for a store that only misses
	max int64  // size cap in bytes, 0 for none

	state   atomic.Pointer[dirState] // nil until the directory was seen
	written atomic.Int64             // bytes put since the last eviction
	create  func(dir, pattern string) (tempFile, error)
	now     func() time.Time
}

// dirState is the verdict on an existing directory: err is nil or ErrUnusable.
type dirState struct{ err error }

// tempFile is what Put needs of an open file; tests put faults behind it.
type tempFile interface {
	io.Writer
	Name() string
	Sync() error
	Close() error
}

func createTemp(dir, pattern string) (tempFile, error) { return os.CreateTemp(dir, pattern) }

// Open returns the store in dir, which need not exist: the first Put creates
// it, for its owner only. dir may be "", see [DefaultDir].
//
// The store is never nil. An error says what is worth a warning: a directory
// that cannot be used (then every Get misses and every Put returns that error,
// which is [ErrUnusable]), or a KILN_CACHE_MAX that is no size (then the cap is
// [DefaultMax]).
func Open(dir string) (*Store, error) {
	s := &Store{max: DefaultMax, create: createTemp, now: time.Now}
	if dir == "" {
		s.state.Store(&dirState{err: errNoDir})
		return s, errNoDir
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		err = fmt.Errorf("%w: %s: %w", ErrUnusable, dir, err)
		s.state.Store(&dirState{err: err})
		return s, err
	}
	s.dir = abs
	if text := os.Getenv("KILN_CACHE_MAX"); text != "" {
		size, err := ParseSize(text)
		if err != nil {
			return s, fmt.Errorf("KILN_CACHE_MAX: %w", err)
		}
		s.max = size
	}
	if err := s.usable(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	return s, nil
}

// Dir returns the directory of the store as an absolute path, or "".
func (s *Store) Dir() string { return s.dir }

// Max returns the size cap in bytes; 0 means that there is none.
func (s *Store) Max() int64 { return s.max }

// Usable returns nil when entries can be read, fs.ErrNotExist when there is no
// directory yet, and otherwise the [ErrUnusable] that Put would return.
func (s *Store) Usable() error { return s.usable() }

// usable checks the directory the first time it is there to be checked.
func (s *Store) usable() error {
	if st := s.state.Load(); st != nil {
		return st.err
	}
	err := checkDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil {
		// What is below must be as trustworthy as what is above.
		if err = checkDir(s.root()); errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	s.state.Store(&dirState{err: err})
	return err
}

func (s *Store) root() string { return filepath.Join(s.dir, layout) }

// path returns the shard directory of an entry and its file. 256 shards keep
// directories short.
func (s *Store) path(k Key) (shard, file string) {
	name := k.String()
	shard = filepath.Join(s.root(), name[:2])
	return shard, filepath.Join(shard, name)
}

// Get returns the entry of k. Whatever is wrong — no such entry, a damaged
// file, no right to read it — is a miss; a damaged file is also removed.
func (s *Store) Get(k Key) (*Entry, bool) {
	if s.usable() != nil {
		return nil, false
	}
	_, file := s.path(k)
	e, info, err := readEntry(file, k)
	if err != nil {
		if errors.Is(err, errDamaged) {
			// Another process may just have put a good file here. Losing
			// that one costs a compile, not correctness.
			_ = os.RemoveAll(file)
		}
		return nil, false
	}
	s.touch(file, info.ModTime())
	return e, true
}

// errDamaged marks a file that can be read and is no entry of its key.
var errDamaged = errors.New("damaged cache entry")

func readEntry(file string, k Key) (*Entry, fs.FileInfo, error) {
	// Not following links, and before opening: opening a pipe would block.
	info, err := os.Lstat(file)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, info, fmt.Errorf("%w: not a regular file", errDamaged)
	}
	if info.Size() > maxEntryBytes {
		return nil, info, fmt.Errorf("%w: %d bytes", errDamaged, info.Size())
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, info, err
	}
	e, err := decode(data, k)
	if err != nil {
		return nil, info, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return e, info, nil
}

// touch records the use of an entry in its modification time, rarely: most
// hits must not write. A time in the future is a clock that was wrong.
func (s *Store) touch(file string, used time.Time) {
	now := s.now()
	if age := now.Sub(used); age > touchEvery || age < -touchEvery {
		_ = os.Chtimes(file, now, now) // a read-only cache is still a cache
	}
}

// Put stores e under k, replacing what is there. After an error, and after a
// crash at any point, the store holds what it held before.
func (s *Store) Put(k Key, e *Entry) error {
	if err := s.put(k, e); err != nil {
		return fmt.Errorf("cache entry %.12s: %w", k.String(), err)
	}
	return nil
}

func (s *Store) put(k Key, e *Entry) error {
	if e == nil {
		return errors.New("no entry to store")
	}
	data, err := encode(k, e)
	if err != nil {
		return err
	}
	shard, file := s.path(k)
	if err := s.prepare(shard); err != nil {
		return err
	}
	tmp, err := s.writeTemp(shard, data)
	if err != nil {
		return err
	}
	if err := replace(tmp, file); err != nil {
		_ = os.Remove(tmp)
		return err
	}
	s.evictSometimes(int64(len(data)))
	return nil
}

// prepare makes the shard directory, and the ones above it.
func (s *Store) prepare(shard string) error {
	if st := s.state.Load(); st != nil && st.err != nil {
		return st.err
	}
	if err := os.MkdirAll(s.root(), 0o700); err != nil {
		// The check has better words than mkdir when a file is in the way.
		if err := s.usable(); errors.Is(err, ErrUnusable) {
			return err
		}
		return fmt.Errorf("create %s: %w; set KILN_CACHE_DIR to a directory you can write to", s.root(), err)
	}
	if err := s.usable(); err != nil {
		return err
	}
	err := os.Mkdir(shard, 0o700)
	if err == nil || !errors.Is(err, fs.ErrExist) {
		return err
	}
	if info, err := os.Lstat(shard); err == nil && info.IsDir() {
		return nil
	}
	// Something else took the name of the shard; below v1 it can only be damage.
	_ = os.Remove(shard)
	return os.MkdirAll(shard, 0o700)
}

// writeTemp writes data to a new file in shard and returns its name. It leaves
// no file behind when it fails.
func (s *Store) writeTemp(shard string, data []byte) (name string, err error) {
	f, err := s.create(shard, tempPrefix+"*")
	if err != nil {
		return "", err
	}
	name = f.Name()
	_, err = f.Write(data)
	if err == nil {
		// Without this, a crash of the machine may keep the name and lose
		// the bytes.
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = os.Remove(name)
		return "", fmt.Errorf("write %s: %w", name, err)
	}
	return name, nil
}

// tempPrefix begins the names of files being written. Those of writers that
// died are swept by GC.
const tempPrefix = ".tmp-"

// replaceTries bounds how long replace waits for readers, on systems where an
// open file cannot be replaced: 1 + 2 + … + 16 ms.
const replaceTries = 5

// replace renames tmp to file. It removes a directory that is in the way.
func replace(tmp, file string) error {
	var err error
	for i := range replaceTries {
		if err = os.Rename(tmp, file); err == nil {
			return nil
		}
		if info, serr := os.Lstat(file); serr == nil && info.IsDir() {
			_ = os.RemoveAll(file)
			continue
		}
		if !renameMayRetry {
			break
		}
		time.Sleep(time.Millisecond << i)
	}
	return err
}

// Remove removes the entry of k, if it is there.
func (s *Store) Remove(k Key) error {
	if err := s.usable(); err != nil {
		return ignoreMissing(err)
	}
	_, file := s.path(k)
	return ignoreMissing(os.Remove(file))
}

// Clear removes all entries. The directory itself stays.
func (s *Store) Clear() error {
	if err := s.usable(); err != nil {
		return ignoreMissing(err)
	}
	return os.RemoveAll(s.root())
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
