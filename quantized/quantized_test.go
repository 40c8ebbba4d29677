package quantized_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/quantized"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/quantized/internal/golden"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tests/sim"
	"github.com/gokiln/kiln/tests/sim/devices"
)

func TestMain(m *testing.M) { sim.Main(m) }

const goldenPath = "testdata/quants.safetensors.gz"

// formats returns the formats to test on a device: all, or one of each way to read bytes where not
// everything is tested.
func formats(d *tensor.Device) (list []format.Type) {
	few := []format.Type{format.Q4_0, format.Q5_K, format.IQ1_M, format.MXFP4}
	for _, of := range format.Types() {
		if of.IsQuantized() && (devices.Everything(d) || slices.Contains(few, of)) {
			list = append(list, of)
		}
	}
	return list
}

// some returns types of results to test with, those that the device has, or the first one where not
// everything is tested.
func some(d *tensor.Device, of ...tensor.DType) []tensor.DType {
	if devices.Everything(d) {
		return slices.DeleteFunc(of, func(dt tensor.DType) bool { return !d.Supports(dt) })
	}
	return of[:1]
}

// shapeOf is that of a golden tensor of blocks, in elements.
func shapeOf(t *testing.T, set *golden.Set, of format.Type, name string) []int {
	t.Helper()
	info, err := of.Info()
	require.NoError(t, err)
	s := set.Shape(name)
	return []int{s[0], s[1] / info.Bytes * info.Elems}
}

func TestDequantize(t *testing.T) {
	set := golden.Read(t, goldenPath)
	devices.OnEach(t, func(t *testing.T, d *tensor.Device) {
		for _, of := range formats(d) {
			for _, kind := range []string{"valid", "random"} {
				name := fmt.Sprintf("%v/dequant/%s", of, kind)
				raw := set.Bytes(t, name+"/bytes")
				q := quantized.FromBytes(d, of, raw, shapeOf(t, set, of, name+"/bytes")...)
				require.NoError(t, q.Err())
				back, err := q.Bytes()
				require.NoError(t, err)
				require.Equal(t, raw, back, name)
				want := set.F32(t, name+"/f32")
				got, err := tensor.ToSlice[float32](q.Dequantize(tensor.F32))
				require.NoError(t, err)
				sameBits(t, name, want, got)
				for _, dt := range some(d, tensor.BF16, tensor.F16) {
					once, err := tensor.From(d, want).Cast(dt).Bytes()
					require.NoError(t, err)
					half, err := q.Dequantize(dt).Bytes()
					require.NoError(t, err)
					require.Equal(t, once, half, "%s to %v", name, dt)
				}
			}
		}
	})
}

func sameBits(t *testing.T, name string, want, got []float32) {
	t.Helper()
	require.Equal(t, len(want), len(got), name)
	for i := range want {
		if math.Float32bits(want[i]) != math.Float32bits(got[i]) {
			t.Fatalf("%s: element %d is %v (%#x), not %v (%#x)", name, i, got[i], math.Float32bits(got[i]), want[i], math.Float32bits(want[i]))
		}
	}
}

func TestEmbedding(t *testing.T) {
	set := golden.Read(t, goldenPath)
	devices.OnEach(t, func(t *testing.T, d *tensor.Device) {
		for _, of := range formats(d) {
			name := fmt.Sprintf("%v/dequant/valid", of)
			shape := shapeOf(t, set, of, name+"/bytes")
			rows, cols := shape[0]/2, 2*shape[1]
			q := quantized.FromBytes(d, of, set.Bytes(t, name+"/bytes"), rows, cols)
			all := set.F32(t, name+"/f32")
			var want []float32
			ids := []int64{3, 0, int64(rows) - 1, 3}
			for _, id := range ids {
				want = append(want, all[int(id)*cols:][:cols]...)
			}
			got := q.Embedding(tensor.From(d, ids, 2, 2), tensor.F32)
			require.Equal(t, tensor.Shape{2, 2, cols}, got.Shape())
			list, err := tensor.ToSlice[float32](got)
			require.NoError(t, err)
			sameBits(t, name, want, list)
		}
	})
}

func TestMistakes(t *testing.T) {
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	ok := quantized.FromBytes(d, format.Q4_0, make([]byte, 4*18), 2, 64)
	require.NoError(t, ok.Err())
	for name, c := range map[string]struct {
		err  error
		kind error
	}{
		"bytes":       {quantized.FromBytes(d, format.Q4_0, make([]byte, 17), 32).Err(), format.ErrSize},
		"no block":    {quantized.FromBytes(d, format.Q4_0, make([]byte, 18), 33).Err(), format.ErrSize},
		"scalar":      {quantized.FromBytes(d, format.Q4_0, make([]byte, 18)).Err(), tensor.ErrRank},
		"negative":    {quantized.FromBytes(d, format.Q4_0, nil, -1, 32).Err(), tensor.ErrShape},
		"plain":       {quantized.FromBytes(d, format.F16, make([]byte, 2), 1).Err(), format.ErrType},
		"unknown":     {quantized.FromBytes(d, 99, nil, 1).Err(), format.ErrType},
		"nothing":     {new(quantized.Tensor).Err(), tensor.ErrArgument},
		"not bytes":   {quantized.FromTensor(format.Q8_1, tensor.Zeros(d, tensor.F32, 9), 32).Err(), tensor.ErrDType},
		"part":        {quantized.FromTensor(format.Q8_1, tensor.Zeros(d, tensor.U8, 37).Narrow(0, 1, 36), 32).Err(), tensor.ErrShape},
		"to integers": {ok.Dequantize(tensor.I32).Err(), tensor.ErrDType},
		"sticky":      {quantized.FromBytes(d, format.Q4_0, make([]byte, 17), 32).Dequantize(tensor.F32).Err(), format.ErrSize},
		"float ids":   {ok.Embedding(tensor.Zeros(d, tensor.F32, 1), tensor.F32).Err(), tensor.ErrDType},
		"columns":     {ok.Linear(tensor.Zeros(d, tensor.F32, 3, 63)).Err(), tensor.ErrShape},
		"integers":    {ok.Linear(tensor.Zeros(d, tensor.I32, 3, 64)).Err(), tensor.ErrDType},
		"one number":  {ok.Linear(tensor.Item[float32](d, 1)).Err(), tensor.ErrRank},
		"no matrix":   {quantized.FromBytes(d, format.Q4_0, make([]byte, 18), 32).Linear(tensor.Zeros(d, tensor.F32, 32)).Err(), tensor.ErrRank},
		"not floats":  {quantized.Quantize(tensor.Zeros(d, tensor.I32, 32), format.Q4_0).Err(), tensor.ErrDType},
		"half block":  {quantized.Quantize(tensor.Zeros(d, tensor.F32, 4, 16), format.Q4_0).Err(), format.ErrSize},
		"importance":  {quantized.QuantizeImportant(tensor.Zeros(d, tensor.F32, 4, 32), format.Q4_0, tensor.Zeros(d, tensor.F32, 4)).Err(), tensor.ErrShape},
		"needs it":    {quantized.Quantize(tensor.Zeros(d, tensor.F32, 256), format.IQ2_XXS).Err(), format.ErrType},
	} {
		require.ErrorIs(t, c.err, c.kind, name)
	}
	_, err = ok.Embedding(tensor.From(d, []int32{0, 2}), tensor.F32).Bytes()
	require.ErrorContains(t, err, "index 2 at position 1 is out of range")
	var none *quantized.Tensor
	require.ErrorIs(t, none.Err(), tensor.ErrArgument)
	require.Zero(t, none.Format())
	require.Nil(t, none.Shape())
	require.Contains(t, quantized.FromBytes(d, format.Q4_0, make([]byte, 17), 32).Err().Error(), "quantized_test.go", "the line of the program")
	empty := quantized.FromBytes(d, format.Q4_0, nil, 0, 64)
	require.Equal(t, tensor.Shape{0, 64}, empty.Dequantize(tensor.F32).Shape())
	require.NoError(t, empty.Dequantize(tensor.F32).Err())
}

func TestQuantize(t *testing.T) {
	set := golden.Read(t, goldenPath)
	x, imatrix := set.F32(t, "quantize/x"), set.F32(t, "quantize/imatrix")
	const cols = 512
	rows := len(x) / cols
	devices.OnEach(t, func(t *testing.T, d *tensor.Device) {
		for _, of := range formats(d) {
			kind := "ref"
			if set.Has(fmt.Sprintf("%v/quantize/plain/bytes", of)) {
				kind = "plain"
			}
			if of.Quantizes(false) {
				q := quantized.Quantize(tensor.From(d, x, rows, cols), of)
				sameBlocks(t, set, fmt.Sprintf("%v/quantize/%s", of, kind), q, 0)
			}
			name := fmt.Sprintf("%v/quantize/imatrix", of)
			if !set.Has(name+"/bytes") || !of.Quantizes(true) {
				continue
			}
			few := len(imatrix) / cols
			if d.Kind() != "cpu" {
				few = 2
			}
			for i := range few {
				w := tensor.From(d, imatrix[i*cols:][:cols])
				n := set.PerName * cols
				q := quantized.QuantizeImportant(tensor.From(d, x[i*n:][:n], set.PerName, cols), of, w)
				sameBlocks(t, set, name, q, i*set.PerName)
			}
		}
	})
}

// sameBlocks compares with the golden blocks of a row and those behind it, where they are defined.
func sameBlocks(t *testing.T, set *golden.Set, name string, q *quantized.Tensor, row int) {
	t.Helper()
	got, err := q.Bytes()
	require.NoError(t, err, name)
	at := row * (len(got) / q.Shape()[0])
	want := set.Bytes(t, name+"/bytes")[at:]
	for i, b := range got {
		if b != want[i] && (!set.Has(name+"/defined") || set.Bytes(t, name+"/defined")[at+i] != 0) {
			t.Fatalf("%s: byte %d is %#x, not %#x", name, at+i, b, want[i])
		}
	}
}

// TestLinear compares with products in float64 of dequantized weights.
func TestLinear(t *testing.T) {
	set := golden.Read(t, goldenPath)
	devices.OnEach(t, func(t *testing.T, d *tensor.Device) {
		x := set.F32(t, "mul_mat/x")
		vectors := set.Shape("mul_mat/x")
		for _, of := range formats(d) {
			name := fmt.Sprintf("%v/mul_mat", of)
			if !set.Has(name + "/w") { // Q8_1 and Q8_K are for activations
				require.Contains(t, []format.Type{format.Q8_1, format.Q8_K}, of)
				continue
			}
			shape := shapeOf(t, set, of, name+"/w")
			q := quantized.FromBytes(d, of, set.Bytes(t, name+"/w"), shape...)
			want := set.F64(t, name+"/y_f64")
			for _, dt := range some(d, tensor.F32, tensor.F16, tensor.BF16, tensor.F64) {
				in := tensor.From(d, x, vectors...).Cast(dt)
				few := products(t, q.Linear(in))
				many := products(t, q.Linear(tensor.Cat(0, in, in, in)))
				allowed := allowances(t, q, in)
				for i := range want {
					for j, got := range []float64{few[i], many[i], many[2*len(want)+i]} {
						most := roundings[dt]
						if (j == 0 || d.Kind() == "cpu") && dt != tensor.F64 {
							most += eightBits
						}
						if e := math.Abs(got - want[i]); e > most*allowed[i] {
							t.Fatalf("%s in %v: element %d is %v, not %v: %v of sum |w·x|", name, dt, i, got, want[i], e/allowed[i])
						}
					}
				}
			}
		}
	})
}

// roundings are how far a product may be from that in float64, in units of the sum of magnitudes:
// that of sums in float32, and of activations, weights and results in a type.
var roundings = map[tensor.DType]float64{tensor.F32: 1e-5, tensor.F64: 1e-13, tensor.F16: 3 * 0x1p-11, tensor.BF16: 3 * 0x1p-8}

// eightBits is how far products of activations of 8 bits may be from those of normal ones, in the same
// units, see [quantized.Tensor.Linear].
const eightBits = 6e-3

func products(t *testing.T, y *tensor.Tensor) []float64 {
	t.Helper()
	list, err := y.Float64s()
	require.NoError(t, err)
	return list
}

// allowances are the sums of magnitudes.
func allowances(t *testing.T, q *quantized.Tensor, x *tensor.Tensor) []float64 {
	t.Helper()
	return products(t, x.Cast(tensor.F32).Abs().Linear(q.Dequantize(tensor.F32).Abs(), nil))
}

// A weight of more elements than are dequantized at a time is multiplied in parts.
func TestLinearInParts(t *testing.T) {
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	x := tensor.Randn(d, tensor.F32, 0, 1, 20, 256)
	q := quantized.Quantize(tensor.Randn(d, tensor.F32, 0, 1, 23, 256), format.Q6_K)
	dense := func() []float64 { return products(t, q.LinearBy("dequantized weight", x)) }
	want := dense()
	for _, n := range []int{1, 5 * 256, 22*256 + 1} {
		end := quantized.SetScratch(n)
		got := dense()
		end()
		for i := range want {
			require.InDelta(t, want[i], got[i], 1e-4, "%d elements at a time", n)
		}
	}
}

// Gradients reach activations, as through the dequantized weight: of few rows and many, of other
// types, and with a weight that is dequantized in parts.
func TestLinearGradient(t *testing.T) {
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	q := quantized.Quantize(tensor.Randn(d, tensor.F32, 0, 1, 6, 64), format.Q4_1)
	dense := q.Dequantize(tensor.F32)
	for _, shape := range [][]int{{64}, {3, 64}, {11, 64}, {2, 5, 64}, {0, 64}} {
		x := tensor.Randn(d, tensor.F32, 0, 1, shape...)
		up := tensor.Randn(d, tensor.F32, 0, 1, append(slices.Clone(shape[:len(shape)-1]), 6)...)
		for _, dt := range []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16} {
			grad := func(dt tensor.DType, y func(x *tensor.Tensor) *tensor.Tensor) []float64 {
				v := tensor.NewVar(x.Cast(dt))
				g, err := y(v.Tensor()).Mul(up.Cast(dt)).Sum().Backward()
				require.NoError(t, err)
				require.Equal(t, tensor.Shape(shape), g.Of(v.Tensor()).Shape())
				require.Equal(t, dt, g.Of(v.Tensor()).DType())
				return products(t, g.Of(v.Tensor()))
			}
			want := grad(tensor.F32, func(x *tensor.Tensor) *tensor.Tensor { return x.Linear(dense, nil) })
			most := products(t, up.Abs().MatMul(dense.Abs()))
			for _, n := range []int{1, 4*64 + 1, 1 << 20} {
				end := quantized.SetScratch(n)
				got := grad(dt, q.Linear)
				end()
				require.Len(t, got, len(want))
				for i := range want {
					require.InDelta(t, want[i], got[i], max(roundings[dt], 1e-5)*most[i],
						"%v of %v, %d elements at a time", dt, shape, n)
				}
			}
		}
	}
}

// Shapes of activations, a view that is not contiguous, none at all, and their gradient.
func TestLinearShapes(t *testing.T) {
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	q := quantized.Quantize(tensor.Arange[float32](d, 0, 64*5).Reshape(5, 64), format.Q8_0)
	dense := q.Dequantize(tensor.F32)
	x := tensor.Arange[float32](d, 0, 64*12).MulScalar(0.01).Reshape(64, 3, 4).Permute(2, 1, 0)
	for name, in := range map[string]*tensor.Tensor{
		"vector": x.Narrow(0, 0, 1).Narrow(1, 1, 1).Reshape(64), "few": x.Narrow(0, 1, 2), "many": x, "none": x.Narrow(0, 0, 0),
	} {
		got, want := q.Linear(in), in.Linear(dense, nil)
		require.Equal(t, want.Shape(), got.Shape(), name)
		a, b := products(t, got), products(t, want)
		for i := range b {
			require.InEpsilon(t, b[i], a[i], eightBits, name)
		}
	}
}

// Few rows are the products in float64 of the weights and of the activations as they are rounded:
// of every format, for one row, all of few and one more, for odd sizes and one block. Every count of
// rows that is few is there with some format.
func TestLinearFew(t *testing.T) {
	devices.OnEach(t, func(t *testing.T, d *tensor.Device) {
		for i, of := range formats(d) {
			info, err := of.Info()
			require.NoError(t, err)
			rows := []int{1, 2 + i%7, 9}
			for j, m := range rows[:len(some(d, tensor.F32, tensor.F32, tensor.F32))] {
				n, blocks := 7, 1024/info.Elems+1
				if j == 1 {
					n, blocks = 1, 1
				}
				strategies := append(quantized.LinearStrategies(m), "")
				if !devices.Everything(d) && m <= 8 { // one of them
					strategies = strategies[(i+j)%len(strategies):][:1]
				}
				for _, by := range strategies {
					checkFew(t, d, of, by, m, n, blocks)
				}
			}
		}
	})
}

// Rows of whole spans are multiplied by lanes that read them together, where a device has as many:
// those of every format that has spans, in odd numbers of rows.
func TestLinearSpans(t *testing.T) {
	const spans = "spans of 256 elements"
	require.Contains(t, quantized.LinearStrategies(1), spans)
	devices.OnEach(t, func(t *testing.T, d *tensor.Device) {
		for i, of := range []format.Type{format.Q4_0, format.Q8_0, format.Q4_K, format.Q6_K, format.IQ4_XS} {
			info, err := of.Info()
			require.NoError(t, err)
			for _, m := range []int{1, 2 + i}[:len(some(d, tensor.F32, tensor.F32))] {
				checkFew(t, d, of, spans, m, 7, 256/info.Elems)
				checkFew(t, d, of, spans, m, 5, 768/info.Elems)
			}
		}
	})
}

// Many rows are multiplied as bytes on processors: of every format, with bands and panels that are not
// whole, and several of each. A row gives the same bits among others.
func TestLinearBytes(t *testing.T) {
	const bytes = "bytes of 4 rows by 2 for a lane"
	require.Contains(t, quantized.LinearStrategies(9), bytes)
	devices.OnEach(t, func(t *testing.T, d *tensor.Device) {
		for i, of := range formats(d) {
			info, err := of.Info()
			require.NoError(t, err)
			checkFew(t, d, of, bytes, 9+i%5, 7, 1)
			if d.Kind() == "cpu" {
				checkFew(t, d, of, bytes, 12, 65+i, 512/info.Elems)
			}
		}
		if d.Kind() != "cpu" {
			return
		}
		q := quantized.Quantize(tensor.Randn(d, tensor.F32, 0, 1, 70, 512), format.Q4_K)
		x := tensor.Randn(d, tensor.F32, 0, 1, 23, 512)
		all := products(t, q.Linear(x))
		require.Equal(t, all[7*70:18*70], products(t, q.Linear(x.Narrow(0, 7, 11))))
	})
}

// Blocks that copy weights to shared memory have several rounds of rows and of places there: of every
// format with weights of whole copies, an odd number of rows, and rows that end in the middle of a step.
// Such weights are those of TestLinearFew for few formats only.
func TestLinearCopying(t *testing.T) {
	devices.OnEach(t, func(t *testing.T, d *tensor.Device) {
		var copying []string
		for _, by := range quantized.LinearStrategies(1) {
			if strings.Contains(by, "that copy") {
				copying = append(copying, by)
			}
		}
		require.NotEmpty(t, copying)
		for i, of := range formats(d) {
			info, err := of.Info()
			require.NoError(t, err)
			by, blocks := copying[i%len(copying)], 16
			if info.Elems == 256 {
				blocks = 8
			}
			checkFew(t, d, of, by, 1+i%3, 5, blocks)
			checkFew(t, d, of, by, 1, 64*min(d.Runtime().Info().Units, 4)+16, 1)
		}
	})
}

// checkFew multiplies random blocks with finite scales.
func checkFew(t *testing.T, d *tensor.Device, of format.Type, by string, m, n, blocks int) {
	t.Helper()
	info, err := of.Info()
	require.NoError(t, err)
	k := blocks * info.Elems
	raw := randomBlocks(t, of, n*blocks)
	w := make([]float32, n*k)
	require.NoError(t, format.Dequantize(w, raw, of))
	x := make([]float32, m*k)
	for i := range x {
		x[i] = float32(math.Sin(float64(i*i+3*i)) * float64(i%7+1))
	}
	clear(x[:min(32, len(x)-32)])
	in := tensor.From(d, x, m, k)
	product := quantized.FromBytes(d, of, raw, n, k).LinearBy(by, in)
	if by != "" && errors.Is(product.Err(), jit.ErrUnsupported) {
		return
	}
	got := products(t, product)
	rounded, bound := roundedBytes(x)
	for row := range m {
		for col := range n {
			var want, exact, most, allowed float64
			for i := range k {
				v := float64(w[col*k+i])
				want += v * rounded[row*k+i]
				exact += v * float64(x[row*k+i])
				most += math.Abs(v * float64(x[row*k+i]))
				allowed += math.Abs(v) * bound[row*k+i]
			}
			y := got[row*n+col]
			if (m <= 8 || strings.HasPrefix(by, "bytes")) && !(math.Abs(y-want) <= 1e-5*(most+allowed)) {
				t.Fatalf("%v by %q: %d of %d rows, %d by %d: element %d is %v, not %v", of, by, row, m, n, k, col, y, want)
			}
			if !(math.Abs(y-exact) <= allowed+1e-5*most) {
				t.Fatalf("%v by %q: %d of %d rows, %d by %d: element %d is %v, not %v: more than %v apart", of, by, row, m, n, k, col, y, exact, allowed)
			}
		}
	}
}

// roundedBytes are activations as 8 bits hold them, and how far they may be from what they were.
func roundedBytes(x []float32) (rounded, bound []float64) {
	for i := 0; i < len(x); i += 32 {
		var most float64
		for _, v := range x[i : i+32] {
			most = max(most, math.Abs(float64(v)))
		}
		scale := most / 127
		for _, v := range x[i : i+32] {
			q := 0.0
			if scale > 0 {
				q = math.RoundToEven(float64(v) / scale)
			}
			rounded, bound = append(rounded, q*scale), append(bound, scale/2*1.001)
		}
	}
	return rounded, bound
}

// randomBlocks are blocks of random numbers, whose values are of no special size.
func randomBlocks(t *testing.T, of format.Type, n int) []byte {
	t.Helper()
	set := golden.Read(t, goldenPath)
	raw := set.Bytes(t, fmt.Sprintf("%v/dequant/valid/bytes", of))
	info, err := of.Info()
	require.NoError(t, err)
	var out []byte
	for i := range n {
		out = append(out, raw[(7*i+3)%(len(raw)/info.Bytes)*info.Bytes:][:info.Bytes]...)
	}
	return out
}

// Any bytes are blocks, also those of scales that are no numbers.
func TestLinearAnyBytes(t *testing.T) {
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, of := range formats(d) {
		info, err := of.Info()
		require.NoError(t, err)
		raw := make([]byte, 5*info.Bytes)
		for i := range raw {
			raw[i] = byte(rnd.Uint32())
		}
		y := quantized.FromBytes(d, of, raw, 5, info.Elems).Linear(tensor.Ones(d, tensor.F32, 1, info.Elems))
		require.Len(t, products(t, y), 5, "%v", of)
	}
}

// Activations that are not finite make the results of their row NaN and leave the others, the largest
// magnitudes are rounded as others are, and the smallest become 0.
func TestLinearSpecialActivations(t *testing.T) {
	devices.OnEach(t, func(t *testing.T, d *tensor.Device) {
		const k = 64
		q := quantized.Quantize(tensor.Ones(d, tensor.F32, 3, k), format.Q8_0)
		for _, c := range []struct{ x, want float64 }{
			{math.Inf(1), math.NaN()}, {math.Inf(-1), math.NaN()}, {math.NaN(), math.NaN()},
			{0x1p127 / k, 0x1p127 / k}, {0x1p-100, 0x1p-100}, {0x1p-119, 0x1p-119}, {0x1p-120, 0}, {0x1p-140, 0}, {0, 0},
		} {
			x := make([]float32, 2*k)
			x[k+40] = float32(c.x)
			for i := range k {
				x[i] = 1
			}
			got := products(t, q.Linear(tensor.From(d, x, 2, k)))
			for i, y := range got {
				want := float64(k)
				if i >= 3 {
					want = c.want
				}
				if math.IsNaN(want) != math.IsNaN(y) || math.Abs(y-want) > math.Abs(want)*1e-3 {
					t.Fatalf("%v among activations: element %d is %v, not %v", c.x, i, y, want)
				}
			}
		}
	})
}
