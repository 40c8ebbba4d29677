package attention

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/tensor"
)

// numbers is a tensor of testdata/sdpa.json.
type numbers struct {
	Shape []int
	Data  []*float64 // nil is −Inf
	Bool  bool
}

// golden is a case of testdata/sdpa.json.
type golden struct {
	Name    string
	In      map[string]numbers
	Options struct {
		Scale, SoftCap float64
		Causal         bool
		Window         []int
	}
	Out, LSE, Seed numbers
	SeedLSE        numbers            `json:"seed_lse"`
	Grads          map[string]numbers // of the result
	GradsLSE       map[string]numbers `json:"grads_lse"` // of the result and the log-sum-exp
}

func goldens(t *testing.T) (list []golden) {
	t.Helper()
	text, err := os.ReadFile("testdata/sdpa.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &list))
	return list
}

// tensor returns the numbers on a device.
func (n numbers) tensor(d *tensor.Device, dt tensor.DType) *tensor.Tensor {
	list := make([]float64, len(n.Data))
	for i, x := range n.Data {
		list[i] = math.Inf(-1)
		if x != nil {
			list[i] = *x
		}
	}
	if n.Bool {
		dt = tensor.U8
	}
	return tensor.From(d, list, n.Shape...).Cast(dt)
}

// problem returns the operands as variables, and the options.
func (g golden) problem(d *tensor.Device, dt tensor.DType) (in map[string]*tensor.Tensor, o Options) {
	in = map[string]*tensor.Tensor{}
	for name, n := range g.In {
		if in[name] = n.tensor(d, dt); !n.Bool {
			in[name] = tensor.NewVar(in[name]).Tensor()
		}
	}
	o = Options{Scale: g.Options.Scale, Causal: g.Options.Causal, SoftCap: g.Options.SoftCap,
		Mask: in["mask"], ALiBi: in["alibi"], Sinks: in["sinks"]}
	if w := g.Options.Window; w != nil {
		o.Window = &Window{Left: w[0], Right: w[1]}
	}
	return in, o
}

// some reports whether a combination of members of lists, by their places, is one that is tried:
// all in a sweep, otherwise one of n, such that every member is in some.
func some(n int, places ...int) bool {
	sum := 0
	for _, place := range places {
		sum += place
	}
	return tooltest.Sweeps() || sum%n == 0
}

// devices are the machine's best one and the interpreter, without which a -short run does.
func devices() []string {
	if testing.Short() {
		return []string{"auto"}
	}
	return []string{"auto", "cpu:interp"}
}

// each calls f for every case and device, or in a -short run for some.
func each(t *testing.T, f func(t *testing.T, d *tensor.Device, g golden)) {
	list := goldens(t)
	for _, device := range devices() {
		d := open(t, device)
		for i, g := range list {
			if testing.Short() && i%4 != 0 || device == "cpu:interp" && !some(6, i) {
				continue // machine code has all cases
			}
			t.Run(device+"/"+g.Name, func(t *testing.T) { f(t, d, g) })
		}
	}
}

func open(t *testing.T, device string) *tensor.Device {
	t.Helper()
	d, err := tensor.Open(device)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// near checks numbers to a tolerance, relative and absolute.
func near(t *testing.T, want numbers, got *tensor.Tensor, tolerance float64, what string) {
	t.Helper()
	require.NotNil(t, got, what)
	require.NoError(t, got.Err(), what)
	require.Equal(t, tensor.Shape(want.Shape).String(), got.Shape().String(), what)
	list, err := got.Float64s()
	require.NoError(t, err)
	for i, x := range want.Data {
		if x == nil {
			require.True(t, math.IsInf(list[i], -1), "%s: element %d is %v, want -Inf", what, i, list[i])
			continue
		}
		require.InDelta(t, *x, list[i], tolerance*(1+math.Abs(*x)), "%s: element %d", what, i)
	}
}

// doubles returns F64, or F32 and its tolerance where the device has no F64.
func doubles(d *tensor.Device) (tensor.DType, float64) {
	if d.Supports(tensor.F64) {
		return tensor.F64, 1e-11
	}
	return tensor.F32, 2e-5
}

func TestGolden(t *testing.T) { each(t, checkGolden) }

// TestGoldenInBlocks computes every case in blocks of a few scores.
func TestGoldenInBlocks(t *testing.T) {
	defer func(n int) { maxScores = n }(maxScores)
	maxScores = 24
	each(t, checkGolden)
}

func checkGolden(t *testing.T, d *tensor.Device, g golden) {
	dt, tolerance := doubles(d)
	in, o := g.problem(d, dt)
	out := SDPA(in["q"], in["k"], in["v"], o)
	near(t, g.Out, out, tolerance, "out")
	grads, err := out.BackwardWith(g.Seed.tensor(d, dt))
	require.NoError(t, err)
	for name, want := range g.Grads {
		near(t, want, grads.Of(in[name]), tolerance, "gradient of "+name)
	}
	out, lse := SDPAWithLSE(in["q"], in["k"], in["v"], o)
	near(t, g.Out, out, tolerance, "out beside the log-sum-exp")
	near(t, g.LSE, lse, tolerance, "log-sum-exp")
	finite := lse.MaskedFill(lse.EqScalar(math.Inf(-1)), 0)
	loss := out.Mul(g.Seed.tensor(d, dt)).Sum().Add(finite.Mul(g.SeedLSE.tensor(d, dt)).Sum())
	grads, err = loss.Backward()
	require.NoError(t, err)
	for name, want := range g.GradsLSE {
		near(t, want, grads.Of(in[name]), tolerance, "gradient of "+name+" with the log-sum-exp")
	}
}

// TestGoldenTypes computes every case in types of fewer bits, of which the inputs are exact.
func TestGoldenTypes(t *testing.T) {
	each(t, checkNarrow)
}

func checkNarrow(t *testing.T, d *tensor.Device, g golden) {
	for dt, tolerance := range map[tensor.DType]float64{tensor.F32: 1e-5, tensor.F16: 4e-3, tensor.BF16: 3e-2} {
		if d.Name() == "cpu:interp" && dt != tensor.BF16 && !tooltest.Sweeps() {
			continue
		}
		in, o := g.problem(d, dt)
		out, lse := SDPAWithLSE(in["q"], in["k"], in["v"], o)
		require.Equal(t, dt, out.DType())
		require.Equal(t, tensor.F32, lse.DType())
		near(t, g.Out, out, tolerance, "out")
		near(t, g.LSE, lse, 2e-5, "log-sum-exp")
		grads, err := out.BackwardWith(g.Seed.tensor(d, dt))
		require.NoError(t, err)
		for name, want := range g.Grads {
			near(t, want, grads.Of(in[name]), 3*tolerance, "gradient of "+name)
		}
	}
}
