package file

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
)

// counted returns a Source whose memory reports when it is freed.
func counted(freed chan<- bool) *Source {
	return mapped("counted", make([]byte, 10), func([]byte) { freed <- true })
}

func TestMemoryGoesWithTheLastView(t *testing.T) {
	freed := make(chan bool, 1)
	s := counted(freed)
	a, err := s.View(0, 5)
	require.NoError(t, err)
	b, err := s.View(5, 5)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	a.Release()
	a.Release()
	require.Empty(t, freed, "b is still there")
	b.Release()
	require.Len(t, freed, 1)
}

func TestMemoryGoesWhenNothingRefersToIt(t *testing.T) {
	freed := make(chan bool, 1)
	func() {
		v, err := counted(freed).View(0, 5)
		require.NoError(t, err)
		runtime.GC()
		require.Empty(t, freed)
		runtime.KeepAlive(v)
	}()
	for {
		runtime.GC()
		select {
		case <-freed:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

func TestShortenedWhileMapped(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not shorten a mapped file")
	}
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, make([]byte, 1<<20), 0o600))
	s, err := Open(path)
	require.NoError(t, err)
	defer s.Close()
	blob, err := s.Section(1<<19, 1<<19)
	require.NoError(t, err)
	e, err := New(Spec{Name: "w", Encoding: As("U8", dtype.U8), Shape: layout.Shape{1 << 19}, Blob: blob, Path: path})
	require.NoError(t, err)
	require.NoError(t, os.Truncate(path, 10))
	_, err = s.ReadAt(make([]byte, 100), 1<<19)
	require.ErrorIs(t, err, ErrTruncated)
	require.ErrorContains(t, err, "was 1048576 bytes long when it was opened")
	_, err = e.ReaderAt().ReadAt(make([]byte, 100), 0)
	require.ErrorIs(t, err, ErrTruncated)
	_, err = e.Bytes() // by the mapping
	require.ErrorIs(t, err, ErrTruncated)
	require.ErrorContains(t, err, "changed while it was open")
}
