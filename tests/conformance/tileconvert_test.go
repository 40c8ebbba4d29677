package conformance_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tests/conformance"
)

// Transposed, converted and filled tiles as plain Go are the products that their kernels promise.
func TestTileConversions(t *testing.T) {
	for _, warp := range []int{8, 32, 64} {
		for _, c := range conformance.Cases(warp) {
			switch {
			case strings.HasPrefix(c.Name, "TileCross/"):
				crosses(t, c, warp)
			case strings.HasPrefix(c.Name, "TileConvert/"):
				converts(t, c, warp)
			case strings.HasPrefix(c.Name, "TileFill/"):
				fills(t, c, warp)
			}
		}
	}
}

// crosses compares a case of TileCross with sums in float64, which are exact.
func crosses(t *testing.T, c conformance.Case, warp int) {
	got, err := conformance.Plain(c, warp)
	require.NoError(t, err)
	x, y, z, out := inDoubles(c.Args[1]), inDoubles(c.Args[2]), inDoubles(c.Args[3]), inDoubles(got[0])
	m, n, k, d := c.Args[4].(int), c.Args[5].(int), c.Args[6].(int), c.Args[7].(int)
	down, right := d, 1
	if strings.Contains(c.Name, "AlongK") {
		down, right = 1, m
	}
	for row := range n {
		want := make([]float64, d)
		for i := range m {
			p := dot(x[i*k:][:k], y[row*k:][:k])
			for j := range d {
				want[j] += p * z[i*down+j*right]
			}
		}
		require.Equal(t, want, out[row*d:][:d], "%s: row %d", c.Name, row)
	}
}

// converts compares a case of TileConvert in the same way.
func converts(t *testing.T, c conformance.Case, warp int) {
	got, err := conformance.Plain(c, warp)
	require.NoError(t, err)
	x, y, z, out, rows := inDoubles(c.Args[2]), inDoubles(c.Args[3]), inDoubles(c.Args[4]), inDoubles(got[0]), inDoubles(got[1])
	n, k, d := c.Args[5].(int), c.Args[6].(int), c.Args[7].(int)
	for row := range n {
		want, total := make([]float64, d), 0.0
		for i := range n {
			p := 2 * dot(x[row*k:][:k], y[i*k:][:k])
			total += p
			for j := range d {
				want[j] += p * z[i*d+j]
			}
		}
		for j := range d {
			want[j] -= total
		}
		require.Equal(t, total, rows[row], "%s: row %d", c.Name, row)
		require.Equal(t, want, out[row*d:][:d], "%s: row %d", c.Name, row)
	}
}

// fills compares a case of TileFill in the same way.
func fills(t *testing.T, c conformance.Case, warp int) {
	got, err := conformance.Plain(c, warp)
	require.NoError(t, err)
	out, x, y := inDoubles(got[1]), inDoubles(c.Args[2]), inDoubles(c.Args[3])
	m, n, k, half := c.Args[4].(int), c.Args[5].(int), c.Args[6].(int), c.Args[7].(int)
	for i := range y {
		y[i]++
	}
	for part := range 2 {
		from, to := part*half, min((part+1)*half, k)
		for row := range m {
			for col := range n {
				require.Equal(t, dot(x[row*k+from:row*k+to], y[col*k+from:]), out[(part*m+row)*n+col], "%s: part %d, row %d, column %d", c.Name, part, row, col)
			}
		}
	}
}

func dot(x, y []float64) (sum float64) {
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}
