package jit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/jit/testkernels"
	"github.com/gokiln/kiln/runtime"
)

type hostTable struct {
	Data runtime.Slice[float32]
	Cols int32
}

type hostTables struct {
	On     bool
	Sum    hostTable
	_      runtime.Slice[bool]
	_      int16
	Width  dsl.ConstInt
	Factor [2]float32
	Weight runtime.Slice[float32]
	last   uint8
}

// Structs with slices are passed as structs with slices of the device.
func TestStructsWithSlices(t *testing.T) {
	dev := open(t)
	s := dev.DefaultStream()
	to := hostTables{On: true, Sum: hostTable{upload[float32](t, dev, 1, 2, 3, 4, 5, 6), 3}, Width: 3, Factor: [2]float32{7, 10}, Weight: upload[float32](t, dev, 1, 2), last: 1}
	in := hostTable{upload[float32](t, dev, 1, 1, 1, 0, 2, 2, 2, 0), 4}
	k := jit.Of(testkernels.Weighted)
	launch := func(args ...any) error { return k.Launch(s, runtime.Blocks(1, 32), args...) }
	require.NoError(t, launch(to, in, 2))
	got, err := to.Sum.Data.Host()
	require.NoError(t, err)
	assert.Equal(t, []float32{11, 12, 13, 44, 45, 46}, got)

	writes, err := k.Writes(dev, to, in, 2)
	require.NoError(t, err)
	require.Equal(t, []bool{true, false, false}, writes)

	to.Width = 1
	require.NoError(t, launch(to, hostTable{to.Sum.Data, 3}, 2), "slices that overlap, another specialisation")
	got, err = to.Sum.Data.Host()
	require.NoError(t, err)
	assert.Equal(t, []float32{121, 12, 13, 924, 45, 46}, got)

	assert.ErrorContains(t, launch(to, struct {
		Cols int32
		Data runtime.Slice[float32]
	}{}, 2), "argument 2 (in) is struct")
	assert.ErrorContains(t, launch(to, testkernels.Table[float32]{}, 2), "want struct { Data runtime.Slice[float32]; Cols int32 }")
	assert.ErrorContains(t, launch(testkernels.Tables{}, in, 2), "argument 1 is testkernels.Tables, want struct { On bool; Sum struct { Data runtime.Slice[float32]; Cols int32 }; _ runtime.Slice[bool]; _ int16; Width dsl.ConstInt;")
	assert.ErrorContains(t, launch(nil, in, 2), "argument 1 is nil")
	assert.ErrorContains(t, launch(to, in), "launch with 2 arguments, the kernel has 3")
	in.Data.Free()
	assert.ErrorContains(t, launch(to, in, 2), "argument 2 (in.Data): buffer was freed")
}

// Code on the CPU checks the slices in structs like others.
func TestBoundsOfSlicesInStructs(t *testing.T) {
	dev := open(t)
	s := dev.DefaultStream()
	to := hostTables{On: true, Sum: hostTable{upload[float32](t, dev, 1), 1}, Width: 1, Weight: upload[float32](t, dev, 1)}
	require.NoError(t, jit.Of(testkernels.Weighted).Checked().Launch(s, runtime.Blocks(1, 32), to, hostTable{}, 1))
	assert.ErrorContains(t, s.Sync(), "index out of range [0] with length 0")
}

// What a launch with slices in structs allocates: nothing.
func TestStructsWithSlicesAllocateNothing(t *testing.T) {
	dev := open(t)
	s := dev.DefaultStream()
	k := jit.Of(testkernels.Weighted)
	to := any(hostTables{On: true, Width: 2})
	in := any(hostTable{})
	launch := func() {
		if err := k.Launch(s, runtime.Blocks(1, 32), to, in, 0); err != nil {
			t.Fatal(err)
		}
	}
	launch()
	require.NoError(t, s.Sync())
	if n := testing.AllocsPerRun(100, launch); n > 0 && !raceEnabled {
		t.Errorf("%g allocations a launch", n)
	}
}
