package rows

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

// Devices of the properties that strategies are chosen by.
var (
	hopper = runtime.Info{Units: 132, ThreadsPerUnit: 2048, RegistersPerUnit: 65536, SharedPerBlock: 227 << 10, WarpSize: 32, MaxThreads: 1024, Cooperative: true}
	apple  = runtime.Info{Units: 20, ThreadsPerUnit: 1024, RegistersPerUnit: 65536, SharedPerBlock: 32 << 10, WarpSize: 32, MaxThreads: 1024}
	avx2   = runtime.Info{Units: 16, ThreadsPerUnit: 8, SharedPerBlock: 1 << 20, WarpSize: 8, MaxThreads: 1024}
)

func TestStrategies(t *testing.T) {
	const (
		registers  = "registers"
		lanes      = "lanes: registers, or memory again"
		staged     = "staged"
		fetched    = "staged, next row copied"
		prefetched = "staged, next row in registers"
		split      = "staged by several blocks"
		columns    = "a reduction, then columns"
		elements   = "a reduction, then elements"
	)
	for _, c := range []struct {
		info    *runtime.Info
		dtype   dtype.DType
		norm    bool
		rows, n int
		dim     int
		want    string
	}{
		{&hopper, dtype.F32, false, 16384, 256, 1, registers},
		{&hopper, dtype.F32, true, 1024, 4096, 1, registers},
		{&hopper, dtype.F32, false, 264, 32768, 1, prefetched},
		{&hopper, dtype.F32, false, 128, 32768, 1, split},
		{&hopper, dtype.F32, true, 16, 262144, 1, split},
		{&hopper, dtype.F64, true, 16, 262144, 1, elements},
		{&hopper, dtype.BF16, false, 16384, 256, 1, registers},
		{&hopper, dtype.BF16, false, 1024, 4096, 1, staged},
		{&hopper, dtype.BF16, true, 1024, 32768, 1, fetched},
		{&hopper, dtype.BF16, false, 1024, 32768, 1, staged},
		{&hopper, dtype.BF16, true, 16, 32768, 1, split},
		{&hopper, dtype.F32, false, 4096, 64, 0, columns},
		{&hopper, dtype.F32, true, 4096, 64, 0, elements},
		{&apple, dtype.F32, false, 64, 16384, 1, registers},
		{&apple, dtype.F32, false, 64, 40000, 1, elements},
		{&avx2, dtype.F32, false, 64, 128, 1, lanes},
		{&avx2, dtype.BF16, true, 64, 40000, 1, lanes},
		{&avx2, dtype.F32, true, 1, 262144, 1, elements},
	} {
		at := layout.Contiguous(layout.Shape{c.rows, c.n})
		v := ops.View{DType: c.dtype, Layout: at}
		l, err := newRows("softmax", v, v, c.dim)
		require.NoError(t, err)
		p := newRowPlan(l.shape(c.info, c.norm))
		assert.Equal(t, c.want, p.strategy.name, "%+v", c)
	}
}
