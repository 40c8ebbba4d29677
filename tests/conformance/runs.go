package conformance

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/conformance/kernels"
)

// runs adds cases of loops that count equal bytes, in texts in which few, many or all are.
func (b *builder) runs() {
	for _, n := range []int{1, 5, 37, 150} {
		for _, letters := range []int{1, 2, 9} {
			for _, limit := range []int{0, 3, 4, 30, 1 << 20} {
				text, signed := make([]uint8, n+20), make([]int8, n)
				where, far := make([]int32, n), make([]int64, n)
				for i := range text {
					text[i] = uint8(b.rng.IntN(letters))
					if letters == 2 && i >= 11 && b.rng.IntN(9) > 0 {
						text[i] = text[i-11]
					}
				}
				for i := range signed {
					signed[i] = -int8(text[i])
					where[i] = b.rng.Int32N(int32(n)+1) - 1
					far[i] = int64(b.rng.IntN(n + 2))
				}
				b.add(fmt.Sprintf("Runs/%d/%d/%d", n, letters, limit), kernels.Runs, (n+31)/32, 32,
					make([]int32, 5*n), text, signed, where, far, n, limit)
			}
		}
	}
}

// checkFaultRun has a run of equal bytes end behind the text, or begin before it.
func checkFaultRun(t *testing.T, dev *runtime.Device) {
	const threads, n = 64, 200
	for _, f := range []struct{ at, c, index, thread int }{
		{17, 18, -1, -1},
		{17, 17, n, 17},
		{17, n, n, 17},
		{17, 30, n, 17},
		{5, -1, -1, 5},
		{40, -1 << 40, -1 << 40, 40},
	} {
		text := make([]uint8, n)
		for i := range text {
			text[i] = uint8(i)
		}
		if f.c == 30 { // all the same from both places on
			for i := range text {
				text[i] = uint8(i % 13)
			}
		}
		out := upload32(t, dev, make([]int32, threads))
		k := jit.Of(kernels.FaultRun)
		if dev.Info().Kind != "cpu" {
			k = k.Checked()
		}
		require.NoError(t, k.Launch(dev.DefaultStream(), runtime.Blocks(1, threads), out, upload32(t, dev, text), f.at, f.c))
		err := dev.DefaultStream().Sync()
		if f.thread < 0 {
			require.NoError(t, err, "%+v", f)
			continue
		}
		require.ErrorIs(t, err, runtime.ErrLaunch, "%+v", f)
		assert.Contains(t, err.Error(), fmt.Sprintf("thread (%d,0,0): index out of range [%d]", f.thread, f.index), "%+v", f)
	}
}
