package gguf_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/quantized/gguf"
	"github.com/gokiln/kiln/tensor/file"
)

// keyed is a header with one key, and the bytes behind it.
func keyed(key string, behind ...byte) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32([]byte("GGUF"), 3)
	b = le.AppendUint64(le.AppendUint64(b, 0), 1)
	return append(append(le.AppendUint64(b, uint64(len(key))), key...), behind...)
}

// Keys are of limited length, and the elements of an array do not cost as much as its key.
func TestLongKeys(t *testing.T) {
	_, err := read(keyed(strings.Repeat("k", gguf.MaxKey+1), make([]byte, 64)...))
	require.ErrorIs(t, err, file.ErrFormat)
	require.ErrorContains(t, err, "key of 65536 bytes, want 65535 at most")

	const n = 1 << 14
	le := binary.LittleEndian
	array := le.AppendUint32(le.AppendUint32(nil, uint32(gguf.Array)), uint32(gguf.String))
	array = append(le.AppendUint64(array, n), make([]byte, 8*n)...) // empty strings
	key := strings.Repeat("k", gguf.MaxKey)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f, err := read(keyed(key, array...))
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	v, ok := f.Meta.Value(key)
	require.True(t, ok)
	require.Equal(t, n, v.Len())
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20), "not a text for each element")
}

// limited is a writer that wants no more than so many bytes, none of them in one large piece.
type limited struct{ left, piece int }

func (l *limited) Write(b []byte) (int, error) {
	if l.left -= len(b); l.left < 0 || len(b) > l.piece {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}

func TestAbsurdAlignment(t *testing.T) {
	none := memory(t, "none", dtype.F32, layout.Shape{0}, nil)
	m := &gguf.Metadata{}
	m.Set(gguf.KeyAlignment, gguf.Of(uint32(1<<31)))
	err := gguf.Write(&limited{}, m, none)
	require.ErrorIs(t, err, gguf.ErrValue)
	require.ErrorContains(t, err, "general.alignment is 2147483648, want 16777216 at most")
	m.Set(gguf.KeyAlignment, gguf.Of(uint32(gguf.MaxAlignment)))
	require.NoError(t, gguf.Write(&limited{gguf.MaxAlignment, 1 << 16}, m, none))

	// Files with a larger one are read, and an edit must make it smaller.
	m.Set(gguf.KeyAlignment, gguf.Of(uint32(64)))
	b := write(t, m, none)
	at := bytes.Index(b, []byte(gguf.KeyAlignment)) + len(gguf.KeyAlignment) + 4
	binary.LittleEndian.PutUint32(b[at:], 1<<31)
	path := filepath.Join(t.TempDir(), "m.gguf")
	require.NoError(t, os.WriteFile(path, b, 0o600))
	_, err = gguf.Edit(path, func(m *gguf.Metadata) error { m.Set("a", gguf.Of("b")); return nil })
	require.ErrorContains(t, err, "want 16777216 at most")
	size := func() int64 {
		info, err := os.Stat(path)
		require.NoError(t, err)
		return info.Size()
	}
	require.EqualValues(t, len(b), size())
	_, err = gguf.Edit(path, func(m *gguf.Metadata) error { m.Delete(gguf.KeyAlignment); return nil })
	require.NoError(t, err)
	require.Less(t, size(), int64(1024))
}

// Edits of one file at the same time are all there afterwards, in place or not.
func TestEditsTakeTurns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.gguf")
	w := memory(t, "w", dtype.F32, layout.Shape{1}, numbers(4))
	require.NoError(t, gguf.WriteFile(path, nil, w))
	const writers, edits = 4, 8
	var wait sync.WaitGroup
	errs := make(chan error, writers*edits)
	for i := range writers {
		wait.Go(func() {
			for j := range edits {
				_, err := gguf.Edit(path, func(m *gguf.Metadata) error {
					m.Set(fmt.Sprintf("%d.%d", i, j), gguf.Of(uint8(1)))
					return nil
				})
				errs <- err
			}
		})
	}
	wait.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	f, err := gguf.Open(path)
	require.NoError(t, err)
	defer f.Close()
	require.Equal(t, writers*edits, f.Meta.Len())
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, left, 1, "no lock is left")
}

// A file that another program changes between reading and writing is left alone.
func TestEditOfAChangedFile(t *testing.T) {
	for name, text := range map[string]string{"in place": "x", "anew": strings.Repeat("x", 100)} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "m.gguf")
			w := memory(t, "w", dtype.F32, layout.Shape{1}, numbers(4))
			m := &gguf.Metadata{}
			m.Set("a", gguf.Of("y"))
			for change, other := range map[string]func() error{
				"replaced": func() error { return gguf.WriteFile(path, nil, w) },
				"touched":  func() error { return os.Chtimes(path, time.Time{}, time.Unix(1, 0)) },
			} {
				require.NoError(t, gguf.WriteFile(path, m, w))
				inPlace, err := gguf.Edit(path, func(m *gguf.Metadata) error {
					m.Set("a", gguf.Of(text))
					return other()
				})
				require.ErrorIs(t, err, gguf.ErrChanged, change)
				require.False(t, inPlace)
				f, err := gguf.Open(path)
				require.NoError(t, err)
				require.Equal(t, change == "touched", f.Meta.Len() == 1)
				require.NoError(t, f.Close())
			}
		})
	}
}

// Links and permissions stay, whether the header fits or not.
func TestEditKeepsTheFile(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "m.gguf"), filepath.Join(dir, "link")
	w := memory(t, "w", dtype.F32, layout.Shape{1}, numbers(4))
	require.NoError(t, gguf.WriteFile(path, nil, w))
	if err := os.Symlink("m.gguf", link); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	const mode = 0o666 // more than the umask leaves
	require.NoError(t, os.Chmod(path, mode))
	for n, text := range []string{strings.Repeat("x", 100), strings.Repeat("y", 100)} {
		inPlace, err := gguf.Edit(link, func(m *gguf.Metadata) error {
			m.Set("a", gguf.Of(text))
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, n == 1, inPlace)
		info, err := os.Lstat(link)
		require.NoError(t, err)
		require.NotZero(t, info.Mode()&os.ModeSymlink)
		info, err = os.Stat(path)
		require.NoError(t, err)
		require.EqualValues(t, mode, info.Mode().Perm())
	}
}

func TestDeletingInALoop(t *testing.T) {
	m := sample()
	n, seen := m.Len(), 0
	for k := range m.All() {
		seen++
		require.True(t, m.Delete(k))
	}
	require.Equal(t, n, seen)
	require.Zero(t, m.Len())
	m.Set("a", gguf.Of("1"))
	m.Set("b", gguf.Of("2"))
	for k := range m.All() {
		require.Equal(t, "a", k, "the other one is gone")
		m.Delete("b")
		m.Set("c", gguf.Of("3"))
	}
	var none *gguf.Metadata
	require.False(t, none.Delete("a"))
}

func TestSplitCountOfAnotherType(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m-00001-of-00002.gguf")
	m := &gguf.Metadata{}
	m.Set("split.count", gguf.Of("2"))
	require.NoError(t, gguf.WriteFile(path, m))
	_, err := gguf.Open(path)
	var fault *file.Error
	require.True(t, errors.As(err, &fault), "%v", err)
	require.ErrorContains(t, err, path)
	require.ErrorContains(t, err, `metadata "split.count"`)
	m.Set("split.count", gguf.Of(uint16(2)))
	require.NoError(t, gguf.WriteFile(path, m))
	_, err = gguf.Open(path)
	require.ErrorContains(t, err, path)
	require.ErrorContains(t, err, `no such key: "split.no"`)
}
