package file_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor/file"
)

// fileMemory is how much of the memory of the process is pages of files, in bytes.
func fileMemory(t *testing.T) (n int64) {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(b), "RssFile:")
	require.True(t, ok)
	_, err = fmt.Sscan(rest, &n)
	require.NoError(t, err)
	return n << 10
}

// What is read is no memory of the process, as the pages of views are.
func TestReadAtMapsNoPages(t *testing.T) {
	const size = 64 << 20
	path := filepath.Join(t.TempDir(), "large")
	require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte{1}, size), 0o600))
	s, err := file.Open(path)
	require.NoError(t, err)
	defer s.Close()
	before := fileMemory(t)
	n, err := io.Copy(io.Discard, io.NewSectionReader(s, 0, size))
	require.NoError(t, err)
	require.EqualValues(t, size, n)
	require.Less(t, fileMemory(t)-before, int64(size/4))
	v, err := s.View(0, size)
	require.NoError(t, err)
	defer v.Release()
	require.Equal(t, size, bytes.Count(v.Bytes(), []byte{1}))
	require.Greater(t, fileMemory(t)-before, int64(size/2))
}
