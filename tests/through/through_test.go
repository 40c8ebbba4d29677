package through_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/detour"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/conformance/kernels"
	"github.com/gokiln/kiln/tests/sim"
	"github.com/gokiln/kiln/tests/through"
)

func TestMain(m *testing.M) { sim.Main(m) }

// TestVariants records launches on the CPU, and then has a device that has code for
// launches of every kind ask for the same: all that it asks for was recorded.
func TestVariants(t *testing.T) {
	rec, err := through.NewRecorder("sm_90")
	require.NoError(t, err)
	cpu, err := runtime.Open("cpu:interp")
	require.NoError(t, err)
	defer cpu.Close()
	gpu := sim.OpenROCm(t, "gfx1100") // skips before anything is done
	launches(t, cpu, rec.Way())

	device, err := target.Parse("hip:gfx1100")
	require.NoError(t, err)
	asked := map[string]compiler.Assume{}
	launches(t, gpu, &detour.Way{
		Loads:  "hip",
		Target: func(string) (target.Target, error) { return rec.Target(), nil },
		Emit: func(p *compiler.Program, tgt target.Target, opt compiler.Options) (*compiler.Artifact, error) {
			art, err := p.Emit(tgt, opt)
			require.NoError(t, err)
			require.True(t, rec.Has(string(art.Code)), "%s for launches that are %q was not recorded", art.Kernel, opt.Assume)
			asked[string(art.Code)] = opt.Assume
			return p.Emit(device, opt)
		},
	})
	kinds := map[compiler.Assume]bool{}
	for _, a := range asked {
		kinds[a] = true
	}
	all := compiler.Small | compiler.Aligned | compiler.Disjoint
	require.Contains(t, kinds, all)
	for _, p := range []compiler.Assume{compiler.Small, compiler.Aligned, compiler.Disjoint} {
		require.Contains(t, kinds, all&^p)
	}
}

// launches goes by a way to a device, with launches that differ in what code may assume.
func launches(t *testing.T, dev *runtime.Device, way *detour.Way) {
	defer detour.Take(way)()
	s := dev.DefaultStream()
	memory, err := runtime.Alloc[float32](dev, 64)
	require.NoError(t, err)
	saxpy := jit.Of(kernels.Saxpy[float32])
	for _, y := range [][2]int{{0, 16}, {1, 17}, {24, 40}} { // aligned, not, and overlapping
		require.NoError(t, saxpy.Launch(s, runtime.Blocks(1, 32), memory.Slice(y[0], y[1]), memory.Slice(32, 48), float32(2)))
	}
	out, err := runtime.Alloc[int64](dev, 32)
	require.NoError(t, err)
	for _, x := range []int{7, 1 << 40} { // small, and not
		for _, k := range []*jit.Kernel{jit.Of(kernels.Fault), jit.Of(kernels.Fault).Checked()} {
			require.NoError(t, k.Launch(s, runtime.Blocks(1, 32), out, 15, 3, x, 1, 0))
		}
	}
	require.NoError(t, s.Sync())
}
