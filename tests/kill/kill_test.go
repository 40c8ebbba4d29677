package kill

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/cache"
	"github.com/gokiln/kiln/internal/atomicfile"
	"github.com/gokiln/kiln/jit/record"
)

// roleEnv names what a child writes.
const roleEnv = "KILN_KILL_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		fmt.Fprintln(os.Stderr, writeAll(role))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// kills is how many writers to kill.
func kills(t *testing.T) int {
	if text := os.Getenv("KILN_KILLS"); text != "" {
		n, err := strconv.Atoi(text)
		require.NoError(t, err, "KILN_KILLS")
		return n
	}
	if testing.Short() {
		return 18
	}
	return 60
}

// run is a test that goes on.
type run struct {
	t   *testing.T
	exe string
	dir string

	sync.Mutex
	done []death // in the order of their end

	reads, written, temps, swept atomic.Int64
}

// death is a writer that is no more.
type death struct {
	writer
	kind int
	n    int // that it was done with
}

// at is how many writers live at one time.
const at = 12

func TestKilledWriters(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	n := kills(t)
	r := &run{t: t, exe: exe, dir: t.TempDir()}
	for _, sub := range []string{"bundles", "records"} {
		require.NoError(t, os.Mkdir(filepath.Join(r.dir, sub), 0o700))
	}
	for i := 0; i < n; i += batch {
		require.NoError(t, record.Update(recordFile(r.dir, i), inherited()))
	}
	begin := time.Now()
	var writers, readers sync.WaitGroup
	var next atomic.Int64
	for slot := range at {
		writers.Go(func() {
			for {
				number := int(next.Add(1)) - 1
				if number >= n || t.Failed() {
					return
				}
				r.kill(writer{number, slot, r.dir})
			}
		})
	}
	stop := make(chan struct{})
	for _, read := range []func(*rand.Rand, []death){r.readCache, r.readBundles, r.readRecords, r.collect} {
		readers.Go(func() {
			rnd := rand.New(rand.NewPCG(rand.Uint64(), 0))
			for {
				select {
				case <-stop:
					return
				case <-time.After(2 * time.Millisecond):
					r.Lock()
					done := r.done
					r.Unlock()
					read(rnd, done)
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	took := time.Since(begin)
	if t.Failed() {
		return
	}

	// Everything is still there at the end, and nothing else.
	count := [3]int{}
	for _, d := range r.done {
		count[d.kind]++
		if kinds[d.kind].name != "bundle" { // of those, only the slot's last
			assert.NoError(t, kinds[d.kind].look(d.writer, d.n))
		}
	}
	assert.Len(t, r.done, n)
	left := r.collectAll()
	t.Logf("%d writers killed in %v (cache %d, bundle %d, record %d), %d at a time: %d writes that they were done with are there, %d reads meanwhile were right; %d temporary files were left and are gone, %d of them to the end",
		n, took.Round(time.Millisecond), count[0], count[1], count[2], at, r.written.Load(), r.reads.Load(), r.temps.Load(), left)
}

// kill starts a writer, kills it, and looks.
func (r *run) kill(w writer) {
	kind := w.number % len(kinds)
	cmd := exec.Command(r.exe)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %d %s", roleEnv, kind, w.number, w.slot, r.dir))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if !assert.NoError(r.t, err) || !assert.NoError(r.t, cmd.Start()) {
		return
	}
	// From microseconds to a quarter of a second, each power of two as often as the next. Some die
	// before they have begun.
	delay := time.Duration(rand.IntN(1<<rand.IntN(19))) * time.Microsecond
	timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	die := func() { timer.Stop(); timer = time.AfterFunc(delay, func() { _ = cmd.Process.Kill() }) }
	if rand.IntN(8) == 0 {
		die()
	}
	n := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		switch text := lines.Text(); text {
		case "ready":
			die()
		case strconv.Itoa(n):
			n++
		default:
			assert.Fail(r.t, "a writer says", "%q after %d writes", text, n)
		}
	}
	timer.Stop()
	// The end of its output is that of the process; before Wait nobody takes it for dead, so what
	// it left is still there.
	r.temps.Add(int64(len(r.tempsOf(cmd.Process.Pid))))
	_ = cmd.Wait()
	assert.Empty(r.t, stderr.String(), "writer %d of %s ended by itself", w.number, kinds[kind].name)
	assert.NoError(r.t, kinds[kind].look(w, n), "after %d of %s was killed", w.number, kinds[kind].name)
	r.written.Add(int64(n))
	r.Lock()
	r.done = append(r.done, death{w, kind, n})
	r.Unlock()
}

// tempsOf returns the temporary files of a process, or of all for 0.
func (r *run) tempsOf(pid int) []string {
	var list []string
	err := filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && atomicfile.IsTemp(d.Name()) && (pid == 0 || strings.Contains(d.Name(), fmt.Sprintf("-%d-", pid))) {
			list = append(list, path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // of somebody who goes on
		}
		return err
	})
	assert.NoError(r.t, err)
	return list
}

// ok counts a read.
func (r *run) ok(err error) {
	r.reads.Add(1)
	assert.NoError(r.t, err)
}

func (r *run) store() *cache.Store {
	s, err := cache.Open(cacheDir(r.dir))
	assert.NoError(r.t, err)
	return s
}

func (r *run) readCache(rnd *rand.Rand, done []death) {
	s := r.store()
	name := sharedEntry(rnd.IntN(shared))
	if e, ok := s.Get(cache.NewKey(name)); ok {
		r.ok(check(name, e))
	}
	if len(done) == 0 {
		return
	}
	if d := done[rnd.IntN(len(done))]; kinds[d.kind].name == "cache" && d.n > 0 {
		r.ok(lookEntry(s, d.entry(rnd.IntN(d.n))))
	}
}

func (r *run) readBundles(rnd *rand.Rand, done []death) {
	names := []string{bundleFile(r.dir, "all"), bundleFile(r.dir, strconv.Itoa(rnd.IntN(at)))}
	for _, name := range names {
		if _, _, err := readBundle(name); !errors.Is(err, fs.ErrNotExist) {
			r.ok(err)
			continue
		}
		for _, d := range done {
			written := kinds[d.kind].name == "bundle" && d.n > 0 && (d.bundle() == name || name == names[0])
			assert.False(r.t, written, "%s: lost", name)
		}
	}
}

func (r *run) readRecords(rnd *rand.Rand, done []death) {
	number := 0
	if len(done) > 0 {
		number = done[rnd.IntN(len(done))].number
	}
	name, want := recordFile(r.dir, number), inherited()
	for _, d := range done {
		if kinds[d.kind].name != "record" || recordFile(r.dir, d.number) != name {
			continue
		}
		for i := range d.n {
			want.Add(d.spec(i))
		}
	}
	r.ok(lookSpecs(name, want))
}

// collect collects while others write.
func (r *run) collect(rnd *rand.Rand, _ []death) {
	if rnd.IntN(50) > 0 {
		return
	}
	result, err := r.store().GC(cache.DefaultMax)
	assert.NoError(r.t, err)
	r.swept.Add(int64(result.Removed))
}

// collectAll lets later writers and the cache collect, and returns how many files they had to.
func (r *run) collectAll() int {
	temps := r.tempsOf(0)
	if runtime.GOOS != "linux" { // where nobody knows that the writers are dead, only that they are old
		past := time.Now().Add(-48 * time.Hour)
		for _, name := range temps {
			require.NoError(r.t, os.Chtimes(name, past, past))
		}
	}
	_, err := r.store().GC(cache.DefaultMax)
	require.NoError(r.t, err)
	assert.Empty(r.t, r.store().Verify())
	for slot := range at {
		require.NoError(r.t, writeBundle(writer{-1, slot, r.dir}, 0))
	}
	for i := 0; i < len(r.done); i += batch {
		require.NoError(r.t, writeRecord(writer{i, -1, r.dir}, 1_000_000))
	}
	assert.Empty(r.t, r.tempsOf(0), "later writers collect what the dead left")
	if runtime.GOOS != "windows" { // where the locks stay
		locks, err := filepath.Glob(filepath.Join(r.dir, "records", "*.lock"))
		require.NoError(r.t, err)
		assert.Empty(r.t, locks)
	}
	return len(temps)
}
