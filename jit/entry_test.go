package jit_test

import (
	"reflect"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/jit/testkernels"
	"github.com/gokiln/kiln/runtime"
)

const testPath = "github.com/gokiln/kiln/jit/testkernels"

// What kiln gen writes, by hand.
var scaleEntry = jit.Entry{Pkg: testPath, Name: "Scale", Generic: true}

func kernelScale[T dsl.Number]() *jit.Kernel {
	return jit.Instance[func(dsl.Thread, []T, T)](&scaleEntry)
}

func launchScale[T dsl.Number](s *runtime.Stream, g runtime.Grid, x runtime.Slice[T], by T) error {
	return kernelScale[T]().Launch(s, g, x, by)
}

func TestInstance(t *testing.T) {
	dev := open(t)
	s := dev.DefaultStream()
	x, y := upload(t, dev, float32(1), 2, 3), upload(t, dev, int32(4), 5)
	require.NoError(t, launchScale(s, runtime.Cover(3, 64), x, 2))
	require.NoError(t, launchScale(s, runtime.Cover(2, 64), y, 3))
	got, err := x.Host()
	require.NoError(t, err)
	assert.Equal(t, []float32{2, 4, 6}, got)
	ints, err := y.Host()
	require.NoError(t, err)
	assert.Equal(t, []int32{12, 15}, ints)
}

// However a kernel is named, it has one handle: it is compiled and loaded once.
func TestOneHandle(t *testing.T) {
	assert.Same(t, jit.Of(testkernels.Scale[float64]), kernelScale[float64]())
	assert.Same(t, kernelScale[float32](), jit.Of(testkernels.Scale[float32]))
	assert.Same(t, kernelScale[int32](), jit.Named(testPath, "Scale", reflect.TypeFor[func(dsl.Thread, []int32, int32)]()))
	fill := jit.Entry{Pkg: testPath, Name: "Fill"}
	assert.Same(t, jit.Of(testkernels.Fill), jit.Instance[func(dsl.Thread, []int32, dsl.ConstInt, dsl.ConstBool)](&fill))
}

func TestManyInstances(t *testing.T) {
	e := jit.Entry{Pkg: testPath, Name: "Scale", Generic: true}
	all := func() []*jit.Kernel {
		return []*jit.Kernel{
			scaleOf[int8](&e), scaleOf[int16](&e), scaleOf[int32](&e), scaleOf[int64](&e), scaleOf[int](&e),
			scaleOf[uint8](&e), scaleOf[uint16](&e), scaleOf[uint32](&e), scaleOf[uint64](&e), scaleOf[uint](&e),
			scaleOf[float32](&e), scaleOf[float64](&e), scaleOf[dsl.F16](&e), scaleOf[dsl.BF16](&e),
		}
	}
	lists := make([][]*jit.Kernel, 8)
	var wg sync.WaitGroup
	for i := range lists {
		wg.Go(func() { lists[i] = all() })
	}
	wg.Wait()
	want := all()
	seen := map[*jit.Kernel]bool{}
	for _, k := range want {
		require.NoError(t, k.Err())
		seen[k] = true
	}
	assert.Len(t, seen, len(want))
	for _, l := range lists {
		assert.Equal(t, want, l)
	}
	if !raceEnabled {
		assert.Zero(t, testing.AllocsPerRun(10, func() { scaleOf[dsl.BF16](&e); scaleOf[int8](&e) }))
	}
}

func scaleOf[T any](e *jit.Entry) *jit.Kernel {
	return jit.Instance[func(dsl.Thread, []T, T)](e)
}

func TestInstanceErrors(t *testing.T) {
	dev := open(t)
	e := jit.Entry{Pkg: testPath, Name: "Scale"}
	k := jit.Instance[func([]float32)](&e)
	require.ErrorContains(t, k.Err(), "launcher of kiln gen: "+testPath+".Scale: func([]float32) is not the type of a kernel")
	require.ErrorIs(t, k.Launch(dev.DefaultStream(), runtime.Blocks(1, 1)), k.Err())

	// A program that has no tests, or is not being tested, is package main.
	main := jit.Entry{Pkg: "example.com/program", Name: "Scale", Main: true}
	assert.Equal(t, "main.Scale", jit.Instance[func(dsl.Thread, []float32, float32)](&main).Name())
	tested := jit.Entry{Pkg: testPath, Name: "Fill", Main: true}
	assert.Equal(t, testPath+".Fill", jit.Instance[func(dsl.Thread, []float32, float32)](&tested).Name())
}

func TestInstanceAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	dev := open(t)
	x := upload(t, dev, make([]float32, 64)...)
	s := dev.DefaultStream()
	require.NoError(t, kernelScale[float32]().Prepare(dev))
	a := float32(1.5)
	allocs := testing.AllocsPerRun(200, func() {
		if err := launchScale(s, runtime.Blocks(1, 64), x, a); err != nil {
			t.Fatal(err)
		}
	})
	require.NoError(t, s.Sync())
	assert.Zero(t, allocs)
}

// BenchmarkInstance is BenchmarkLaunch through a launcher.
func BenchmarkInstance(b *testing.B) {
	dev := open(b)
	x := upload(b, dev, make([]float32, 64)...)
	s := dev.DefaultStream()
	require.NoError(b, kernelScale[float32]().Prepare(dev))
	b.ReportAllocs()
	for b.Loop() {
		if err := launchScale(s, runtime.Blocks(1, 64), x, 1); err != nil {
			b.Fatal(err)
		}
	}
	require.NoError(b, s.Sync())
}

// BenchmarkFindInstance is what a launcher adds to a launch.
func BenchmarkFindInstance(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if kernelScale[float32]() == nil {
			b.Fatal("no handle")
		}
	}
}
