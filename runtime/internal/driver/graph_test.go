package driver_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// recorder is a stream that notes what is submitted.
type recorder struct {
	driver.Stream
	calls []string
	fails string
}

func (r *recorder) call(format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if r.fails == text {
		return errors.New("refused")
	}
	r.calls = append(r.calls, text)
	return nil
}

func (r *recorder) Launch(f driver.Function, l *driver.Launch) error {
	return r.call("launch %s %v", f.Info().Name, l.Grid)
}

func (r *recorder) Fill(dst driver.Addr, value byte, size int64) error {
	return r.call("fill %d %d %d", dst, value, size)
}

func (r *recorder) Copy(dst, src driver.Addr, size int64) error {
	return r.call("copy %d %d %d", dst, src, size)
}

func (r *recorder) Copy2D(dst driver.Addr, dstPitch int64, src driver.Addr, srcPitch int64, width, height int64) error {
	return r.call("copy %d/%d %d/%d %d %d", dst, dstPitch, src, srcPitch, width, height)
}

type kernel string

func (k kernel) Info() driver.FunctionInfo { return driver.FunctionInfo{Name: string(k)} }

// plain is a device without graphs, grapher one that has them, or says so.
type plain struct{ driver.Device }

type grapher struct {
	plain
	err error
}

func (g grapher) NewGraph([]driver.Op) (driver.Graph, error) { return nil, g.err }

func TestNewGraph(t *testing.T) {
	ops := []driver.Op{
		{Kernel: kernel("k"), Launch: driver.Launch{Grid: [3]int{1, 2, 3}}},
		{Fill: true, Value: 4, Dst: 5, Width: 6, After: []int{0}},
		{Dst: 7, Src: 8, Width: 9, Rows: 1, DstPitch: 1, SrcPitch: 2},
		{Dst: 7, Src: 8, Width: 9, Rows: 2, DstPitch: 10, SrcPitch: 11},
	}
	all := []string{"launch k [1 2 3]", "fill 5 4 6", "copy 7 8 9", "copy 7/10 8/11 9 2"}
	for _, d := range []driver.Device{plain{}, grapher{err: fmt.Errorf("old: %w", errors.ErrUnsupported)}} {
		g, err := driver.NewGraph(d, ops)
		require.NoError(t, err)
		s := new(recorder)
		require.NoError(t, g.Launch(s))
		require.Equal(t, all, s.calls)
		s = &recorder{fails: all[2]}
		require.EqualError(t, g.Launch(s), "refused")
		require.Equal(t, all[:2], s.calls)
		require.NoError(t, g.Close())
	}
	own := errors.New("broken")
	_, err := driver.NewGraph(grapher{err: own}, ops)
	require.ErrorIs(t, err, own)
	g, err := driver.NewGraph(grapher{}, ops)
	require.NoError(t, err)
	require.Nil(t, g, "the device's own")
}
