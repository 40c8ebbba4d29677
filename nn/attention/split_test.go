package attention

import (
	"testing"

	"github.com/gokiln/kiln/internal/pretend"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// TestFusedSplits has several blocks share keys, as they do on devices with more multiprocessors
// than tiles of rows: parts of equal size and not, without any keys, and rows that attend to
// nothing.
func TestFusedSplits(t *testing.T) {
	for at, device := range devices() {
		d := open(t, device)
		for i, n := range []struct{ s, kv, d, dv, threads int }{{1, 700, 32, 24, 0}, {5, 1200, 24, 40, 0}, {40, 300, 16, 16, 512}} {
			q, k := tensor.Randn(d, tensor.F32, 0, 1, 1, 4, n.s, n.d), tensor.Randn(d, tensor.F32, 0, 1, 1, 2, n.kv, n.d)
			v := tensor.Randn(d, tensor.F32, 0, 1, 1, 2, n.kv, n.dv)
			sinks, none := tensor.Randn(d, tensor.F32, 0, 1, 4), tensor.Zeros(d, tensor.U8, 1, n.kv)
			half := tensor.Arange(d, int32(0), int32(n.kv)).GeScalar(float64(n.kv / 2))
			for j, o := range []Options{{}, {Causal: true, Sinks: sinks}, {Window: &Window{Left: 200, Right: 3}, SoftCap: 2},
				{Mask: none}, {Mask: none, Sinks: sinks}, {Mask: half, ALiBi: sinks}} {
				if some(4, at, i, j) {
					plain(t, q, k, v, o, n.threads)
				}
			}
		}
	}
}

// plain compares the kernel, on a device of many multiprocessors, with operations. threads are what
// one takes, 0 for as many as there are.
func plain(t *testing.T, q, k, v *tensor.Tensor, o Options, threads int) {
	t.Helper()
	end := byKernels(t, false)
	want, wantLSE := SDPAWithLSE(q, k, v, o)
	end()
	defer byKernels(t, true)()
	defer pretend.Be(func(info *runtime.Info) {
		if info.Units = 24; threads > 0 {
			info.ThreadsPerUnit = threads
		}
	})()
	got, gotLSE := SDPAWithLSE(q, k, v, o)
	same(t, want, got, 2e-5)
	same(t, wantLSE.Clamp(-1e30, 1e30), gotLSE.Clamp(-1e30, 1e30), 1e-4) // some are 500
	again := SDPA(q, k, v, o)
	same(t, got, again, 0)
}
