package cache

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gokiln/kiln/internal/atomicfile"
)

// Uses are counted beside the entries, so that entries stay as they were written: a process
// appends a line to a file for each entry that it uses, once. It opens the file and writes the
// first line when it uses the first entry, and further ones some at a time, a moment later,
// so that reading entries takes no longer; what it uses in the last moment before it ends may
// not count. Lines of several processes do not mix where appending is atomic; where it is
// not, what is no line does not count: the numbers are for people who look which entries are
// worth their place.
//
// The file of lines is folded into one with a number for each entry when it is large. What two
// processes fold at the same time may be counted by one of them only, and so may what a process
// appends to a log that another one folds.

const (
	hitsLog     = ".hits"         // lines of processes
	hitsTotal   = ".hits-total"   // what was folded
	hitsFolding = ".hits-folding" // the log while it is folded

	// foldAt is the size of the log that is folded: 60000 uses.
	foldAt = 1 << 20
	// foldAge is the age at which nobody folds a log any more.
	foldAge = time.Minute
	// maxTotal bounds what is read of one of the files.
	maxTotal = 64 << 20

	// hitsLater is the moment.
	hitsLater = 500 * time.Microsecond
)

// hits are the uses of one process.
type hits struct {
	mu      sync.Mutex
	seen    map[Key]struct{}
	lines   []byte   // to be written
	waiting bool     // to write them
	log     *os.File // nil if it is not open
	off     bool     // uses cannot be noted here
	folding bool     // the log is being folded
	folded  bool     // this process has done so
}

// hitDigits is how much of a key a line has: enough for keys not to be taken for each other.
const hitDigits = 16

// hit counts a use of an entry.
func (s *Store) hit(k Key) {
	h := &s.hits
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, again := h.seen[k]; again || h.off {
		return
	}
	if h.seen == nil {
		h.seen = map[Key]struct{}{}
	}
	h.seen[k] = struct{}{}
	h.lines = append(hex.AppendEncode(h.lines, k[:hitDigits/2]), '\n')
	switch {
	case h.log == nil:
		s.writeHits()
	case !h.waiting:
		h.waiting = true
		time.AfterFunc(hitsLater, s.flushHits)
	}
}

// flushHits writes what waits to be written.
func (s *Store) flushHits() {
	s.hits.mu.Lock()
	defer s.hits.mu.Unlock()
	s.hits.waiting = false
	s.writeHits()
}

// writeHits writes lines; the caller has the lock. The log stays open where an open file
// is in nobody's way.
func (s *Store) writeHits() {
	h := &s.hits
	if len(h.lines) == 0 || h.folding {
		return
	}
	err := s.openHits()
	if err == nil {
		_, err = h.log.Write(h.lines)
		h.lines = h.lines[:0]
		large := !h.folded && sizeOf(h.log) >= foldAt
		if err != nil || large || runtime.GOOS == "windows" {
			err = errors.Join(err, h.log.Close())
			h.log = nil
		}
		if large && err == nil {
			h.folded, h.folding = true, true
			go s.foldThenWrite()
		}
	}
	if err != nil {
		h.seen, h.lines, h.off = nil, nil, true
	}
}

// foldThenWrite folds the log, and writes to the next one what waited for it.
func (s *Store) foldThenWrite() {
	s.foldHits()
	s.hits.mu.Lock()
	defer s.hits.mu.Unlock()
	s.hits.folding = false
	s.writeHits()
}

func sizeOf(f *os.File) int64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

func (s *Store) openHits() (err error) {
	if s.hits.log == nil {
		s.hits.log, err = os.OpenFile(filepath.Join(s.root(), hitsLog), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	}
	return err
}

// foldHits adds the log to the totals. Whatever goes wrong costs numbers only.
func (s *Store) foldHits() {
	total, folding := filepath.Join(s.root(), hitsTotal), filepath.Join(s.root(), hitsFolding)
	if info, err := os.Stat(folding); err == nil && s.clock().Sub(info.ModTime()).Abs() < foldAge {
		return // another process does
	} else if err != nil { // else one has died over it, and the log waits for the next time
		if os.Rename(filepath.Join(s.root(), hitsLog), folding) != nil {
			return
		}
		now := s.clock()
		_ = os.Chtimes(folding, now, now)
	}
	counts := map[string]int64{}
	addHits(counts, total)
	addHits(counts, folding)
	kept := map[string]bool{}
	for f := range s.files {
		if isKeyName(f.name) {
			kept[f.name[:hitDigits]] = true
		}
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if kept[name] {
			fmt.Fprintf(&b, "%s %d\n", name, counts[name])
		}
	}
	if atomicfile.Write(total, 0o600, func(w io.Writer) error { _, err := io.WriteString(w, b.String()); return err }) != nil {
		return
	}
	_ = os.Remove(folding)
}

// hitCounts returns how often entries were used, by the first digits of their keys.
func (s *Store) hitCounts() map[string]int64 {
	counts := map[string]int64{}
	for _, name := range []string{hitsTotal, hitsFolding, hitsLog} {
		addHits(counts, filepath.Join(s.root(), name))
	}
	return counts
}

// addHits adds the lines of a file: digits of a key, and how often, once if it does not say.
func addHits(counts map[string]int64, file string) {
	if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
		return
	}
	f, err := os.Open(file)
	if err != nil {
		return
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, maxTotal))
	for lines.Scan() {
		name, text, numbered := strings.Cut(lines.Text(), " ")
		if len(name) != hitDigits || !isLowerHex(name) {
			continue
		}
		n := int64(1)
		if numbered {
			u, err := strconv.ParseUint(text, 10, 31)
			if err != nil {
				continue
			}
			n = int64(u)
		}
		counts[name] += n
	}
}
