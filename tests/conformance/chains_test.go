package conformance_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/tests/conformance"
)

// Attention as plain Go is softmax in float64, but for the rounding of weights to the type of the
// values.
func TestAttention(t *testing.T) {
	for _, warp := range []int{8, 32, 64} {
		for _, c := range conformance.Cases(warp) {
			if !strings.HasPrefix(c.Name, "Attend/") {
				continue
			}
			got, err := conformance.Plain(c, warp)
			require.NoError(t, err)
			q, k, v := inDoubles(c.Args[2]), inDoubles(c.Args[3]), inDoubles(c.Args[4])
			n, keys, d, dv := c.Args[5].(int), c.Args[6].(int), c.Args[7].(int), c.Args[8].(int)
			scale, out, logs := inDoubles(c.Args[9])[0], inDoubles(got[0]), inDoubles(got[1])
			for row := range n {
				want, log := softmax(q[row*d:][:d], k, v, min(keys, row+keys-n+1), dv, scale)
				require.True(t, log == logs[row] || math.Abs(log-logs[row]) < 1e-4, "%s: logarithm %d is %v, want %v", c.Name, row, logs[row], log)
				for i, w := range want {
					require.InDelta(t, w, out[row*dv+i], c.Near[0].Abs, "%s: row %d, column %d", c.Name, row, i)
				}
			}
		}
	}
}

// softmax is the sum of the rows of v with the weights that a query gives the first keys, and the
// logarithm of the sum of exponentials.
func softmax(q, k, v []float64, keys, dv int, scale float64) (out []float64, log float64) {
	out, total := make([]float64, dv), 0.0
	for i := range keys {
		s := 0.0
		for j := range q {
			s += q[j] * k[i*len(q)+j]
		}
		p := math.Exp(scale * s)
		total += p
		for j := range out {
			out[j] += p * v[i*dv+j]
		}
	}
	for j := range out {
		if total > 0 {
			out[j] /= total
		}
	}
	return out, math.Log(total)
}

// inDoubles returns numbers of any type that attention has.
func inDoubles(list any) (out []float64) {
	switch list := list.(type) {
	case float32:
		return []float64{float64(list)}
	case float64:
		return []float64{list}
	case []float64:
		return list
	case []float32:
		return converted(list)
	case []dsl.BF16:
		return converted(list)
	case []dsl.F16:
		return converted(list)
	case []dsl.TF32:
		return converted(list)
	case []int8:
		return converted(list)
	case []uint8:
		return converted(list)
	case []int32:
		return converted(list)
	}
	panic("no numbers")
}

func converted[T dsl.Number](list []T) (out []float64) {
	for _, x := range list {
		out = append(out, dsl.Convert[float64](x))
	}
	return out
}
