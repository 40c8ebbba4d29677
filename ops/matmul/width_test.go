package matmul

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl/tile"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/matmul/kernels"
	"github.com/gokiln/kiln/runtime"
)

// TestNarrow chooses columns of tiles on 132 multiprocessors.
func TestNarrow(t *testing.T) {
	large := tile.Config{M: 128, N: 256, Down: 8, Across: 1, Stages: 4}
	clusters := large
	clusters.Cluster = 2
	low := tile.Config{M: 64, N: 128, Down: 4, Across: 1, Stages: 8}
	for _, c := range []struct {
		m, n, k int
		of      tile.Config
		want    int
		why     string
	}{
		{4096, 4096, 4096, clusters, 256, "512 tiles are 3.9 rounds"},
		{2048, 14336, 4096, clusters, 256, "896 tiles are 6.8 rounds"},
		{4095, 4104, 4104, clusters, 208, "544 tiles would be five rounds, of which the last has 16; 640 narrower ones are, too"},
		{256, 14336, 4096, large, 224, "128 tiles in place of 112"},
		{64, 14336, 4096, low, 112, "128 tiles in place of 112"},
		{8192, 8192, 8192, clusters, 256, "2048 tiles are 15.5 rounds"},
	} {
		p := &Problem{Product: kernels.Product{M: c.m, N: c.n, K: c.k, Batch: 1, XM: c.k, XK: 1, YN: c.k, YK: 1}, Warpgroups: true, MatrixRows: 16}
		p.Info = runtime.Info{Units: 132, SharedPerBlock: 227 << 10, WarpSize: 32}
		p.A, p.B, p.Out = ops.View{DType: dtype.BF16}, ops.View{DType: dtype.BF16}, ops.View{DType: dtype.BF16}
		for i := range p.Batches {
			p.Batches[i] = layout.Contiguous(layout.Shape{})
		}
		fitted(&c.of, p)
		p.narrow(&c.of)
		require.Equal(t, c.want, int(c.of.N), "%d×%d×%d: %s", c.m, c.n, c.k, c.why)
	}
}
