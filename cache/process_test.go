package cache

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The test binary runs itself as another process when roleEnv names what to do.
const (
	roleEnv = "KILN_CACHE_TEST_ROLE"
	dirEnv  = "KILN_CACHE_TEST_DIR"
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleEnv) {
	case "share":
		os.Exit(report(shareEntries(os.Getenv(dirEnv), 40)))
	default:
		os.Exit(m.Run())
	}
}

func report(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func child(t *testing.T, role, dir string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), roleEnv+"="+role, dirEnv+"="+dir)
	return cmd
}

// shareEntries gets or puts the same n entries as everybody else, in an order
// of its own, and checks every body it gets.
func shareEntries(dir string, n int) error {
	s, err := Open(dir)
	if err != nil {
		return err
	}
	for _, i := range rand.Perm(n) {
		name := fmt.Sprint("shared ", i)
		want := bodyOf(name)
		k := NewKey(name)
		e, ok := s.Get(k)
		if ok && (!bytes.Equal(e.Body, want.Body) || e.Kernel != name) {
			return fmt.Errorf("%s: got the entry of %q, %d bytes", name, e.Kernel, len(e.Body))
		}
		if !ok || i%4 == 0 { // some are written again and again
			if err := s.Put(k, want); err != nil {
				return err
			}
		}
		if _, ok := s.Get(k); !ok {
			return fmt.Errorf("%s: not there after Put", name)
		}
	}
	return nil
}

func TestGoroutines(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kiln")
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() { assert.NoError(t, shareEntries(dir, 20)) })
	}
	wg.Wait()
	s := openAt(t, dir)
	assert.Empty(t, s.Verify())
	assert.Len(t, s.List(), 20)
	assert.Len(t, left(t, s), 20, "no temporary file stays")
}

// One store shared by goroutines, with collection and listing in between.
func TestGoroutinesOneStore(t *testing.T) {
	s := open(t)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 20 {
				name := fmt.Sprint("entry ", i)
				assert.NoError(t, s.Put(NewKey(name), bodyOf(name)))
				if e, ok := s.Get(NewKey(name)); ok {
					assert.Equal(t, name, e.Kernel)
				}
				switch (g + i) % 10 {
				case 0:
					_, err := s.GC(4000)
					assert.NoError(t, err)
				case 1:
					s.List()
				case 2:
					assert.Empty(t, s.Verify())
				}
			}
		})
	}
	wg.Wait()
	assert.Empty(t, s.Verify())
}

func TestProcesses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kiln")
	cmds := make([]*exec.Cmd, 10)
	outs := make([]bytes.Buffer, len(cmds))
	for i := range cmds {
		cmds[i] = child(t, "share", dir)
		cmds[i].Stderr = &outs[i]
		require.NoError(t, cmds[i].Start())
	}
	for i, cmd := range cmds {
		assert.NoError(t, cmd.Wait(), "process %d: %s", i, outs[i].String())
	}
	s := openAt(t, dir)
	assert.Empty(t, s.Verify())
	assert.Len(t, s.List(), 40)
	assert.Len(t, left(t, s), 40)
}
