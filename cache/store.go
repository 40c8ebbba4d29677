package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gokiln/kiln/internal/atomicfile"
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
	looked  atomic.Int64             // when this process last looked for what to evict; see clock
	skew    atomic.Pointer[time.Duration]
	fs      atomicfile.System // of tests, in place of the held directory
	now     func() time.Time
	hits    hits
}

// dirState is the verdict on an existing directory: err is nil or ErrUnusable.
type dirState struct {
	err  error
	held atomicfile.System // what is below root
}

// Open returns the store in dir, which need not exist: the first Put creates
// it, for its owner only. dir may be "", see [DefaultDir].
//
// The store is never nil. An error says what is worth a warning: a directory
// that cannot be used (then every Get misses and every Put returns that error,
// which is [ErrUnusable]), or a KILN_CACHE_MAX that is no size (then the cap is
// [DefaultMax]).
func Open(dir string) (*Store, error) {
	s := &Store{max: DefaultMax, now: time.Now}
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
	st := &dirState{}
	if st.err = checkDir(s.dir); st.err == nil {
		// What is below must be as trustworthy as what is above.
		st.err = checkDir(s.root())
	}
	if st.err == nil {
		st.held, st.err = hold(s.root())
	}
	if passing(st.err) {
		return st.err
	}
	s.state.Store(st)
	return st.err
}

// system is the files below root, of the directory that was found to be right.
func (s *Store) system() atomicfile.System {
	if s.fs != nil {
		return s.fs
	}
	if st := s.state.Load(); st != nil && st.held != nil {
		return st.held
	}
	return atomicfile.OS{} // nothing is there
}

// passing reports whether an error says nothing about the directory as it will be: there is
// none yet, or the server did not answer.
func passing(err error) bool {
	var errno syscall.Errno
	return errors.Is(err, fs.ErrNotExist) ||
		errors.As(err, &errno) && (errno == syscall.ESTALE || errno == syscall.EIO || errno.Timeout() || errno.Temporary())
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
	e, info, err := s.readEntry(file, k)
	if err != nil {
		if errors.Is(err, errDamaged) {
			s.discard(file, k)
		}
		return nil, false
	}
	s.touch(file, info.ModTime())
	s.hit(k)
	return e, true
}

// errDamaged marks a file that can be read and is no entry of its key.
var errDamaged = errors.New("damaged cache entry")

func (s *Store) readEntry(file string, k Key) (*Entry, fs.FileInfo, error) {
	sys := s.system()
	shard, err := sys.Lstat(filepath.Dir(file))
	if err != nil {
		return nil, nil, err
	}
	if err := checkShard(filepath.Dir(file), shard); err != nil {
		return nil, nil, err
	}
	// Not following links, and before opening: opening a pipe would block.
	info, err := sys.Lstat(file)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, info, fmt.Errorf("%w: not a regular file", errDamaged)
	}
	if info.Size() > maxEntryBytes {
		return nil, info, fmt.Errorf("%w: %d bytes", errDamaged, info.Size())
	}
	if err := checkInside(file, info); err != nil {
		return nil, info, err
	}
	if info.Size() > maxUnseen {
		// A file that takes no room on the disk would take all of its size in memory.
		if err := whole(sys, file, info.Size()); err != nil {
			return nil, info, err
		}
	}
	data, err := atomicfile.ReadFileIn(sys, file)
	if err != nil {
		return nil, info, err
	}
	e, err := decode(data, k)
	if err != nil {
		return nil, info, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return e, info, nil
}

// checkShard reports why entries in a shard must not be read.
func checkShard(name string, info fs.FileInfo) error {
	if !info.IsDir() {
		return fmt.Errorf("%w: %s is not a directory", errDamaged, name)
	}
	return checkInside(name, info)
}

// whole reads a large file piece by piece and reports why it is no entry.
func whole(sys atomicfile.System, file string, size int64) error {
	f, err := sys.OpenFile(file, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := checkSum(f, size); err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	return nil
}

// discard removes what was found damaged. Another process may have put a good file there
// since, or it is one whose bytes are late on this host, so it is first renamed to where
// nobody else looks, and read again: a good one goes back. Which one is there if two are good
// does not matter.
func (s *Store) discard(file string, k Key) {
	aside := atomicfile.TempName(file)
	if err := s.system().Rename(file, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return // it is open on a system that keeps it; Put replaces it
	}
	// Not found may be a reply that got lost, so it is looked for all the same.
	_, _, err := s.readEntry(aside, k)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if errors.Is(err, errDamaged) || s.system().Rename(aside, file) != nil {
		_ = os.RemoveAll(aside)
	}
}

// touch records the use of an entry in its modification time, rarely: most
// hits must not write. A time in the future is a clock that was wrong.
func (s *Store) touch(file string, used time.Time) {
	if !apart(used, s.clock(), touchEvery) {
		return
	}
	if s.skew.Load() == nil {
		if s.ask(); !apart(used, s.clock(), touchEvery) {
			return
		}
	}
	now := s.clock()
	_ = s.system().Chtimes(file, now, now) // a read-only cache is still a cache
}

// apart reports whether two times differ by more than d, in either direction.
func apart(a, b time.Time, d time.Duration) bool { return a.Sub(b).Abs() > d }

// clock returns the time by the clock of the file system, which is one for all hosts that
// share it, as far as it is known: files are compared by times that it gave them.
func (s *Store) clock() time.Time {
	now := s.now()
	if skew := s.skew.Load(); skew != nil {
		now = now.Add(*skew)
	}
	return now
}

// setClock learns the time by the clock of the file system. Less than a minute is the
// accuracy of clocks, and no difference.
func (s *Store) setClock(t time.Time) {
	skew := t.Sub(s.now())
	if skew.Abs() < time.Minute {
		skew = 0
	}
	s.skew.Store(&skew)
}

// clockName is in the name of the file that is written to learn the time.
const clockName = "clock"

// ask asks the file system for the time. Where nothing can be written, this host's is taken.
func (s *Store) ask() {
	t, err := atomicfile.Time(s.system(), filepath.Join(s.root(), clockName), 0o600)
	if err != nil {
		t = s.now()
	}
	s.setClock(t)
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
	// What others do may come between: Clear removes the directories, damage has the name,
	// and who has a wrong clock takes a file that is being written for one of a dead writer.
	for range putTries {
		if err = s.write(k, data); err == nil {
			s.evictSometimes(int64(len(data)))
			return nil
		}
		_, file := s.path(k)
		if info, serr := s.system().Lstat(file); serr == nil && info.IsDir() {
			s.discard(file, k)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return err
}

// putTries bounds how often a Put that others disturb begins again.
const putTries = 4

// write writes the file of an entry.
func (s *Store) write(k Key, data []byte) error {
	shard, file := s.path(k)
	if err := s.prepare(shard); err != nil {
		return err
	}
	f, err := atomicfile.CreateIn(s.system(), file, 0o600)
	if err != nil {
		return err
	}
	defer f.Abort()
	if _, err := f.Write(data); err != nil {
		return fmt.Errorf("write %s: %w", f.Temp(), err)
	}
	if err := f.Commit(); err != nil {
		return err
	}
	s.setClock(f.Time())
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
	if st := s.state.Load(); st != nil && !same(st.held, s.root()) {
		s.state.CompareAndSwap(st, nil) // it was removed, and has just been made again
	}
	if err := s.usable(); err != nil {
		return err
	}
	sys := s.system()
	err := sys.Mkdir(shard, 0o700)
	if err == nil || !errors.Is(err, fs.ErrExist) {
		return err
	}
	if info, err := sys.Lstat(shard); err == nil && info.IsDir() {
		return checkShard(shard, info)
	}
	// Something else took the name of the shard; below v1 it can only be damage.
	_ = sys.Remove(shard)
	if err := sys.Mkdir(shard, 0o700); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// Remove removes the entry of k, if it is there.
func (s *Store) Remove(k Key) error {
	if err := s.usable(); err != nil {
		return ignoreMissing(err)
	}
	_, file := s.path(k)
	return ignoreMissing(s.system().Remove(file))
}

// Clear removes all entries. The directory itself stays.
func (s *Store) Clear() error {
	if err := s.usable(); err != nil {
		return ignoreMissing(err)
	}
	var err error
	for range putTries { // others may write meanwhile
		if err = os.RemoveAll(s.root()); err == nil {
			break
		}
	}
	return err
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
