package cpu

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// scale is y[i] *= a without a grid-stride loop, so that threads past the end
// of y fail when there are any.
const scale = `
module "m"
kernel @Scale(%y: ptr<global,f32>, %n: i64, %a: f32) args(y slice f32 "[]float32", a scalar f32 "float32") {
b0:
  %b = block 0 : i64
  %d = blockdim 0 : i64
  %o = mul %b, %d : i64
  %t = thread 0 : i64
  %i = add %o, %t : i64
  bounds %i, %n !1
  %p = offset %y, %i : ptr<global,f32>
  %v = load %p : f32
  %w = mul %v, %a : f32
  store %p, %w
  ret
}
pos !1 "scale.go" 12 3
`

// The kernels of the compiler run on the real executor.
func TestInterpreter(t *testing.T) {
	dev, err := New().Open(0)
	require.NoError(t, err)
	mod, err := dev.Load(driver.Image{Format: "kir", Name: "Scale", Code: []byte(scale)})
	require.NoError(t, err)
	fn, err := mod.Function("Scale")
	require.NoError(t, err)
	require.Equal(t, "Scale", fn.Info().Name)

	const n = 64
	s, host := dev.Default(), make([]byte, 4*n)
	for i := range n {
		binary.LittleEndian.PutUint32(host[4*i:], math.Float32bits(float32(i)))
	}
	a, err := s.Alloc(4 * n)
	require.NoError(t, err)
	require.NoError(t, s.Upload(a, host))
	args := binary.LittleEndian.AppendUint64(nil, uint64(a))
	args = binary.LittleEndian.AppendUint64(args, n)
	args = binary.LittleEndian.AppendUint32(args, math.Float32bits(0.5))
	l := &driver.Launch{Grid: [3]int{2, 1, 1}, Block: [3]int{32, 1, 1}, Args: args}
	require.NoError(t, s.Launch(fn, l))
	require.NoError(t, s.Download(host, a))
	for i := range n {
		require.Equal(t, float32(i)/2, math.Float32frombits(binary.LittleEndian.Uint32(host[4*i:])))
	}

	l.Grid[0] = 3
	require.NoError(t, s.Launch(fn, l))
	err = s.Sync()
	require.ErrorIs(t, err, driver.ErrLaunch)
	require.ErrorContains(t, err, "kernel Scale failed: scale.go:12")
	t.Log(err)
	require.NoError(t, s.Free(a, 4*n))
	require.NoError(t, dev.Close())
}
