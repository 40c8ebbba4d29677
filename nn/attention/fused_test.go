package attention

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/tensor"
)

// fuse has the kernel be taken for all of the test, which fails where operations compute instead.
func fuse(t *testing.T) { t.Cleanup(byKernels(t, true)) }

// byKernels has kernels be taken or not until end is called. The test fails if they are to be taken
// and refuse.
func byKernels(t *testing.T, yes bool) (end func()) {
	was, fell := fusing, fellBack
	fusing = func(*problem) bool { return yes }
	fellBack = func(err error) { t.Helper(); t.Errorf("operations compute, not the kernel: %v", err) }
	return func() { fusing, fellBack = was, fell }
}

func TestGoldenFused(t *testing.T) {
	fuse(t)
	each(t, checkGolden)
}

func TestGoldenFusedTypes(t *testing.T) {
	fuse(t)
	each(t, func(t *testing.T, d *tensor.Device, g golden) {
		// Each compiles kernels.
		if more := g.Name == "causal, fewer keys" || g.Name == "boolean mask"; g.Name == "all" || more && tooltest.Sweeps() {
			checkNarrow(t, d, g)
		}
	})
}

// TestFusedTiles has several tiles of rows and keys, with edges, and operands that are views.
func TestFusedTiles(t *testing.T) {
	for at, device := range devices() {
		d := open(t, device)
		for i, n := range []struct{ s, kv, d, dv int }{{70, 150, 40, 24}, {33, 20, 64, 72}, {1, 200, 32, 32}} {
			q := tensor.Randn(d, tensor.F32, 0, 1, 2, n.s, 4, n.d).Transpose(1, 2)
			k := tensor.Randn(d, tensor.F32, 0, 1, 2, n.kv+3, 2, n.d).Transpose(1, 2).Narrow(2, 3, n.kv)
			v := tensor.Randn(d, tensor.F32, 0, 1, 2, 2, n.dv, n.kv).T()
			sinks := tensor.Randn(d, tensor.F32, 0, 1, 4)
			mask := tensor.Rand(d, tensor.F32, 0, 1, 4, 1, n.kv).GtScalar(0.2)
			for j, o := range []Options{{}, {Causal: true, Sinks: sinks}, {Window: &Window{Left: 9, Right: 30}, Mask: mask}} {
				if !some(3, at, i, j) {
					continue
				}
				end := byKernels(t, false)
				want, wantLSE := SDPAWithLSE(q, k, v, o)
				end()
				end = byKernels(t, true)
				got, gotLSE := SDPAWithLSE(q, k, v, o)
				end()
				same(t, want, got, 2e-5)
				same(t, wantLSE.Clamp(-1e30, 1e30), gotLSE.Clamp(-1e30, 1e30), 2e-5)
			}
		}
	}
}

// TestFusedHalves is TestFusedTiles for types of 16 bits, whose operands can be copied in boxes: with
// several tiles, edges, and sizes that are no whole rows of boxes. On a CPU there are few cases.
func TestFusedHalves(t *testing.T) {
	d := open(t, "auto")
	dt, shapes := tensor.BF16, []halves{{300, 700, 64, 64}, {129, 257, 128, 128}, {64, 300, 80, 40}, {200, 333, 256, 128}, {70, 70, 96, 256}, {513, 513, 128, 64}, {1, 900, 128, 128}, {9, 500, 64, 72}}
	if d.Kind() == "cpu" {
		dt, shapes = tensor.F16, []halves{{33, 70, 80, 40}}
	}
	for _, n := range shapes {
		mask := tensor.Rand(d, tensor.F32, 0, 1, 4, 1, n.kv).GtScalar(0.2)
		bias, sinks := tensor.Randn(d, dt, 0, 1, n.s, n.kv), tensor.Randn(d, dt, 0, 1, 4)
		for i, o := range []Options{{}, {Causal: true}, {Causal: true, Sinks: sinks}, {Window: &Window{Left: 99, Right: 30}, Mask: mask}, {Mask: bias, SoftCap: 3}, {Scale: -0.1}} {
			if d.Kind() == "cpu" && i != 2 && i != 4 && !tooltest.Sweeps() {
				continue // float32 has the others in TestFusedGradients
			}
			t.Run(fmt.Sprintf("%v/%d", n, i), func(t *testing.T) { n.check(t, d, dt, o) })
		}
	}
}

// halves are numbers of queries and keys, and sizes of both and of values.
type halves struct{ s, kv, d, dv int }

// check compares the kernels with operations in float32.
func (n *halves) check(t *testing.T, d *tensor.Device, dt tensor.DType, o Options) {
	q := tensor.NewVar(tensor.Randn(d, dt, 0, 1, 2, n.s, 4, n.d).Transpose(1, 2))
	k := tensor.NewVar(tensor.Randn(d, dt, 0, 1, 2, n.kv+3, 2, n.d).Transpose(1, 2).Narrow(2, 3, n.kv))
	v := tensor.NewVar(tensor.Randn(d, dt, 0, 1, 2, 2, n.kv+8, n.dv).Narrow(2, 0, n.kv))
	seed := tensor.Randn(d, dt, 0, 1, 2, 4, n.s, n.dv)
	results := func(kernels bool, dt tensor.DType) []*tensor.Tensor {
		defer byKernels(t, kernels)()
		o := o
		for _, x := range []**tensor.Tensor{&o.Mask, &o.Sinks} {
			if *x != nil && (*x).DType() != tensor.U8 {
				*x = (*x).Cast(dt)
			}
		}
		out, lse := SDPAWithLSE(q.Tensor().Cast(dt), k.Tensor().Cast(dt), v.Tensor().Cast(dt), o)
		grads, err := out.BackwardWith(seed.Cast(dt))
		require.NoError(t, err)
		return []*tensor.Tensor{lse.Clamp(-1e30, 1e30), out, grads.Of(q.Tensor()), grads.Of(k.Tensor()), grads.Of(v.Tensor())}
	}
	want, got := results(false, tensor.F32), results(true, dt)
	for i, name := range []string{"log-sum-exp", "out", "gradient of q", "gradient of k", "gradient of v"} {
		w, g := want[i].Cast(tensor.F32), got[i].Cast(tensor.F32)
		most := list(t, w.Abs().Max())[0]
		t.Log(name, "at most", most)
		same(t, w, g, 0.02*(1+most/4))
	}
}

// BenchmarkSDPA compares the kernel with the operations.
func BenchmarkSDPA(b *testing.B) {
	d, err := tensor.Open("auto")
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close() //nolint:errcheck // nothing to do about it
	for _, c := range []struct {
		name string
		dt   tensor.DType
		n    [6]int
		o    Options
	}{
		{"f32/4x256x64/causal", tensor.F32, [6]int{1, 4, 4, 256, 256, 64}, Options{Causal: true}},
		{"f32/8x1024x64/causal", tensor.F32, [6]int{1, 8, 2, 1024, 1024, 64}, Options{Causal: true}},
		{"f32/8x1x2048x64", tensor.F32, [6]int{1, 8, 2, 1, 2048, 64}, Options{}},
		{"f64/4x512x64", tensor.F64, [6]int{1, 4, 4, 512, 512, 64}, Options{}},
		{"f32/8x1024x64", tensor.F32, [6]int{1, 8, 2, 1024, 1024, 64}, Options{}},
		{"f32/16x128x32/causal", tensor.F32, [6]int{4, 4, 4, 128, 128, 32}, Options{Causal: true}},
		{"bf16/8x512x128", tensor.BF16, [6]int{1, 8, 8, 512, 512, 128}, Options{}},
		{"bf16/32x4096x128", tensor.BF16, [6]int{1, 32, 32, 4096, 4096, 128}, Options{}},
	} {
		if cpu := d.Runtime().Info().ThreadsPerUnit <= d.Runtime().Info().WarpSize; cpu && c.n[3] > 2048 {
			continue
		}
		q, k, v := qkv(d, c.n[0], c.n[1], c.n[2], c.n[3], c.n[4], c.n[5])
		q, k, v = q.Cast(c.dt), k.Cast(c.dt), v.Cast(c.dt)
		for name, yes := range map[string]bool{"kernel": true, "operations": false} {
			b.Run(c.name+"/"+name, func(b *testing.B) {
				was := fusing
				defer func() { fusing = was }()
				fusing = func(*problem) bool { return yes }
				once := func() {
					y := SDPA(q, k, v, c.o)
					if err := errors.Join(y.Err(), d.Synchronize(), y.Free()); err != nil {
						b.Fatal(err)
					}
				}
				once() // compiles
				for b.Loop() {
					once()
				}
				o := c.n
				b.ReportMetric(4*float64(o[0]*o[1]*o[3]*o[4]*o[5])*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}
