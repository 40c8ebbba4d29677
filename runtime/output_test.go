package runtime

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/devlog"
)

// noter returns the kernel that writes to the device log.
func noter(t *testing.T, r *rig, name string) *Function {
	f := r.function(t, "note")
	f.SetLog(&Log{Kernel: name, Offset: 16, Sites: []devlog.Site{
		{Text: name + " %d\n", Values: []string{"i64"}},
		{Text: "not so", Place: "k.go:7", Fails: true, Check: devlog.Assert},
	}})
	return f
}

func launchNote(t *testing.T, s *Stream, f *Function, site, value int) {
	t.Helper()
	require.NoError(t, s.Launch(f, Blocks(1, 1), 0, pack(uint64(site), uint64(value))))
}

func TestOutput(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		var out strings.Builder
		r.SetOutput(&out)
		a, b := noter(t, r, "a"), noter(t, r, "b")
		s, err := r.NewStream()
		require.NoError(t, err)
		launchNote(t, s, a, 1, -1)
		launchNote(t, s, b, 1, 2)
		launchNote(t, s, a, 1, 3)
		require.NoError(t, s.Sync())
		require.Equal(t, "a -1\nb 2\na 3\n", out.String())

		// Copies to the host wait for all streams.
		x, err := From(r.Device, []float32{1})
		require.NoError(t, err)
		out.Reset()
		launchNote(t, s, a, 1, 4)
		_, err = x.Host()
		require.NoError(t, err)
		require.Equal(t, "a 4\n", out.String())

		launchNote(t, s, b, 1, 5)
		launchNote(t, r.DefaultStream(), b, 1, 6)
		require.NoError(t, r.Device.Sync())
		require.ElementsMatch(t, []string{"a 4", "b 5", "b 6", ""}, strings.Split(out.String(), "\n"))
		require.NoError(t, r.Device.Sync())
		require.Zero(t, r.dirty.Load())
	})
}

func TestFailedAssertion(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		var out strings.Builder
		r.SetOutput(&out)
		f := noter(t, r, "a")
		s := r.DefaultStream()
		launchNote(t, s, f, 1, 1)
		launchNote(t, s, f, 2, 0)
		launchNote(t, s, f, 1, 2)
		err := s.Sync()
		require.ErrorIs(t, err, ErrLaunch)
		require.EqualError(t, err, r.Name()+": kernel a failed: k.go:7: kernel a: block (0,0,0), thread (0,0,0): assertion failed: not so")
		require.Equal(t, "a 1\na 2\n", out.String())
		require.NoError(t, s.Sync())

		for range 3 {
			launchNote(t, s, f, 2, 0)
		}
		require.ErrorContains(t, s.Sync(), "not so (and 2 more)")
		require.NoError(t, s.Sync())
	})
}

func TestOutputWithoutRoom(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		var out strings.Builder
		r.SetOutput(&out)
		require.ErrorIs(t, r.SetOutputSize(39), ErrInvalid)
		require.NoError(t, r.SetOutputSize(8*2*6))
		f := noter(t, r, "a")
		s := r.DefaultStream()
		for range 2 { // it is empty again each time
			out.Reset()
			for i := range 4 {
				launchNote(t, s, f, 1, i)
			}
			require.NoError(t, s.Sync())
			require.Contains(t, out.String(), "a 0\na 1\nkiln: "+r.Name()+": 2 entries of the device log found no room and are lost")
		}
		for i := range 3 {
			launchNote(t, s, f, 1+i/2, i)
		}
		require.ErrorContains(t, s.Sync(), "1 threads failed; the device log had no room to say which and where")
	})
}

// A stream that is collected leaves its output to the default stream.
func TestOutputOfCollectedStream(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		var out strings.Builder
		r.SetOutput(&out)
		f := noter(t, r, "a")
		func() {
			s, err := r.NewStream()
			require.NoError(t, err)
			launchNote(t, s, f, 1, 1)
			s, err = r.NewStream()
			require.NoError(t, err)
			launchNote(t, s, f, 1, 2)
			require.NoError(t, s.Sync())
			out.Reset()
		}()
		retired := func() bool {
			goruntime.GC()
			r.out.mu.Lock()
			list := slices.Clone(r.out.list)
			r.out.mu.Unlock()
			if len(list) != 1 {
				return false
			}
			list[0].mu.Lock()
			defer list[0].mu.Unlock()
			return list[0].stream == r.def.drv
		}
		require.Eventually(t, retired, time.Minute, 10*time.Millisecond)
		require.NoError(t, r.DefaultStream().Sync())
		require.Equal(t, "a 1\n", out.String())
		require.Empty(t, r.outputs(), "nobody writes to it any more")
	})
}

func TestClosePrintsTheRest(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		var out strings.Builder
		r.SetOutput(&out)
		launchNote(t, r.DefaultStream(), noter(t, r, "a"), 1, 1)
		require.NoError(t, r.Close())
		require.Equal(t, "a 1\n", out.String())
	})
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestOutputToABrokenWriter(t *testing.T) {
	r := newRig(t, "cpu")
	r.SetOutput(brokenWriter{})
	launchNote(t, r.DefaultStream(), noter(t, r, "a"), 1, 1)
	require.EqualError(t, r.DefaultStream().Sync(), "cpu: printing for kernel a: disk full")
}

// Nothing is lost or printed twice when many goroutines launch and wait.
func TestOutputConcurrently(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		var out strings.Builder
		r.SetOutput(&out)
		f := noter(t, r, "a")
		own, err := r.NewStream()
		require.NoError(t, err)
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				s := own
				if g%2 == 0 {
					s = r.DefaultStream()
				}
				for i := range 50 {
					launchNote(t, s, f, 1, g*50+i)
					if i%7 == 0 {
						if err := s.Sync(); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		wg.Wait()
		require.NoError(t, r.Device.Sync())
		seen := map[string]bool{}
		for line := range strings.Lines(out.String()) {
			require.False(t, seen[line], line)
			seen[line] = true
		}
		for i := range 200 {
			require.True(t, seen[fmt.Sprintf("a %d\n", i)], i)
		}
	})
}
