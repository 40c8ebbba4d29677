package cache

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
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

// These tests are about directories that several hosts share, such as those of NFS, and about
// moments that killing processes does not hit often enough.

// once lets one call of op fail with err. What happens in between is done first.
func once(op string, err error, made bool, between func(name string)) faulty.System {
	var done atomic.Bool
	return faulty.System{Fault: func(o, name string) (error, bool) {
		if o != op || done.Swap(true) {
			return nil, false
		}
		if between != nil {
			between(name)
		}
		return err, made
	}}
}

// age sets the time of a file to what it was so long ago by the clock of the file system.
func age(t *testing.T, name string, d time.Duration) {
	t.Helper()
	at := time.Now().Add(-d)
	require.NoError(t, os.Chtimes(name, at, at))
}

func modTime(t *testing.T, name string) time.Time {
	t.Helper()
	info, err := os.Stat(name)
	require.NoError(t, err)
	return info.ModTime()
}

// A crash after any number of calls leaves what was there before or what was put.
func TestCrashAtEveryCall(t *testing.T) {
	for _, replace := range []bool{false, true} {
		for calls, whole := 0, false; !whole; calls++ {
			require.Less(t, calls, 100)
			s := open(t)
			k := NewKey("k")
			if replace {
				require.NoError(t, s.Put(k, bodyOf("before")))
			}
			left := calls
			s.fs = faulty.System{Fault: func(string, string) (error, bool) {
				if left--; left < 0 {
					return syscall.EIO, false
				}
				return nil, false
			}}
			err := s.Put(k, bodyOf("after"))
			whole = left >= 0

			again := openAt(t, s.Dir())
			assert.Empty(t, again.Verify(), "%d calls", calls)
			e, ok := again.Get(k)
			assert.True(t, ok || !replace && err != nil, "%d calls", calls)
			switch {
			case ok && err == nil:
				assert.Equal(t, bodyOf("after"), e)
			case ok && replace:
				assert.Equal(t, bodyOf("before"), e)
			}
		}
	}
}

// Hosts whose clocks are wrong by hours agree on what is old: the file server's clock decides.
func TestClocksOfOtherHosts(t *testing.T) {
	for _, skew := range []time.Duration{-48 * time.Hour, -2 * time.Hour, 0, 2 * time.Hour, 48 * time.Hour} {
		t.Run(skew.String(), func(t *testing.T) {
			s := open(t)
			s.now = func() time.Time { return time.Now().Add(skew) }
			k := put(t, s, "x")
			shard, file := s.path(k)
			temps := map[string]time.Duration{}
			for n, old := range []time.Duration{0, 50 * time.Minute, 2 * time.Hour, -2 * time.Hour} {
				name := filepath.Join(shard, fmt.Sprintf(".kiln-tmp-x-0123456789ab-1-%016x", n)) // of another machine
				require.NoError(t, os.WriteFile(name, []byte("half"), 0o600))
				age(t, name, old)
				temps[name] = old
			}
			other := openAt(t, s.Dir()) // a process that has learnt nothing yet
			other.now = s.now
			assert.Len(t, other.Verify(), 2)
			r, err := other.GC(DefaultMax)
			require.NoError(t, err)
			assert.Equal(t, 2, r.Removed)
			for name, old := range temps {
				assert.Equal(t, old.Abs() < time.Hour, exists(name), "%v old", old)
			}

			for _, old := range []time.Duration{0, 50 * time.Minute, 100 * time.Hour, -100 * time.Hour} {
				// Less than the clock is wrong by may go unnoticed by who only reads.
				reader := openAt(t, s.Dir())
				reader.now = s.now
				age(t, file, old)
				before := modTime(t, file)
				_, ok := reader.Get(k)
				require.True(t, ok)
				if old.Abs() < time.Hour {
					assert.Equal(t, before, modTime(t, file), "used %v ago: most hits do not write", old)
				} else {
					assert.WithinDuration(t, time.Now(), modTime(t, file), time.Minute, "used %v ago", old)
				}
			}

			mark := filepath.Join(s.root(), evictMark)
			assert.WithinDuration(t, time.Now(), modTime(t, mark), time.Minute)
			for _, old := range []time.Duration{50 * time.Minute, -50 * time.Minute, 2 * time.Hour, -2 * time.Hour, -1000 * time.Hour} {
				age(t, mark, old)
				before := modTime(t, mark)
				writer := openAt(t, s.Dir())
				writer.now = s.now
				put(t, writer, "x")
				if old.Abs() < time.Hour {
					assert.Equal(t, before, modTime(t, mark), "somebody looked %v ago", old)
				} else {
					assert.WithinDuration(t, time.Now(), modTime(t, mark), time.Minute, "somebody looked %v ago", old)
				}
			}
			assert.False(t, exists(filepath.Join(s.root(), clockName)))
		})
	}
}

// A host that cannot set the mark does not walk the directory at every Put.
func TestLooksOncePerProcess(t *testing.T) {
	s := open(t)
	looks := 0
	s.fs = faulty.System{Fault: func(op, name string) (error, bool) {
		if op == "readdir" && name == s.root() {
			looks++
		}
		return nil, false
	}}
	for i := range 5 {
		put(t, s, fmt.Sprint(i))
		age(t, filepath.Join(s.root(), evictMark), 100*time.Hour) // as another host sets it
	}
	assert.Equal(t, 1, looks)
}

// Entries with times of a clock that was ahead grow old like all others.
func TestEntriesFromTheFuture(t *testing.T) {
	s := open(t)
	future := []Key{put(t, s, "f 1"), put(t, s, "f 2"), put(t, s, "f 3")}
	for _, k := range future {
		_, file := s.path(k)
		age(t, file, -10_000*time.Hour)
	}
	size := s.List()[0].Size
	r, err := s.GC(3 * size)
	require.NoError(t, err)
	assert.Zero(t, r.Removed)
	for _, k := range future {
		_, file := s.path(k)
		assert.WithinDuration(t, time.Now().Add(-touchEvery), modTime(t, file), time.Minute)
	}
	fresh := []Key{put(t, s, "n 1"), put(t, s, "n 2")}
	_, err = s.GC(2 * size)
	require.NoError(t, err)
	assert.Len(t, kept(t, s, fresh), 2, "what was used last stays")
	assert.Empty(t, kept(t, s, future))
}

// A file that another host replaces is gone on the server while it is read here.
func TestStaleReads(t *testing.T) {
	s := open(t)
	k := put(t, s, "x")
	s.fs = once("read", &fs.PathError{Op: "read", Err: syscall.ESTALE}, false, nil)
	e, ok := s.Get(k)
	require.True(t, ok)
	assert.Equal(t, bodyOf("x"), e)

	for _, err := range []error{syscall.ESTALE, syscall.EIO, fs.ErrNotExist, fs.ErrPermission} {
		for _, op := range []string{"read", "lstat"} {
			s.fs = faulty.System{Fault: func(o, _ string) (error, bool) {
				if o == op {
					return err, false
				}
				return nil, false
			}}
			_, ok = s.Get(k)
			assert.False(t, ok, "%s: %v", op, err)
		}
	}
	s.fs = atomicfile.OS{}
	_, ok = s.Get(k)
	assert.True(t, ok, "an entry that could not be read is not damaged")
}

// The name is there before the bytes are: where a rename is a copy, or sizes are remembered.
func TestLateBytes(t *testing.T) {
	s := open(t)
	k := put(t, s, "x")
	var late atomic.Bool
	late.Store(true)
	s.fs = faulty.System{Data: func(_ string, data []byte) []byte {
		if late.Swap(false) {
			return data[:len(data)/2]
		}
		return data
	}}
	_, ok := s.Get(k)
	assert.False(t, ok)
	_, ok = s.Get(k)
	assert.True(t, ok, "a good file is not removed")
	assert.Equal(t, []string{k.String()}, left(t, s))
}

// Between a process that finds damage and its removal, another one puts the entry.
func TestPutBesidesDamage(t *testing.T) {
	for name, lost := range map[string]error{"": nil, "reply lost": fs.ErrNotExist} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			k := put(t, s, "x")
			_, file := s.path(k)
			require.NoError(t, os.WriteFile(file, []byte("damage"), 0o600))
			s.fs = once("rename", lost, true, func(string) { put(t, openAt(t, s.Dir()), "x") })
			_, ok := s.Get(k)
			assert.False(t, ok)
			_, ok = s.Get(k)
			assert.True(t, ok, "what the other one put is there")
			assert.Equal(t, []string{k.String()}, left(t, s))
		})
	}
}

// Others remove what a Put is about to rename, or where to.
func TestPutAmongRemovers(t *testing.T) {
	removeTemp := func(s *Store) func(string) {
		return func(name string) {
			list, err := filepath.Glob(filepath.Join(filepath.Dir(name), ".kiln-tmp-*"))
			assert.NoError(t, err)
			for _, f := range list {
				assert.NoError(t, os.Remove(f))
			}
		}
	}
	clear := func(s *Store) func(string) {
		return func(string) { assert.NoError(t, openAt(t, s.Dir()).Clear()) }
	}
	for name, between := range map[string]func(*Store) func(string){"temporary file": removeTemp, "all": clear} {
		for _, op := range []string{"open", "rename"} {
			t.Run(name+" before "+op, func(t *testing.T) {
				s := open(t)
				put(t, s, "there already")
				s.fs = once(op, nil, false, between(s))
				k := put(t, s, "x")
				_, ok := s.Get(k)
				assert.True(t, ok)
				assert.Empty(t, s.Verify())
			})
		}
	}
}

// A request is repeated because its reply got lost, and finds its work done.
func TestLostReplies(t *testing.T) {
	for op, err := range map[string]error{"open": fs.ErrExist, "rename": fs.ErrNotExist, "remove": fs.ErrNotExist} {
		t.Run(op, func(t *testing.T) {
			s := open(t)
			s.fs = once(op, err, true, nil)
			k := put(t, s, "x")
			e, ok := s.Get(k)
			require.True(t, ok)
			assert.Equal(t, bodyOf("x"), e)
			assert.NoError(t, s.Remove(k))
			_, ok = s.Get(k)
			assert.False(t, ok)
			assert.Empty(t, s.Verify())
		})
	}
}

// A server that does not answer once says nothing about a directory; its mode does.
func TestPassingErrors(t *testing.T) {
	for err, want := range map[syscall.Errno]bool{syscall.ESTALE: true, syscall.EIO: true, syscall.ETIMEDOUT: true, syscall.EAGAIN: true,
		syscall.ENOENT: true, syscall.EACCES: false, syscall.ENOTDIR: false} {
		assert.Equal(t, want, passing(fmt.Errorf("%w: %w", ErrUnusable, &fs.PathError{Op: "stat", Path: "/d", Err: err})), err.Error())
	}
	assert.False(t, passing(nil))
	assert.False(t, passing(ErrUnusable))
}

// Files that clients of NFS keep until they are closed are no damage.
func TestFilesOfNFS(t *testing.T) {
	s := open(t)
	shard, _ := s.path(put(t, s, "x"))
	require.NoError(t, os.WriteFile(filepath.Join(shard, ".nfs000000000010c01e00000001"), nil, 0o600))
	assert.Empty(t, s.Verify())
	assert.Len(t, s.List(), 1)
}

// Hosts with clocks of their own and all of the faults at once: nothing wrong is read, and
// nothing is lost that a Put was done with.
func TestHosts(t *testing.T) {
	const hosts, names, steps = 6, 30, 400
	dir := filepath.Join(t.TempDir(), "kiln")
	var acknowledged sync.Map
	var wg sync.WaitGroup
	var faults, reads atomic.Int64
	for h := range hosts {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(h), 7))
			s, err := Open(dir)
			assert.NoError(t, err)
			skew := time.Duration(rnd.IntN(97)-48) * time.Hour
			s.now = func() time.Time { return time.Now().Add(skew) }
			late := false
			s.fs = faulty.System{
				Fault: func(op, _ string) (error, bool) {
					if rnd.IntN(10) > 0 {
						return nil, false
					}
					faults.Add(1)
					switch op {
					case "open":
						return fs.ErrExist, true
					case "rename", "remove":
						return fs.ErrNotExist, true
					case "read":
						return syscall.ESTALE, false
					case "write", "sync":
						return syscall.EIO, false
					}
					return nil, false
				},
				Data: func(_ string, data []byte) []byte {
					// Late, but not twice in a row: what stays damaged is removed.
					if late = !late && rnd.IntN(20) == 0; late {
						return data[:rnd.IntN(len(data)+1)]
					}
					return data
				},
			}
			for range steps {
				name := fmt.Sprint("entry ", rnd.IntN(names))
				switch k := NewKey(name); rnd.IntN(8) {
				case 0:
					_, err := s.GC(DefaultMax)
					assert.NoError(t, err)
				case 1, 2:
					if s.Put(k, bodyOf(name)) == nil {
						acknowledged.Store(name, k)
					}
				default:
					if e, ok := s.Get(k); ok {
						reads.Add(1)
						assert.True(t, e.Kernel == name && bytes.Equal(e.Body, bodyOf(name).Body), name)
					}
				}
			}
		})
	}
	wg.Wait()
	s := openAt(t, dir)
	assert.Empty(t, s.Verify())
	n := 0
	for name, k := range acknowledged.Range {
		n++
		_, ok := s.Get(k.(Key))
		assert.True(t, ok, "%s is lost", name)
	}
	t.Logf("%d faults, %d right reads, %d entries", faults.Load(), reads.Load(), n)
	assert.Positive(t, reads.Load())
	assert.Equal(t, names, n)
}
