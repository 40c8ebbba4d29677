package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
	core "github.com/gokiln/kiln/ops/kernels"
	matmulkernels "github.com/gokiln/kiln/ops/matmul/kernels"
)

// Implicit is a convolution as the product of a matrix with a row for each position of the result, of
// all inputs, that has what the kernel meets there, by the weights, with a column for each channel of
// the result. Along k, channels of the input are innermost, so many that chunks of 16 bytes are of one
// position. Strides of the input are in chunks.
type Implicit struct {
	M, N, K, Groups      int
	OutDiv, KernelDiv    [Axes]core.Divisor
	Image, Channels      core.Divisor         // positions of an input's result, and its channels
	In, Kernel           [Axes]int            // sizes of the input and of the kernel
	Stride, First, Step  [Axes]int            // the kernel begins at Stride times a position plus First, and goes on by Step
	Back                 [Axes]int            // by how much it goes back from there at most, 0 or less
	X                    [Axes]int            // strides of the input,
	XImage, XGroup       int                  // from input to input, and from group to group
	XChannels            int                  // channels of a group in memory
	Y, YGroup            int                  // strides of the weights: of channels of the result, and of groups
	Out                  int                  // strides of the result: of positions,
	OutImage, OutChannel int                  // inputs, channels
	OutGroup             int                  // and groups
	Flat                 dsl.ConstBool        // the positions of all inputs are one after the other in the result
	Apart                [Axes]core.Divisor   // so many positions have one of the input, of a
	Strided              dsl.ConstBool        // transposed convolution with strides
	Rank                 dsl.ConstInt         // axes, the last ones
	Order                matmulkernels.Raster // of tiles, of which a plane is those of a group
}

// MaxKernel is how many positions the kernel of an implicit GEMM has along an axis at most: each has a
// bit of a number.
const MaxKernel = 10

// row is where the kernel begins for a row of the product, and which of its positions along each axis meet
// the input there.
func (g *Implicit) row(group, row int) (at tile.Place) {
	image, i := g.Image.DivMod(row)
	at.At = image*g.XImage + group*g.XGroup
	for a := Axes - 1; a >= Axes-int(g.Rank); a-- {
		p := i
		if a > Axes-int(g.Rank) {
			i, p = g.OutDiv[a].DivMod(i)
		}
		p = p*g.Stride[a] + g.First[a]
		for k := range g.Kernel[a] {
			in := p + k*g.Step[a]
			if g.Strided && in >= 0 {
				in, rest := g.Apart[a].DivMod(in)
				if rest == 0 && in < g.In[a] && row < g.M {
					at.Has |= 1 << (a*MaxKernel + k)
				}
			} else if uint(in) < uint(g.In[a]) && row < g.M {
				at.Has |= 1 << (a*MaxKernel + k)
			}
		}
		if g.Strided {
			p, _ = g.Apart[a].DivMod(p)
		}
		at.At += p * g.X[a]
	}
	return at
}

// chunk is how much further the chunk at k is, and which positions it needs.
func (g *Implicit) chunk(k int, chunk dsl.ConstInt) (at tile.Place) {
	i, channel := g.Channels.DivMod(k)
	at.At = channel / int(chunk)
	for a := Axes - 1; a >= Axes-int(g.Rank); a-- {
		p := i
		if a > Axes-int(g.Rank) {
			i, p = g.KernelDiv[a].DivMod(i)
		}
		at.Needs |= 1 << (a*MaxKernel + p)
		if p *= g.Step[a]; g.Strided {
			p, _ = g.Apart[a].DivMod(-p)
			p = -p
		}
		at.At += p * g.X[a]
	}
	return at
}

// Pixel is the first pixel that the kernel meets for a row of the product, without its offset.
func (g *Implicit) Pixel(group, row int) (at dsl.Pixel) {
	image, i := g.Image.DivMod(row)
	at.Image, at.Channel = image, group*g.XChannels
	for a := Axes - 1; a >= Axes-int(g.Rank); a-- {
		p := i
		if a > Axes-int(g.Rank) {
			i, p = g.OutDiv[a].DivMod(i)
		}
		at.At[Axes-1-a] = p*g.Stride[a] + g.First[a] + g.Back[a]
	}
	return at
}

// Move is the pixel with the channel and the offset of the stage at k.
func (g *Implicit) Move(at dsl.Pixel, k int) dsl.Pixel {
	i, channel := g.Channels.DivMod(k)
	at.Channel += channel
	for a := Axes - 1; a >= Axes-int(g.Rank); a-- {
		p := i
		if a > Axes-int(g.Rank) {
			i, p = g.KernelDiv[a].DivMod(i)
		}
		at.Offset[Axes-1-a] = p*g.Step[a] - g.Back[a]
	}
	return at
}

// ImplicitGemm is a convolution by the device's matrix instructions, see [Implicit]. A block has a tile
// of the result of a group. With bulk copies it goes over several, and a cluster of blocks has tiles
// below each other; the maps say where x, weights and out are then.
//
//kiln:kernel
//kiln:const g.Flat=false,true g.Strided=false,true g.Rank=1,2 cfg.M=32 cfg.N=64 cfg.K=16 cfg.Down=2 cfg.Across=1 cfg.Stages=2 cfg.Chunk=2 cfg.A=0 cfg.B=0 cfg.Cluster=1 cfg.Bulk=false cfg.OutSize=0 cfg.AVec=true cfg.BVec=true cfg.Promote=0 blocks=1
func ImplicitGemm[O, T dsl.Number, C core.Computed](t dsl.Thread, xMap, yMap, outMap dsl.TensorMap, out []O, x, weights []T, g Implicit, cfg tile.Config, blocks dsl.ConstInt, pairs dsl.ConstBool, mad func(a, b, c C) C) {
	dsl.LaunchBounds(t, cfg.Block(t), blocks)
	cluster := max(int(cfg.Cluster), 1)
	own, high := t.BlockX()%cluster*int(cfg.M), cluster*int(cfg.M)
	tileAt := func(i int) (group, row, col int) {
		row, col, group = g.Order.At(i, high, int(cfg.N))
		return group, row + own, col
	}
	first, end, step := t.BlockX()/cluster, g.Order.Count, t.GridDimX()/cluster
	if !cfg.Bulk {
		step = 0 // no loop, which would take registers
	}
	a := tile.Pixels[T]{Mem: x, Map: xMap, Axes: g.Rank}
	tile.EachGathered(t, &cfg, a, first, end, step, mad, func(i int) (tile.Factor[T], int) {
		group, _, col := tileAt(i)
		return tile.Factor[T]{Mem: weights, At: group*g.YGroup + col*g.Y, Limit: g.N - col, Across: g.Y, Along: 1, Map: yMap, Row: col, Plane: group}, g.K
	}, func(i, r int) tile.Place {
		group, row, _ := tileAt(i)
		return g.row(group, row+r)
	}, func(_, k int) tile.Place { return g.chunk(k, cfg.Chunk) }, func(i int) dsl.Pixel {
		group, row, _ := tileAt(i)
		return g.Pixel(group, row)
	}, func(_ int, at dsl.Pixel, k, _ int) dsl.Pixel { return g.Move(at, k) }, func(i int, sums []C) {
		group, row, col := tileAt(i)
		if cfg.OutSize > 0 {
			tile.Store(t, out, x, sums, outMap, row, col, group, &cfg, func(_, _ int, v, v2 C) [2]O { return [2]O{dsl.Convert[O](v), dsl.Convert[O](v2)} })
			return
		}
		tile.EachPair(t, x, sums, &cfg, func(r, c, next int, v, v2 C) {
			r, c = r+row, c+col
			to := group*g.OutGroup + r*g.Out
			if !g.Flat {
				image, position := g.Image.DivMod(r)
				to = group*g.OutGroup + image*g.OutImage + position*g.Out
			}
			switch {
			case r >= g.M:
			case bool(pairs) && next == 1:
				if c < g.N {
					dsl.StoreVec(out, (to+c)>>1, [2]O{dsl.Convert[O](v), dsl.Convert[O](v2)})
				}
			default:
				if c < g.N {
					out[to+c*g.OutChannel] = dsl.Convert[O](v)
				}
				if c+next < g.N {
					out[to+(c+next)*g.OutChannel] = dsl.Convert[O](v2)
				}
			}
		})
	})
}
