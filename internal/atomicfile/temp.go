package atomicfile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	// tempPrefix begins the name of a file that is being written:
	// .kiln-tmp-NAME-MACHINE-PID-RANDOM.
	tempPrefix = ".kiln-tmp-"

	// maxBase is how much of a file's name its temporary one holds: file systems allow 255 bytes.
	maxBase = 120

	// sweepAge is when a temporary file of a user's has no writer any more. A large file on a slow
	// disk is written to all the time, but what is downloaded may wait for other parts.
	sweepAge = 24 * time.Hour
)

// TempName returns a name beside name that no other process takes, on any machine.
func TempName(name string) string {
	dir, base := filepath.Split(name)
	return fmt.Sprintf("%s%s-%s-%d-%016x", dir, tempFor(base), machine().tag, os.Getpid(), rand.Uint64())
}

// tempFor is how all temporary names for a file begin.
func tempFor(base string) string {
	for len(base) > maxBase {
		_, n := utf8.DecodeLastRuneInString(base)
		base = base[:len(base)-n]
	}
	return tempPrefix + base
}

// owner is who a temporary file belongs to.
type owner struct {
	base string // of the file, in the temporary name's words
	tag  string // of the machine
	pid  int
}

// parseTemp takes a temporary name apart.
func parseTemp(name string) (o owner, ok bool) {
	parts := strings.Split(name, "-")
	n := len(parts) - 3
	if n < 1 || !strings.HasPrefix(name, tempPrefix) || len(parts[n]) != 2*tagBytes || len(parts[n+2]) != 16 {
		return owner{}, false
	}
	pid, err := strconv.Atoi(parts[n+1])
	return owner{strings.Join(parts[:n], "-"), parts[n], pid}, err == nil && pid > 0
}

// IsTemp reports whether a file name, without its folder, is a temporary one.
func IsTemp(base string) bool {
	_, ok := parseTemp(base)
	return ok
}

// Abandoned reports whether a temporary file has no writer: it was one of this machine's
// that is gone, or nothing was written for age. Both times are of the file system's clock; a time
// that lies ahead by as much is of a clock that was wrong.
func Abandoned(base string, written, now time.Time, age time.Duration) bool {
	if o, ok := parseTemp(base); ok && o.tag == machine().tag && machine().known {
		return !alive(o.pid)
	}
	idle := now.Sub(written)
	return idle > age || idle < -age
}

// Sweep removes what dead writers of a file left, as far as it can. Now is by the clock of
// the file system. It returns how many it removed.
func Sweep(name string, now time.Time) (removed int) {
	dir, base := filepath.Split(name)
	if dir == "" {
		dir = "."
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if o, ok := parseTemp(e.Name()); !ok || o.base != tempFor(base) {
			continue
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !Abandoned(e.Name(), info.ModTime(), now, sweepAge) {
			continue
		}
		if os.Remove(filepath.Join(dir, e.Name())) == nil {
			removed++
		}
	}
	return removed
}

// tagBytes is how many bytes tell machines apart.
const tagBytes = 6

// processes are those that see each other's numbers.
type processes struct {
	tag   string
	known bool // nobody else has the tag
}

// machine is the processes that this one is among.
var machine = sync.OnceValue(func() processes {
	name, _ := os.Hostname()
	pids := pidSpace()
	sum := sha256.Sum256([]byte(name + "\x00" + pids))
	return processes{hex.EncodeToString(sum[:tagBytes]), pids != ""}
})

// Time returns the time by the clock of a directory's file system, which it asks by writing
// a file; the name says for whom. It fails where it cannot write.
func Time(sys System, name string, perm fs.FileMode) (time.Time, error) {
	f, err := CreateIn(sys, name, perm)
	if err != nil {
		return time.Time{}, err
	}
	defer f.Abort()
	if err := f.stamp(); err != nil {
		return time.Time{}, err
	}
	return f.Time(), nil
}

// stamp lets the file system write down the time. Nothing of it has to last.
func (f *File) stamp() (err error) {
	if _, err = f.h.Write([]byte{0}); err == nil {
		f.info, err = f.h.Stat()
	}
	return err
}
