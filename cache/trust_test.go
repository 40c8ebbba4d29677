//go:build unix

package cache

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/atomicfile"
)

func dirOf(t *testing.T, mode os.FileMode, path ...string) string {
	t.Helper()
	dir := filepath.Join(path...)
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, os.Chmod(dir, mode))
	return dir
}

// A directory is only as safe as those above it, however one gets there.
func TestDirectoriesAbove(t *testing.T) {
	temp := dirOf(t, 0o755, t.TempDir())
	refused := func(dir, why string) {
		t.Helper()
		s, err := Open(dir)
		require.ErrorIs(t, err, ErrUnusable)
		require.ErrorContains(t, err, why)
		require.ErrorContains(t, err, "KILN_CACHE_DIR")
		refuses(t, s, NewKey("x"))
	}
	for i, mode := range []os.FileMode{0o777, 0o772} {
		up := dirOf(t, mode, temp, "open"+string(rune('a'+i)))
		refused(dirOf(t, 0o700, up, "kiln"), up)
		dir := dirOf(t, 0o700, up, "between", "kiln")
		require.NoError(t, os.Chmod(filepath.Dir(dir), 0o700))
		refused(dir, up)

		link := filepath.Join(temp, "link"+string(rune('a'+i)))
		require.NoError(t, os.Symlink(dir, link))
		refused(link, "lies in "+up)
	}
	sticky := dirOf(t, 0o777|os.ModeSticky, temp, "sticky")
	good := dirOf(t, 0o700, sticky, "kiln")
	link := filepath.Join(temp, "good")
	require.NoError(t, os.Symlink(good, link))
	for _, dir := range []string{good, link} {
		s, err := Open(dir)
		require.NoError(t, err)
		put(t, s, "x")
		assert.FileExists(t, func() string { _, file := openAt(t, good).path(NewKey("x")); return file }())
	}
	if os.Geteuid() == 0 {
		other := dirOf(t, 0o755, temp, "other")
		require.NoError(t, os.Chown(other, 12345, -1))
		refused(dirOf(t, 0o700, other, "kiln"), "belongs to user 12345")
		require.NoError(t, os.Chmod(other, 0o777|os.ModeSticky))
		refused(filepath.Join(other, "kiln"), "belongs to user 12345")
	}
}

// What is in the place of the directory after it was opened is not read, and is looked at
// before it is written to.
func TestAnotherDirectoryInItsPlace(t *testing.T) {
	s := open(t)
	k := put(t, s, "x")
	moved := s.Dir() + "-moved"
	require.NoError(t, os.Rename(s.Dir(), moved))
	foreign := openAt(t, s.Dir())
	planted := put(t, foreign, "planted")
	require.NoError(t, os.Chmod(s.Dir(), 0o777))

	_, ok := s.Get(k)
	assert.True(t, ok, "it is in the directory that is open")
	_, ok = s.Get(planted)
	assert.False(t, ok)
	assert.ErrorIs(t, s.Put(NewKey("y"), sample()), ErrUnusable)
	_, ok = s.Get(planted)
	assert.False(t, ok)

	require.NoError(t, os.RemoveAll(s.Dir()))
	s = openAt(t, moved)
	require.NoError(t, os.RemoveAll(moved))
	put(t, s, "z") // made again
	_, ok = openAt(t, moved).Get(NewKey("z"))
	assert.True(t, ok)
}

// Shards and entries that others can have written are not read.
func TestShardsOfOthers(t *testing.T) {
	s := open(t)
	k := put(t, s, "x")
	shard, file := s.path(k)
	missed := func(why string) {
		t.Helper()
		_, ok := s.Get(k)
		assert.False(t, ok, why)
		assert.FileExists(t, file, "it is no damage")
		_, err := s.Read(k)
		assert.ErrorIs(t, err, ErrUnusable)
		assert.ErrorContains(t, err, why)
		assert.Len(t, s.Verify(), 1)
	}
	require.NoError(t, os.Chmod(shard, 0o777))
	missed(shard + " can be written by other users")
	assert.ErrorIs(t, s.Put(k, sample()), ErrUnusable)
	require.NoError(t, os.Chmod(shard, 0o700))
	require.NoError(t, os.Chmod(file, 0o666))
	missed(file + " can be written by other users")
	require.NoError(t, os.Chmod(file, 0o600))
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(shard, 12345, -1))
		missed("belongs to user 12345")
		require.NoError(t, os.Chown(shard, 0, -1))
	}
	_, ok := s.Get(k)
	require.True(t, ok)

	// A link in the place of a shard leads nowhere.
	elsewhere := filepath.Join(t.TempDir(), "shard")
	require.NoError(t, os.Rename(shard, elsewhere))
	require.NoError(t, os.Symlink(elsewhere, shard))
	_, ok = s.Get(k)
	assert.False(t, ok)
	put(t, s, "x")
	info, err := os.Lstat(shard)
	require.NoError(t, err)
	assert.True(t, info.IsDir(), "the link gave way")
}

// A file that says it is large costs memory when it is an entry, not before.
func TestLargeFileThatIsNone(t *testing.T) {
	s := open(t)
	k := put(t, s, "x")
	_, file := s.path(k)
	require.NoError(t, os.Truncate(file, 300<<20)) // it begins like an entry, and takes no room on the disk
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, ok := s.Get(k)
	runtime.ReadMemStats(&after)
	assert.False(t, ok)
	assert.NoFileExists(t, file)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20))

	// One that is an entry is read.
	large := &Entry{Header: Header{Kind: KindArtifact}, Body: make([]byte, 3*maxUnseen)}
	require.NoError(t, s.Put(k, large))
	e, ok := s.Get(k)
	require.True(t, ok)
	assert.Equal(t, large.Body, e.Body)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, at := range []int{0, len(data) / 2, len(data) - 1} {
		data[at] ^= 1
		require.NoError(t, os.WriteFile(file, data, 0o600))
		assert.ErrorContains(t, whole(atomicfile.OS{}, file, int64(len(data))), errDamaged.Error())
		_, ok = s.Get(k)
		assert.False(t, ok)
		data[at] ^= 1
	}
}
