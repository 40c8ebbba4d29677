package kernels

import (
	"math"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
	core "github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/quantized/format"
)

// Product says what MatMul multiplies: m rows of x by n rows of a matrix of blocks, all of k elements.
// Sums are of parts of k, of so many elements each, a multiple of a stage: those of one part are m rows
// of the result, and behind them are those of the next.
type Product struct {
	M, N, K int
	Part    int
	First   int          // the first block of the matrix
	Count   int          // tiles, of all parts
	Down    core.Divisor // rows of tiles
	Across  core.Divisor // columns of tiles
}

// runWords is how many words a run of elements is kept in.
const runWords = 4

// MatMul stores the products of the rows of x with all rows of a matrix of blocks, by the device's
// matrix instructions: the values of the blocks are rounded once, to the type of x, and stored in
// shared memory, where the instructions read them. Sums are in float32. A block goes over tiles, of
// which neighbouring blocks have those of the same rows of the matrix. The map says where x is, if the
// configuration has bulk copies. The matrix has as many rows as a tile has columns at least: where it
// ends in a tile, that begins with rows of the one before it, which are not stored again.
//
//kiln:kernel
//kiln:const cfg.M=16 cfg.N=64 cfg.K=64 cfg.Down=1 cfg.Across=1 cfg.Stages=2 cfg.Chunk=8 cfg.A=0 cfg.B=0 cfg.Cluster=1 cfg.Bulk=false cfg.OutSize=0 cfg.Promote=0 cfg.AVec=true cfg.BVec=true pairs=true
func MatMul[F format.Block, O dsl.Float, T dsl.F16 | dsl.BF16](
	t dsl.Thread, xMap dsl.TensorMap, out []O, x []T, b []uint8, h []uint16, w []uint32, p Product,
	cfg tile.Config, pairs dsl.ConstBool, f F,
) {
	dsl.LaunchBounds(t, cfg.Block(t), 1)
	d := format.Data{B: b, H: h, W: w}
	runs := uint32(f.Elems() / format.RunLen)
	line := uint32(p.K / f.Elems()) // indices of bytes have 31 bits
	at := func(i int) (row, col, part int) {
		i, row = p.Down.DivMod(i)
		part, col = p.Across.DivMod(i)
		return row * int(cfg.M), col * int(cfg.N), part
	}
	tile.EachFilled(t, &cfg, t.BlockX(), p.Count, t.GridDimX(), runWords, mulAdd, func(i int) (a tile.Factor[T], first, from, k int) {
		row, col, part := at(i)
		col, from = min(col, p.N-int(cfg.N)), part*p.Part
		a = tile.Factor[T]{Mem: x, At: row*p.K + from, Limit: p.M - row, Across: p.K, Along: 1, Map: xMap, Row: row, K: from}
		return a, col, from, min(p.Part, p.K-from)
	}, func(row, k int, words []uint32, at int) {
		inside := k < p.K
		i := uint32(min(k, p.K-format.RunLen)) / format.RunLen
		block := uint32(p.First) + uint32(row)*line + i/runs
		r := f.Run(d, int(block*uint32(f.Bytes())&math.MaxInt32), int(i%runs))
		if !inside {
			r.D, r.M = 0, math.Float32frombits(1<<31) // -0 as in formats without minimum, for which it is no instruction
		}
		words[at], words[at+1] = r.Q[0], r.Q[1]
		words[at+2], words[at+3] = math.Float32bits(r.D), math.Float32bits(r.M)
	}, func(words []uint32, at int, chunk []T) {
		r := format.Run{Q: [2]uint32{words[at], words[at+1]}, D: math.Float32frombits(words[at+2]), M: math.Float32frombits(words[at+3])}
		for j := range format.RunLen {
			chunk[j] = dsl.To[T](float32(r.D*number(r.Q[j/4], j%4)) + r.M)
		}
	}, func(i int, sums []float32) {
		row, col, part := at(i)
		to, first := part*p.M*p.N, min(col, p.N-int(cfg.N))
		tile.EachPair(t, x, sums, &cfg, func(r, c, next int, v, v2 float32) {
			r, c = r+row, c+first
			if r >= p.M {
				return
			}
			if bool(pairs) && next == 1 {
				if c >= col {
					dsl.StoreVec(out, (to+r*p.N+c)>>1, [2]O{dsl.To[O](v), dsl.To[O](v2)})
				}
				return
			}
			if c >= col {
				out[to+r*p.N+c] = dsl.To[O](v)
			}
			if c+next >= col && c+next < p.N {
				out[to+r*p.N+c+next] = dsl.To[O](v2)
			}
		})
	})
}

func mulAdd(a, b, c float32) float32 { return dsl.FMA(a, b, c) }

// number is byte i of a word, which is signed: what takes 128 and 2²³ from a number with that byte as
// the lowest bits of its fraction is faster than a conversion.
func number(word uint32, i int) float32 {
	return math.Float32frombits(dsl.Permute(word^0x80808080, 0x4B000000, 0x7440|uint32(i))) - (1<<23 + 128)
}
