package gen

import (
	"bytes"
	"embed"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/gen"
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/jit/record"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/gen/internal/clash"
	inner "github.com/gokiln/kiln/tests/gen/internal/real"
	"github.com/gokiln/kiln/tests/gen/other/real"
	"github.com/gokiln/kiln/tests/gen/shapes"
)

//go:embed gen_test.go
var source embed.FS

var _ = dsl.Source(source) // for the literals below

var update = flag.Bool("update", false, "write the generated files again")

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "kiln-gen")
	if err != nil {
		panic(err)
	}
	os.Setenv("KILN_CACHE_DIR", dir)
	os.Setenv("KILN_RECORD", filepath.Join(dir, "record"))
	code := tooltest.Run(m)
	os.RemoveAll(dir)
	os.Exit(code)
}

// TestCommitted makes the generated files again.
func TestCommitted(t *testing.T) {
	for _, dir := range []string{"shapes", "internal/clash", "program"} {
		all := readAll(t, dir)
		p := gen.Package{Package: &front.Package{Path: "github.com/gokiln/kiln/tests/gen/" + dir, Files: all}, All: all}
		files, list := gen.Generate(p, compiler.Registered)
		require.Empty(t, list)
		committed := 0
		for _, f := range files {
			name := filepath.Join(dir, f.Name)
			if *update {
				require.NoError(t, os.WriteFile(name, f.Text, 0o644))
			}
			have, err := os.ReadFile(name)
			require.NoError(t, err)
			assert.Equal(t, string(f.Text), strings.ReplaceAll(string(have), "\r\n", "\n"), "run go test ./tests/gen -update")
			committed++
		}
		found, err := filepath.Glob(filepath.Join(dir, "zz_kernels*.go"))
		require.NoError(t, err)
		assert.Len(t, found, committed)
		assert.Empty(t, gen.Check(gen.Package{Package: p.Package, All: readAll(t, dir)}, compiler.Registered))
	}
}

func readAll(t *testing.T, dir string) (files []front.File) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		files = append(files, front.File{Name: filepath.Base(name), Text: text})
	}
	return files
}

// bench is a device with the memory that a test needs.
type bench struct {
	testing.TB
	dev *runtime.Device
	s   *runtime.Stream
}

func open(t testing.TB) bench {
	dev, err := runtime.Open("cpu")
	require.NoError(t, err)
	t.Cleanup(func() { dev.Close() })
	return bench{t, dev, dev.DefaultStream()}
}

func slice[T any](b bench, s ...T) runtime.Slice[T] {
	b.Helper()
	x, err := runtime.From(b.dev, s)
	require.NoError(b, err)
	return x
}

func want[T any](b bench, x runtime.Slice[T], s ...T) {
	b.Helper()
	got, err := x.Host()
	require.NoError(b, err)
	assert.Equal(b, s, got)
}

var grid = runtime.Blocks(1, 64)

func TestShapes(t *testing.T) {
	b := open(t)
	ok := func(err error) { t.Helper(); require.NoError(t, err) }

	x, y := slice[float32](b, 1, 2, 3), slice[float32](b, 10, 20, 30)
	ok(shapes.PrepareAxpy[float32](b.dev))
	ok(shapes.LaunchAxpy(b.s, grid, y, x, 2))
	want(b, y, 12, 24, 36)
	d := slice(b, 1.5, 2.5)
	ok(shapes.Sums(b.s, d, 2, slice(b, 1.0, 1), slice(b, 0.5, 1)))
	want(b, d, 4.5, 6.5)

	out := slice(b, 0.0)
	ok(shapes.LaunchScalars(b.s, grid, out, true, -1, 2, 3.5, 4, dsl.To[dsl.F16](0.25), 1000))
	want(b, out, 1008.75)

	bytes := slice[byte](b, 1, 255)
	ok(shapes.Increment(b.s, bytes))
	want(b, bytes, 2, 0)

	ints := slice[int32](b, 0, 0)
	ok(shapes.PrepareFill(b.dev, 7, true))
	ok(shapes.LaunchFill(b.s, grid, ints, 7, true))
	want(b, ints, -7, -7)

	cfg := shapes.Config[float64]{Tile: 4, Scale: 10}
	cfg.Taps[1].On = true
	in, res := slice(b, 1.0, 2, 3), slice(b, 0.0, 0, 0)
	ok(shapes.PrepareFilter(b.dev, cfg))
	ok(shapes.LaunchFilter(b.s, grid, res, in, cfg, [3]float64{1, 2, 3}, struct{ From, To int }{1, 3}))
	want(b, res, 0, -40, -60)

	halves, eighths := slice[float32](b, 0, 0), slice[float32](b, 1, 2, 3, 4)
	ok(shapes.PrepareFold(b.dev, func(a, b float32) float32 { return a*b + 1 }))
	ok(shapes.LaunchFold(b.s, grid, halves, eighths, func(a, b float32) float32 { return a*b + 1 }))
	want(b, halves, 3, 13)
	ok(shapes.LaunchFold(b.s, grid, halves, eighths, real.Add))
	want(b, halves, 3, 7)
	ok(shapes.KernelFold[float32]().Launch(b.s, grid, halves, eighths, jit.Func(real.Add[float32])))

	ok(shapes.LaunchTwice(b.s, grid, ints, func(a, b int32) int32 { return a + b }, real.Add[int32]))
	want(b, ints, -2, -2)

	ok(shapes.LaunchConvert(b.s, grid, ints, slice[float32](b, 2.5, -3.5)))
	want(b, ints, 2, -3)
	half := slice(b, 3.0, 5)
	ok(shapes.LaunchActivate(b.s, grid, half, shapes.Half[float64]{By: 2}))
	want(b, half, 1.5, 2.5)
	ok(shapes.LaunchNamed(b.s, grid, x, 3))
	want(b, x, 3, 6, 9)
	ok(shapes.LaunchCore[shapes.Vec](b.s, grid, x, y))
	want(b, x, 15, 30, 45)
	ok(shapes.LaunchListed(b.s, grid, half, inner.Range{From: 1, To: 2}))
	want(b, half, 1.5, -2.5)

	var strip struct { // of the program's own
		Line    runtime.Slice[float64]
		Weights struct {
			Of   runtime.Slice[float32]
			Last int
		}
		Taps [2]float64
	}
	strip.Line, strip.Weights.Of, strip.Weights.Last, strip.Taps[1] = half, slice[float32](b, 2, 3), 1, 10
	ok(shapes.LaunchWeigh(b.s, grid, strip, 2))
	want(b, half, 18, -32.5)

	small, wide := slice[int32](b, -5, 5), slice[int64](b, -50, 50)
	ok(shapes.LaunchForeign(b.s, grid, small, wide, real.Pair[int32]{Low: -1, High: 1}, slice(b, real.Pair[int64]{Low: -10, High: 10})))
	want(b, small, -1, 1)
	want(b, wide, -10, 10)

	ok(shapes.LaunchNames(b.s, grid, ints, 1, 2, 3, 4, 1000, 5, 6))
	want(b, ints, 21, 21)
	ok(shapes.LaunchUnnamed(b.s, grid, ints, 1))
	ok(shapes.LaunchLaunchOne(b.s, grid, ints))
	want(b, ints, 1, 1)
	ok(shapes.LaunchOneKernel(b.s, grid, ints))
	want(b, ints, 11, 11)
	ok(shapes.LaunchTagged(b.s, grid, ints, shapes.Extra{By: 2}))
	want(b, ints, 13, 13)

	add := clash.Run().(func(*runtime.Stream, runtime.Grid, runtime.Slice[int32], clash.Type) error)
	ok(add(b.s, grid, ints, clash.V(7)))
	want(b, ints, 23, 23)
	ok(clash.LaunchAdd(b.s, grid, ints, -20))
	want(b, ints, 3, 3)
	instances(t)
}

// instances compares what the comments of the kernels ask for with what launches asked for:
// it is found only if it is the same to the letter.
func instances(t *testing.T) {
	text, err := os.ReadFile(os.Getenv("KILN_RECORD"))
	require.NoError(t, err)
	var launched record.Set
	require.NoError(t, launched.ReadFrom("record", bytes.NewReader(text)))
	var lines []string
	for _, s := range launched.Specs() {
		s.Builds, s.Targets = nil, nil
		lines = append(lines, s.String())
	}
	p, err := compiler.Registered("github.com/gokiln/kiln/tests/gen/shapes")
	require.NoError(t, err)
	reqs, err := front.Instances(p, compiler.Registered)
	require.NoError(t, err)
	require.Len(t, reqs, 18)
	for _, r := range reqs {
		assert.Contains(t, lines, record.Of(r).String())
	}
}

// A wrong launch of a launcher says what Kernel.Launch says.
func TestErrors(t *testing.T) {
	b := open(t)
	x := slice[float32](b, 1)
	err := shapes.LaunchAxpy(b.s, runtime.Blocks(1, 1<<20), x, x, 1)
	require.ErrorContains(t, err, "shapes.Axpy: block of 1048576 threads")
	by := float32(2)
	err = shapes.LaunchFold(b.s, grid, x, x, func(a, c float32) float32 { return a*by + c })
	require.ErrorContains(t, err, "K0134")
	require.Same(t, jit.Of(shapes.Axpy[float32]), shapes.KernelAxpy[float32]())
}

func TestAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	b := open(t)
	x, y := slice[float32](b, 1, 2, 3, 4), slice[float32](b, 1, 2)
	d := slice(b, 1.0, 2)
	ints := slice[int32](b, 1)
	cfg := shapes.Config[float64]{Tile: 4, Scale: 10}
	add := func(a, b float32) float32 { return a + b }
	run := func() {
		assert.NoError(t, shapes.LaunchAxpy(b.s, grid, y, x, 0.5))
		assert.NoError(t, shapes.Sums(b.s, d, 2, d))
		assert.NoError(t, shapes.LaunchFilter(b.s, grid, d, d, cfg, [3]float64{1, 2, 3}, struct{ From, To int }{1, 2}))
		assert.NoError(t, shapes.LaunchFold(b.s, grid, y, x, add))
		assert.NoError(t, shapes.LaunchFill(b.s, grid, ints, 7, true))
		assert.NoError(t, shapes.LaunchTagged(b.s, grid, ints, shapes.Extra{By: 2}))
	}
	run()
	require.NoError(t, b.s.Sync())
	assert.Zero(t, testing.AllocsPerRun(200, func() {
		run()
		_ = b.s.Sync()
	}))
}

// BenchmarkLaunch compares a launcher with the handle that it stands for.
func BenchmarkLaunch(b *testing.B) {
	dev := open(b)
	x, y := slice[float32](dev, 1, 2, 3), slice[float32](dev, 10, 20, 30)
	k := jit.Of(shapes.Axpy[float32])
	require.NoError(b, k.Prepare(dev.dev))
	for name, launch := range map[string]func() error{
		"launcher": func() error { return shapes.LaunchAxpy(dev.s, grid, y, x, 1) },
		"handle":   func() error { return k.Launch(dev.s, grid, y, x, float32(1)) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := launch(); err != nil {
					b.Fatal(err)
				}
			}
			require.NoError(b, dev.s.Sync())
		})
	}
}
