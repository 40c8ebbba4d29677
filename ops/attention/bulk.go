package attention

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/attention/kernels"
	"github.com/gokiln/kiln/runtime"
)

// warpgroup is how many warps a group has that multiplies together, or copies for the others.
const warpgroup = 4

// maps are the tensor maps of queries, the gradients of results if there are, keys and values.
type maps [4]dsl.TensorMap

// bulk returns tiles for warpgroup instructions and bulk copies, and the tensor maps. ok is false where
// the device has none for the type, and where no tensor map describes the operands.
func (p *Problem) bulk(dev *runtime.Device, info *runtime.Info, w kernels.ForwardTiles) (_ kernels.ForwardTiles, m maps, ok bool) {
	n, d := p.sizes(), p.K.Layout.Shape()[3]
	if p.Sequences != nil || p.Table.DType != 0 || p.PageTokens > 0 || d > MaxSize || !bool(w.QVec && w.KVec && w.VVec) || !p.bulky(dev) {
		return w, m, false
	}
	w.Bulk, w.Wide = true, dsl.ConstInt(ops.RoundUp(d, tile.RowBytes/p.Q.DType.Size()))
	w.M, w.N, w.Down, w.Stages = 128, 128, 8, 2
	if max(w.Wide, w.DV) > 128 {
		w.N = 64
	}
	w.PingPong, w.Boxes = true, true
	if n.groups*n.s <= leastRows { // as in decoding, where memory is what takes the time
		w.M, w.N, w.Down, w.Stages = leastRows, 64, 4, 6
		w.Boxes = false
	}
	for w.Shared()*p.Q.DType.Size()+tile.ChainBytes > info.SharedPerBlock {
		if w.Stages--; w.Stages < 2 {
			return w, m, false
		}
	}
	m, err := p.tensorMaps(dev, nil, int(w.M), int(w.N))
	return w, m, err == nil
}

// outMap describes a result: planes of so many rows, of which a warpgroup instruction has 16 for a warp.
func outMap(dev *runtime.Device, out ops.View, rows int) (dsl.TensorMap, error) {
	shape, size := out.Layout.Shape(), out.DType.Size()
	n := shape[len(shape)-1]
	return ops.TensorMap(dev, runtime.TensorMap{
		Addr: out.Addr(), Elem: size, Sizes: [3]int{n, rows, out.Layout.Count() / (rows * n)},
		Strides: [2]int{n * size, n * rows * size}, Box: [3]int{tile.RowBytes / size, 16, 1},
	})
}

// aligned16 reports whether a result begins where a tensor map may.
func aligned16(v ops.View) dsl.ConstBool { return v.Addr()%16 == 0 }

// leastRows is how many rows a warpgroup has.
const leastRows = 64

// bulky reports whether a device multiplies the type by warpgroup instructions, and tensor maps can
// describe keys and values.
func (p *Problem) bulky(dev *runtime.Device) bool {
	elem := p.Q.DType.Type()
	return p.Q.DType.Size() == 2 && jit.MatrixShape(dev, elem, dsl.MatrixWarpgroup) == warpgroup &&
		jit.MatrixShape(dev, elem, dsl.MatrixTransposes) == 1 && mappable(p.K) && mappable(p.V)
}

// bulkTiles are tiles for warpgroup instructions: of rows of queries by keys, or of keys by queries.
type bulkTiles struct {
	byRows bool
	list   []tiling
}

// bulkBackward is bulk for gradients.
func (p *Problem) bulkBackward(dev *runtime.Device, info *runtime.Info, table bulkTiles, g *Gradients) (w kernels.Tiles, m maps, ok bool) {
	if n := p.sizes(); !bool(p.vectors(g)) || min(n.groups*n.s, n.keys) < leastRows || !p.bulky(dev) {
		return w, m, false
	}
	size := p.Q.DType.Size()
	wide := dsl.ConstInt(tile.RowBytes / size)
	for _, row := range table.list {
		w = kernels.Tiles{
			M: row.m, N: row.n, D: columns(p.K.Layout.Shape()[3], wide), DV: columns(p.V.Layout.Shape()[3], wide),
			Down: row.down, Across: row.across, Stages: 2, Chunk: dsl.ConstInt(16 / size), Vec: true, Bulk: true, Boxes: true, Raw: p.raw(),
		}
		if int(max(w.D, w.DV)) > row.size || w.Shared(true)*size+tile.ChainBytes > info.SharedPerBlock {
			continue
		}
		ofRows, ofKeys := int(w.M), int(w.N)
		if !table.byRows {
			ofRows, ofKeys = ofKeys, ofRows
		}
		m, err := p.tensorMaps(dev, &g.Out, ofRows, ofKeys)
		return w, m, err == nil
	}
	return w, m, false
}

// raw reports whether scores are nothing but products that are scaled by a positive number.
func (p *Problem) raw() dsl.ConstBool {
	return dsl.ConstBool(p.Scale > 0 && p.SoftCap == 0 && p.ScoreFunc == nil && p.MaskFunc == nil && p.Slopes.DType == 0 && p.Mask.DType == 0)
}

// mappable reports whether a tensor map describes keys or values: heads and batches are planes of one
// distance.
func mappable(v ops.View) bool {
	s, n := v.Layout.Strides(), v.Layout.Shape()
	plane := planeOf(v)
	return plane > 0 && s[2] >= n[3] && (n[0] == 1 || s[0] >= 0 && s[0]%plane == 0) && v.Layout.Count() > 0
}

// planeOf is the distance of heads, or of batches of one head.
func planeOf(v ops.View) int {
	s, n := v.Layout.Strides(), v.Layout.Shape()
	switch {
	case n[1] > 1:
		return s[1]
	case n[0] > 1:
		return s[0]
	}
	return s[2] * n[2] // there is one
}

// tensorMaps makes the tensor maps: copies are of so many rows of queries, or of the gradients of their
// results if there are, and so many of keys and values.
func (p *Problem) tensorMaps(dev *runtime.Device, grad *ops.View, ofRows, ofKeys int) (m maps, err error) {
	q, k, v := rowsOf(p.Q), planes(p.K), planes(p.V)
	list := []*runtime.TensorMap{&q, nil, &k, &v}
	if grad != nil {
		of := rowsOf(*grad)
		list[1] = &of
	}
	for i, t := range list {
		if t == nil {
			continue
		}
		t.Box = [3]int{tile.RowBytes / t.Elem, ofRows, 1}
		if i >= 2 {
			t.Box[1] = ofKeys
		}
		if m[i], err = ops.TensorMap(dev, *t); err != nil {
			return m, err
		}
	}
	return m, nil
}

// rowsOf describes the rows of a contiguous tensor.
func rowsOf(v ops.View) runtime.TensorMap {
	shape, size := v.Layout.Shape(), v.DType.Size()
	d := shape[len(shape)-1]
	rows := shape.Count() / d
	return runtime.TensorMap{Addr: v.Addr(), Elem: size, Sizes: [3]int{d, rows, 1}, Strides: [2]int{d * size, d * rows * size}}
}

// planes describes keys or values.
func planes(v ops.View) runtime.TensorMap {
	s, n, size := v.Layout.Strides(), v.Layout.Shape(), v.DType.Size()
	return runtime.TensorMap{
		Addr: v.Addr(), Elem: size, Sizes: [3]int{n[3], n[2], (n[0]-1)*planesOf(v) + n[1]},
		Strides: [2]int{s[2] * size, planeOf(v) * size},
	}
}

// planesOf is how many planes of a tensor map a batch is behind the one before it.
func planesOf(v ops.View) int {
	if v.Layout.Shape()[0] == 1 {
		return 0
	}
	return v.Layout.Strides()[0] / planeOf(v)
}
