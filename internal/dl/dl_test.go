//go:build !kiln_nogpu && linux

package dl_test

import (
	"testing"
	"unsafe"

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

// pairOn returns a heap object with two calls into libc and the text that the
// second writes.
type pairOn struct {
	dl.Pair
	format, text [128]byte
}

func newPair(t testing.TB, first uintptr) *pairOn {
	lib, err := dl.Open("libc.so.6")
	require.NoError(t, err)
	labs, err := lib.Sym("labs")
	require.NoError(t, err)
	snprintf, err := lib.Sym("snprintf")
	require.NoError(t, err)
	p := new(pairOn)
	copy(p.format[:], "%ld %ld %ld %ld %ld %ld %ld %ld\x00")
	p.Pair = dl.Pair{First: labs, Arg: first, Fn: snprintf}
	p.Args = [11]uintptr{uintptr(unsafe.Pointer(&p.text)), uintptr(len(p.text)), uintptr(unsafe.Pointer(&p.format)), 1, 2, 3, 4, 5, 6, 7, 8}
	return p
}

func TestPairPassesAllArguments(t *testing.T) {
	p := newPair(t, 0)
	require.EqualValues(t, len("1 2 3 4 5 6 7 8"), p.Call())
	require.Equal(t, "1 2 3 4 5 6 7 8", string(p.text[:15]))
	require.Zero(t, testing.AllocsPerRun(100, func() { p.Call() }))
}

func TestPairStopsAfterAFailure(t *testing.T) {
	p := newPair(t, 7)
	require.EqualValues(t, 7, p.Call())
	require.Zero(t, p.text[0], "the second function was called")
}

func BenchmarkPair(b *testing.B) {
	p := newPair(b, 0)
	p.Fn = p.First
	b.ReportAllocs()
	for b.Loop() {
		p.Call()
	}
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
