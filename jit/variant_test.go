package jit

import (
	"encoding/binary"
	"errors"
	"fmt"
	goruntime "runtime"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/jit/testkernels"
	"github.com/gokiln/kiln/runtime"
)

// TestProperties looks at launches of func(out, in []float32, n int).
func TestProperties(t *testing.T) {
	const all = compiler.Small | compiler.Aligned | compiler.Disjoint
	w := watch([]param{
		{Arg: compiler.Arg{Slice: true, Written: true, Size: 4, Offset: 0}},
		{Arg: compiler.Arg{Slice: true, Size: 4, Offset: 16}},
		{Arg: compiler.Arg{Go: "int", Size: 8, Offset: 32}},
	})
	grid := runtime.Blocks(1<<20, 256)
	for _, c := range []struct {
		name  string
		grid  runtime.Grid
		block [5]uint64 // out, its length, in, its length, n
		lacks compiler.Assume
	}{
		{"ordinary", grid, [5]uint64{0x1000, 256, 0x2000, 256, 7}, 0},
		{"side by side", grid, [5]uint64{0x1000, 1024, 0x2000, 256, 7}, 0},
		{"in place", grid, [5]uint64{0x1000, 256, 0x1000, 256, 7}, compiler.Disjoint},
		{"last element", grid, [5]uint64{0x1000, 1025, 0x2000, 256, 7}, compiler.Disjoint},
		{"inside", grid, [5]uint64{0x2010, 4, 0x2000, 256, 7}, compiler.Disjoint},
		{"empty", grid, [5]uint64{0, 0, 0, 0, 0}, 0},
		{"moved by an element", grid, [5]uint64{0x1000, 256, 0x2004, 256, 7}, compiler.Aligned},
		{"long", grid, [5]uint64{0x1000, 256, 1 << 40, 1 << 30, 7}, compiler.Small},
		{"just short of that", grid, [5]uint64{0x1000, 256, 1 << 40, 1<<30 - 1, 7}, 0},
		{"large int", grid, [5]uint64{0x1000, 256, 0x2000, 256, 1 << 30}, compiler.Small},
		{"negative int", grid, [5]uint64{0x1000, 256, 0x2000, 256, ^uint64(0)}, 0},
		{"many blocks", runtime.Blocks(1<<22+1, 32), [5]uint64{0x1000, 256, 0x2000, 256, 7}, compiler.Small},
		{"many threads", runtime.Blocks(1<<22, 65), [5]uint64{0x1000, 256, 0x2000, 256, 7}, compiler.Small},
		{"many threads in y", runtime.Grid{Blocks: runtime.Dim3{X: 1, Y: 1 << 22}, Threads: runtime.Dim3{X: 1, Y: 65}}, [5]uint64{0x1000, 256, 0x2000, 256, 7}, compiler.Small},
	} {
		block := make([]byte, 40)
		for i, x := range c.block {
			binary.LittleEndian.PutUint64(block[8*i:], x)
		}
		assert.Equal(t, (all &^ c.lacks).String(), w.properties(all, c.grid, block).String(), c.name)
	}
	assert.Zero(t, w.properties(0, grid, make([]byte, 40)))
	overlapsOfAny(t)
	assert.Zero(t, compiler.Assumes(target.CPU))
}

// overlapsOfAny looks at launches of three slices, of which the written one comes first, between
// the others or last, and overlaps each of the others.
func overlapsOfAny(t *testing.T) {
	grid := runtime.Blocks(1, 32)
	for written := range 3 {
		plan := make([]param, 3)
		for i := range plan {
			plan[i] = param{Arg: compiler.Arg{Slice: true, Written: i == written, Size: 4, Offset: 16 * i}}
		}
		w := watch(plan)
		for other := range 3 {
			block := make([]byte, 48)
			for i := range 3 {
				at := uint64(0x1000 * (i + 1))
				if i == other {
					at = uint64(0x1000*(written+1)) + 4*31 // the last element of the written slice
				}
				if i == written {
					at = uint64(0x1000 * (i + 1))
				}
				binary.LittleEndian.PutUint64(block[16*i:], at)
				binary.LittleEndian.PutUint64(block[16*i+8:], 32)
			}
			want := compiler.Disjoint
			if other != written {
				want = 0
			}
			assert.Equal(t, want.String(), w.properties(compiler.Disjoint, grid, block).String(), "slice %d is written, slice %d overlaps it", written, other)
		}
	}
	ints := watch([]param{{Arg: compiler.Arg{Go: "int", Size: 8}}, {Arg: compiler.Arg{Go: "int", Size: 8, Offset: 8}}})
	for at := range 2 {
		for x, want := range map[int64]compiler.Assume{1<<30 - 1: compiler.Small, 1 << 30: 0, 1 - 1<<30: compiler.Small, -1 << 30: 0} {
			block := make([]byte, 16)
			binary.LittleEndian.PutUint64(block[8*at:], uint64(x))
			assert.Equal(t, want.String(), ints.properties(compiler.Small, grid, block).String(), "int %d is %d", at, x)
		}
	}
}

// TestPrebuilt: code that assumes less will do where only that is prebuilt.
func TestPrebuilt(t *testing.T) {
	have := map[compiler.Assume]*image{0: {}, compiler.Aligned: {}}
	resolve := func(a compiler.Assume) (*image, error) {
		if im := have[a]; im != nil {
			return im, nil
		}
		return nil, fmt.Errorf("%w: %s", ErrNotPrebuilt, a)
	}
	im, err := weaker(compiler.Small|compiler.Aligned, resolve)
	require.NoError(t, err)
	assert.Same(t, have[compiler.Aligned], im)
	im, err = weaker(compiler.Disjoint, resolve)
	require.NoError(t, err)
	assert.Same(t, have[0], im)

	delete(have, 0)
	_, err = weaker(compiler.Disjoint, resolve)
	require.ErrorIs(t, err, ErrNotPrebuilt)
	require.ErrorContains(t, err, "disjoint")

	other := errors.New("other")
	_, err = weaker(compiler.Disjoint, func(compiler.Assume) (*image, error) { return nil, other })
	require.ErrorIs(t, err, other)
}

// An observer may ask for the variant whose event it gets.
func TestObserverOfVariants(t *testing.T) {
	dev, err := runtime.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	k := Of(testkernels.Divide)
	in, err := k.prepare(dev, nil)
	require.NoError(t, err)
	done := make(chan error, 1)
	var events []error
	go func() {
		defer OnResolve(func(Event) {
			_, err := k.variant(in, compiler.Disjoint)
			events = append(events, err)
		})()
		_, err := k.variant(in, compiler.Disjoint)
		done <- err
	}()
	select {
	case err := <-done:
		require.NoError(t, err)
		require.Equal(t, []error{nil}, events)
	case <-time.After(time.Minute):
		t.Fatal("the observer waits for ever")
	}
}

// A kernel that is unloaded from a device leaves nothing there, and comes back when it is launched.
func TestUnload(t *testing.T) {
	dev, err := runtime.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	k := Of(testkernels.Divide)
	k.Unload(dev) // of a kernel that is not there
	var code weak.Pointer[runtime.Function]
	func() {
		in, err := k.prepare(dev, nil)
		require.NoError(t, err)
		code = weak.Make(in.fn)
		other, err := Of(testkernels.Scale[float32]).prepare(dev, nil)
		require.NoError(t, err)
		k.Unload(dev)
		again, err := Of(testkernels.Scale[float32]).prepare(dev, nil)
		require.NoError(t, err)
		require.Same(t, other, again)
	}()
	require.Eventually(t, func() bool {
		goruntime.GC()
		return code.Value() == nil
	}, time.Minute, 10*time.Millisecond)
	resolved := 0
	defer OnResolve(func(Event) { resolved++ })()
	Trim()
	x, err := runtime.From(dev, []int32{2, 3})
	require.NoError(t, err)
	require.NoError(t, k.Launch(dev.DefaultStream(), runtime.Blocks(1, 2), x, int32(12)))
	got, err := x.Host()
	require.NoError(t, err)
	require.Equal(t, []int32{6, 4}, got)
	require.Equal(t, 1, resolved)
}
