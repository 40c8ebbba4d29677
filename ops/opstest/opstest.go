package opstest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

// families are the tests of each class of operations.
var families = []struct {
	name string
	run  func(*testing.T, *bench)
}{
	{"Elementwise", elementwise},
	{"Move", move},
	{"Many", many},
	{"Sort", sorting},
	{"Scan", scan},
	{"RowNorm", rowNorm},
	{"Index", index},
	{"Search", searching},
	{"Narrow", narrow},
	{"Sums", sums},
	{"Map", mapped},
	{"Matmul", matmul},
	{"Conv", convolution},
	{"Linear", linear},
	{"Fourier", fourier},
	{"Random", random},
	{"Reduce", reduce},
}

// RunAll tests all operations on a device.
func RunAll(t *testing.T, dev *runtime.Device) { run(t, dev, share{}) }

func run(t *testing.T, dev *runtime.Device, part share) {
	info := dev.Info()
	require.Positive(t, info.Units, "work is divided among the units of a device")
	require.GreaterOrEqual(t, info.ThreadsPerUnit, info.WarpSize)
	for _, f := range families {
		t.Run(f.name, func(t *testing.T) {
			part := part.again()
			f.run(t, &bench{dev: dev, s: dev.DefaultStream(), rng: rand.New(rand.NewPCG(1, 2)), share: part})
		})
	}
}

// bench makes operands on a device.
type bench struct {
	dev   *runtime.Device
	s     *runtime.Stream
	rng   *rand.Rand
	share share
}

// has reports whether the device computes with a type; Metal has no F64. A kernel that cannot
// be prepared for another reason is a failure of the cases with the type.
func (b *bench) has(d dtype.DType) bool {
	return d != dtype.F64 || !errors.Is(jit.Of(kernels.Fill[float64]).Prepare(b.dev, kernels.Walk{}), jit.ErrUnsupported)
}

// value is elements on the device and what they are.
type value struct {
	ops.View
	want []dtype.Scalar // in row-major order
	all  []dtype.Scalar // what is in the buffer, elements that no index reaches included
}

// shapes are those that elementwise operations are tried with.
var shapes = []layout.Shape{{}, {0}, {1}, {7}, {33, 5}, {2, 3, 4}, {5, 70}, {3, 0, 2}, {1000}}

// kinds are the ways in which the elements of an operand lie in its buffer.
var kinds = []string{"dense", "transposed", "narrowed", "stepped", "broadcast"}

// layoutOf returns a layout of a shape, of one of the kinds.
func layoutOf(t *testing.T, kind string, s layout.Shape) layout.Layout {
	t.Helper()
	must := func(l layout.Layout, err error) layout.Layout { require.NoError(t, err); return l }
	s = slices.Clone(s)
	last := len(s) - 1
	switch {
	case kind == "transposed" && last > 0:
		s[0], s[last] = s[last], s[0]
		return must(layout.Contiguous(s).Transpose(0, last))
	case kind == "narrowed" && last >= 0:
		n := s[last]
		s[last] += 3
		return must(layout.Contiguous(s).Narrow(last, 2, n))
	case kind == "stepped" && last >= 0:
		n := s[last]
		s[last] = n*2 + 1
		l := must(layout.Contiguous(s).Step(last, 2))
		return must(l.Narrow(last, 1, n))
	case kind == "broadcast" && last >= 0:
		one := slices.Clone(s)
		one[0] = 1
		if s[0] == 0 {
			return layout.Contiguous(s)
		}
		return must(layout.Contiguous(one).BroadcastTo(s))
	}
	return layout.Contiguous(s)
}

// guard is how many elements lie before and after those of an operand.
const guard = 9

// value puts elements, which draw makes, on the device, in a buffer with poison around
// them.
func (b *bench) value(t *testing.T, d dtype.DType, l layout.Layout, draw func() dtype.Scalar) *value {
	t.Helper()
	v := &value{all: make([]dtype.Scalar, l.Offset()+l.Span()+2*guard)}
	for i := range v.all {
		v.all[i] = poison(d)
	}
	at, err := layout.New(l.Shape(), l.Strides(), l.Offset()+guard)
	require.NoError(t, err)
	for i := range at.Offsets() {
		v.all[i] = draw()
	}
	for i := range at.Offsets() { // where indices share an element the last one counts
		v.want = append(v.want, v.all[i])
	}
	var bytes []byte
	for _, x := range v.all {
		bytes = x.Append(bytes)
	}
	mem, err := runtime.From(b.dev, bytes)
	require.NoError(t, err)
	t.Cleanup(func() { _ = mem.Free() })
	v.View = ops.View{Buf: mem.Buffer(), DType: d, Layout: at}
	return v
}

// store puts what is in all on the device, for tests that have changed it.
func (b *bench) store(t *testing.T, v *value) {
	t.Helper()
	var bytes []byte
	for _, x := range v.all {
		bytes = x.Append(bytes)
	}
	mem, err := runtime.View[byte](v.Buf)
	require.NoError(t, err)
	require.NoError(t, mem.CopyFrom(bytes))
}

func poison(d dtype.DType) dtype.Scalar {
	if d.IsFloat() {
		return dtype.FromFloat(d, math.NaN())
	}
	return dtype.FromBits(d, 0xABABABABABABABAB)
}

// result makes room for a result, full of poison.
func (b *bench) result(t *testing.T, d dtype.DType, l layout.Layout) *value {
	t.Helper()
	return b.value(t, d, l, func() dtype.Scalar { return poison(d) })
}

// read returns the elements of a value as the device has them now, and fails the test if
// others have changed.
func (b *bench) read(t *testing.T, v *value) []dtype.Scalar {
	t.Helper()
	mem, err := runtime.View[byte](v.Buf)
	require.NoError(t, err)
	raw, err := mem.Host()
	require.NoError(t, err)
	out, err := v.elements(raw)
	require.NoError(t, err)
	return out
}

// elements returns the elements of a value of which raw is the buffer's content. It is an error
// if what no index reaches has changed.
func (v *value) elements(raw []byte) ([]dtype.Scalar, error) {
	size := v.DType.Size()
	at := func(i int) dtype.Scalar {
		var bits uint64
		for k := range size {
			bits |= uint64(raw[i*size+k]) << (8 * k)
		}
		return dtype.FromBits(v.DType, bits)
	}
	inside := map[int]bool{}
	var out []dtype.Scalar
	for i := range v.Layout.Offsets() {
		inside[i] = true
		out = append(out, at(i))
	}
	for i, was := range v.all {
		if !inside[i] && was.Bits() != at(i).Bits() {
			return nil, fmt.Errorf("element %d outside of the result was written: %#x, was %#x", i-guard, at(i).Bits(), was.Bits())
		}
	}
	return out, nil
}

// number draws a number of a type: of all sizes for floats, special ones among them,
// and at the edges of integers.
func (b *bench) number(d dtype.DType) dtype.Scalar {
	if d.IsInt() {
		edges := []int64{0, 1, -1, 2, 3, 255, -128, 127, math.MaxInt16, math.MinInt16, math.MaxInt32, math.MinInt32, math.MaxUint32, math.MaxInt64, math.MinInt64}
		if b.rng.IntN(4) == 0 {
			return dtype.FromBits(d, uint64(edges[b.rng.IntN(len(edges))]))
		}
		return dtype.FromBits(d, uint64(int64(b.rng.Uint64())>>b.rng.IntN(64)))
	}
	special := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 2.5, -3.5, math.Inf(1), math.Inf(-1), math.NaN(), 1e-40, 60000, -60000, 3e38, -3e38}
	if b.rng.IntN(5) == 0 {
		return dtype.FromFloat(d, special[b.rng.IntN(len(special))])
	}
	return dtype.FromFloat(d, (b.rng.Float64()*2-1)*math.Pow(10, b.rng.Float64()*4-2))
}

// near reports how two numbers of a type differ: not at all, or, for floating-point
// types, by at most so many units in the last place.
func near(got, want dtype.Scalar, ulps float64) error {
	g, w := got.Float(), want.Float()
	if got.Bits() == want.Bits() || g != g && w != w || g == w && g == 0 {
		return nil
	}
	if got.DType().IsFloat() && ulps > 0 && !math.IsInf(w, 0) && math.Abs(g-w) <= ulps*ulp(got.DType(), w) {
		return nil
	}
	return fmt.Errorf("got %v (%#x), want %v (%#x)", got, got.Bits(), want, want.Bits())
}

// ulp is the distance of neighbours of a floating-point type about x.
func ulp(d dtype.DType, x float64) float64 {
	bits := map[dtype.DType]int{dtype.F64: 52, dtype.F32: 23, dtype.F16: 10, dtype.BF16: 7, dtype.F8E4M3: 3, dtype.F8E5M2: 2}[d]
	least := map[dtype.DType]int{dtype.F64: -1022, dtype.F32: -126, dtype.F16: -14, dtype.BF16: -126, dtype.F8E4M3: -6, dtype.F8E5M2: -14}[d]
	_, exp := math.Frexp(x)
	if x == 0 {
		exp = least
	}
	return math.Ldexp(1, max(exp-1, least)-bits)
}

// compare compares all elements.
func compare(got, want []dtype.Scalar, ulps float64) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d elements, want %d", len(got), len(want))
	}
	for i := range got {
		if err := near(got[i], want[i], ulps); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	return nil
}
