package attention

import (
	"fmt"
	"math"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/attention/kernels"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/runtime"
)

var forward = ops.NewGeneric("attention", kernels.Forward[ops.T, ops.C])

// Problem is an attention: queries (batches, heads of keys, heads of queries of each, rows, d), and
// keys and values (batches, heads of keys, keys, size), of a floating-point type. Mask, Slopes and
// Sinks are broadcast to (batches, heads of keys, heads of queries of each, rows, keys), or have no
// type; those but a mask of U8 are of the type that sums are in.
type Problem struct {
	Q, K, V, Mask, Slopes, Sinks ops.View
	Scale, SoftCap               float64 // SoftCap 0 is none
	Left, Right                  int     // how far from its position a query attends

	// ScoreFunc makes a score of one after the soft cap, and of the positions of its query and key:
	// a func(score float32, query, key int32) float32, nil for none. Sums are in float32 then.
	ScoreFunc *jit.Fn

	// MaskFunc leaves out keys by positions: a func(query, key int32) bool, nil for none. Seen says
	// of which tiles it leaves out all, see [Seen], or has no type.
	MaskFunc *jit.Fn
	Seen     ops.View

	// Sequences are where the keys of each batch are and how many it has, nil if they are those of
	// K and V from the first one on. There is no mask then.
	Sequences []Sequence

	// Packed says that the queries of the sequences are one behind the other: queries and the
	// result are (heads of keys, tokens, heads of queries of each, d), log-sum-exps (heads of keys,
	// tokens, heads of queries of each), and keys and values have one batch.
	Packed bool

	// Pages are the pages of all sequences, if keys and values are in pages of PageTokens tokens: K
	// and V are (pages, heads of keys, PageTokens, size) then.
	Pages      []int32
	PageTokens int

	// Table has, on the device and in place of Sequences and Pages, [TableLen] numbers of I32 for each
	// batch, which a launch reads when it runs: where the new token is stored by [Append], how many
	// queries there are, where its keys begin, as Key of a [Sequence], and how many there are. Behind
	// them are pages. No batch has more than MaxKeys keys. What is in it is not checked.
	Table   ops.View
	MaxKeys int
}

// TableLen is how many numbers of a table a batch has.
const TableLen = kernels.SequenceLen

// Sequence is a batch of a [Problem]. It has Keys keys, and if the problem is Packed Queries
// queries. Query is how many of the queries are before its own; Key how many of the keys, or, if
// keys are in pages, where in Pages its own begin.
type Sequence struct{ Query, Queries, Key, Keys int }

// MaxSize is the largest size of values that a block has sums of.
const MaxSize = 256

// rowsOfTile is how many rows of a plane a block has where blocks have several warps.
const rowsOfTile = 32

// Fits reports whether [Forward] is expected to be faster than products of matrices and a softmax.
// On CPUs it is not: with 2 cores products that are packed for vector registers were 1.7 to 6 times
// as fast, and 30 times for one query. Where there are fewer blocks than multiprocessors, several
// share keys. Gradients are taken from [Backward] where this is true, too. On AMD's and Apple's
// devices none of it was measured.
func Fits(d *runtime.Device, t dtype.DType) bool {
	info := ops.DeviceInfo(d)
	return ops.TraitsOf(&info).BlockTiles && t.Size() == 2
}

// Forward stores the result, of the type of the queries and their shape but for the size of the
// values, and the log-sum-exps, without the last dimension, of the type that sums are in; both are
// contiguous, as are the queries. Values of more than [MaxSize] numbers, and operands whose last
// dimension is not contiguous, are errors of kind [jit.ErrUnsupported]. Other types and shapes, and
// sequences that the operands do not have, are errors of the kinds ErrDType of package ops and
// ErrShape, ErrRank and ErrBroadcast of package layout.
func Forward(s *runtime.Stream, out, logs ops.View, p *Problem) error {
	if err := p.check(); err != nil {
		return fmt.Errorf("attention: %w", err)
	}
	if err := p.checkResults(out, logs); err != nil {
		return fmt.Errorf("attention: %w", err)
	}
	info := ops.DeviceInfo(s.Device())
	if !p.Q.Layout.IsContiguous() || !p.lines() {
		return fmt.Errorf("attention: %w: operands are not contiguous along their last dimension", jit.ErrUnsupported)
	}
	w, maps, err := p.tiles(s.Device(), &info)
	if err != nil {
		return err
	}
	if err := p.checkFunctions(&w); err != nil {
		return fmt.Errorf("attention: %w", err)
	}
	problem, f, bits, bias := p.inKernel()
	problem.Tiles = (problem.Rows + int(w.M) - 1) / int(w.M)
	f.Score = p.ScoreFunc != nil
	switch {
	case p.MaskFunc != nil && p.Seen.DType != 0:
		f.Seen = kernels.SeenByTable
	case p.MaskFunc != nil:
		f.Seen = kernels.SeenByFunc
	}
	table, blocks := p.table(&problem, int(w.M))
	if blocks == 0 {
		return nil
	}
	problem.Splits = splits(&info, blocks, attended(&problem, &f, int(w.M)), p.Q.DType.Size(), &w)
	f.Split = problem.Splits > 1
	if w.Boxes = w.Boxes && !f.Split && aligned16(out); w.Boxes {
		if maps[1], err = outMap(s.Device(), out, problem.Rows); err != nil {
			return err
		}
	}
	numbers, err := p.onDevice(s, table)
	if err != nil {
		return err
	}
	defer numbers.Free(s)
	return p.inParts(s, out, logs, &problem, func(parts, logs runtime.SliceHeader) error {
		d, sum := p.Q.DType, p.Q.DType.Compute()
		g := runtime.Grid{
			Blocks:  runtime.Dim3{X: blocks * problem.Splits},
			Threads: runtime.Dim3{X: int(w.Down) * info.WarpSize},
		}
		if w.Bulk {
			g.Threads.X += warpgroup * info.WarpSize // which copy
			problem.K.Plane, problem.V.Plane = planesOf(p.K), planesOf(p.V)
		}
		hs := [12]runtime.SliceHeader{
			out.Header(), parts, logs, p.Q.Header(), p.K.Header(), p.V.Header(), header(bits), header(p.Seen),
			header(bias), header(p.Slopes), header(p.Sinks), numbers.SliceHeader,
		}
		scale, limit, lowest := p.numbers(sum)
		return forward.Launch(s, ops.TypeArgs{T: d}, g, maps[0], maps[1], maps[2], maps[3],
			ops.SliceArg(d, &hs[0]), ops.SliceArg(sum, &hs[1]), ops.SliceArg(sum, &hs[2]),
			ops.SliceArg(d, &hs[3]), ops.SliceArg(d, &hs[4]), ops.SliceArg(d, &hs[5]),
			ops.SliceArg(dtype.U8, &hs[6]), ops.SliceArg(dtype.U8, &hs[7]),
			ops.SliceArg(sum, &hs[8]), ops.SliceArg(sum, &hs[9]), ops.SliceArg(sum, &hs[10]),
			ops.SliceArg(dtype.I32, &hs[11]), problem,
			ops.ScalarArg(sum, &scale), ops.ScalarArg(sum, &limit), ops.ScalarArg(sum, &lowest),
			f, w, or(p.ScoreFunc, anyScore), or(p.MaskFunc, anyKey))
	})
}

// numbers are the bits of the scale, of the soft cap and of −∞, as a type has them.
func (p *Problem) numbers(d dtype.DType) (scale, limit, low uint64) {
	s, c := dtype.FromFloat(d, p.Scale), dtype.FromFloat(d, p.SoftCap)
	return s.Bits(), c.Bits(), lowest(d)
}

// lowest is the bits of −∞ of a type.
func lowest(d dtype.DType) uint64 {
	x := dtype.FromFloat(d, math.Inf(-1))
	return x.Bits()
}

// tiles chooses the tiles of scores and of results.
func (p *Problem) tiles(dev *runtime.Device, info *runtime.Info) (w kernels.ForwardTiles, m maps, err error) {
	size := p.Q.DType.Size()
	n := 16 / size
	wide := dsl.ConstInt(max(tile.RowBytes/size, info.WarpSize))
	d, dv := p.K.Layout.Shape()[3], p.V.Layout.Shape()[3]
	if dv > MaxSize {
		return w, m, fmt.Errorf("attention: %w: values of %d numbers", jit.ErrUnsupported, dv)
	}
	w = kernels.ForwardTiles{M: rowsOfTile, N: max(64, wide), Down: 2, Stages: 2, Chunk: dsl.ConstInt(n)}
	if ops.TraitsOf(info).WarpBlocks {
		w.M, w.N, w.Down = 16, wide, 1
	}
	w.DV = max((dsl.ConstInt(dv)+wide-1)/wide*wide, wide)
	w.QVec = dsl.ConstBool(d%n == 0 && aligned(p.Q, n))
	w.KVec = dsl.ConstBool(d%n == 0 && aligned(p.K, n))
	w.VVec = dsl.ConstBool(dv%n == 0 && aligned(p.V, n))
	w.Raw = p.raw() && p.Sinks.DType == 0
	if b, m, ok := p.bulk(dev, info, w); ok {
		return b, m, nil
	}
	if need := w.Shared() * size; need > info.SharedPerBlock {
		return w, m, fmt.Errorf("attention: %w: a block needs %d bytes of shared memory, %s has %d",
			jit.ErrUnsupported, need, info.Name, info.SharedPerBlock)
	}
	return w, m, nil
}
