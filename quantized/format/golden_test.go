package format

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/quantized/internal/golden"
)

const goldenPath = "../testdata/quants.safetensors.gz"

// quantizedTypes are the types with blocks.
func quantizedTypes() (list []Type) {
	for _, t := range Types() {
		if t.IsQuantized() {
			list = append(list, t)
		}
	}
	return list
}

func TestDequantize(t *testing.T) {
	set := golden.Read(t, goldenPath)
	for _, of := range quantizedTypes() {
		for _, kind := range []string{"valid", "random"} {
			name := of.String() + "/dequant/" + kind
			t.Run(name, func(t *testing.T) {
				want := set.F32(t, name+"/f32")
				got := make([]float32, len(want))
				require.NoError(t, Dequantize(got, set.Bytes(t, name+"/bytes"), of))
				sameBits(t, of, want, got)
				odd := append([]byte{0}, set.Bytes(t, name+"/bytes")...)[1:]
				clear(got)
				require.NoError(t, Dequantize(got, odd, of))
				sameBits(t, of, want, got)
			})
		}
	}
}

func sameBits(t *testing.T, of Type, want, got []float32) {
	t.Helper()
	n := byType[of].Elems
	for i := range want {
		if math.Float32bits(want[i]) != math.Float32bits(got[i]) {
			t.Fatalf("element %d of block %d is %v (%#x), not %v (%#x)", i%n, i/n,
				got[i], math.Float32bits(got[i]), want[i], math.Float32bits(want[i]))
		}
	}
}

func TestBlocksAgreeWithTable(t *testing.T) {
	for _, of := range quantizedTypes() {
		f, err := of.Block()
		require.NoError(t, err)
		require.Equal(t, byType[of].Elems, f.Elems(), "%v", of)
		require.Equal(t, byType[of].Bytes, f.Bytes(), "%v", of)
		require.Zero(t, f.Elems()%RunLen)
	}
	_, err := F16.Block()
	require.ErrorIs(t, err, ErrType)
	require.ErrorIs(t, Dequantize(make([]float32, 32), make([]byte, 17), Q4_0), ErrSize)
	require.ErrorIs(t, Dequantize(make([]float32, 31), make([]byte, 18), Q4_0), ErrSize)
	require.ErrorIs(t, Dequantize(make([]float32, 1), make([]byte, 4), F32), ErrType)
}

// TestQuantize compares with the reference quantizer, with the one of files, and with importance.
func TestQuantize(t *testing.T) {
	set := golden.Read(t, goldenPath)
	x, imatrix := set.F32(t, "quantize/x"), set.F32(t, "quantize/imatrix")
	for _, of := range quantizedTypes() {
		for _, kind := range []string{"ref", "plain", "imatrix"} {
			name := of.String() + "/quantize/" + kind
			if !set.Has(name + "/bytes") {
				continue
			}
			write, err := quantizerOf(of, kind == "imatrix")
			require.NoError(t, err)
			if of == IQ4_NL && kind == "ref" {
				write = func(out []byte, x, _ []float32, _ float32) { BlockIQ4_NL{}.QuantizeFast(out, x) }
			}
			t.Run(name, func(t *testing.T) {
				checkQuantized(t, set, of, name, x, imatrix, kind == "imatrix", write)
			})
		}
	}
}

func checkQuantized(t *testing.T, set *golden.Set, of Type, name string, x, imatrix []float32, important bool, write blockWriter) {
	const cols = 512
	want := set.Bytes(t, name+"/bytes")
	defined := bytes.Repeat([]byte{1}, len(want))
	if set.Has(name + "/defined") {
		defined = set.Bytes(t, name+"/defined")
	}
	info := byType[of]
	size := cols / info.Elems * info.Bytes
	bad, shown := 0, 0
	for i := range len(x) / cols {
		got := make([]byte, size)
		var w []float32
		if important {
			w = imatrix[i/set.PerName*cols:][:cols]
		}
		quantizeRow(got, x[i*cols:][:cols], info, w, write)
		for j := range got {
			if got[j] != want[i*size+j] && defined[i*size+j] != 0 {
				bad++
				if shown++; shown <= 3 {
					t.Errorf("row %d (%s): byte %d of block %d is %#x, not %#x", i, set.Rows[i/set.PerName], j%info.Bytes, j/info.Bytes, got[j], want[i*size+j])
				}
			}
		}
	}
	if bad > 0 {
		t.Errorf("%d of %d bytes differ", bad, len(want))
	}
}

// Rows are quantized at the same time, as one by one.
func TestQuantizeRows(t *testing.T) {
	set := golden.Read(t, goldenPath)
	x := set.F32(t, "quantize/x")
	var got []byte
	for _, of := range []Type{IQ2_S, IQ3_XXS, Q4_K} { // which share code books, and do not
		want := set.Bytes(t, of.String()+"/quantize/ref/bytes")
		got = make([]byte, len(want))
		require.NoError(t, Quantize(got, x, 512, of, nil))
		require.Equal(t, want, got, "%v", of)
	}
	require.ErrorIs(t, Quantize(make([]byte, 66), x[:256], 256, IQ2_XXS, nil), ErrType) // without importance
	// Q8_0 ignores importance.
	require.NoError(t, Quantize(make([]byte, 34), x[:32], 32, Q8_0, x[:32]))
	require.ErrorIs(t, Quantize(got[:1], x, 512, Q4_K, nil), ErrSize)
	require.ErrorIs(t, Quantize(got, x[1:], 512, Q4_K, nil), ErrSize)
	require.ErrorIs(t, Quantize(got, x, 512, Q4_K, x[:5]), ErrSize)
	require.ErrorIs(t, Quantize(got, x, 0, Q4_K, nil), ErrSize)
	require.ErrorIs(t, Quantize(got, x, 500, Q4_K, nil), ErrSize)
	require.ErrorIs(t, Quantize(got[:0], nil, 512, F16, nil), ErrType)
}
