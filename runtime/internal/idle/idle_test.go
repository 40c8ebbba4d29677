package idle

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

func TestNames(t *testing.T) {
	require.Equal(t, []string{"record:ptx:sm_90/114", "record:ptx:sm_90/132"}, Names("ptx:sm_90a"))
	require.Equal(t, Names("ptx:sm_100"), Names("ptx:sm_100f"))
	require.Equal(t, []string{"record:hip:gfx90a/104", "record:hip:gfx90a/110"}, Names("hip:gfx90a"))
	require.Equal(t, []string{"record:cpu/3"}, Names("cpu", 3))
	require.Equal(t, []string{"record:cpu:x86-64-v4/5", "record:cpu:x86-64-v4/7", "record:cpu:x86-64-v4/5+packed",
		"record:cpu:x86-64-v4/7+packed"}, Names("cpu:x86-64-v4", 5, 7))
	require.Empty(t, Names("opencl:1.2"))
}

func TestOpen(t *testing.T) {
	b := New()
	for _, m := range table {
		n, err := b.Ordinal(m.name(77))
		require.NoError(t, err)
		d, err := b.Open(n)
		require.NoError(t, err)
		info := d.Info()
		require.Equal(t, Kind+":"+m.name(77), info.Name)
		require.Equal(t, m.info.Arch, info.Arch)
		require.Equal(t, 77, info.Units)
		require.NotZero(t, info.WarpSize*info.ThreadsPerUnit*info.SharedPerBlock*len(m.units))
		_, err = d.Load(driver.Image{Format: info.Formats[len(info.Formats)-1]})
		require.NoError(t, err)
		_, err = d.Load(driver.Image{Format: "tape"})
		require.ErrorIs(t, err, driver.ErrBadImage)
	}
	first, err := b.Ordinal("ptx:sm_90")
	require.NoError(t, err)
	d, err := b.Open(first)
	require.NoError(t, err)
	require.Equal(t, "record:ptx:sm_90/114", d.Info().Name)
	for _, name := range []string{"ptx:sm_91", "ptx:sm_90/0", "ptx:sm_90/4096", "ptx:sm_90/7+packed", "ptx:sm_90/07", ""} {
		_, err = b.Ordinal(name)
		require.ErrorContains(t, err, name)
	}
	_, err = b.Open(0)
	require.ErrorIs(t, err, driver.ErrNoDevice)
	_, err = b.Open(len(table)*mostUnits + 1)
	require.ErrorIs(t, err, driver.ErrNoDevice)
}

func TestMemory(t *testing.T) {
	d, err := New().Open(80)
	require.NoError(t, err)
	s := d.Default()
	a, err := s.Alloc(1 << 40)
	require.NoError(t, err)
	e, err := s.Alloc(0)
	require.NoError(t, err)
	c, err := s.Alloc(3)
	require.NoError(t, err)
	require.NotZero(t, a)
	require.GreaterOrEqual(t, e-a, driver.Addr(1<<40))
	require.NotEqual(t, e, c)
	require.Zero(t, c%alignment)
	free, total, err := d.MemInfo()
	require.NoError(t, err)
	require.Equal(t, int64(1<<40+3), total-free)
	_, err = s.Alloc(total)
	require.ErrorIs(t, err, driver.ErrOutOfMemory)
	require.NoError(t, s.Free(a, 1<<40))
	again, err := s.Alloc(1 << 40)
	require.NoError(t, err)
	require.Equal(t, a, again)
	require.NoError(t, s.Free(a, 1<<40))
	_, err = s.Alloc(total - 3)
	require.NoError(t, err)

	got := []byte("abc")
	require.NoError(t, s.Download(got, c))
	require.Equal(t, make([]byte, 3), got)
	read := func([]byte, int64) error { return errors.New("read") }
	require.NoError(t, s.(driver.Uploader).UploadFrom(c, 3, read))
}
