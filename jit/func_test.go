package jit_test

import (
	"embed"
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/jit/testkernels"
	"github.com/gokiln/kiln/runtime"
)

//go:embed func_test.go example_test.go
var source embed.FS

var _ = dsl.Source(source)

var global = jit.Func(func(x float32) float32 { return -x })

// host is host code around a literal: the file imports net/http, and so may the
// function use it.
func (h *host) literal() *jit.Fn {
	h.client.CloseIdleConnections()
	const offset = 0.5
	type pair struct{ a, b float32 }
	return jit.Func(func(a, b float32) float32 {
		p := pair{a, b}
		return dsl.Max(p.a, p.b) + offset
	})
}

type host struct{ client http.Client }

// generic makes a literal of a generic function.
func generic[T dsl.Real]() *jit.Fn {
	return jit.Func(func(a, b T) T { return dsl.Sqrt(a*a + b*b) })
}

func mapped[R, A any](t *testing.T, dev *runtime.Device, f *jit.Fn, in ...[]A) []R {
	t.Helper()
	require.NoError(t, f.Err())
	out := upload(t, dev, make([]R, len(in[0]))...)
	args := make([]any, len(in))
	for i := range in {
		args[i] = upload(t, dev, in[i]...)
	}
	require.NoError(t, f.Map(dev.DefaultStream(), out, args...))
	got, err := out.Host()
	require.NoError(t, err)
	return got
}

func TestFuncMap(t *testing.T) {
	dev := open(t)
	x, y, z := []float32{3, 5, -1}, []float32{4, 12, 2}, []float32{1, 2, 3}
	half, _ := testkernels.Different()
	_, third := testkernels.Different()

	assert.Equal(t, []float32{13, 61, -1}, mapped[float32](t, dev, jit.Func(func(a, b float32) float32 { return a*b + 1 }), x, y))
	assert.Equal(t, []float32{-3, -5, 1}, mapped[float32](t, dev, global, x))
	assert.Equal(t, []float32{4.5, 12.5, 2.5}, mapped[float32](t, dev, (&host{}).literal(), x, y))
	assert.Equal(t, []float32{5, 13}, mapped[float32](t, dev, generic[float32](), x[:2], y[:2]))
	assert.Equal(t, []float64{5, 13}, mapped[float64](t, dev, generic[float64](), []float64{3, 5}, []float64{4, 12}))
	assert.Equal(t, []float32{27, 125, -1}, mapped[float32](t, dev, jit.Func(testkernels.Cube[float32]), x))
	assert.Equal(t, []float64{27, 125, -1}, mapped[float64](t, dev, jit.Func(testkernels.Cube[float32]).As(reflect.TypeFor[func(float64) float64]()), []float64{3, 5, -1}))
	assert.ErrorContains(t, jit.Func(testkernels.Cube[float32]).As(reflect.TypeFor[func(string) string]()).Err(), "string")
	assert.ErrorContains(t, jit.Func(testkernels.Cube[float32]).As(reflect.TypeFor[int]()).Err(), "int is not a function")
	assert.Equal(t, []float32{7, 17, 1}, mapped[float32](t, dev, jit.Func(testkernels.Adder()), x, y))
	assert.Equal(t, []float64{6}, mapped[float64](t, dev, jit.Func(testkernels.Scaler[float64]()), []float64{2}))
	assert.Equal(t, []float32{5}, mapped[float32](t, dev, jit.Func((&testkernels.Server{}).Shift()), x[:1]))
	assert.Equal(t, []testkernels.Celsius{2}, mapped[testkernels.Celsius](t, dev, jit.Func(testkernels.Warmer), []testkernels.Celsius{1}))
	assert.Equal(t, []float32{1.5}, mapped[float32](t, dev, jit.Func(half), x[:1]))
	assert.Equal(t, []int32{4}, mapped[int32](t, dev, jit.Func(third), []int32{9}))
	assert.Equal(t, []bool{false, false, true}, mapped[bool](t, dev, jit.Func(func(a, b, c float32) bool { return a+b+c < 5 }), x, y, z))
	assert.Equal(t, []float32{0, 1, 2}, mapped[float32](t, dev, jit.Func(func(a, b, c, d float32) float32 { return (a-b)*0 + d - c*(c/c) }), x, y, []float32{1, 1, 1}, z))
	for range seq {
		assert.Equal(t, []float32{4}, mapped[float32](t, dev, jit.Func(func(x float32) float32 { return x + 1 }), x[:1]))
	}
	assert.Equal(t, []dsl.F16{0x4200}, mapped[dsl.F16](t, dev, jit.Func(func(x dsl.F16) dsl.F16 { return dsl.To[dsl.F16](dsl.F32(x) + 1) }), []dsl.F16{0x4000}))
}

func seq(yield func() bool) { yield() }

// In place, over part of a slice, and over nothing.
func TestFuncMapInPlace(t *testing.T) {
	dev := open(t)
	x := upload(t, dev, float32(1), 2, 3, 4)
	double := jit.Func(func(x float32) float32 { return 2 * x })
	require.NoError(t, double.Prepare(dev))
	assert.ErrorContains(t, jit.Func(1).Prepare(dev), "int is not a function")
	require.NoError(t, double.Map(dev.DefaultStream(), x, x))
	require.NoError(t, double.Map(dev.DefaultStream(), x.Slice(1, 3), x.Slice(1, 3)))
	require.NoError(t, double.Map(dev.DefaultStream(), x.Slice(1, 1), x.Slice(2, 2)))
	got, err := x.Host()
	require.NoError(t, err)
	assert.Equal(t, []float32{2, 8, 12, 8}, got)
}

func TestFuncMapMistakes(t *testing.T) {
	dev := open(t)
	s := dev.DefaultStream()
	x, n := upload(t, dev, float32(1), 2), upload(t, dev, int32(1), 2)
	add := jit.Func(func(a, b float32) float32 { return a + b })
	assert.ErrorContains(t, add.Map(s, x, x), "Map with 1 slices for a function of 2 arguments")
	assert.ErrorContains(t, add.Map(s, x, x, n), "slice 2 is runtime.Slice[int32], want runtime.Slice[float32]")
	assert.ErrorContains(t, add.Map(s, 1, x, x), "the result is int, want runtime.Slice[float32]")
	assert.ErrorContains(t, add.Map(s, nil, x, x), "the result is <nil>")
	assert.ErrorContains(t, add.Map(s, x, x, x.Slice(1, 2)), "slice 2 has 1 elements, the result has 2")
	assert.ErrorContains(t, jit.Func(func() float32 { return 1 }).Map(s, x), "Map takes functions of one to 4 arguments with one result")
	assert.ErrorContains(t, jit.Func(func(x float32) (a, b float32) { return x, x }).Map(s, x, x), "with one result")
	assert.ErrorContains(t, jit.Func(3).Map(s, x, x), "jit.Func: int is not a function")
	assert.ErrorContains(t, jit.Func((func())(nil)).Map(s, x, x), "is not a function")
	assert.ErrorContains(t, jit.Func(func(s string) string { return s }).Map(s, x, x), "want runtime.Slice[string]")
}

func TestFuncErr(t *testing.T) {
	f, g := testkernels.Same()
	scale, n := float32(2), 1
	for _, c := range []struct {
		name string
		fn   any
		want string
	}{
		{"number", 3, "jit.Func: int is not a function"},
		{"nothing", nil, "is not a function"},
		{"method value", testkernels.Number(1).Plus, "is a method value, which holds a receiver"},
		{"method", testkernels.Number.Plus, "Number.Plus is a method: pass a function, or a function literal that calls it"},
		{"unregistered", http.CanonicalHeaderKey, "package net/http has no kernel source in this program: add `//go:embed *.go`"},
		{"captured", testkernels.Captured(2), "func.go:67:46: K0134: function literal captures variable by, which is declared at github.com/gokiln/kiln/jit/testkernels/func.go:66:15"},
		{"one line", f, "2 function literals of the same type begin on this line"},
		{"one line", g, "put each on a line of its own"},
		{"captured here", func(x float32) float32 {
			return x*scale + float32(n)
		}, "jit_test/func_test.go"},
		{"instance in a generic function", instance[float32](), "no function literal of this type begins on this line"},
		{"outside", func(x float32) float32 { return x + float32(len(fmt.Sprint(x))) }, "K0120: fmt.Sprint is outside of kernel code"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := jit.Func(c.fn).Err()
			require.ErrorContains(t, err, c.want)
			assert.NotEmpty(t, jit.Func(c.fn).Name())
		})
	}

	// All captured variables at once, each with its position.
	var list diag.List
	require.ErrorAs(t, jit.Func(func(x float32) float32 { return x*scale + float32(n) }).Err(), &list)
	require.Len(t, list, 2)
	for _, d := range list {
		assert.Equal(t, diag.Capture, d.Code)
	}
	assert.ErrorContains(t, jit.Func(func(x float32) float32 { return x * scale }).Map(open(t).DefaultStream(), upload(t, open(t), scale), upload(t, open(t), scale)), "captures variable scale")
}

func instance[T dsl.Real]() any {
	return testkernels.Cube[T]
}

func TestFuncParam(t *testing.T) {
	dev := open(t)
	s := dev.DefaultStream()
	in, out := upload(t, dev, float32(3), 1, 2, 5, 4, 6), upload(t, dev, float32(0), 0)
	fold := jit.Of(testkernels.Fold[float32])
	grid := runtime.Blocks(1, 32)
	largest := func(a, b float32) float32 { return max(a, b) }
	for _, c := range []struct {
		f    any
		want []float32
	}{
		{largest, []float32{3, 6}},
		{jit.Func(largest), []float32{3, 6}},
		{testkernels.Adder(), []float32{6, 15}},
		{testkernels.Op(largest), []float32{3, 6}},
		{func(a, b float32) float32 { return a*10 + b }, []float32{312, 546}},
	} {
		require.NoError(t, fold.Launch(s, grid, out, in, dsl.ConstInt(3), c.f))
		got, err := out.Host()
		require.NoError(t, err)
		assert.Equal(t, c.want, got)
	}

	// Two functions of a declared type.
	twice := jit.Of(testkernels.Twice)
	sub := func(a, b float32) float32 { return a - b }
	x, y, z := upload(t, dev, float32(3)), upload(t, dev, float32(5)), upload(t, dev, float32(0))
	require.NoError(t, twice.Prepare(dev, sub, testkernels.Op(largest)))
	require.NoError(t, twice.Launch(s, grid, z, x, y, sub, jit.Func(largest)))
	got, err := z.Host()
	require.NoError(t, err)
	assert.Equal(t, []float32{5}, got)
	require.NoError(t, twice.Launch(s, grid, z, x, y, largest, sub))
	got, err = z.Host()
	require.NoError(t, err)
	assert.Equal(t, []float32{0}, got)
	_, err = twice.Info(dev, sub, sub)
	require.NoError(t, err)

	assert.ErrorContains(t, fold.Launch(s, grid, out, in, dsl.ConstInt(3), 7), "argument 4 is int, want func(float32, float32) float32")
	assert.ErrorContains(t, fold.Launch(s, grid, out, in, dsl.ConstInt(3), nil), "argument 4 is nil, want func")
	assert.ErrorContains(t, fold.Launch(s, grid, out, in, dsl.ConstInt(3), testkernels.Cube[float32]), "argument 4 is func(float32) float32, want")
	assert.ErrorContains(t, fold.Launch(s, grid, out, in, dsl.ConstInt(3), jit.Func(testkernels.Cube[float32])), "Cube[...], a function of another type than func(float32, float32) float32")
	assert.ErrorContains(t, fold.Launch(s, grid, out, in, dsl.ConstInt(3), (func(a, b float32) float32)(nil)), "argument 4 is a nil function")
	assert.ErrorContains(t, fold.Launch(s, grid, out, in, dsl.ConstInt(3), (*jit.Fn)(nil)), "argument 4 is a nil *jit.Fn")
	assert.ErrorContains(t, fold.Launch(s, grid, out, in, dsl.ConstInt(3), jit.Func(3)), "argument 4 is a handle of no function")
	assert.ErrorContains(t, fold.Launch(s, grid, out, in, dsl.ConstInt(3)), "launch with 3 arguments")
	assert.ErrorContains(t, fold.Prepare(dev, dsl.ConstInt(3)), "1 compile-time arguments, the kernel has 2")
	by := float32(2)
	assert.ErrorContains(t, fold.Launch(s, grid, out, in, dsl.ConstInt(3), func(a, b float32) float32 { return a * b * by }), "captures variable by")
}

func TestNamed(t *testing.T) {
	dev := open(t)
	const pkg = "github.com/gokiln/kiln/jit/testkernels"
	typ := reflect.TypeOf(testkernels.Fold[int64])
	k := jit.Named(pkg, "Fold", typ)
	assert.Same(t, k, jit.Named(pkg, "Fold", typ))
	assert.Same(t, k, jit.Of(testkernels.Fold[int64]).As(typ))
	in, out := upload(t, dev, int64(3), 1, 2), upload(t, dev, int64(0))
	require.NoError(t, k.Launch(dev.DefaultStream(), runtime.Blocks(1, 32), out, in, dsl.ConstInt(3), func(a, b int64) int64 { return a<<8 | b }))
	got, err := out.Host()
	require.NoError(t, err)
	assert.Equal(t, []int64{3<<16 | 1<<8 | 2}, got)

	assert.ErrorContains(t, jit.Named(pkg, "Fold", nil).Err(), "is not the type of a kernel")
	assert.ErrorContains(t, jit.Named(pkg, "Fold", reflect.TypeFor[func(int)]()).Err(), "func(int) is not the type of a kernel")
	assert.ErrorContains(t, jit.Named(pkg, "Fold", reflect.TypeFor[func(dsl.Thread, map[int]int)]()).Err(), "not one a kernel can have")
	assert.ErrorContains(t, jit.Named(pkg, "None", reflect.TypeFor[func(dsl.Thread)]()).Prepare(dev), "no kernel None")
	assert.ErrorContains(t, jit.Named(pkg, "Twice", reflect.TypeFor[func(dsl.Thread, []int32, []int32, []int32, testkernels.Op, testkernels.Op)]()).Prepare(dev, testkernels.Op(testkernels.Adder()), testkernels.Op(testkernels.Adder())),
		"parameter out is []float32 in the kernel, []int32 in the type that the handle was made for")
}

func TestFuncDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	dev := open(t)
	s := dev.DefaultStream()
	x, out := upload(t, dev, make([]float32, 64)...), upload(t, dev, make([]float32, 64)...)
	add := jit.Func(func(a, b float32) float32 { return a + b })
	fold := jit.Of(testkernels.Fold[float32])
	minimum := func(a, b float32) float32 { return min(a, b) }
	run := func() {
		assert.NoError(t, add.Map(s, out, x, x))
		assert.NoError(t, fold.Launch(s, runtime.Blocks(1, 32), out, x, dsl.ConstInt(1), minimum))
		assert.NoError(t, fold.Launch(s, runtime.Blocks(1, 32), out, x, dsl.ConstInt(1), add))
	}
	run()
	require.NoError(t, s.Sync())
	assert.Zero(t, testing.AllocsPerRun(200, func() {
		run()
		_ = s.Sync()
	}))
}

func TestFuncConcurrently(t *testing.T) {
	dev := open(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			f := jit.Func(func(a, b float32) float32 { return a - 2*b })
			x := upload(t, dev, float32(3), 5)
			if assert.NoError(t, f.Map(dev.DefaultStream(), x, x, x)) {
				got, err := x.Host()
				assert.NoError(t, err)
				assert.Equal(t, []float32{-3, -5}, got)
			}
		})
	}
	wg.Wait()
}
