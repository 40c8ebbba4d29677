package runtime

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A wait with a context ends with it and names the kernel; nothing else changes.
func TestSyncContext(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		spin := r.function(t, "spin")
		own, err := r.NewStream()
		require.NoError(t, err)
		end, err := r.NewEvent()
		require.NoError(t, err)
		for _, st := range []*Stream{r.DefaultStream(), own} {
			require.NoError(t, st.SyncContext(t.Context()), "nothing to wait for")
			var err error
			done := true
			// On a busy machine the test may sleep through the kernel: then a longer one is tried.
			for spins := 300 * time.Millisecond; done && spins < 20*time.Second; spins *= 4 {
				require.NoError(t, st.Launch(spin, Blocks(1, 1), 0, pack(spins)))
				require.NoError(t, st.Record(end))
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
				err = st.SyncContext(ctx)
				cancel()
				var doneErr error
				done, doneErr = end.Done()
				require.NoError(t, doneErr)
			}
			require.False(t, done, "the wait ends before the kernel")
			require.ErrorIs(t, err, ErrTimeout)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, r.Name()+": ")
			require.ErrorContains(t, err, "kernel spin has not ended")
			if r.kind == "cpu" {
				require.ErrorContains(t, err, "grid 1×1×1 of blocks 1×1×1: launched at deadline_test.go:25")
			}
			require.NoError(t, st.SyncContext(t.Context()), "the kernel has time now")
			require.NoError(t, st.Sync())
		}
	})
}

// revive has the end of the test wait for the kernels of a device that was given up, and give back
// what it has: what stands for a vendor's library counts that.
func (r *rig) revive(t *testing.T) {
	t.Cleanup(func() {
		r.lost.Store(nil)
		r.hung.Store(false)
		r.closed.Store(false)
		r.SetLaunchTimeout(0)
		r.Device.registry = nil // of which it was taken at the first Close
		_ = r.Device.Close()
	})
}

// A launch that takes longer than it may is named with its grid and line by whoever waits, and
// the device is given up where it cannot be stopped: nothing waits for it any more.
func TestLaunchTimeout(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		r.revive(t)
		spin, st := r.function(t, "spin"), r.DefaultStream()
		mem, err := Alloc[float32](r.Device, 100)
		require.NoError(t, err)
		r.SetLaunchTimeout(time.Second)
		for range 6 { // together they take longer
			require.NoError(t, st.Launch(spin, Blocks(1, 1), 0, pack(180*time.Millisecond)))
		}
		require.NoError(t, st.Sync())
		r.SetLaunchTimeout(400 * time.Millisecond)
		require.NoError(t, st.Launch(spin, Blocks(1, 1), 0, pack(time.Millisecond)))
		require.NoError(t, st.Launch(spin, Grid{Dim3{X: 1}, Dim3{X: 1}}, 0, pack(2*time.Second)))
		require.NoError(t, st.Launch(spin, Blocks(1, 1), 0, pack(time.Millisecond)))
		err = mem.CopyTo(make([]float32, 100))
		const text = "kernel spin has not ended: grid 1×1×1 of blocks 1×1×1, longer than the launch timeout of 400ms"
		check := func(err error) {
			t.Helper()
			require.ErrorIs(t, err, ErrTimeout)
			require.ErrorContains(t, err, text)
			require.ErrorContains(t, err, "launched at deadline_test.go:76")
		}
		check(err)
		check(st.Sync())
		check(r.Sync())
		_, err = Alloc[float32](r.Device, 1)
		check(err)
		require.NoError(t, mem.Free(), "it is not given back, which is no error")
		check(r.Close())
		require.True(t, r.hung.Load(), "the kernel goes on, and nobody waits for it")
	})
}

func TestLaunchTimeoutOfGraph(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		r.revive(t)
		spin, st := r.function(t, "spin"), r.DefaultStream()
		g, err := r.Capture(func(st *Stream) error {
			return st.Launch(spin, Blocks(1, 1), 0, pack(time.Second))
		})
		require.NoError(t, err)
		r.SetLaunchTimeout(20 * time.Millisecond)
		require.NoError(t, g.Launch(st))
		err = st.Sync()
		require.ErrorIs(t, err, ErrTimeout)
		require.ErrorContains(t, err, "kernel spin has not ended")
		require.ErrorContains(t, err, "launched at deadline_test.go:")
	})
}

func TestLaunchTimeoutOfEnvironment(t *testing.T) {
	t.Setenv("KILN_LAUNCH_TIMEOUT", "soon")
	_, err := Open("auto")
	require.EqualError(t, err, "KILN_LAUNCH_TIMEOUT=soon: want a duration such as 30s: invalid argument")
	t.Setenv("KILN_LAUNCH_TIMEOUT", "20ms")
	for _, kind := range []string{"cpu", "standin"} {
		r := newRig(t, kind)
		r.revive(t)
		require.NoError(t, r.DefaultStream().Launch(r.function(t, "spin"), Blocks(1, 1), 0, pack(time.Second)))
		require.ErrorIs(t, r.Sync(), ErrTimeout)
	}
}
