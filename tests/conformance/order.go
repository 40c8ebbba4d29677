package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/conformance/kernels"
)

// RunOrder runs kernels one behind the other, each of which reads what other blocks of the one
// before it wrote last, and in between copies and other memory operations: none may begin
// before all that comes before it has ended.
func RunOrder(t *testing.T, dev *runtime.Device) {
	t.Run("Order", func(t *testing.T) {
		const n, turns, by = 64<<10 + 7, 60, 40<<10 + 1
		k, s := jit.Of(kernels.Passed), dev.DefaultStream()
		at := make([]uint32, n)
		for i := range at {
			at[i] = uint32(i)
		}
		from, err := runtime.Alloc[uint32](dev, n)
		require.NoError(t, err)
		to, err := runtime.Alloc[uint32](dev, n)
		require.NoError(t, err)
		require.NoError(t, from.CopyFrom(at))
		for turn := range turns {
			switch turn % 10 {
			case 8:
				require.NoError(t, runtime.Copy(to, from))
				from, to = to, from
			case 9:
				require.NoError(t, to.Zero())
			}
			require.NoError(t, k.Launch(s, runtime.Cover(n, 256), to, from, by))
			from, to = to, from
		}
		got, err := from.Host()
		require.NoError(t, err)
		want := make([]uint32, n)
		for i := range want {
			want[i] = uint32((i+turns*by)%n + turns)
		}
		require.Equal(t, want, got)
	})
}
