package cache

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func hitsOf(s *Store, k Key) int64 {
	for _, info := range s.List() {
		if info.Key == k {
			return info.Hits
		}
	}
	return -1
}

// use gets an entry as a process of its own would.
func use(t *testing.T, dir string, list ...Key) {
	t.Helper()
	s := openAt(t, dir)
	for range 3 {
		for _, k := range list {
			_, ok := s.Get(k)
			assert.True(t, ok)
		}
	}
	s.flushHits()
	for folding := true; folding; time.Sleep(100 * time.Microsecond) {
		s.hits.mu.Lock()
		folding = s.hits.folding
		s.hits.mu.Unlock()
	}
}

// A process counts once, a miss does not, nor does looking.
func TestHits(t *testing.T) {
	s := open(t)
	a, b := put(t, s, "a"), put(t, s, "b")
	require.Zero(t, hitsOf(s, a))
	use(t, s.Dir(), a, b, a)
	use(t, s.Dir(), a)
	_, ok := s.Get(NewKey("none"))
	require.False(t, ok)
	_, err := s.Read(b)
	require.NoError(t, err)
	require.EqualValues(t, 2, hitsOf(s, a))
	require.EqualValues(t, 1, hitsOf(s, b))
	require.Len(t, s.List(), 2)
	require.Empty(t, s.Verify())

	// They go with the entries.
	require.NoError(t, s.Clear())
	put(t, s, "a")
	require.Zero(t, hitsOf(s, a))
	use(t, s.Dir(), a)
	require.EqualValues(t, 1, hitsOf(s, a))
}

func TestHitsOfMany(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kiln")
	var keys []Key
	for i := range 50 {
		keys = append(keys, put(t, openAt(t, dir), fmt.Sprint(i)))
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { use(t, dir, keys...) })
	}
	wg.Wait()
	for _, info := range openAt(t, dir).List() {
		assert.EqualValues(t, 20, info.Hits, info.Kernel)
	}
}

// Other processes count, and leave nothing that disturbs.
func TestHitsOfProcesses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kiln")
	exe, err := os.Executable()
	require.NoError(t, err)
	for range 3 {
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), roleEnv+"=share", dirEnv+"="+dir)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	var all int64
	for _, info := range openAt(t, dir).List() {
		assert.LessOrEqual(t, info.Hits, int64(3))
		all += info.Hits
	}
	assert.Positive(t, all)
}

// Where nothing can be written entries are read all the same.
func TestHitsNotWritten(t *testing.T) {
	s := open(t)
	k := put(t, s, "a")
	require.NoError(t, os.Mkdir(filepath.Join(s.root(), hitsLog), 0o700))
	use(t, s.Dir(), k)
	again := openAt(t, s.Dir())
	for range 2 {
		_, ok := again.Get(k)
		require.True(t, ok)
		require.True(t, again.hits.off)
	}
	require.Zero(t, hitsOf(s, k))
}

// A long log becomes totals, without entries that are gone and lines that are none.
func TestFoldHits(t *testing.T) {
	s := open(t)
	a, b := put(t, s, "a"), put(t, s, "b")
	log := filepath.Join(s.root(), hitsLog)
	line := func(k Key) string { return k.String()[:hitDigits] + "\n" }
	text := strings.Repeat(line(a)+line(NewKey("gone")), foldAt/2/len(line(a))) + strings.Repeat("x", hitDigits) + "\n" + line(b)[:9] + line(b) + line(b)
	require.NoError(t, os.WriteFile(log, []byte(text), 0o600))
	n := hitsOf(s, a)
	require.EqualValues(t, foldAt/2/len(line(a)), n)
	use(t, s.Dir(), a, b)
	require.NoFileExists(t, filepath.Join(s.root(), hitsFolding))
	require.Equal(t, n+1, hitsOf(s, a))
	require.EqualValues(t, 2, hitsOf(s, b))
	total, err := os.ReadFile(filepath.Join(s.root(), hitsTotal))
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(total), "\n"), "%s", total)
	if runtime.GOOS != "windows" {
		info, err := os.Stat(filepath.Join(s.root(), hitsTotal))
		require.NoError(t, err)
		require.Zero(t, info.Mode()&0o077, "others may do nothing")
	}
	use(t, s.Dir(), a)
	require.Equal(t, n+2, hitsOf(s, a), "the log goes on")

	// One that died while it folded does not stop others; one that may be alive does.
	folding := filepath.Join(s.root(), hitsFolding)
	require.NoError(t, os.WriteFile(folding, []byte(line(b)), 0o600))
	s.foldHits()
	require.FileExists(t, folding)
	require.EqualValues(t, 3, hitsOf(s, b))
	old := time.Now().Add(-2 * foldAge)
	require.NoError(t, os.Chtimes(folding, old, old))
	s.foldHits()
	require.NoFileExists(t, folding)
	require.EqualValues(t, 3, hitsOf(s, b))
}

// looks are the entries that a process of the benchmarks looks at.
func looks() (keys [200]Key) {
	for i := range keys {
		keys[i] = NewKey(fmt.Sprint(i))
	}
	return keys
}

// BenchmarkGet is the first look at an entry in a process, with and without counting: the
// second writes nothing.
func BenchmarkGet(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "kiln")
	s, err := Open(dir)
	require.NoError(b, err)
	keys := looks()
	for i := range keys {
		e := bodyOf(fmt.Sprint(i))
		e.Body = []byte(strings.Repeat("x", 8<<10))
		require.NoError(b, s.Put(keys[i], e))
	}
	for _, off := range []bool{false, true} {
		b.Run(map[bool]string{false: "counted", true: "plain"}[off], func(b *testing.B) {
			var s *Store
			for i := 0; b.Loop(); i++ {
				if i%len(keys) == 0 {
					s, err = Open(dir)
					require.NoError(b, err)
					s.hits.off = off
				}
				if _, ok := s.Get(keys[i%len(keys)]); !ok {
					b.Fatal("not there")
				}
			}
		})
	}
}

// BenchmarkHit is what counting adds to the first looks of a process at 200 entries, for each.
func BenchmarkHit(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "kiln")
	s, err := Open(dir)
	require.NoError(b, err)
	keys := looks()
	require.NoError(b, s.Put(keys[0], bodyOf("0")))
	for i := 0; b.Loop(); i++ {
		if i%len(keys) == 0 {
			s, err = Open(dir)
			require.NoError(b, err)
		}
		s.hit(keys[i%len(keys)])
	}
}

// Counts that a process cannot have written are passed over.
func TestCountsOfHits(t *testing.T) {
	k := strings.Repeat("a", hitDigits)
	for text, want := range map[string]int64{"": 1, " 3": 3, " 0": 0, " 2147483647": 1<<31 - 1, " 2147483648": 0, " -3": 0, " 0x3": 0, " 3 ": 0, " ": 0} {
		file := filepath.Join(t.TempDir(), "hits")
		require.NoError(t, os.WriteFile(file, []byte(k+text+"\n"), 0o600))
		counts := map[string]int64{}
		addHits(counts, file)
		require.Equal(t, want, counts[k], "%q", text)
	}
}
