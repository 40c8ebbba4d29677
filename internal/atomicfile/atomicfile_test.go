package atomicfile_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/atomicfile"
	"github.com/gokiln/kiln/internal/atomicfile/faulty"
)

// The test binary runs itself as another process that writes or locks until it is killed.
const (
	roleEnv = "KILN_ATOMICFILE_TEST_ROLE"
	fileEnv = "KILN_ATOMICFILE_TEST_FILE"
)

func TestMain(m *testing.M) {
	name := os.Getenv(fileEnv)
	var err error
	switch os.Getenv(roleEnv) {
	case "":
		os.Exit(m.Run())
	case "write":
		_, err = atomicfile.Create(name, 0o644)
	case "lock":
		_, err = atomicfile.Lock(name, time.Minute)
	}
	fmt.Println(err)
	time.Sleep(time.Hour) // until it is killed
}

// child starts a process with a role and waits until it has done its part.
func child(t *testing.T, role, file string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), roleEnv+"="+role, fileEnv+"="+file)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line := bufio.NewScanner(out)
	require.True(t, line.Scan())
	require.Equal(t, "<nil>", line.Text())
	return cmd
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
}

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

func content(t *testing.T, name string) string {
	t.Helper()
	b, err := atomicfile.ReadFile(name)
	require.NoError(t, err)
	return string(b)
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = e.Name()
	}
	return names
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "out")
	require.NoError(t, atomicfile.Write(name, 0o644, text("first")))
	require.NoError(t, atomicfile.Write(name, 0o644, text("second")))
	failed := errors.New("no more")
	err := atomicfile.Write(name, 0o644, func(w io.Writer) error { _ = text(strings.Repeat("x", 3<<20))(w); return failed })
	require.ErrorIs(t, err, failed)
	require.Equal(t, "second", content(t, name))
	assert.Panics(t, func() { _ = atomicfile.Write(name, 0o644, func(io.Writer) error { panic("bug") }) })
	require.Equal(t, []string{"out"}, files(t, dir), "nothing is left of a failed write")
	require.ErrorIs(t, atomicfile.Write(filepath.Join(dir, "none", "out"), 0o644, text("")), fs.ErrNotExist)
	long := filepath.Join(dir, strings.Repeat("ä", 127))
	require.NoError(t, atomicfile.Write(long, 0o600, text("long name")))
	require.Equal(t, "long name", content(t, long))
	if runtime.GOOS != "windows" {
		info, err := os.Stat(long)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	}
}

func TestSteps(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "out")
	f, err := atomicfile.Create(name, 0o644)
	require.NoError(t, err)
	require.True(t, f.Time().IsZero())
	require.NoError(t, text("looked at")(f))
	require.NoError(t, f.Close())
	require.Equal(t, "looked at", content(t, f.Temp()))
	require.NoFileExists(t, name)
	require.WithinDuration(t, time.Now(), f.Time(), time.Minute)
	require.NoError(t, f.Commit())
	f.Abort()
	require.Equal(t, "looked at", content(t, name))
	require.ErrorIs(t, f.Commit(), fs.ErrClosed)

	f, err = atomicfile.Create(name, 0o644)
	require.NoError(t, err)
	f.Abort()
	require.Equal(t, []string{"out"}, files(t, dir))
}

// Every call may fail; what was there stays, and no file is left behind.
func TestFaults(t *testing.T) {
	for _, op := range []string{"open", "write", "sync", "stat", "close", "rename"} {
		t.Run(op, func(t *testing.T) {
			dir := t.TempDir()
			name := filepath.Join(dir, "out")
			require.NoError(t, os.WriteFile(name, []byte("before"), 0o600))
			sys := faulty.System{Fault: func(o, _ string) (error, bool) {
				if o == op {
					return syscall.ENOSPC, false
				}
				return nil, false
			}}
			write := func() error {
				f, err := atomicfile.CreateIn(sys, name, 0o600)
				if err != nil {
					return err
				}
				defer f.Abort()
				if err := text("after")(f); err != nil {
					return err
				}
				return f.Commit()
			}
			require.ErrorIs(t, write(), syscall.ENOSPC)
			require.Equal(t, "before", content(t, name))
			require.Equal(t, []string{"out"}, files(t, dir))
		})
	}
}

// A server did what it was asked for, and the client heard of it only that there is nothing
// left to do.
func TestLostReplies(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "out")
	lost := map[string]error{"open": fs.ErrExist, "rename": fs.ErrNotExist}
	sys := faulty.System{Fault: func(op, _ string) (error, bool) {
		err := lost[op]
		delete(lost, op)
		return err, err != nil
	}}
	f, err := atomicfile.CreateIn(sys, name, 0o600)
	require.NoError(t, err)
	require.NoError(t, text("there")(f))
	require.NoError(t, f.Commit())
	require.Empty(t, lost)
	require.Equal(t, "there", content(t, name))
	require.Len(t, files(t, dir), 2, "the file that nobody knows of is collected like those of the dead")

	// There is another file under the name: the rename has failed.
	f, err = atomicfile.CreateIn(faulty.System{}, name, 0o600)
	require.NoError(t, err)
	require.NoError(t, os.Remove(f.Temp()))
	require.ErrorIs(t, f.Commit(), fs.ErrNotExist)

	// And a server on which every name is taken.
	_, err = atomicfile.CreateIn(faulty.System{Fault: func(string, string) (error, bool) { return fs.ErrExist, false }}, name, 0o600)
	require.ErrorIs(t, err, fs.ErrExist)
}

func TestStaleReads(t *testing.T) {
	name := filepath.Join(t.TempDir(), "in")
	require.NoError(t, os.WriteFile(name, []byte("new"), 0o600))
	stale := 2
	sys := faulty.System{Fault: func(string, string) (error, bool) {
		if stale--; stale >= 0 {
			return &fs.PathError{Op: "read", Path: name, Err: syscall.ESTALE}, false
		}
		return nil, false
	}}
	data, err := atomicfile.ReadFileIn(sys, name)
	require.NoError(t, err)
	require.Equal(t, "new", string(data))
	stale = 1000
	_, err = atomicfile.ReadFileIn(sys, name)
	require.ErrorIs(t, err, syscall.ESTALE)
	require.Greater(t, stale, 900, "not for ever")
}

// Names hold the machine, the process and a number, and no two are the same: creating a file
// with O_EXCL is not relied upon.
func TestNames(t *testing.T) {
	name := filepath.Join("dir", "a-b.kiln")
	seen := map[string]bool{}
	for range 10_000 {
		temp := atomicfile.TempName(name)
		require.False(t, seen[temp])
		seen[temp] = true
		dir, base := filepath.Split(temp)
		require.Equal(t, "dir", filepath.Clean(dir))
		require.Regexp(t, regexp.MustCompile(fmt.Sprintf(`^\.kiln-tmp-a-b\.kiln-[0-9a-f]{12}-%d-[0-9a-f]{16}$`, os.Getpid())), base)
		require.True(t, atomicfile.IsTemp(base))
	}
	for _, foreign := range []string{"", ".tmp-123", ".kiln-tmp-", ".kiln-tmp-a-0123456789ab-x-0123456789abcdef", "a-0123456789ab-1-0123456789abcdef"} {
		require.False(t, atomicfile.IsTemp(foreign), foreign)
	}
}

// What a killed writer left is removed by the next of the same file; those of others, of other
// machines and of processes that live stay.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	name, other := filepath.Join(dir, "out"), filepath.Join(dir, "out-2")
	mine, err := atomicfile.Create(name, 0o644)
	require.NoError(t, err)
	defer mine.Abort()
	first, second := child(t, "write", name), child(t, "write", other)
	require.Len(t, files(t, dir), 3)
	require.NoError(t, atomicfile.Write(name, 0o644, text("1")))
	require.Len(t, files(t, dir), 4, "all writers are alive")
	kill(t, first)
	kill(t, second)
	foreign := func(n string, age time.Duration) string {
		temp := filepath.Join(dir, fmt.Sprintf(".kiln-tmp-out-0123456789ab-1-%016s", n))
		require.NoError(t, os.WriteFile(temp, nil, 0o600))
		at := time.Now().Add(-age)
		require.NoError(t, os.Chtimes(temp, at, at))
		return temp
	}
	young, old, ahead := foreign("a", time.Hour), foreign("b", 25*time.Hour), foreign("c", -25*time.Hour)
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".kiln-tmp-out-not-ours"), nil, 0o600))

	require.NoError(t, atomicfile.Write(name, 0o644, text("2")))
	left := files(t, dir)
	require.Contains(t, left, filepath.Base(young), "somebody elsewhere may be writing it")
	require.NotContains(t, left, filepath.Base(old))
	require.NotContains(t, left, filepath.Base(ahead), "a clock that was wrong, not a writer")
	require.Contains(t, left, filepath.Base(mine.Temp()))
	require.Contains(t, left, ".kiln-tmp-out-not-ours")
	want := 5 // with out, and what the second child left of out-2
	if runtime.GOOS != "linux" {
		want = 6 // nobody knows here that the first is dead
	}
	require.Len(t, left, want)
}

func TestTime(t *testing.T) {
	dir := t.TempDir()
	now, err := atomicfile.Time(atomicfile.OS{}, filepath.Join(dir, "now"), 0o600)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), now, time.Minute)
	require.Empty(t, files(t, dir))
	_, err = atomicfile.Time(atomicfile.OS{}, filepath.Join(dir, "none", "now"), 0o600)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestLock(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "lock")
	n, inside, wg := 0, atomic.Int32{}, sync.WaitGroup{}
	for range 8 {
		wg.Go(func() {
			for range 50 {
				unlock, err := atomicfile.Lock(name, time.Minute)
				if !assert.NoError(t, err) {
					return
				}
				// The race detector knows nothing of locks of files.
				assert.EqualValues(t, 1, inside.Add(1))
				n++
				inside.Add(-1)
				unlock()
				unlock() // once more does nothing
			}
		})
	}
	wg.Wait()
	require.Equal(t, 400, n)
	if runtime.GOOS != "windows" { // where what is open stays
		require.Empty(t, files(t, dir))
	}

	holder := child(t, "lock", name)
	_, err := atomicfile.Lock(name, 20*time.Millisecond)
	require.ErrorContains(t, err, "has been locked by another process for 20ms")
	kill(t, holder)
	begin := time.Now()
	unlock, err := atomicfile.Lock(name, time.Minute)
	require.NoError(t, err)
	require.Less(t, time.Since(begin), 10*time.Second, "a lock ends with its process")
	unlock()
	_, err = atomicfile.Lock(filepath.Join(dir, "none", "lock"), time.Minute)
	require.ErrorIs(t, err, fs.ErrNotExist)
}
