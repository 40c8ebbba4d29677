package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/atomicfile"
	"github.com/gokiln/kiln/internal/atomicfile/faulty"
)

// open returns a store in a new directory that does not exist yet.
func open(t *testing.T) *Store {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "kiln"))
}

func openAt(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	require.NoError(t, err)
	return s
}

func put(t *testing.T, s *Store, name string) Key {
	t.Helper()
	k := NewKey(name)
	require.NoError(t, s.Put(k, bodyOf(name)))
	return k
}

// bodyOf is the entry that belongs to a name in these tests.
func bodyOf(name string) *Entry {
	return &Entry{Header: Header{Kind: KindArtifact, Kernel: name}, Body: []byte(strings.Repeat(name+"\n", 100))}
}

// left returns the names of all files below the store, without its marker.
func left(t *testing.T, s *Store) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(s.Dir(), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != evictMark && !strings.HasPrefix(d.Name(), hitsLog) {
			names = append(names, d.Name())
		}
		return err
	})
	if !errors.Is(err, fs.ErrNotExist) {
		require.NoError(t, err)
	}
	return names
}

func TestStore(t *testing.T) {
	s := open(t)
	k := NewKey("k")
	_, ok := s.Get(k)
	assert.False(t, ok)
	assert.ErrorIs(t, s.Usable(), fs.ErrNotExist)
	assert.NoDirExists(t, s.Dir(), "reading must not create the directory")
	assert.Empty(t, s.List())
	assert.Empty(t, s.Verify())
	assert.NoError(t, s.Remove(k))
	assert.NoError(t, s.Clear())

	require.NoError(t, s.Put(k, sample()))
	got, ok := s.Get(k)
	require.True(t, ok)
	assert.Equal(t, sample(), got)
	assert.NoError(t, s.Usable())
	_, ok = s.Get(NewKey("other"))
	assert.False(t, ok)

	other := sample()
	other.Body = nil
	require.NoError(t, s.Put(k, other), "a second Put replaces")
	got, ok = s.Get(k)
	require.True(t, ok)
	assert.Empty(t, got.Body)
	assert.Equal(t, []string{k.String()}, left(t, s))

	again := openAt(t, s.Dir())
	_, ok = again.Get(k)
	assert.True(t, ok, "another store on the directory")

	require.NoError(t, s.Remove(k))
	_, ok = s.Get(k)
	assert.False(t, ok)
	put(t, s, "x")
	require.NoError(t, s.Clear())
	assert.Empty(t, left(t, s))
	put(t, s, "x")
	assert.Error(t, s.Put(k, nil))
}

func TestPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("directories have no mode here")
	}
	s := open(t)
	k := put(t, s, "x")
	shard, file := s.path(k)
	for path, want := range map[string]fs.FileMode{s.Dir(): 0o700, s.root(): 0o700, shard: 0o700, file: 0o600} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, want, info.Mode().Perm(), path)
	}
}

// Whatever lies in an entry's place is a miss, goes away, and is replaced.
func TestDamageHeals(t *testing.T) {
	good, err := encode(NewKey("x"), bodyOf("x"))
	require.NoError(t, err)
	foreign, err := encode(NewKey("y"), bodyOf("y"))
	require.NoError(t, err)
	place := func(data []byte) func(*testing.T, string) {
		return func(t *testing.T, file string) { require.NoError(t, os.WriteFile(file, data, 0o600)) }
	}
	for name, damage := range map[string]func(t *testing.T, file string){
		"empty":       place(nil),
		"truncated":   place(good[:len(good)/2]),
		"flipped":     place(append([]byte{good[0] ^ 1}, good[1:]...)),
		"foreign":     place([]byte("#!/bin/sh\n")),
		"another key": place(foreign),
		"directory": func(t *testing.T, file string) {
			require.NoError(t, os.MkdirAll(filepath.Join(file, "sub"), 0o700))
		},
		"link": func(t *testing.T, file string) {
			if err := os.Symlink(os.DevNull, file); err != nil {
				t.Skip("cannot make links here:", err)
			}
		},
		"huge": func(t *testing.T, file string) {
			f, err := os.Create(file)
			require.NoError(t, err)
			defer f.Close()
			if err := f.Truncate(maxEntryBytes + 1); err != nil {
				t.Skip("no sparse files here:", err)
			}
		},
	} {
		for _, read := range []bool{true, false} { // Put must heal without a Get before it
			t.Run(fmt.Sprintf("%s/get=%v", name, read), func(t *testing.T) {
				s := open(t)
				k := put(t, s, "x")
				_, file := s.path(k)
				require.NoError(t, os.Remove(file))
				damage(t, file)
				assert.Len(t, s.Verify(), 1)
				if read {
					_, ok := s.Get(k)
					assert.False(t, ok)
					assert.NoFileExists(t, file)
					assert.NoDirExists(t, file)
				}
				put(t, s, "x")
				_, ok := s.Get(k)
				assert.True(t, ok)
				assert.Empty(t, s.Verify())
			})
		}
	}
}

func TestEveryTruncationIsAMiss(t *testing.T) {
	s := open(t)
	k := put(t, s, "x")
	_, file := s.path(k)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	for n := range data {
		require.NoError(t, os.WriteFile(file, data[:n], 0o600))
		_, ok := s.Get(k)
		require.False(t, ok, "%d bytes", n)
	}
}

func TestShardInTheWay(t *testing.T) {
	s := open(t)
	k := put(t, s, "x")
	shard, _ := s.path(k)
	require.NoError(t, os.RemoveAll(shard))
	require.NoError(t, os.WriteFile(shard, nil, 0o600))
	_, ok := s.Get(k)
	assert.False(t, ok)
	put(t, s, "x")
	_, ok = s.Get(k)
	assert.True(t, ok)
}

func TestUnusable(t *testing.T) {
	k := NewKey("x")
	check := func(t *testing.T, dir, want string) {
		s, err := Open(dir)
		require.NotNil(t, s)
		assert.ErrorIs(t, err, ErrUnusable)
		assert.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, "KILN_CACHE_DIR")
		refuses(t, s, k)
	}
	t.Run("none", func(t *testing.T) { check(t, "", "no directory") })
	t.Run("file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "f")
		require.NoError(t, os.WriteFile(file, nil, 0o600))
		check(t, file, "not a directory")
	})
	t.Run("below a file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "f")
		require.NoError(t, os.WriteFile(file, nil, 0o600))
		s, _ := Open(filepath.Join(file, "kiln")) // an error already, on unix
		err := s.Put(k, sample())
		assert.ErrorContains(t, err, "KILN_CACHE_DIR")
		_, ok := s.Get(k)
		assert.False(t, ok)
	})
	t.Run("layout is a file", func(t *testing.T) {
		dir := t.TempDir()
		require.NoError(t, os.Chmod(dir, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, layout), nil, 0o600))
		check(t, dir, "not a directory")
	})
	t.Run("others can write", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("directories have no mode here")
		}
		for _, mode := range []fs.FileMode{0o777, 0o770, 0o702} {
			dir := t.TempDir()
			require.NoError(t, os.Chmod(dir, mode))
			check(t, dir, "chmod go-w")
		}
		dir := t.TempDir()
		require.NoError(t, os.Chmod(dir, 0o700))
		require.NoError(t, os.Mkdir(filepath.Join(dir, layout), 0o700))
		require.NoError(t, os.Chmod(filepath.Join(dir, layout), 0o777))
		check(t, dir, "chmod go-w")
	})
	t.Run("another owner", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("only root can give a directory away")
		}
		dir := t.TempDir()
		require.NoError(t, os.Chmod(dir, 0o700))
		require.NoError(t, os.Chown(dir, 12345, -1))
		check(t, dir, "belongs to user 12345")
	})
}

func refuses(t *testing.T, s *Store, k Key) {
	t.Helper()
	err := s.Put(k, sample())
	assert.ErrorIs(t, err, ErrUnusable)
	_, ok := s.Get(k)
	assert.False(t, ok)
	assert.Empty(t, s.List())
	assert.Len(t, s.Verify(), 1)
	assert.ErrorIs(t, s.Remove(k), ErrUnusable)
	assert.ErrorIs(t, s.Clear(), ErrUnusable)
	_, err = s.GC(0)
	assert.ErrorIs(t, err, ErrUnusable)
}

// A directory that turns up after Open, with a mode that is not to be trusted,
// is found out too.
func TestCheckedWhenItAppears(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("directories have no mode here")
	}
	s := open(t)
	require.NoError(t, os.Mkdir(s.Dir(), 0o700))
	require.NoError(t, os.Chmod(s.Dir(), 0o777))
	assert.ErrorIs(t, s.Put(NewKey("x"), sample()), ErrUnusable)
	_, ok := s.Get(NewKey("x"))
	assert.False(t, ok)
}

func TestDefaultDir(t *testing.T) {
	t.Setenv("KILN_CACHE_DIR", "/some/where")
	assert.Equal(t, "/some/where", DefaultDir())
	t.Setenv("KILN_CACHE_DIR", "")
	t.Setenv("XDG_CACHE_HOME", "/xdg")
	if runtime.GOOS == "linux" {
		assert.Equal(t, "/xdg/kiln", DefaultDir())
	}
	for _, v := range []string{"XDG_CACHE_HOME", "HOME", "home", "LocalAppData"} {
		t.Setenv(v, "")
	}
	assert.Empty(t, DefaultDir())
}

func TestMax(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kiln")
	assert.EqualValues(t, DefaultMax, openAt(t, dir).Max())
	t.Setenv("KILN_CACHE_MAX", "512MB")
	assert.EqualValues(t, 512e6, openAt(t, dir).Max())
	t.Setenv("KILN_CACHE_MAX", "lots")
	s, err := Open(dir)
	assert.ErrorContains(t, err, `KILN_CACHE_MAX: size "lots"`)
	assert.EqualValues(t, DefaultMax, s.Max())
	put(t, s, "still works")
}

func TestFullDisk(t *testing.T) {
	for _, op := range []string{"open", "write", "sync", "close", "rename"} {
		t.Run(op, func(t *testing.T) {
			s := open(t)
			k := put(t, s, "x")
			s.fs = faulty.System{Fault: func(o, _ string) (error, bool) {
				if o == op {
					return syscall.ENOSPC, false
				}
				return nil, false
			}}
			err := s.Put(k, sample())
			assert.ErrorIs(t, err, syscall.ENOSPC)
			got, ok := s.Get(k)
			require.True(t, ok, "what was there before stays")
			assert.Equal(t, bodyOf("x"), got)

			err = s.Put(NewKey("y"), sample())
			assert.ErrorIs(t, err, syscall.ENOSPC)
			_, ok = s.Get(NewKey("y"))
			assert.False(t, ok)
			assert.Equal(t, []string{k.String()}, left(t, s), "no partial file stays")

			s.fs = atomicfile.OS{}
			put(t, s, "y")
		})
	}
}

// devFull opens the device that is always full, which gives the real error of the system.
type devFull struct{ atomicfile.OS }

func (devFull) OpenFile(string, int, fs.FileMode) (atomicfile.Handle, error) {
	return os.OpenFile("/dev/full", os.O_WRONLY, 0)
}

func TestDevFull(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full here")
	}
	s := open(t)
	s.fs = devFull{}
	k := NewKey("x")
	assert.ErrorIs(t, s.Put(k, sample()), syscall.ENOSPC)
	_, ok := s.Get(k)
	assert.False(t, ok)
}

func TestTouchAtMostOnceAnHour(t *testing.T) {
	s := open(t)
	k := put(t, s, "x")
	_, file := s.path(k)
	now := time.Now().Truncate(time.Second)
	s.now = func() time.Time { return now }
	for _, c := range []struct {
		age   time.Duration
		touch bool
	}{{0, false}, {59 * time.Minute, false}, {61 * time.Minute, true}, {-2 * time.Hour, true}} {
		before := now.Add(-c.age)
		require.NoError(t, os.Chtimes(file, before, before))
		_, ok := s.Get(k)
		require.True(t, ok)
		info, err := os.Stat(file)
		require.NoError(t, err)
		want := before
		if c.touch {
			want = now
		}
		assert.True(t, info.ModTime().Equal(want), "age %v: used %v, want %v", c.age, info.ModTime(), want)
	}
}
