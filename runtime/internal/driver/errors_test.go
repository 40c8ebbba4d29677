package driver_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

func TestErrorText(t *testing.T) {
	cause := errors.New("the disk is full")
	for _, c := range []struct {
		err  driver.Error
		want string
	}{
		{driver.Error{Op: "open", Kind: driver.ErrNoDevice}, "open: no such device"},
		{driver.Error{Op: "open", Device: "cuda:0", Kind: driver.ErrNoDevice, Text: "gone"}, "cuda:0: open: gone"},
		{driver.Error{Op: "wait", Device: "cuda:0", Kernels: []string{"saxpy"}, Name: "CUDA_X", Code: 700, Text: "bad address"},
			"cuda:0: wait: kernel saxpy failed: CUDA_X (700): bad address"},
		{driver.Error{Op: "wait", Kernels: []string{"a", "b"}, Name: "CUDA_X", Code: 1},
			"wait: a kernel failed, one of a, b (KILN_LAUNCH_BLOCKING=1 tells which): CUDA_X (1)"},
		{driver.Error{Op: "load", Cause: cause, Log: "\n  first\nsecond", Kind: driver.ErrBadImage}, "load: the disk is full: first"},
		{driver.Error{Device: "cpu", Kernels: []string{"k"}, Cause: cause, Log: "stack"}, "cpu: kernel k failed: the disk is full"},
	} {
		require.Equal(t, c.want, c.err.Error())
		require.Equal(t, c.want, fmt.Sprintf("%v", &c.err))
		require.Equal(t, fmt.Sprintf("%q", c.want), fmt.Sprintf("%q", &c.err))
	}
}

func TestErrorLogAndUnwrap(t *testing.T) {
	cause := errors.New("inner")
	err := fmt.Errorf("outer: %w", &driver.Error{Op: "load", Kind: driver.ErrBadImage, Cause: cause, Log: "line 1\nline 2\n"})
	require.ErrorIs(t, err, driver.ErrBadImage)
	require.ErrorIs(t, err, cause)
	e, ok := errors.AsType[*driver.Error](err)
	require.True(t, ok)
	require.Equal(t, "load: inner: line 1\nline 1\nline 2", fmt.Sprintf("%+v", e))
	require.NotErrorIs(t, &driver.Error{Op: "x"}, driver.ErrLaunch)
}
