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
	q, v := p.Q.Layout.Shape(), p.V.Layout.Shape()
	info := ops.DeviceInfo(s.Device())
	if !p.Q.Layout.IsContiguous() || !p.lines() {
		return fmt.Errorf("attention: %w: operands are not contiguous along their last dimension", jit.ErrUnsupported)
	}
	c, then, err := p.configs(&info)
	if err != nil {
		return err
	}
	rows := q[2] * q[3]
	problem := kernels.Problem{
		Rows: rows, S: q[3], Keys: v[2], D: q[4], DV: v[3], Heads: q[1],
		Tiles: (rows + int(c.M) - 1) / int(c.M), Off: v[2] - q[3], Left: p.Left, Right: p.Right,
		K: lines(p.K), V: lines(p.V), Mask: strides(p.Mask), Slopes: strides(p.Slopes), Sinks: strides(p.Sinks),
		Scale: p.Scale, Cap: p.SoftCap,
	}
	f := kernels.Features{
		Bounded: p.Left < v[2] && problem.Off+q[3]-1-p.Left > 0 || problem.Off+p.Right+1 < v[2],
		Capped:  p.SoftCap != 0, ALiBi: dsl.ConstBool(p.Slopes.DType != 0), Sinks: dsl.ConstBool(p.Sinks.DType != 0),
	}
	bits, bias := ops.View{}, ops.View{}
	switch p.Mask.DType {
	case 0:
	case dtype.U8:
		bits, f.Mask = p.Mask, kernels.BoolMask
	default:
		bias, f.Mask = p.Mask, kernels.AddedMask
	}
	blocks := problem.Tiles * q[0] * q[1]
	if blocks == 0 {
		return nil
	}
	problem.AllRows = rows * q[0] * q[1]
	problem.Splits = splits(&info, blocks, v[2], p.Q.DType.Size(), &c, &then)
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

// aligned reports whether all rows of a view begin at chunks of n elements.
func aligned(v ops.View, n int) bool {
	all := v.Layout.Strides()
	return v.Layout.Offset()%n == 0 && ops.Multiples(n, all[:len(all)-1]...)
}

// lines reports whether rows of keys and of values are contiguous.
func (p *Problem) lines() bool {
	for _, v := range []ops.View{p.K, p.V} {
		if v.Layout.Shape()[3] > 1 && v.Layout.Strides()[3] != 1 {
			return false
		}
	}
	return true
}

// lines returns the strides of keys or values.
func lines(v ops.View) kernels.Strides {
	s := v.Layout.Strides()
	return kernels.Strides{Batch: s[0], Head: s[1], Key: s[2]}
}

// strides returns those of what is broadcast to the scores: 0 along dimensions of size 1.
func strides(v ops.View) kernels.Strides {
	if v.DType == 0 {
		return kernels.Strides{}
	}
	var at [5]int
	for d, n := range v.Layout.Shape() {
		if n != 1 {
			at[d] = v.Layout.Strides()[d]
		}
	}
	return kernels.Strides{Batch: at[0], Head: at[1], Group: at[2], Row: at[3], Key: at[4]}
}

// header is the memory of an operand, none if it is left out.
func header(v ops.View) runtime.SliceHeader {
	if v.DType == 0 {
		return runtime.SliceHeader{}
	}
	return v.Header()
}
