package metal

import (
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// Elsewhere than on macOS the report says what would be opened there.
func TestProbeElsewhere(t *testing.T) {
	if goruntime.GOOS == "darwin" {
		t.Skip("this is macOS")
	}
	t.Setenv(LibraryEnv, "")
	r := New().Probe()
	require.Equal(t, frameworks, r.Looked)
	require.Empty(t, r.Library)
	require.ErrorIs(t, r.Err, driver.ErrNoDevice)
	require.EqualError(t, r.Err, "no Metal device: this is "+goruntime.GOOS+", and only macOS has /usr/lib/libobjc.A.dylib, "+
		"/System/Library/Frameworks/Foundation.framework/Foundation, /System/Library/Frameworks/Metal.framework/Metal")
	_, err := New("no/such/library").Open(0)
	require.ErrorContains(t, err, "no/such/library")
}

func TestImages(t *testing.T) {
	text, archive, ok := unpack(pack("text\n", []byte("code\n1")))
	require.True(t, ok)
	require.Equal(t, "text\n", text)
	require.Equal(t, "code\n1", string(archive))
	good := pack("t", []byte("a"))
	for _, bad := range [][]byte{nil, good[:len(good)-1], append([]byte("x"), good...), append(good, 'x'), []byte(archiveMagic + "1 0"), []byte(archiveMagic + "-1 1\n"), []byte(archiveMagic + "99999999999999999999 1\n")} {
		_, _, ok := unpack(bad)
		require.False(t, ok, "%q", bad)
	}
}

func TestUnits(t *testing.T) {
	for model, want := range map[string]int{"Apple M4": 10, "Apple M1 Pro": 16, "Apple M3 Max": 32, "Apple M2 Ultra": 64, "AMD Radeon Pro 5500M": 10} {
		require.Equal(t, want, units(model), model)
	}
}
