package runtime

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// mixed is bytes of which no two parts are the same.
func mixed(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i) ^ byte(i>>8)*3 ^ byte(i>>16)*5
	}
	return b
}

// failing is a reader of which no part that has a byte can be read.
type failing struct {
	io.ReaderAt
	at    int64
	err   error
	calls atomic.Int64
}

func (f *failing) ReadAt(p []byte, off int64) (int, error) {
	f.calls.Add(1)
	if f.at >= off && f.at < off+int64(len(p)) {
		return 0, f.err
	}
	return f.ReaderAt.ReadAt(p, off)
}

func TestCopyFromReader(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		st := r.DefaultStream()
		for _, n := range []int{0, 1, 100, 64 << 10, 64<<10 + 1, 3<<20 + 5, 37<<20 + 3} {
			want := mixed(n + 7)
			s, err := Alloc[byte](r.Device, n+2)
			require.NoError(t, err)
			require.NoError(t, s.Zero())
			require.NoError(t, s.Slice(1, n+1).CopyFromReader(st, bytes.NewReader(want), 7))
			got, err := s.Host()
			require.NoError(t, err)
			require.True(t, bytes.Equal(want[7:], got[1:n+1]), "%d bytes", n)
			require.Zero(t, got[0])
			require.Zero(t, got[n+1])
			require.NoError(t, s.Free())
		}
	})
}

func TestCopyFromReaderThatFails(t *testing.T) {
	lost := errors.New("lost")
	onEach(t, func(t *testing.T, r *rig) {
		st := r.DefaultStream()
		const n = 40 << 20
		data := mixed(n)
		s, err := Alloc[uint32](r.Device, n/4)
		require.NoError(t, err)
		for _, at := range []int64{0, n / 2, n - 1} {
			f := &failing{ReaderAt: bytes.NewReader(data), at: at, err: lost}
			err := s.CopyFromReader(st, f, 0)
			require.ErrorIs(t, err, lost)
			require.ErrorContains(t, err, "copy from a reader: ")
		}
		f := &failing{ReaderAt: strings.NewReader(""), at: -1}
		err = s.CopyFromReader(st, f, 0)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.LessOrEqual(t, f.calls.Load(), int64(8), "no part is begun after an error")
		require.ErrorIs(t, s.CopyFromReader(st, bytes.NewReader(data), 1), io.ErrUnexpectedEOF)
		require.NoError(t, s.CopyFromReader(st, bytes.NewReader(data), 0), "the device and its chunks are as before")
		got, err := s.Host()
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, hostBytes(got)))
		require.NoError(t, s.Free())
		require.ErrorIs(t, s.CopyFromReader(st, bytes.NewReader(data), 0), ErrFreed)
	})
}

// A graph has no copies of what is read while it is captured.
func TestCopyFromReaderInACapture(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		s, err := Alloc[byte](r.Device, 100)
		require.NoError(t, err)
		f := &failing{ReaderAt: bytes.NewReader(mixed(100)), at: -1}
		_, err = r.Capture(func(st *Stream) error { return s.CopyFromReader(st, f, 0) })
		require.ErrorIs(t, err, ErrCapturing)
		require.Zero(t, f.calls.Load())
	})
}

// uploads is a stream of a driver that has Upload alone.
type uploads struct {
	driver.Stream
	mem  []byte
	most int
	err  error
}

func (u *uploads) Upload(dst driver.Addr, src []byte) error {
	u.most = max(u.most, len(src))
	copy(u.mem[dst-1000:], src)
	return u.err
}

func TestUploadFromByUpload(t *testing.T) {
	want := mixed(2*readAtOnce + 3)
	u := &uploads{mem: make([]byte, len(want))}
	read := func(p []byte, at int64) error {
		copy(p, want[at:])
		return nil
	}
	require.NoError(t, uploadFrom(u, 1000, int64(len(want)), read))
	require.True(t, bytes.Equal(want, u.mem))
	require.Equal(t, readAtOnce, u.most)
	u.err = ErrInvalid
	require.ErrorIs(t, uploadFrom(u, 1000, 1, read), ErrInvalid)
	require.ErrorIs(t, uploadFrom(u, 1000, 1, func([]byte, int64) error { return ErrClosed }), ErrClosed)
}
