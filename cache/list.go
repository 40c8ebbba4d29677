package cache

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gokiln/kiln/internal/atomicfile"
)

// Info describes an entry in the store.
type Info struct {
	Key Key
	Header
	Size    int64     // of the file
	ModTime time.Time // of the last use, to the hour
	Hits    int64     // how many processes have used it, about
}

// List returns the entries, the most recently used first. It reads headers
// only, so an entry in the list may still turn out damaged; files that are not
// entries at all are left to [Store.Verify].
func (s *Store) List() []Info {
	if s.usable() != nil {
		return nil
	}
	var list []Info
	hits := s.hitCounts()
	for f := range s.files {
		if !isKeyName(f.name) {
			continue
		}
		h, err := readHeader(f.path)
		if err != nil || h.Key.String() != f.name {
			continue
		}
		list = append(list, Info{Key: h.Key, Header: h.Header, Size: f.size, ModTime: f.used, Hits: hits[f.name[:hitDigits]]})
	}
	slices.SortFunc(list, func(a, b Info) int {
		if c := b.ModTime.Compare(a.ModTime); c != 0 {
			return c
		}
		return bytes.Compare(a.Key[:], b.Key[:])
	})
	return list
}

func readHeader(path string) (storedHeader, error) {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return storedHeader{}, errors.Join(err, errMagic)
	}
	f, err := os.Open(path)
	if err != nil {
		return storedHeader{}, err
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, maxHeaderBytes+1)
	if !sc.Scan() || sc.Text()+"\n" != magic {
		return storedHeader{}, errMagic
	}
	if !sc.Scan() {
		return storedHeader{}, errHeader
	}
	return decodeHeader(sc.Bytes())
}

// A Problem is something in the directory that is not as it should be. It is
// an error, printed as one line.
type Problem struct {
	Path string
	Err  error
}

// Error returns path and reason.
func (p Problem) Error() string { return fmt.Sprintf("%s: %v", p.Path, p.Err) }

// Unwrap returns the reason.
func (p Problem) Unwrap() error { return p.Err }

// Verify reads every entry completely and returns what is wrong, in order of
// path. It removes nothing: a damaged entry is removed when it is asked for,
// and any other by [Store.GC] or by hand.
func (s *Store) Verify() []Problem {
	if err := s.usable(); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return []Problem{{s.dir, err}}
	}
	s.ask()
	var problems []Problem
	for f := range s.files {
		if err := s.verify(f); err != nil {
			problems = append(problems, Problem{f.path, err})
		}
	}
	return problems
}

// nfsPrefix begins the names that clients of NFS give to files that are removed while they are
// open.
const nfsPrefix = ".nfs"

func (s *Store) verify(f file) error {
	if strings.HasPrefix(f.name, nfsPrefix) {
		return nil // removed while a process has it open; the client removes it afterwards
	}
	if isTempName(f.name) {
		if atomicfile.Abandoned(f.name, f.used, s.clock(), tempAge) {
			return errors.New("left by a writer that died; it will be collected")
		}
		return nil // somebody is writing it
	}
	k, err := ParseKey(f.name)
	if err != nil || f.shard != f.name[:2] {
		return errors.New("no file of the cache; it is never read")
	}
	_, _, err = s.readEntry(f.path, k)
	return ignoreMissing(err)
}
