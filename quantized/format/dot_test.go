package format

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/quantized/internal/golden"
)

const dotsPath = "testdata/dots.safetensors.gz"

// Activations as blocks of the formats that they have in dot products.
func TestActivations(t *testing.T) {
	set := golden.Read(t, dotsPath)
	x := set.F32(t, "vec_dot/x")
	cols := set.Shape("vec_dot/x")[1]
	for _, of := range []Type{Q8_0, Q8_1, Q8_K} {
		want := set.Bytes(t, fmt.Sprintf("vec_dot/act/%v", of))
		write, err := quantizerOf(of, false)
		require.NoError(t, err)
		got := make([]byte, len(want))
		size := len(want) / (len(x) / cols)
		for i := range len(x) / cols {
			quantizeRow(got[i*size:][:size], x[i*cols:][:cols], byType[of], nil, write)
		}
		require.Equal(t, want, got, "%v", of)
	}
}

// TestDot compares with the reference's products, and with those of the values in float64.
func TestDot(t *testing.T) {
	set := golden.Read(t, dotsPath)
	const cols = 1024
	products := 0
	for _, of := range Types() {
		for _, kind := range []string{"valid", "random"} {
			name := fmt.Sprintf("%v/vec_dot/%s", of, kind)
			if !set.Has(name + "/w") {
				continue
			}
			w := set.Bytes(t, name+"/w")
			act := set.Bytes(t, fmt.Sprintf("vec_dot/act/%v", byType[of].Partner))
			y, exact, mag := set.F32(t, name+"/y"), set.F64(t, name+"/y_f64"), set.F64(t, name+"/mag")
			shape := set.Shape(name + "/y")
			wide, long := len(w)/shape[0], len(act)/shape[1]
			require.Equal(t, cols/byType[of].Elems*byType[of].Bytes, wide)
			for i := range y {
				got, err := Dot(of, w[i/shape[1]*wide:][:wide], act[i%shape[1]*long:][:long])
				require.NoError(t, err)
				near(t, float64(got), float64(y[i]), bound(of)*mag[i], "%s %d: the reference", name, i)
				if byType[of].Partner == Q8_1 { // its sums are rounded
					near(t, float64(got), exact[i], 1e-2*mag[i], "%s %d: float64", name, i)
					continue
				}
				near(t, float64(got), exact[i], bound(of)*mag[i], "%s %d: float64", name, i)
				products++
			}
		}
	}
	require.Greater(t, products, 100)
}

// bound is how far products may be apart, by the sum of the magnitudes of those of elements. The
// reference subtracts a bias of ternary formats in float32.
func bound(of Type) float64 {
	if of == TQ1_0 || of == TQ2_0 {
		return 2e-5
	}
	return 2e-6
}

func near(t *testing.T, got, want, most float64, format string, args ...any) {
	t.Helper()
	if !(math.Abs(got-want) <= most) {
		t.Errorf("%s: %v, want %v ± %v", fmt.Sprintf(format, args...), got, want, most)
	}
}

func TestDotOfWrongRows(t *testing.T) {
	for _, c := range []struct {
		of   Type
		w, x int
		kind error
		want string
	}{
		{Q4_0, 17, 34, ErrSize, "17 bytes of Q4_0 and 34 of Q8_0"},
		{Q4_0, 18, 33, ErrSize, "33 of Q8_0"},
		{Q4_0, 36, 34, ErrSize, "36 bytes"},
		{Q4_K, 144, 292 * 2, ErrSize, "584 of Q8_K"},
		{I8, 1, 1, ErrType, "no dot product of I8"},
		{63, 1, 1, ErrType, "id 63"},
	} {
		_, err := Dot(c.of, make([]byte, c.w), make([]byte, c.x))
		require.ErrorIs(t, err, c.kind)
		require.ErrorContains(t, err, c.want)
	}
	for _, of := range Types() { // of nothing
		if sum, err := Dot(of, nil, nil); err == nil {
			require.Zero(t, sum)
		}
	}
	x := []byte{0, 0, 128, 63, 0, 0, 0, 64} // 1, 2
	sum, err := Dot(F32, x, x)
	require.NoError(t, err)
	require.EqualValues(t, 5, sum)
}
