package opstest

import (
	"io"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

// reported runs a test of its own, and returns whether it passed and what it printed.
func reported(t *testing.T, f func(*testing.T)) (passed bool, text string) {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	printed := make(chan string)
	go func() {
		all, _ := io.ReadAll(r)
		printed <- string(all)
	}()
	stdout := os.Stdout
	os.Stdout = w
	passed = testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "Fake", F: f}})
	os.Stdout = stdout
	require.NoError(t, w.Close())
	return passed, <-printed
}

// fake is an operation on the host, which doubles numbers, with a fault.
type fake func(d dtype.DType, out, in []dtype.Scalar, at, from []int)

// double is the operation without one. The offsets of elements are those of out and in.
func double(d dtype.DType, out, in []dtype.Scalar, at, from []int) {
	for i := range at {
		out[at[i]] = dtype.FromFloat(d, 2*in[from[i]].Float())
	}
}

// run reads both buffers, has the operation change them, and writes them.
func (f fake) run(t *testing.T, b *Bench, out, in *Value) {
	t.Helper()
	buffers := [2][]dtype.Scalar{}
	for k, v := range []*Value{out, in} {
		mem, err := runtime.View[byte](v.Buf)
		require.NoError(t, err)
		raw, err := mem.Host()
		require.NoError(t, err)
		for i := range v.All {
			buffers[k] = append(buffers[k], v.element(raw, i))
		}
	}
	var at, from []int
	for i := range out.Layout.Offsets() {
		at = append(at, i)
	}
	for i := range in.Layout.Offsets() {
		from = append(from, i)
	}
	f(out.DType, buffers[0], buffers[1], at, from)
	for k, v := range []*Value{out, in} {
		b.Store(t, &Value{View: v.View, All: buffers[k]})
	}
}

// cases tests the operation as families do theirs.
func (f fake) cases(t *testing.T, b *Bench) {
	for _, d := range []dtype.DType{dtype.F32, dtype.BF16, dtype.F64} {
		if !b.Has(d) {
			continue
		}
		b.Part(t, func(t *testing.T, b *Bench) {
			for kind, name := range Kinds {
				n := 0
				in := b.Value(t, d, LayoutOf(t, name, layout.Shape{6, 5}), func() dtype.Scalar {
					n++
					return dtype.FromFloat(d, []float64{1, math.NaN(), -3, 0.5}[n%4])
				})
				out := b.Output(t, d, layout.Shape{6, 5}, kind)
				f.run(t, b, out, in)
				var want []dtype.Scalar
				for _, x := range in.Want {
					want = append(want, dtype.FromFloat(d, 2*x.Float()))
				}
				require.NoError(t, Compare(b.Read(t, out), want, 0))
			}
		}, "%v", d)
	}
}

// What the harness is for is reported of an operation: a wrong element, type or NaN, and writing where it
// has no business. One that is right passes.
func TestFaultsAreReported(t *testing.T) {
	dev, err := runtime.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	in := func(fault func(d dtype.DType, out, in []dtype.Scalar, at, from []int)) fake {
		return func(d dtype.DType, out, in []dtype.Scalar, at, from []int) {
			double(d, out, in, at, from)
			fault(d, out, in, at, from)
		}
	}
	one := func(d dtype.DType) dtype.Scalar { return dtype.FromFloat(d, 1) }
	for name, c := range map[string]struct {
		op   fake
		says string
	}{
		"right": {double, ""},
		"wrong": {in(func(d dtype.DType, out, _ []dtype.Scalar, at, _ []int) { out[at[29]] = one(d) }), "element 29: got 1"},
		"last bit": {in(func(d dtype.DType, out, _ []dtype.Scalar, at, _ []int) {
			out[at[0]] = dtype.FromBits(d, out[at[0]].Bits()^1)
		}), "element 0: got"},
		"not written":  {in(func(d dtype.DType, out, _ []dtype.Scalar, at, _ []int) { out[at[0]] = poison(d) }), "element 0 of the result was not written"},
		"before":       {in(func(d dtype.DType, out, _ []dtype.Scalar, _, _ []int) { out[Guard-1] = one(d) }), "element -1 outside of the result was written"},
		"behind":       {in(func(d dtype.DType, out, _ []dtype.Scalar, _, _ []int) { out[len(out)-Guard] = one(d) }), "outside of the result was written"},
		"operand":      {in(func(d dtype.DType, _, in []dtype.Scalar, _, from []int) { in[from[3]] = dtype.FromFloat(d, 7) }), "of an operand was written"},
		"by operand":   {in(func(d dtype.DType, _, in []dtype.Scalar, _, _ []int) { in[0] = one(d) }), "element -9 of an operand was written"},
		"loses NaN":    {in(func(d dtype.DType, out, _ []dtype.Scalar, at, _ []int) { lose(d, out, at) }), "want NaN"},
		"one type":     {in(func(d dtype.DType, out, _ []dtype.Scalar, at, _ []int) { ofType(d, dtype.F64, out, at) }), "--- FAIL: Fake/Fakes/f64"},
		"another type": {in(func(d dtype.DType, out, _ []dtype.Scalar, at, _ []int) { ofType(d, dtype.BF16, out, at) }), "--- FAIL: Fake/Fakes/bf16"},
	} {
		t.Run(name, func(t *testing.T) {
			passed, text := reported(t, func(t *testing.T) { Run(t, dev, []Group{{Name: "Fakes", Run: c.op.cases}}, All()) })
			require.Equal(t, c.says == "", passed, text)
			require.Contains(t, text, c.says)
		})
	}
}

// lose puts a number in place of each NaN.
func lose(d dtype.DType, out []dtype.Scalar, at []int) {
	for _, i := range at {
		if out[i].Float() != out[i].Float() {
			out[i] = dtype.FromFloat(d, 1)
		}
	}
}

// ofType makes the first element of one type wrong.
func ofType(d, wrong dtype.DType, out []dtype.Scalar, at []int) {
	if d == wrong {
		out[at[0]] = dtype.FromFloat(d, 99)
	}
}

// A type that a device is said to be without is named, and has to be missing there.
func TestWithout(t *testing.T) {
	dev, err := runtime.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	passed, text := reported(t, func(t *testing.T) { Run(t, dev, []Group{{Name: "Fakes", Run: fake(double).cases}}, All(), dtype.F64) })
	require.False(t, passed)
	require.Contains(t, text, "the device has the type")
	require.Contains(t, text, "Fake/Without/f64")
	require.False(t, NewBench(dev, dtype.F64).Has(dtype.F64))
	require.True(t, NewBench(dev).Has(dtype.F64))
}

// Choices depend on what they are of and on nothing else, and take all values.
func TestChoice(t *testing.T) {
	seen := map[int]int{}
	for i := range 1000 {
		c := Choice(5, "a", i)
		require.Equal(t, c, Choice(5, "a", i))
		seen[c]++
	}
	require.Len(t, seen, 5)
	for _, n := range seen {
		require.InDelta(t, 200, n, 60)
	}
}
