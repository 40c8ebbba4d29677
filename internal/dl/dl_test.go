//go:build !kiln_nogpu && linux

package dl_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/dl"
)

func TestOpenJoinsAllFailures(t *testing.T) {
	_, err := dl.Open("libkiln-one.so", "libkiln-two.so")
	require.ErrorContains(t, err, "libkiln-one.so")
	require.ErrorContains(t, err, "libkiln-two.so")
	_, err = dl.Open()
	require.Error(t, err)
}

func TestOpenTakesTheFirstThatIsThere(t *testing.T) {
	lib, err := dl.Open("libkiln-one.so", "libc.so.6")
	require.NoError(t, err)
	require.Equal(t, "libc.so.6", lib.Name())
}

func TestCall(t *testing.T) {
	lib, err := dl.Open("libc.so.6")
	require.NoError(t, err)
	labs, err := lib.Sym("labs")
	require.NoError(t, err)
	minus := -42
	require.Equal(t, uintptr(42), dl.Call(labs, []uintptr{uintptr(minus)}))

	_, err = lib.Sym("kiln_no_such_function")
	require.ErrorContains(t, err, "kiln_no_such_function")
	require.ErrorContains(t, err, "libc.so.6")
	_, err = dl.Lib{}.Sym("labs")
	require.ErrorContains(t, err, "not open")

	args := []uintptr{7}
	require.Zero(t, testing.AllocsPerRun(100, func() { dl.Call(labs, args) }))
}

func BenchmarkCall(b *testing.B) {
	lib, err := dl.Open("libc.so.6")
	require.NoError(b, err)
	labs, err := lib.Sym("labs")
	require.NoError(b, err)
	args := make([]uintptr, 11)
	b.ReportAllocs()
	for b.Loop() {
		dl.Call(labs, args)
	}
}
