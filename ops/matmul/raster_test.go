package matmul

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl/tile"
	"github.com/gokiln/kiln/ops/matmul/kernels"
)

// TestRaster goes over the tiles of planes: each comes once, those of a band one below the other.
func TestRaster(t *testing.T) {
	for _, size := range [][4]int{{1, 1, 1, 1}, {7, 3, 1, 1}, {8, 1, 2, 1}, {9, 4, 1, 3}, {16, 5, 3, 2}, {21, 2, 2, 2}} {
		down, across, batch, parts := size[0], size[1], size[2], size[3]
		p := &Problem{Product: kernels.Product{M: down*32 - 5, N: across*16 - 3, Batch: batch}}
		r := p.raster(&tile.Config{M: 16, N: 16, Cluster: 2}, parts)
		require.Equal(t, down*across*batch*parts, r.Count, "%v", size)
		seen := map[[3]int]bool{}
		for i := range r.Count {
			row, col, plane := r.At(i, 32, 16)
			require.Equal(t, i/(down*across), plane, "%v, tile %d", size, i)
			require.True(t, row%32 == 0 && row < 32*down && col%16 == 0 && col < 16*across, "%v, tile %d: %d, %d", size, i, row, col)
			require.False(t, seen[[3]int{row, col, plane}], "%v, tile %d again: %d, %d", size, i, row, col)
			seen[[3]int{row, col, plane}] = true
			if band := row / 32 / kernels.BandRows; i%(down*across) > 0 {
				before, _, _ := r.At(i-1, 32, 16)
				require.LessOrEqual(t, band-before/32/kernels.BandRows, 1, "%v, tile %d", size, i)
			}
		}
		row, col, _ := r.At(min(1, r.Count-1), 32, 16)
		require.True(t, r.Count == 1 || (row == 32) == (down > 1) && (col == 16) == (down == 1), "%v: %d, %d", size, row, col)
	}
}
