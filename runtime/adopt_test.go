package runtime

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Memory that the program gives up is used by the CPU as it is, and copied by others; it is
// held until the work with it is done.
func TestFromOwned(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		before := r.Stats()
		host := ramp(5000, 3)
		s, err := FromOwned(r.Device, host)
		require.NoError(t, err)
		require.Equal(t, before.Buffers+1, r.Stats().Buffers)
		require.Equal(t, before.Bytes+20000, r.Stats().Bytes)
		require.GreaterOrEqual(t, r.PeakBytes(), before.Bytes+20000)
		require.NoError(t, s.Slice(1, 3).Zero())
		require.Equal(t, r.kind == "cpu", host[1] == 0, "used as it is")
		want := ramp(5000, 3)
		want[1], want[2] = 0, 0
		got, err := s.Host()
		require.NoError(t, err)
		require.Equal(t, want, got)

		y, err := Alloc[float32](r.Device, 5000)
		require.NoError(t, err)
		for range 10 {
			s, err := FromOwned(r.Device, ramp(5000, 4))
			require.NoError(t, err)
			require.NoError(t, CopyAsync(r.DefaultStream(), y, s))
			require.NoError(t, s.Free(), "behind the copy")
		}
		got, err = y.Host()
		require.NoError(t, err)
		require.Equal(t, ramp(5000, 4), got)
		require.NoError(t, y.Free())
		require.NoError(t, s.Free())
		require.NoError(t, s.Free(), "twice does nothing")
		_, err = s.Host()
		require.ErrorIs(t, err, ErrFreed)
		require.Equal(t, before, r.Stats())

		none, err := FromOwned(r.Device, []float32{})
		require.NoError(t, err)
		require.Zero(t, none.Len())
		_, err = FromOwned(r.Device, []*int{nil})
		require.Error(t, err)
		r.SetMemoryLimit(1000)
		_, err = FromOwned(r.Device, ramp(5000, 4))
		require.ErrorIs(t, err, ErrOutOfMemory)
		r.SetMemoryLimit(0)
	})
}

// Memory that the program lends is the CPU's own meanwhile, and the program's again when
// the slice is freed.
func TestLend(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		before := r.Stats()
		in, out := ramp(5000, 3), ramp(5000, 1)
		src, err := Lend(r.Device, in)
		require.NoError(t, err)
		dst, err := LendResult(r.Device, out)
		require.NoError(t, err)
		require.Equal(t, before.Bytes+40000, r.Stats().Bytes)
		require.NoError(t, Copy(dst, src))
		require.NoError(t, r.Sync())
		require.Equal(t, r.kind == "cpu", out[2] == 6, "written as it is")
		require.NoError(t, dst.CopyTo(out))
		require.Equal(t, in, out)
		require.NoError(t, dst.Slice(1, 5000).CopyTo(out[:4999]), "a part of itself")
		require.Equal(t, in[1:], out[:4999])
		require.NoError(t, src.Free())
		require.NoError(t, dst.Free())
		require.NoError(t, r.Sync())
		require.Equal(t, before, r.Stats())

		odd, err := Lend(r.Device, in[1:]) // at a multiple of 4 only
		require.NoError(t, err)
		require.Zero(t, odd.Addr()%adopted, "views may have larger elements")
		got, err := odd.Host()
		require.NoError(t, err)
		require.Equal(t, in[1:], got)
		require.NoError(t, odd.Free())

		_, err = LendResult(r.Device, []*int{nil})
		require.Error(t, err)
		r.SetMemoryLimit(1000)
		_, err = LendResult(r.Device, out)
		require.ErrorIs(t, err, ErrOutOfMemory)
		r.SetMemoryLimit(0)
	})
}
