package runtime

import (
	goruntime "runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPeak(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		a, err := Alloc[byte](r.Device, 3000)
		require.NoError(t, err)
		b, err := Alloc[byte](r.Device, 2000)
		require.NoError(t, err)
		require.NoError(t, a.Free())
		require.EqualValues(t, 5000, r.PeakBytes())
		r.ResetPeak()
		require.EqualValues(t, 2000, r.PeakBytes())
		c, err := Alloc[byte](r.Device, 500)
		require.NoError(t, err)
		require.EqualValues(t, 2500, r.PeakBytes())
		require.NoError(t, b.Free())
		require.NoError(t, c.Free())
		require.EqualValues(t, 2500, r.PeakBytes())
		require.Zero(t, r.Stats().Bytes)
	})
}

func TestMemoryLimit(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		require.Zero(t, r.MemoryLimit())
		r.SetMemoryLimit(10 << 10)
		keep, err := Alloc[byte](r.Device, 1<<10)
		require.NoError(t, err)
		for range 20 { // dropped ones are collected
			_, err := Alloc[byte](r.Device, 4<<10)
			require.NoError(t, err)
		}
		require.Positive(t, r.Stats().Dropped)
		require.LessOrEqual(t, r.PeakBytes(), int64(10<<10))
		_, err = Alloc[byte](r.Device, 9<<10+1)
		require.ErrorIs(t, err, ErrOutOfMemory)
		require.ErrorContains(t, err, "9.0 KiB wanted, 1.0 KiB in 1 buffers of this program")
		require.ErrorContains(t, err, "limited to 10.0 KiB")
		all, err := Alloc[byte](r.Device, 9<<10)
		require.NoError(t, err)
		require.NoError(t, all.Free())
		r.SetMemoryLimit(0)
		_, err = Alloc[byte](r.Device, 20<<10)
		require.NoError(t, err)
		goruntime.KeepAlive(keep.Buffer())
	})
}

// Goroutines do not pass the limit together.
func TestMemoryLimitIsShared(t *testing.T) {
	r := newRig(t, "cpu")
	r.SetMemoryLimit(16 << 10)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if s, err := Alloc[byte](r.Device, 4<<10); err == nil {
					_ = s.Free()
				}
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, r.PeakBytes(), int64(16<<10))
	require.Zero(t, r.Stats().Bytes)
}
