package matmul

import (
	"io"
	"math"
	goruntime "runtime"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/opstest"
	"github.com/gokiln/kiln/runtime"
)

// TestBlocks multiplies in blocks of packed factors, whole ones and others, that lie along and across
// k, of one product and of several. Sums of small integers are exact.
func TestBlocks(t *testing.T) {
	for _, name := range []string{"cpu", "cpu:interp"} {
		dev, err := runtime.Open(name)
		require.NoError(t, err)
		defer dev.Close()
		b := opstest.NewBench(dev)
		for i, c := range [][3]int{{64, 64, 128}, {32, 32, 64}, {33, 47, 70}, {7, 65, 1}, {96, 40, 67}, {64, 32, 33}} {
			for _, types := range [][2]dtype.DType{{dtype.BF16, dtype.F32}, {dtype.BF16, dtype.BF16}, {dtype.I8, dtype.I32}, {dtype.U8, dtype.I32}, {dtype.I8, dtype.I8}} {
				if name != "cpu" && i != 2 {
					continue
				}
				for ways := range 4 {
					multiplied(t, b, "packed in blocks", types[0], types[1], c[0], c[1], c[2], ways)
				}
			}
		}
	}
}

// multiplied compares two products of m×k and k×n small integers by a strategy. Bits of ways say which
// factors are transposed in memory.
func multiplied(t *testing.T, b *opstest.Bench, strategy string, d, o dtype.DType, m, n, k, ways int) {
	t.Helper()
	const batch = 2
	lie := func(rows, columns int, transposed bool) layout.Layout {
		strides := []int{rows * columns, columns, 1}
		if transposed {
			strides = []int{rows * columns, 1, rows}
		}
		l, err := layout.New(layout.Shape{batch, rows, columns}, strides, 0)
		require.NoError(t, err)
		return l
	}
	draw := func() dtype.Scalar { return dtype.FromInt(d, int64(b.Rand.IntN(3))) }
	x, y := b.Value(t, d, lie(m, k, ways&1 != 0), draw), b.Value(t, d, lie(k, n, ways&2 != 0), draw)
	out := b.Output(t, o, layout.Shape{batch, m, n}, 0)
	require.NoError(t, MatmulBy(b.Stream, strategy, out.View, x.View, y.View))
	for i, got := range b.Read(t, out) {
		z, row, col := i/(m*n), i/n%m, i%n
		want := int64(0)
		for j := range k {
			want += int64(x.Want[(z*m+row)*k+j].Float() * y.Want[(z*k+j)*n+col].Float())
		}
		exact := dtype.FromInt(o, want)
		if o.IsInt() {
			exact = dtype.FromBits(o, uint64(want)) // which wraps
		}
		require.Equal(t, exact, got, "%v to %v, %d×%d×%d, ways %d: product %d, row %d, column %d", d, o, m, n, k, ways, z, row, col)
	}
}

// TestBlocksBits compares sums of bfloat16 with those that the processor's manual defines. By tile
// registers, of a step along k those of even and of odd elements are apart, by fused multiply-adds from
// zero on, both are added, and then added to the sum. By dot products of pairs the odd element comes
// first. Subnormal numbers are zero everywhere.
func TestBlocksBits(t *testing.T) {
	b := withPackedMMA(t)
	const m, n, k, step = 40, 72, 150, dsl.PackedBytes / 2
	fma := func(x, y, z float32) float32 { return flushed(dsl.FMA32(flushed(x), flushed(y), z)) }
	byTiles := func(x, y []float32) (sum float32) {
		for from := 0; from < k; from += step {
			var parts [2]float32
			for j := from; j < min(from+step, k); j++ {
				parts[j%2] = fma(x[j], y[j], parts[j%2])
			}
			sum = flushed(sum + flushed(parts[0]+parts[1]))
		}
		return sum
	}
	byPairs := func(x, y []float32) (sum float32) {
		for j := 0; j < k; j += 2 {
			sum = fma(x[j], y[j], fma(x[j+1], y[j+1], sum))
		}
		return sum
	}
	for _, draw := range []func() float64{
		func() float64 { return b.Rand.NormFloat64() },
		func() float64 { return math.Ldexp(b.Rand.NormFloat64(), b.Rand.IntN(60)-30) },
		func() float64 { return math.Ldexp(b.Rand.NormFloat64(), b.Rand.IntN(12)-68) }, // products that are subnormal
		func() float64 { return math.Ldexp(b.Rand.NormFloat64(), b.Rand.IntN(8)-130) }, // factors that are
	} {
		number := func() dtype.Scalar { return dtype.FromFloat(dtype.BF16, draw()) }
		x, y := b.Value(t, dtype.BF16, layout.Contiguous(layout.Shape{m, k}), number), b.Value(t, dtype.BF16, layout.Contiguous(layout.Shape{k, n}), number)
		out := b.Output(t, dtype.F32, layout.Shape{m, n}, 0)
		require.NoError(t, MatmulBy(b.Stream, "packed in blocks", out.View, x.View, y.View))
		var others [2]int
		for i, got := range b.Read(t, out) {
			var f, g [k]float32
			for j := range k {
				f[j], g[j] = float32(x.Want[i/n*k+j].Float()), float32(y.Want[j*n+i%n].Float())
			}
			for way, want := range []float32{byTiles(f[:], g[:]), byPairs(f[:], g[:])} {
				if float32(got.Float()) != want {
					if others[way]++; others[way] == 1 {
						t.Logf("way %d: row %d, column %d is %g, and not %g", way, i/n, i%n, got.Float(), want)
					}
				}
			}
		}
		require.True(t, others[0] == 0 || others[1] == 0, "%v of %d sums are others than those by tiles and by pairs", others, m*n)
	}
}

// flushed is x, or zero if x is subnormal.
func flushed(x float32) float32 {
	if math.Abs(float64(x)) < math.Ldexp(1, -126) {
		return 0
	}
	return x
}

// TestBlocksAndSignals multiplies on several goroutines while profiling signals and collections of
// garbage interrupt them: what is in tile registers must be kept.
func TestBlocksAndSignals(t *testing.T) {
	b := withPackedMMA(t)
	const m, n, k = 256, 256, 512
	small := func() dtype.Scalar { return dtype.FromInt(dtype.I8, int64(b.Rand.IntN(9)-4)) }
	x, y := b.Value(t, dtype.I8, layout.Contiguous(layout.Shape{m, k}), small), b.Value(t, dtype.I8, layout.Contiguous(layout.Shape{k, n}), small)
	multiply := func() []dtype.Scalar {
		out := b.Output(t, dtype.I32, layout.Shape{m, n}, 0)
		require.NoError(t, MatmulBy(b.Stream, "packed in blocks", out.View, x.View, y.View))
		return b.Read(t, out)
	}
	want := multiply()
	if err := pprof.StartCPUProfile(io.Discard); err == nil { // else the tests are being profiled
		defer pprof.StopCPUProfile()
	}
	for start := time.Now(); time.Since(start) < 300*time.Millisecond; {
		go goruntime.GC()
		require.Equal(t, want, multiply())
	}
}

// withPackedMMA is the CPU, if it has dsl.PackedMMA.
func withPackedMMA(t *testing.T) *opstest.Bench {
	t.Helper()
	dev, err := runtime.Open("cpu")
	require.NoError(t, err)
	t.Cleanup(func() { dev.Close() })
	if !dev.Info().PackedMMA {
		t.Skip("needs a processor with AVX512_BF16")
	}
	return opstest.NewBench(dev)
}
