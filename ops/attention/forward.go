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
}

// MaxSize is the largest size of values that a block has sums of.
const MaxSize = 256

// rowsOfTile is how many rows of a plane a block has where blocks have several warps.
const rowsOfTile = 32

// Fits reports whether [Forward] is expected to be faster than products of matrices and a softmax.
// On CPUs it is not: with 2 cores products that are packed for vector registers were 1.7 to 6 times
// as fast, and 30 times for one query. Where there are fewer blocks than multiprocessors, several
// share keys; how fast this is was not measured.
func Fits(d *runtime.Device, t dtype.DType) bool {
	info := ops.DeviceInfo(d)
	return ops.TraitsOf(&info).BlockTiles && t.Size() == 2
}

// Forward stores the result, of the type of the queries, and the log-sum-exps, of the type that
// sums are in; both are contiguous, as are the queries. Values of more than [MaxSize] numbers, and
// operands whose last dimension is not contiguous, are errors of kind [jit.ErrUnsupported].
func Forward(s *runtime.Stream, out, logs ops.View, p *Problem) error {
	q := p.Q.Layout.Shape()
	info := ops.DeviceInfo(s.Device())
	if !p.Q.Layout.IsContiguous() || !p.lines() {
		return fmt.Errorf("attention: %w: operands are not contiguous along their last dimension", jit.ErrUnsupported)
	}
	c, then, err := p.configs(&info)
	if err != nil {
		return err
	}
	problem, f, bits, bias := p.inKernel()
	problem.Tiles = (problem.Rows + int(c.M) - 1) / int(c.M)
	blocks := problem.Tiles * q[0] * q[1]
	if blocks == 0 {
		return nil
	}
	problem.AllRows = problem.Rows * q[0] * q[1]
	problem.Splits = splits(&info, blocks, problem.Keys, p.Q.DType.Size(), &c, &then)
	f.Split = problem.Splits > 1
	return p.inParts(s, out, logs, &problem, func(parts, logs runtime.SliceHeader) error {
		d, sum := p.Q.DType, p.Q.DType.Compute()
		g := runtime.Grid{Blocks: runtime.Dim3{X: blocks * problem.Splits}, Threads: runtime.Dim3{X: int(c.Warps()) * info.WarpSize}}
		hs := [10]runtime.SliceHeader{out.Header(), parts, logs, p.Q.Header(), p.K.Header(), p.V.Header(), header(bits), header(bias), header(p.Slopes), header(p.Sinks)}
		word := lowest(sum)
		return forward.Launch(s, ops.TypeArgs{T: d}, g, ops.SliceArg(d, &hs[0]), ops.SliceArg(sum, &hs[1]), ops.SliceArg(sum, &hs[2]), ops.SliceArg(d, &hs[3]), ops.SliceArg(d, &hs[4]), ops.SliceArg(d, &hs[5]),
			ops.SliceArg(dtype.U8, &hs[6]), ops.SliceArg(sum, &hs[7]), ops.SliceArg(sum, &hs[8]), ops.SliceArg(sum, &hs[9]), problem, ops.ScalarArg(sum, &word), f, c, then)
	})
}

// lowest is the bits of −∞ of a type.
func lowest(d dtype.DType) uint64 {
	x := dtype.FromFloat(d, math.Inf(-1))
	return x.Bits()
}

// configs chooses the tiles of scores and of results.
func (p *Problem) configs(info *runtime.Info) (c, then tile.Config, err error) {
	d := p.Q.DType
	size := d.Size()
	chunk, k := dsl.ConstInt(16/size), dsl.ConstInt(tile.RowBytes/size)
	wide := max(k, dsl.ConstInt(info.WarpSize))
	dv := p.V.Layout.Shape()[3]
	if dv > MaxSize {
		return c, then, fmt.Errorf("attention: %w: values of %d numbers", jit.ErrUnsupported, dv)
	}
	c = tile.Config{M: rowsOfTile, N: max(64, wide), K: k, Down: 2, Across: 1, Stages: 2, Chunk: chunk}
	if ops.TraitsOf(info).WarpBlocks {
		c.M, c.N, c.Down = 16, wide, 1
	}
	then = c
	then.B = tile.AcrossK
	then.N = max((dsl.ConstInt(dv)+wide-1)/wide*wide, wide)
	n := 16 / size
	q := p.Q.Layout.Shape()
	c.AVec = dsl.ConstBool(q[4]%n == 0 && aligned(p.Q, n))
	c.BVec = dsl.ConstBool(q[4]%n == 0 && aligned(p.K, n))
	then.AVec, then.BVec = true, dsl.ConstBool(dv%n == 0 && aligned(p.V, n))
	if need := sharedElements(&c, &then) * size; need > info.SharedPerBlock {
		return c, then, fmt.Errorf("attention: %w: a block needs %d bytes of shared memory, %s has %d", jit.ErrUnsupported, need, info.Name, info.SharedPerBlock)
	}
	return c, then, nil
}
