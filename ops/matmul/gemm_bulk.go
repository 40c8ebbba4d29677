package matmul

import (
	"errors"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

// productMaps are the tensor maps of a product.
type productMaps struct{ x, y, up, out dsl.TensorMap }

// tensorMaps decides whether the factors are copied by tensor maps, and makes them.
func (p *Problem) tensorMaps(dev *runtime.Device, c *tile.Config) (x, y dsl.TensorMap, err error) {
	a, okA := p.tensorMap(p.A, p.Batches[1], c, c.A, c.AVec, int(c.M), [2]int{p.M, p.XM}, [2]int{p.K, p.XK})
	b, okB := p.mapOfB(p.B, c)
	c.Bulk = dsl.ConstBool(p.Warpgroups && ByWarpgroups(c) && okA && okB)
	p.XPlane, p.YPlane = min(a.Sizes[2]-1, 1), min(b.Sizes[2]-1, 1)
	if c.Bulk {
		x, err = dev.EncodeTensorMap(a)
	}
	if c.Bulk && err == nil {
		y, err = dev.EncodeTensorMap(b)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		c.Bulk, err = false, nil
	}
	if !c.Bulk {
		c.Cluster = 1
	}
	return x, y, err
}

// upMap is the tensor map of the second factor of gated units, if there is one and the first has
// one.
func (p *Problem) upMap(dev *runtime.Device, c *tile.Config) (up dsl.TensorMap, err error) {
	if !bool(c.Bulk) || !present(p.up) {
		return up, nil
	}
	m, _ := p.mapOfB(p.up, c)
	return dev.EncodeTensorMap(m)
}

// mapOfB describes the second factor, or another matrix that lies as it does.
func (p *Problem) mapOfB(v ops.View, c *tile.Config) (m runtime.TensorMap, ok bool) {
	return p.tensorMap(v, p.Batches[2], c, c.B, c.BVec, p.tileColumns(c)/int(max(c.Cluster, 1)), [2]int{p.N, p.YN}, [2]int{p.K, p.YK})
}

// tensorMap describes a factor of which a box has so many rows or columns; across and along are its
// size and stride in each direction. ok is false if no map can.
func (p *Problem) tensorMap(v ops.View, batch layout.Layout, c *tile.Config, order dsl.ConstInt, vec dsl.ConstBool, box int, across, along [2]int) (m runtime.TensorMap, ok bool) {
	if order == tile.AcrossK {
		m, ok = planes(v, batch, along, across)
		m.Box = [3]int{int(c.K), int(c.K), 1}
	} else {
		m, ok = planes(v, batch, across, along)
		m.Box = [3]int{int(c.K), box, 1}
	}
	return m, ok && bool(vec)
}

// outMap decides whether results are stored by a tensor map, and makes it. Parts of sums lie one
// behind the other. Rows end with whole chunks: a bulk copy stores these, beyond the edge of the
// tensor, too.
func (p *Problem) outMap(dev *runtime.Device, c *tile.Config, out ops.View, parts int) (words dsl.TensorMap, err error) {
	c.OutSize = 0
	m, ok := planes(out, p.Batches[0], [2]int{p.M, p.OutM}, [2]int{p.N, p.OutN})
	size := out.DType.Size()
	columns := tile.RowBytes / size
	staging := int(c.Warps()) * 2 * p.MatrixRows * tile.RowBytes
	if !bool(c.Bulk) || !ok || p.OutN != 1 || p.N*size%16 != 0 || p.tileColumns(c) < columns || c.Shared()*p.A.DType.Size()+tile.BarrierBytes+staging > p.Info.SharedPerBlock {
		return words, nil
	}
	m.Box, m.Stores = [3]int{columns, p.MatrixRows, 1}, true
	if parts > 1 {
		m.Sizes[2] = parts * p.Batch
	}
	c.OutSize = dsl.ConstInt(size)
	return dev.EncodeTensorMap(m)
}

// planes describes matrices with rows and columns of a size and a stride each, one for each
// product. ok is false if no map can.
func planes(v ops.View, batch layout.Layout, rows, columns [2]int) (m runtime.TensorMap, ok bool) {
	n, step := 1, 0
	if batch.Rank() > 0 {
		n, step = batch.Shape()[0], batch.Strides()[0]
	}
	if step == 0 {
		n = 1
	}
	row, size := rows[1], v.DType.Size()
	if rows[0] == 1 {
		row = ops.RoundUp(columns[0], 16)
	}
	if n == 1 {
		step = row * rows[0]
	}
	m.Addr, m.Elem = v.Addr(), size
	m.Sizes, m.Strides = [3]int{columns[0], rows[0], n}, [2]int{row * size, step * size}
	const most = 1 << 31 // of a size; strides are shorter than 2^40
	ok = batch.Rank() <= 1 && row >= columns[0] && step >= 0 && max(columns[0], rows[0], n) < most && max(m.Strides[0], m.Strides[1]) < 1<<39 && (m.Strides[0]|m.Strides[1]|int(m.Addr))%16 == 0
	return m, ok
}
