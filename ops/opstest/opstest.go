package opstest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/elementwise"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

// Family is a family of operations: a package below ops, its kernels and its cases.
type Family struct {
	Name   string // of the package; that of its kernels is kernels in its folder
	Groups []Group
}

// Group is a test of some operations of a family.
type Group struct {
	Name string
	Run  func(*testing.T, *Bench)
	Rows bool // devices have different strategies for it, by the length and number of rows
}

// Run tests groups of operations on a device, or a share of their parts. Without are the types
// that the device does not compute with, of which there are no cases. A type is never left out
// because something of it does not work.
func Run(t *testing.T, dev *runtime.Device, groups []Group, of Share, without ...dtype.DType) {
	info := dev.Info()
	require.Positive(t, info.Units, "work is divided among the multiprocessors of a device")
	require.GreaterOrEqual(t, info.ThreadsPerUnit, info.WarpSize)
	leftOut(t, NewBench(dev, without...))
	for _, f := range groups {
		t.Run(f.Name, func(t *testing.T) {
			b := NewBench(dev, without...)
			b.share = of
			f.Run(t, b)
			for _, p := range of.chosen(b.parts) {
				b.start(t, p)
			}
		})
	}
}

// NewBench makes operands on a device, the same ones each time. Without are the types that the
// device does not compute with.
func NewBench(dev *runtime.Device, without ...dtype.DType) *Bench {
	return &Bench{Device: dev, Stream: dev.DefaultStream(), Rand: rand.New(rand.NewPCG(1, 2)), without: without}
}

// Bench makes operands on a device.
type Bench struct {
	Device  *runtime.Device
	Stream  *runtime.Stream
	Rand    *rand.Rand
	share   Share
	parts   []*part // of which some are to run
	without []dtype.DType
}

// Has reports whether there are cases with a type: with all but those that [Run] was given.
func (b *Bench) Has(d dtype.DType) bool { return !slices.Contains(b.without, d) }

// leftOut says by name of which types there are no cases, and fails where the device has the type.
func leftOut(t *testing.T, b *Bench) {
	for _, d := range b.without {
		t.Run("Without/"+d.String(), func(t *testing.T) {
			out := b.Result(t, d, layout.Contiguous(layout.Shape{1}))
			in := b.Value(t, d, layout.Contiguous(layout.Shape{1}), func() dtype.Scalar { return dtype.One(d) })
			err := elementwise.Sqrt.Run(b.Stream, out.View, []ops.View{in.View})
			require.ErrorIs(t, err, jit.ErrUnsupported, "the device has the type")
			t.Skipf("no cases of %v: %v", d, err)
		})
	}
}

// Value is elements on the device and what they are.
type Value struct {
	ops.View
	Want []dtype.Scalar // in row-major order
	All  []dtype.Scalar // what is in the buffer, elements that no index reaches included

	result bool // nothing of it is wanted before an operation has written it
	read   bool // its test has looked at it
}

// Shapes are those that elementwise operations are tried with.
var Shapes = []layout.Shape{{}, {0}, {1}, {7}, {33, 5}, {2, 3, 4}, {5, 70}, {3, 0, 2}, {1000}}

// Kinds are the layouts of an operand in its buffer.
var Kinds = []string{"dense", "transposed", "narrowed", "stepped", "broadcast"}

// LayoutOf returns a layout of a shape, of one of the kinds.
func LayoutOf(t *testing.T, kind string, s layout.Shape) layout.Layout {
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

// Guard is how many elements lie before and after those of an operand.
const Guard = 9

// Value puts elements, which draw makes, on the device, in a buffer with poison around
// them.
func (b *Bench) Value(t *testing.T, d dtype.DType, l layout.Layout, draw func() dtype.Scalar) *Value {
	t.Helper()
	v := &Value{All: make([]dtype.Scalar, l.Offset()+l.Span()+2*Guard)}
	for i := range v.All {
		v.All[i] = poison(d)
	}
	at, err := layout.New(l.Shape(), l.Strides(), l.Offset()+Guard)
	require.NoError(t, err)
	for i := range at.Offsets() {
		v.All[i] = draw()
	}
	for i := range at.Offsets() { // where indices share an element the last one counts
		v.Want = append(v.Want, v.All[i])
	}
	var bytes []byte
	for _, x := range v.All {
		bytes = x.Append(bytes)
	}
	mem, err := runtime.From(b.Device, bytes)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := v.unchanged(mem); err != nil {
			t.Error(err)
		}
		_ = mem.Free()
	})
	v.View = ops.View{Buf: mem.Buffer(), DType: d, Layout: at}
	return v
}

// unchanged returns an error where an operation has written to an operand: to what is no result,
// and what its test has not read after the operation, as it does with what is changed in place.
func (v *Value) unchanged(mem runtime.Slice[byte]) error {
	if v.result || v.read {
		return nil
	}
	raw, err := mem.Host()
	if err != nil {
		return nil // a failure that the test is about
	}
	for i, was := range v.All {
		if is := v.element(raw, i); is.Bits() != was.Bits() {
			return fmt.Errorf("element %d of an operand was written: %#x, was %#x, of %v %v", i-Guard, is.Bits(), was.Bits(), v.DType, v.Layout.Shape())
		}
	}
	return nil
}

// Store puts what is in all on the device, for tests that have changed it.
func (b *Bench) Store(t *testing.T, v *Value) {
	t.Helper()
	var bytes []byte
	for _, x := range v.All {
		bytes = x.Append(bytes)
	}
	mem, err := runtime.View[byte](v.Buf)
	require.NoError(t, err)
	require.NoError(t, mem.CopyFrom(bytes))
}

// poisons are NaN that nothing computes, of types that have one.
var poisons = map[dtype.DType]uint64{dtype.F64: 0x7FF5A5A5A5A5A5A5, dtype.F32: 0x7FA5A5A5, dtype.F16: 0x7DA5, dtype.BF16: 0x7FA5}

// Poison is what lies around operands and in results before they are computed, and whether no result
// is that.
func Poison(d dtype.DType) (x dtype.Scalar, unique bool) {
	_, unique = poisons[d]
	return poison(d), unique
}

func poison(d dtype.DType) dtype.Scalar {
	if bits, ok := poisons[d]; ok {
		return dtype.FromBits(d, bits)
	}
	if d.IsFloat() {
		return dtype.FromFloat(d, math.NaN())
	}
	return dtype.FromBits(d, 0xABABABABABABABAB)
}

// Result allocates a result, full of poison.
func (b *Bench) Result(t *testing.T, d dtype.DType, l layout.Layout) *Value {
	t.Helper()
	v := b.Value(t, d, l, func() dtype.Scalar { return poison(d) })
	v.result = true
	return v
}

// Read returns the elements of a value as the device has them now, and fails the test if
// others have changed or if an element of a result was not written, which would pass for a NaN.
func (b *Bench) Read(t *testing.T, v *Value) []dtype.Scalar {
	t.Helper()
	v.read = true
	mem, err := runtime.View[byte](v.Buf)
	require.NoError(t, err)
	raw, err := mem.Host()
	require.NoError(t, err)
	out, err := v.elements(raw)
	require.NoError(t, err)
	return out
}

// Outside fails the test if what lies around the elements of a value has changed.
func (b *Bench) Outside(t *testing.T, v *Value) {
	t.Helper()
	around := *v
	around.result = false // of which elements may be what they are
	v.read = true
	b.Read(t, &around)
}

// elements returns the elements of a value of which raw is the buffer's content. It is an error
// if what no index reaches has changed.
func (v *Value) elements(raw []byte) ([]dtype.Scalar, error) {
	inside := map[int]bool{}
	var out []dtype.Scalar
	for i := range v.Layout.Offsets() {
		inside[i] = true
		x := v.element(raw, i)
		if bits, ok := poisons[v.DType]; ok && v.result && x.Bits() == bits {
			return nil, fmt.Errorf("element %d of the result was not written", len(out))
		}
		out = append(out, x)
	}
	for i, was := range v.All {
		if is := v.element(raw, i); !inside[i] && was.Bits() != is.Bits() {
			return nil, fmt.Errorf("element %d outside of the result was written: %#x, was %#x", i-Guard, is.Bits(), was.Bits())
		}
	}
	return out, nil
}

// element is one of a buffer's content.
func (v *Value) element(raw []byte, i int) dtype.Scalar {
	var bits uint64
	size := v.DType.Size()
	for k := range size {
		bits |= uint64(raw[i*size+k]) << (8 * k)
	}
	return dtype.FromBits(v.DType, bits)
}

// Number draws a number of a type: of all sizes for floats, special ones among them,
// and at the edges of integers.
func (b *Bench) Number(d dtype.DType) dtype.Scalar {
	if d.IsInt() {
		edges := []int64{0, 1, -1, 2, 3, 255, -128, 127, math.MaxInt16, math.MinInt16, math.MaxInt32, math.MinInt32, math.MaxUint32, math.MaxInt64, math.MinInt64}
		if b.Rand.IntN(4) == 0 {
			return dtype.FromBits(d, uint64(edges[b.Rand.IntN(len(edges))]))
		}
		return dtype.FromBits(d, uint64(int64(b.Rand.Uint64())>>b.Rand.IntN(64)))
	}
	special := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 2.5, -3.5, math.Inf(1), math.Inf(-1), math.NaN(), 1e-40, 60000, -60000, 3e38, -3e38}
	if b.Rand.IntN(5) == 0 {
		return dtype.FromFloat(d, special[b.Rand.IntN(len(special))])
	}
	return dtype.FromFloat(d, (b.Rand.Float64()*2-1)*math.Pow(10, b.Rand.Float64()*4-2))
}

// Near reports how two numbers of a type differ: not at all, or, for floating-point
// types, by at most so many units in the last place.
func Near(got, want dtype.Scalar, ulps float64) error {
	g, w := got.Float(), want.Float()
	if got.Bits() == want.Bits() || g != g && w != w || g == w && g == 0 {
		return nil
	}
	if got.DType().IsFloat() && ulps > 0 && !math.IsInf(w, 0) && math.Abs(g-w) <= ulps*ULP(got.DType(), w) {
		return nil
	}
	return fmt.Errorf("got %v (%#x), want %v (%#x)", got, got.Bits(), want, want.Bits())
}

// ULP is the distance of neighbours of a floating-point type about x.
func ULP(d dtype.DType, x float64) float64 {
	one := dtype.One(d)
	_, digits := math.Frexp(dtype.FromBits(d, one.Bits()+1).Float() - 1) // behind the point, negative
	bits := 1 - digits
	_, least := math.Frexp(dtype.FromBits(d, 1).Float()) // of the smallest number
	least += bits - 1
	_, exp := math.Frexp(x)
	if x == 0 {
		exp = least
	}
	return math.Ldexp(1, max(exp-1, least)-bits)
}

// Compare compares all elements.
func Compare(got, want []dtype.Scalar, ulps float64) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d elements, want %d", len(got), len(want))
	}
	for i := range got {
		if err := Near(got[i], want[i], ulps); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	return nil
}
