package jit

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit/testkernels"
	"github.com/gokiln/kiln/runtime"
)

func openCPU(t testing.TB) *runtime.Device {
	t.Helper()
	dev, err := runtime.Open("cpu")
	require.NoError(t, err)
	t.Cleanup(func() { dev.Close() })
	return dev
}

func filter(n, tile int, tap bool, offset int16, last bool, scale float32) (dsl.ConstInt, testkernels.Config[float32]) {
	c := testkernels.Config[float32]{Tile: dsl.ConstInt(tile), Last: last, Scale: scale}
	c.Taps[1] = testkernels.Tap{On: dsl.ConstBool(tap), Offset: offset}
	return dsl.ConstInt(n), c
}

// A kernel is compiled once for each set of compile-time values; ordinary fields
// of the same struct are passed.
func TestSpecialisations(t *testing.T) {
	dev := openCPU(t)
	var mu sync.Mutex
	var names []string
	defer OnResolve(func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		names = append(names, e.Kernel[strings.LastIndexByte(e.Kernel, '.')-3:])
	})()
	in, err := runtime.From(dev, []float32{1, 2, 3, 4})
	require.NoError(t, err)
	out, err := runtime.Alloc[float32](dev, 4)
	require.NoError(t, err)
	k := Of(testkernels.Filter[float32])
	require.NoError(t, k.Err())
	run := func(want []float32, n, tile int, tap bool, offset int16, last bool, scale float32) {
		t.Helper()
		taps, cfg := filter(n, tile, tap, offset, last, scale)
		require.NoError(t, k.Launch(dev.DefaultStream(), runtime.Blocks(1, 32), out, in, taps, cfg))
		got, err := out.Host()
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	run([]float32{3, 5, 7, 5}, 2, 4, false, 100, false, 1)
	run([]float32{-6, -10, -14, -10}, 2, 4, false, 200, true, 2)
	run([]float32{1, 2, 3, 4}, 1, 4, false, 0, false, 1)
	run([]float32{11, 12, 13, 14}, 1, 4, true, 10, false, 1)
	run([]float32{11, 12, 11, 12}, 1, 2, true, 10, false, 1)
	assert.Len(t, names, 4, "%q", names)
	assert.Len(t, k.ready.Load().slots, 8)
	assert.Equal(t, 4, k.ready.Load().n)
}

func TestSpecialisationNames(t *testing.T) {
	dev := openCPU(t)
	var got string
	defer OnResolve(func(e Event) { got = e.Kernel })()
	n, cfg := filter(3, 16, true, 0, false, 0)
	require.NoError(t, Of(testkernels.Filter[float32]).Prepare(dev, n, cfg))
	assert.Equal(t, "github.com/gokiln/kiln/jit/testkernels.Filter[float32]{n:3,cfg.Tile:16,cfg.Taps[0].On:false,cfg.Taps[1].On:true}", got)
	info, err := Of(testkernels.Filter[float32]).Info(dev, n, cfg)
	require.NoError(t, err)
	assert.Equal(t, "Filter", info.Name)
}

func TestConstantErrors(t *testing.T) {
	dev := openCPU(t)
	s, one := dev.DefaultStream(), runtime.Blocks(1, 32)
	out, err := runtime.Alloc[int32](dev, 32)
	require.NoError(t, err)
	fill := Of(testkernels.Fill)
	_, cfg := filter(1, -1, false, 0, false, 0)
	f32s, err := runtime.Alloc[float32](dev, 32)
	require.NoError(t, err)
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"plain int", fill.Launch(s, one, out, 3, dsl.ConstBool(true)), "testkernels.Fill: argument 2 is int, want dsl.ConstInt"},
		{"nil", fill.Launch(s, one, out, dsl.ConstInt(1), nil), "argument 3 is nil, want dsl.ConstBool"},
		{"count", fill.Launch(s, one, out, dsl.ConstInt(1)), "launch with 2 arguments, the kernel has 3: func(dsl.Thread, []int32, dsl.ConstInt, dsl.ConstBool)"},
		{"prepare without", fill.Prepare(dev), "0 compile-time arguments, the kernel has 2"},
		{"prepare with others", fill.Prepare(dev, dsl.ConstInt(1), true), "argument 3 is bool, want dsl.ConstBool"},
		{"crowd", Of(testkernels.Crowd).Launch(s, one, out, [40]dsl.ConstInt{}), "testkernels.Crowd: the parameters hold 37 compile-time values, a kernel has at most 36"},
		{"prepare a crowd", Of(testkernels.Crowd).Prepare(dev), "at most 36"},
		{"bad length", Of(testkernels.Filter[float32]).Launch(s, one, f32s, f32s, dsl.ConstInt(1), cfg), "K0306: dsl.SharedSlice of a negative length, -1"},
		{"another struct", Of(testkernels.Filter[float32]).Launch(s, one, f32s, f32s, dsl.ConstInt(1), testkernels.Config[float64]{}),
			"argument 4 is testkernels.Config[float64], want testkernels.Config[float32]"},
	} {
		t.Run(c.name, func(t *testing.T) { assert.ErrorContains(t, c.err, c.want) })
	}
}

// A launch has as many threads as launch bounds say.
func TestLaunchBounds(t *testing.T) {
	dev := openCPU(t)
	out, err := runtime.Alloc[int32](dev, 128)
	require.NoError(t, err)
	k, s := Of(testkernels.Bounded), dev.DefaultStream()
	require.NoError(t, k.Launch(s, runtime.Blocks(2, 64), out, dsl.ConstInt(2)))
	require.NoError(t, k.Launch(s, runtime.Grid{Blocks: runtime.Dim3{X: 1}, Threads: runtime.Dim3{X: 16, Y: 2}}, out, dsl.ConstInt(1)), "any shape will do")
	require.NoError(t, k.Launch(s, runtime.Blocks(2, 64), out, dsl.ConstInt(2)))
	host, err := out.Host()
	require.NoError(t, err)
	assert.EqualValues(t, 64, host[127])
	err = k.Launch(s, runtime.Blocks(2, 96), out, dsl.ConstInt(2))
	assert.EqualError(t, err, "github.com/gokiln/kiln/jit/testkernels.Bounded: block of 96 threads: the kernel is for blocks of 64, as its call of dsl.LaunchBounds says")
	assert.ErrorContains(t, k.Launch(s, runtime.Blocks(1, 32), out, dsl.ConstInt(-1)), "K0306: dsl.LaunchBounds of blocks of -32 threads")
}

func TestTooManySpecialisations(t *testing.T) {
	dev := openCPU(t)
	defer func(n int) { maxSpecialisations = n }(maxSpecialisations)
	k := Of(testkernels.Fill)
	maxSpecialisations = k.ready.Load().count(dev) + 20
	for i := range 20 {
		require.NoError(t, k.Prepare(dev, dsl.ConstInt(1000+i), dsl.ConstBool(false)))
	}
	err := k.Prepare(dev, dsl.ConstInt(2000), dsl.ConstBool(false))
	require.ErrorIs(t, err, ErrSpecialisations)
	assert.ErrorContains(t, err, "20 on cpu, and a launch asks for one more")
	require.NoError(t, k.Prepare(dev, dsl.ConstInt(1005), dsl.ConstBool(false)), "what is there stays")
}

// Goroutines that ask for several specialisations at once get each resolved
// once.
func TestSpecialisationsAtOnce(t *testing.T) {
	dev := openCPU(t)
	var mu sync.Mutex
	seen := map[string]int{}
	defer OnResolve(func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		seen[e.Kernel]++
	})()
	k := Of(testkernels.Fill)
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			value := i % 4
			out, err := runtime.Alloc[int32](dev, 32)
			if assert.NoError(t, err) && assert.NoError(t, k.Launch(dev.DefaultStream(), runtime.Blocks(1, 32), out, dsl.ConstInt(value-500), dsl.ConstBool(true))) {
				got, err := out.Host()
				assert.NoError(t, err)
				assert.EqualValues(t, 500-value, got[31])
			}
		})
	}
	wg.Wait()
	assert.Len(t, seen, 4)
	for name, n := range seen {
		assert.Equal(t, 1, n, name)
	}
}

// The table finds what is in it and nothing else, whatever collides.
func TestTable(t *testing.T) {
	devs := []*runtime.Device{new(runtime.Device), new(runtime.Device)}
	var tab *table
	assert.Nil(t, tab.find(devs[0], nil))
	type entry struct {
		dev    *runtime.Device
		values string
	}
	want := map[entry]*instance{}
	for i := range uint64(300) {
		in := &instance{dev: devs[i%2], consts: []uint64{i / 10, i % 10 / 2, 1 << (i % 60)}[:1+i%3]}
		e := entry{in.dev, fmt.Sprint(in.consts)}
		if want[e] == nil {
			assert.Nil(t, tab.find(in.dev, in.consts))
			want[e] = in
			tab = tab.with(in)
		}
	}
	for e, in := range want {
		assert.Same(t, in, tab.find(e.dev, in.consts))
	}
	assert.Nil(t, tab.find(devs[0], []uint64{1000}))
	assert.Nil(t, tab.find(devs[0], nil))
	assert.Equal(t, len(want), tab.n)
}

// Constants are part of the key of the source.
func TestConstantsAreKeys(t *testing.T) {
	g := newRig(t)
	g.source = strings.Replace(strings.Replace(scaleSource, "x []float32", "x []float32, n dsl.ConstInt", 1), "*= 2", "*= float32(n)", 1)
	g.consts = map[string]int64{"2": 3}
	im := g.must("compiled", 1)
	assert.Equal(t, "k.Scale{n:3}", im.meta.Kernel)
	assert.True(t, im.meta.Args[1].Const)
	g.must("cache", 1)
	g.consts = map[string]int64{"2": 4}
	im = g.must("compiled", 2)
	assert.Equal(t, "k.Scale{n:4}", im.meta.Kernel)
	g.consts = map[string]int64{"2": 3}
	g.must("cache", 2)
}

func TestLargeArguments(t *testing.T) {
	dev := openCPU(t)
	out, err := runtime.Alloc[int64](dev, 240)
	require.NoError(t, err)
	var a, b [240]int64
	want := make([]int64, 240)
	for i := range a {
		a[i], b[i] = int64(i*i), int64(i)
		want[i] = a[i] - b[i]
	}
	k, s := Of(testkernels.Large), dev.DefaultStream()
	require.NoError(t, k.Launch(s, runtime.Blocks(1, 256), out, a, b))
	got, err := out.Host()
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

func TestSignatureOfGenericTypes(t *testing.T) {
	const pkg = "github.com/gokiln/kiln/jit/testkernels"
	for _, c := range []struct {
		typ        reflect.Type
		expr, fail string
	}{
		{reflect.TypeFor[testkernels.Config[float32]](), "Config[float32]", ""},
		{reflect.TypeFor[testkernels.Pair[dsl.BF16, testkernels.Pair[dsl.F16, testkernels.Tap]]](), "Pair[dsl.BF16,Pair[dsl.F16,Tap]]", ""},
		{reflect.TypeFor[testkernels.Pair[runtime.Dim3, int]](), "", "type Dim3 of package github.com/gokiln/kiln/internal/dim in the signature"},
		{reflect.TypeFor[testkernels.Pair[struct{ A int }, int]](), "", "type argument"},
	} {
		expr, err := typeExpr(c.typ, pkg)
		if c.fail != "" {
			assert.ErrorContains(t, err, c.fail)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, c.expr, expr)
	}
}

// BenchmarkLookup is what compile-time values add to a launch.
func BenchmarkLookup(b *testing.B) {
	dev := openCPU(b)
	k := Of(testkernels.Filter[float32])
	n, cfg := filter(2, 8, true, 1, false, 0)
	for i := range 20 {
		require.NoError(b, k.Prepare(dev, dsl.ConstInt(i), cfg))
	}
	args := []any{0, 0, n, cfg}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := k.specialised(dev, args); err != nil {
			b.Fatal(err)
		}
	}
}
