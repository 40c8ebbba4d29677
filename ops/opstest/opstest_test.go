package opstest

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

// What a kernel writes outside of its result is found, before, behind and between the elements.
func TestElementsOutside(t *testing.T) {
	dev, err := runtime.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	b := NewBench(dev)
	for _, d := range []dtype.DType{dtype.U8, dtype.BF16, dtype.F32, dtype.I64} {
		v := b.Result(t, d, LayoutOf(t, "stepped", layout.Shape{3, 4}))
		v.result = false // of which elements may be what they are
		raw, err := runtime.View[byte](v.Buf)
		require.NoError(t, err)
		clean, err := raw.Host()
		require.NoError(t, err)
		inside := map[int]bool{}
		for i := range v.Layout.Offsets() {
			inside[i] = true
		}
		require.Len(t, inside, 12)
		for i := range v.All {
			for at := i * d.Size(); at < (i+1)*d.Size(); at++ {
				clean[at] ^= 1
				out, err := v.elements(clean)
				clean[at] ^= 1
				if inside[i] {
					require.NoError(t, err)
					require.Len(t, out, 12)
				} else {
					require.ErrorContains(t, err, "outside of the result was written", "%v, byte %d", d, at)
				}
			}
		}
	}
}

// Every part is in exactly one of the shares, and the shares are of about the same size.
func TestShares(t *testing.T) {
	const n, parts = 5, 1000
	var sizes [n]int
	rng := rand.New(rand.NewPCG(3, 4))
	for range parts {
		hash, in := rng.Uint64(), 0
		for first := range n {
			if (Share{first: first, n: n}).has(hash) {
				sizes[first]++
				in++
			}
		}
		require.Equal(t, 1, in)
		require.True(t, Share{}.has(hash))
	}
	for _, size := range sizes {
		require.InDelta(t, parts/n, size, 60)
	}
}

// Of parts of which some are run and a share of the others, all shares together have all, and each
// has what some have.
func TestSomeAnd(t *testing.T) {
	const operations, shares = 50, 4
	ran := map[string]int{}
	var least []*part
	for first := range shares {
		b := &Bench{share: SomeAnd(first, shares)}
		require.False(t, b.Some())
		for op := range operations {
			for _, d := range dtype.All() {
				b.Part(t, nil, "%d/%v", op, d)
			}
		}
		least = some(b.parts, false)
		for _, p := range b.share.chosen(b.parts) {
			ran[p.full()]++
		}
	}
	require.Len(t, ran, operations*len(dtype.All()))
	for _, p := range least {
		require.Equal(t, shares, ran[p.full()])
		delete(ran, p.full())
	}
	for name, n := range ran {
		require.Equal(t, 1, n, name)
	}
}

// Some parts have every operation and every type, few of them more than once, and another operation
// changes few of them.
func TestSome(t *testing.T) {
	const operations = 50
	product := func(n int) []*part {
		b := &Bench{share: Some()}
		for op := range n {
			for _, d := range dtype.All() {
				b.Part(t, nil, "%d/%v", op, d)
			}
		}
		return b.share.chosen(b.parts)
	}
	names := func(list []*part) (names []string) {
		for _, p := range list {
			names = append(names, p.full())
		}
		return names
	}
	ran := product(operations)
	ops, types := map[any]int{}, map[any]int{}
	for _, p := range ran {
		ops[p.args[0]]++
		types[p.args[1]]++
	}
	require.Len(t, ops, operations)
	require.Len(t, types, len(dtype.All()))
	require.Less(t, len(ran), operations+len(types))
	require.Less(t, slices.Max(slices.Collect(maps.Values(types))), operations/4, "one type has most operations")
	more := names(product(operations + 1))
	gone := slices.DeleteFunc(names(ran), func(n string) bool { return slices.Contains(more, n) })
	require.LessOrEqual(t, len(gone), 1)
}

// Layouts of each kind have the shape, and no two indices the same element but where they are
// broadcast.
func TestLayouts(t *testing.T) {
	for _, kind := range Kinds {
		for _, s := range Shapes {
			l := LayoutOf(t, kind, s)
			require.Equal(t, s, l.Shape(), kind)
			seen := map[int]bool{}
			for i := range l.Offsets() {
				seen[i] = true
			}
			if n := s.Count(); kind != "broadcast" {
				require.Len(t, seen, n, "%s %v", kind, s)
			}
		}
	}
	require.False(t, LayoutOf(t, "transposed", layout.Shape{3, 4}).IsContiguous())
	require.False(t, LayoutOf(t, "stepped", layout.Shape{3, 4}).IsContiguous())
}

// The distance of two numbers is counted in units in the last place of what is wanted.
func TestNear(t *testing.T) {
	f32 := func(x float64) dtype.Scalar { return dtype.FromFloat(dtype.F32, x) }
	for _, c := range []struct {
		got, want float64
		ulps      float64
		ok        bool
	}{
		{1 + 2*0x1p-23, 1, 2, true}, {1 + 3*0x1p-23, 1, 2, false}, {1 - 0x1p-23, 1, 1, true}, {1, 1 + 0x1p-23, 0, false},
		{0, math.Copysign(0, -1), 0, true}, {math.NaN(), math.NaN(), 0, true}, {math.NaN(), 1, 1e9, false}, {1, math.NaN(), 1e9, false},
		{math.Inf(1), math.Inf(1), 0, true}, {math.MaxFloat32, math.Inf(1), 1e9, false}, {math.Inf(-1), math.Inf(1), 1e9, false},
		{0x1p-149, 0, 1, true}, {0x3p-149, 0, 2, false},
	} {
		err := Near(f32(c.got), f32(c.want), c.ulps)
		require.Equal(t, c.ok, err == nil, "%+v: %v", c, err)
	}
	require.Error(t, Near(dtype.FromInt(dtype.I32, 2), dtype.FromInt(dtype.I32, 1), 5), "integers are exact")
	require.Error(t, Compare([]dtype.Scalar{f32(1)}, nil, 0))
	for d, want := range map[dtype.DType]float64{dtype.F64: 0x1p-52, dtype.F32: 0x1p-23, dtype.F16: 0x1p-10, dtype.BF16: 0x1p-7, dtype.F8E4M3: 0.125, dtype.F8E5M2: 0.25} {
		require.Equal(t, want, ULP(d, 1.5), d)
		require.Equal(t, want/2, ULP(d, 0.75), d)
	}
}

// TestFew has every operation and every type, and of the shapes some and not all.
func TestFew(t *testing.T) {
	b := &Bench{share: Few()}
	for op := range 20 {
		for _, d := range dtype.All() {
			for shape := range 60 {
				b.parts = append(b.parts, &part{name: fmt.Sprintf("op%d/%%v/%%d", op), args: []any{d, shape}})
			}
		}
	}
	names, types := map[string]bool{}, map[any]bool{}
	for _, p := range b.share.chosen(b.parts) {
		names[p.name], types[p.args[0]] = true, true
	}
	require.Len(t, names, 20)
	require.Len(t, types, len(dtype.All()))
	require.Less(t, len(b.share.chosen(b.parts)), len(Some().chosen(b.parts))/2)
}
