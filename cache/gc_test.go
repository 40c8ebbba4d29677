package cache

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// putAged puts n entries of one size; entry i was last used n-i hours ago.
func putAged(t *testing.T, s *Store, n int) []Key {
	t.Helper()
	keys := make([]Key, n)
	for i := range keys {
		keys[i] = put(t, s, fmt.Sprintf("entry %03d", i))
		used := time.Now().Add(-time.Duration(n-i) * time.Hour)
		_, file := s.path(keys[i])
		require.NoError(t, os.Chtimes(file, used, used))
	}
	return keys
}

func kept(t *testing.T, s *Store, keys []Key) []int {
	t.Helper()
	var list []int
	for i, k := range keys {
		if _, file := s.path(k); exists(file) {
			list = append(list, i)
		}
	}
	return list
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestGC(t *testing.T) {
	s := open(t)
	r, err := s.GC(0)
	require.NoError(t, err, "no directory yet")
	assert.Zero(t, r)

	keys := putAged(t, s, 6)
	size := s.List()[0].Size
	r, err = s.GC(6 * size)
	require.NoError(t, err)
	assert.Equal(t, GCResult{Entries: 6, Bytes: 6 * size}, r)

	_, ok := s.Get(keys[0]) // used now: last to go
	require.True(t, ok)
	r, err = s.GC(4*size - 1)
	require.NoError(t, err)
	assert.Equal(t, GCResult{Entries: 3, Bytes: 3 * size, Removed: 3, Freed: 3 * size}, r)
	assert.Equal(t, []int{0, 4, 5}, kept(t, s, keys))

	r, err = s.GC(0)
	require.NoError(t, err)
	assert.Equal(t, 3, r.Removed)
	assert.Empty(t, left(t, s))
}

func TestGCSweepsTempFiles(t *testing.T) {
	s := open(t)
	k := put(t, s, "x")
	shard, _ := s.path(k)
	old, young, foreign := filepath.Join(shard, oldTempPrefix+"1"), filepath.Join(shard, oldTempPrefix+"2"), filepath.Join(shard, "README")
	for _, f := range []string{old, young, foreign} {
		require.NoError(t, os.WriteFile(f, []byte("half"), 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(s.root(), "stray"), nil, 0o600))
	past := time.Now().Add(-2 * tempAge)
	require.NoError(t, os.Chtimes(old, past, past))

	problems := s.Verify()
	require.Len(t, problems, 2)
	assert.ErrorContains(t, problems[0], "writer that died")
	assert.ErrorContains(t, problems[1], "no file of the cache")
	assert.Len(t, s.List(), 1)

	r, err := s.GC(1 << 30)
	require.NoError(t, err)
	assert.Equal(t, 1, r.Removed)
	assert.EqualValues(t, 4, r.Freed)
	assert.False(t, exists(old))
	assert.True(t, exists(young), "its writer may be at work")
	assert.True(t, exists(foreign), "not ours to remove")
}

func TestGCReportsWhatStays(t *testing.T) {
	s := open(t)
	k := put(t, s, "x")
	_, file := s.path(k)
	require.NoError(t, os.Remove(file))
	require.NoError(t, os.MkdirAll(filepath.Join(file, "sub"), 0o700))
	_, err := s.GC(-1)
	assert.ErrorContains(t, err, k.String())
}

func TestEvictionAfterPut(t *testing.T) {
	t.Setenv("KILN_CACHE_MAX", "20kB")
	s := open(t)
	for i := range 200 {
		put(t, s, fmt.Sprint("entry ", i))
	}
	var total int64
	for _, e := range s.List() {
		total += e.Size
	}
	assert.LessOrEqual(t, total, int64(20_000+20_000/8))
	assert.GreaterOrEqual(t, total, int64(10_000), "and not more than needed")
	_, ok := s.Get(NewKey("entry 199"))
	assert.True(t, ok, "the newest entry stays")
}

// A process that writes little leaves the look to whoever comes an hour later.
func TestEvictionIsRare(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kiln")
	t.Setenv("KILN_CACHE_MAX", "0")
	keys := putAged(t, openAt(t, dir), 20)
	t.Setenv("KILN_CACHE_MAX", "15kB")

	s := openAt(t, dir)
	mark := filepath.Join(s.root(), evictMark)
	require.False(t, exists(mark), "no cap, no look")
	require.NoError(t, os.WriteFile(mark, nil, 0o600))
	put(t, s, "little")
	assert.Len(t, kept(t, s, keys), 20, "somebody looked just now")

	past := time.Now().Add(-2 * evictEvery)
	require.NoError(t, os.Chtimes(mark, past, past))
	put(t, openAt(t, dir), "more")
	assert.Less(t, len(kept(t, s, keys)), 15)
	info, err := os.Stat(mark)
	require.NoError(t, err)
	assert.Less(t, time.Since(info.ModTime()), time.Minute)
}

func TestList(t *testing.T) {
	s := open(t)
	keys := putAged(t, s, 3)
	list := s.List()
	require.Len(t, list, 3)
	for i, e := range list {
		assert.Equal(t, keys[2-i], e.Key, "most recently used first")
		assert.Equal(t, fmt.Sprintf("entry %03d", 2-i), e.Kernel)
		assert.Equal(t, KindArtifact, e.Kind)
		assert.Positive(t, e.Size)
	}

	// Of the same age: by key, so that the order does not change.
	same := time.Now().Truncate(time.Second)
	for _, k := range keys {
		_, file := s.path(k)
		require.NoError(t, os.Chtimes(file, same, same))
	}
	assert.Equal(t, s.List(), s.List())

	// Damage that shows in the header is left out.
	for i, text := range []string{"", magic, "foreign\n{}\n"} {
		_, file := s.path(keys[i])
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	assert.Empty(t, s.List())
	_, err := readHeader(filepath.Join(s.Dir(), "none"))
	assert.ErrorIs(t, err, fs.ErrNotExist)
	_, err = readHeader(s.Dir())
	assert.ErrorIs(t, err, errMagic)
	assert.Len(t, s.Verify(), 3)
	for _, p := range s.Verify() {
		assert.ErrorIs(t, p, errDamaged)
		assert.Contains(t, p.Error(), p.Path)
	}
}
