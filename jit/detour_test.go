package jit_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/detour"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/jit/testkernels"
	"github.com/gokiln/kiln/runtime"
)

// Code that comes by another way is compiled for that way's target, and is not found in
// the cache, nor put there.
func TestDetour(t *testing.T) {
	ptx, err := target.Parse("ptx:sm_90")
	require.NoError(t, err)
	made := 0
	way := &detour.Way{
		Loads:  "kir",
		Target: func(string) (target.Target, error) { return ptx, nil },
		Emit: func(p *compiler.Program, to target.Target, opt compiler.Options) (*compiler.Artifact, error) {
			require.Equal(t, ptx, to)
			require.Equal(t, compiler.Assumes(ptx), opt.Assume)
			if made++; made == 3 {
				return nil, errors.New("the way is blocked")
			}
			return p.Emit(target.CPU, opt)
		},
	}
	run := func() error {
		dev, err := runtime.Open("cpu")
		require.NoError(t, err)
		defer dev.Close() // the next one is another device, and kernels are resolved again
		x := upload(t, dev, int32(1), 2, 3)
		if err := jit.Of(testkernels.Scale[int32]).Launch(dev.DefaultStream(), runtime.Cover(3, 64), x, int32(2)); err != nil {
			return err
		}
		got, err := x.Host()
		require.NoError(t, err)
		require.Equal(t, []int32{2, 4, 6}, got)
		return nil
	}
	back := detour.Take(way)
	require.NoError(t, run())
	require.NoError(t, run())
	require.ErrorContains(t, run(), "the way is blocked")
	back()
	require.NoError(t, run())
	require.Equal(t, 3, made)
	require.Nil(t, detour.For([]string{"kir"}))
	defer detour.Take(way)()
	require.Nil(t, detour.For([]string{"ptx"}), "the device is not reached this way")
}
