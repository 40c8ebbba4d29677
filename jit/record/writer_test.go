package record

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func numbered(i int) Spec {
	return Spec{Kernel: fmt.Sprintf("k.K%d", i*7919%100_003), Targets: []string{"cpu:x86-64-v3"}}
}

func onDisk(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

// The file is written anew a few times only, however many kernels a program has, and is sorted by
// the next program.
func TestWriterAppends(t *testing.T) {
	name := filepath.Join(t.TempDir(), "kernels.txt")
	w := NewWriter(name)
	var all Set
	anew := 0
	var before os.FileInfo
	for i := range 3000 {
		all.Add(numbered(i))
		require.NoError(t, w.Add(numbered(i)))
		require.NoError(t, w.Add(numbered(i)))
		after, err := os.Stat(name)
		require.NoError(t, err)
		if before != nil && !os.SameFile(before, after) {
			anew++
		}
		before = after
	}
	require.LessOrEqual(t, anew, 3)
	require.Equal(t, 3000, strings.Count(onDisk(t, name), "\"kernel\""))
	require.NotEqual(t, string(all.Text()), onDisk(t, name))
	var have Set
	require.NoError(t, have.Load(name))
	require.Equal(t, all.Text(), have.Text())

	next := NewWriter(name)
	require.NoError(t, next.Add(numbered(0)), "nothing new")
	require.Equal(t, string(all.Text()), onDisk(t, name))
}

// Several programs write at the same time.
func TestWritersTogether(t *testing.T) {
	name := filepath.Join(t.TempDir(), "kernels.txt")
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			w := NewWriter(name)
			for i := range 40 {
				s := numbered(i)
				s.Targets = []string{fmt.Sprintf("ptx:sm_%d", g)}
				assert.NoError(t, w.Add(s))
			}
		})
	}
	wg.Wait()
	var all Set
	require.NoError(t, all.Load(name))
	require.Len(t, all.Specs(), 40)
	for _, s := range all.Specs() {
		require.Len(t, s.Targets, 8)
	}
}

// What a program that was killed has left of a line is no error and is gone with the next one; what
// people write wrong is an error.
func TestWriterAfterAKill(t *testing.T) {
	name := filepath.Join(t.TempDir(), "kernels.txt")
	w := NewWriter(name)
	require.NoError(t, w.Add(numbered(1)))
	require.NoError(t, w.Add(numbered(2)))
	torn := func(text string) {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
		require.NoError(t, err)
		_, err = f.WriteString(text)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	line := numbered(3).String()
	for i := 1; i < len(line); i++ {
		torn(line[:i])
		var have Set
		require.NoError(t, have.Load(name))
		require.Len(t, have.Specs(), 2, line[:i])
		w := NewWriter(name)
		require.NoError(t, w.Add(numbered(1)))
		require.NoError(t, w.Add(numbered(2)))
		require.NoError(t, os.WriteFile(name, have.Text(), 0o600))
	}
	torn(line[:10])
	require.NoError(t, w.Add(numbered(4)), "it has begun before")
	torn(line)
	require.NoError(t, w.Add(numbered(5)), "a whole line without its end")
	var have Set
	require.NoError(t, have.Load(name))
	require.Len(t, have.Specs(), 5)
	require.NoError(t, os.Remove(name))
	require.NoError(t, w.Add(numbered(6)), "the file is gone")
	require.Equal(t, 5, strings.Count(onDisk(t, name), "\"kernel\""))

	torn("{\"kernel\":1}")
	require.ErrorContains(t, have.Load(name), "not a line of a record")
	require.ErrorContains(t, NewWriter(name).Add(numbered(7)), "not a line of a record")
}
