package cache

import (
	"io/fs"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Looking is no use of an entry, and leaves damage for others to see.
func TestRead(t *testing.T) {
	s := open(t)
	_, err := s.Read(NewKey("x"))
	assert.ErrorIs(t, err, fs.ErrNotExist)
	k := put(t, s, "x")
	_, file := s.path(k)
	old := time.Now().Add(-48 * time.Hour)
	require.NoError(t, os.Chtimes(file, old, old))
	e, err := s.Read(k)
	require.NoError(t, err)
	assert.Equal(t, bodyOf("x"), e)
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.WithinDuration(t, old, info.ModTime(), time.Second)
	_, err = s.Read(NewKey("y"))
	assert.ErrorIs(t, err, fs.ErrNotExist)

	require.NoError(t, os.Truncate(file, 100))
	_, err = s.Read(k)
	assert.ErrorIs(t, err, errDamaged)
	assert.ErrorContains(t, err, file)
	assert.FileExists(t, file)
	require.NoError(t, os.Remove(file))
	require.NoError(t, os.Mkdir(file, 0o700))
	_, err = s.Read(k)
	assert.ErrorIs(t, err, errDamaged)

	if runtime.GOOS != "windows" { // directories have no mode there
		require.NoError(t, os.Chmod(s.Dir(), 0o777))
		_, err = openUnchecked(t, s.Dir()).Read(k)
		assert.ErrorIs(t, err, ErrUnusable)
	}
}

// openUnchecked returns a store that may say why it is not usable.
func openUnchecked(t *testing.T, dir string) *Store {
	t.Helper()
	s, _ := Open(dir) // the error is the one that Read has
	return s
}
