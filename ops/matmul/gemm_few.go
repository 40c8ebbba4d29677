package matmul

import (
	"fmt"

	"github.com/gokiln/kiln/dsl/tile"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/runtime"
)

// fewRows are the strategies by matrix instructions for products with few rows. Their time is that
// of reading B, so what counts is how many bytes of it are in flight: bulk copies of many stages,
// or tiles that are no higher than there are rows, of which several blocks are resident on a
// multiprocessor.
var fewRows = []ops.Strategy[Problem]{
	fewTiles(tile.Config{M: 16, N: 128, Down: 1, Across: 4, Stages: 6}, func(p *Problem, c tile.Config) bool { return p.low(c) && p.fillsMatrix(c) }),
	matrixTiles(tile.Config{M: 64, N: 128, Down: 4, Across: 1, Stages: 8}, func(p *Problem, c tile.Config) bool { return p.M <= int(c.M) && p.fillsWarpgroups(c) }),
	fewTiles(tile.Config{M: 16, N: 64, Down: 1, Across: 2, Stages: 6}, (*Problem).low),
	fewTiles(tile.Config{M: 32, N: 128, Down: 1, Across: 4, Stages: 5}, func(p *Problem, c tile.Config) bool { return p.low(c) && p.tiles(&c) >= 2*p.Info.Units }),
	fewTiles(tile.Config{M: 32, N: 64, Down: 1, Across: 2, Stages: 6}, func(p *Problem, c tile.Config) bool { return p.low(c) || p.few64() }),
}

// low reports whether tiles are as high as the result.
func (p *Problem) low(c tile.Config) bool { return p.M <= int(c.M) }

// few64 reports whether a result of 8-byte elements has too few tiles of other configurations.
func (p *Problem) few64() bool {
	small := smallMatrix
	return p.A.DType.Size() == 8 && p.tiles(&small) < p.Info.Units
}

// fewTiles is a row for a configuration of few rows.
func fewTiles(c tile.Config, fits func(*Problem, tile.Config) bool) ops.Strategy[Problem] {
	row := matrixTiles(c, func(p *Problem, c tile.Config) bool {
		return p.MatrixRows <= int(c.M) && p.hasMatrix(c) && fits(p, c)
	})
	run := row.Run
	row.Run = func(s *runtime.Stream, p *Problem) error {
		if p.MatrixRows > int(c.M) || !p.Matrix() && int(c.N/c.Across) < p.Info.WarpSize {
			return fmt.Errorf("matmul: %w: warps of %s have no parts of tiles of %dx%d", jit.ErrUnsupported, p.Info.Name, c.M, c.N)
		}
		return run(s, p)
	}
	return row
}

// sumCost is what it takes to store and add a part of a tile's sums, for a tile on each of as many
// multiprocessors, as a part of what it takes to multiply a place along k, of factors of 16 bits:
// an estimate by the rates of an H200. Larger factors take longer to multiply, about with the
// square of their size.
const sumCost = 5

// parts is into how many parts the sums of so many blocks are divided, for the fewest waves of
// them: a multiprocessor takes one block at a time, or as many low ones as it has shared memory
// for.
func (p *Problem) parts(blocks int, c *tile.Config) int {
	slots := p.Info.Units
	if c.M < smallMatrix.M {
		slots *= max(1, p.Info.SharedPerBlock/(c.Shared()*p.A.DType.Size()))
	}
	size := float64(p.A.DType.Size()) / 2
	sum := sumCost / (size * size)
	best, least := 1, 0.0
	for n := 1; n <= min(maxParts, max(1, p.K/(8*int(c.K)))); n++ {
		cost := float64((blocks*n+slots-1)/slots) / float64(n)
		if n > 1 {
			cost += sum * float64(blocks*n) / float64(p.K)
		}
		if n == 1 || cost < least {
			best, least = n, cost
		}
	}
	return best
}
