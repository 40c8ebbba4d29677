package runtime_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/runtime"
)

func TestView(t *testing.T) {
	dev, err := runtime.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	s, err := runtime.From(dev, []uint32{1, 2, 3})
	require.NoError(t, err)
	b, err := runtime.View[byte](s.Buffer())
	require.NoError(t, err)
	host, err := b.Host()
	require.NoError(t, err)
	require.Equal(t, []byte{1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0}, host)
	w, err := runtime.View[uint64](s.Buffer())
	require.NoError(t, err)
	require.Equal(t, 1, w.Len())
	_, err = runtime.View[*int](s.Buffer())
	require.Error(t, err)
	_, err = runtime.View[struct{}](s.Buffer())
	require.ErrorContains(t, err, "have no size")
	none, err := runtime.View[byte](nil)
	require.NoError(t, err)
	require.Zero(t, none.Len())
	require.Equal(t, s.Slice(1, 3), runtime.SliceOf[uint32](runtime.SliceHeader{Buf: s.Buffer(), Off: 1, Len: 2}))
	require.NoError(t, s.Free())
}
