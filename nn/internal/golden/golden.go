package golden

import (
	"encoding/json"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

// Func is what a case of its name computes.
type Func func(in []*tensor.Tensor) *tensor.Tensor

// number is a float64, also one that JSON has no form for.
type number float64

// UnmarshalJSON takes numbers, and strings of them.
func (n *number) UnmarshalJSON(text []byte) error {
	x, err := strconv.ParseFloat(strings.Trim(string(text), `"`), 64)
	*n = number(x)
	return err
}

// one is a case.
type one struct {
	Name string
	In   []packed
	Out  packed
	Grad [][]number
}

type packed struct {
	Shape []int
	Data  []number
	I     bool
}

// way is how the operands of a case are given, and the error that is allowed relative to 1 and the
// number.
type way struct {
	layout string
	dt     tensor.DType
	eps    float64
}

var ways = []way{{"dense", tensor.F64, 1e-11}, {"strided", tensor.F64, 1e-11}, {"dense", tensor.F32, 2e-5}, {"dense", tensor.BF16, 0.06}}

// Run runs all cases of a file, each in F64, from strided operands too, in F32 and in BF16. Every
// case has a function, and every function a case. Loose are larger errors for cases of which
// PyTorch's numbers are not better, and 0 for those that are for float64 only.
func Run(t *testing.T, d *tensor.Device, file string, functions map[string]Func, loose map[string]float64) {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var list []one
	require.NoError(t, json.Unmarshal(text, &list))
	seen := map[string]bool{}
	for _, c := range list {
		seen[c.Name] = true
		f := functions[c.Name]
		require.NotNil(t, f, "there is no function for the case %s", c.Name)
		for _, w := range ways {
			if eps, ok := loose[c.Name]; ok && eps == 0 && w.dt != tensor.F64 {
				continue
			} else if ok {
				w.eps = max(w.eps, eps)
			}
			t.Run(c.Name+"/"+w.layout+"/"+w.dt.String(), func(t *testing.T) { c.run(t, d, f, w) })
		}
	}
	for name := range functions {
		require.True(t, seen[name], "there is no case %s", name)
	}
}

func (c *one) run(t *testing.T, d *tensor.Device, f Func, w way) {
	var in, vars []*tensor.Tensor
	for _, p := range c.In {
		x, v := p.tensor(t, d, w)
		in, vars = append(in, x), append(vars, v)
	}
	out := f(in)
	require.NoError(t, out.Err())
	require.Equal(t, w.dt, out.DType())
	require.Equal(t, c.Out.Shape, append([]int{}, out.Shape()...))
	near(t, c.Out.Data, out, w.eps, "result")
	seed := make([]float64, out.Count())
	for i := range seed {
		seed[i] = float64(i%3 + 1)
	}
	grads, err := out.BackwardWith(tensor.From(d, seed).Reshape(out.Shape()...).Cast(w.dt))
	require.NoError(t, err)
	n := 0
	for i, p := range c.In {
		if p.I {
			continue
		}
		if want := c.Grad[n]; want != nil {
			near(t, want, grads.Of(vars[i]), w.eps*4, "gradient "+strconv.Itoa(i))
		}
		n++
	}
}

// tensor is the operand, a variable or a view of it if it is not of integers, and the variable.
func (p packed) tensor(t *testing.T, d *tensor.Device, w way) (x, v *tensor.Tensor) {
	data := make([]float64, len(p.Data))
	for i, n := range p.Data {
		data[i] = float64(n)
	}
	x = tensor.From(d, data).Reshape(p.Shape...)
	if p.I {
		x = x.Cast(tensor.I64)
	} else {
		x = tensor.NewVar(x.Cast(w.dt)).Tensor()
	}
	v = x
	if r := x.Rank(); r > 0 && w.layout == "strided" {
		x = x.Transpose(0, r-1).Contiguous().Transpose(0, r-1)
		x = tensor.Cat(r-1, x, x).Narrow(r-1, 0, x.Size(r-1))
	}
	require.NoError(t, x.Err())
	return x, v
}

// near compares numbers relative to their size.
func near(t *testing.T, want []number, x *tensor.Tensor, eps float64, what string) {
	t.Helper()
	got, err := x.Float64s()
	require.NoError(t, err, what)
	require.Len(t, got, len(want), what)
	for i, n := range want {
		w := float64(n)
		if math.IsNaN(w) || math.IsInf(w, 0) {
			require.Equal(t, strconv.FormatFloat(w, 'g', -1, 64), strconv.FormatFloat(got[i], 'g', -1, 64), "%s: element %d", what, i)
			continue
		}
		require.InDelta(t, w, got[i], eps*(1+math.Abs(w)), "%s: element %d of %v", what, i, got)
	}
}
