package attention

import (
	"errors"
	"fmt"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/attention/kernels"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

var (
	decode     = ops.NewGeneric("attention", kernels.Decode[ops.T, ops.C])
	decodeWarp = ops.NewGeneric("attention", kernels.DecodeWarp[ops.T, ops.C])
	appended   = ops.NewGeneric("attention append", kernels.Append[ops.T, ops.C])
)

// decodeThreads is how many threads a block of [kernels.Decode] has, and so keys at a time.
const decodeThreads = 128

// mostEach is how many elements of a query, and of a value, a lane of [kernels.DecodeWarp] has at
// most: they are in registers.
const mostEach = 16

// Decode is [Forward] of a problem with a Table and one query of each head, on every device and of
// every type of floating-point numbers. Nothing of it is of the host, so that a graph can hold it:
// its blocks are as many as MaxKeys keys take, and those behind the keys that there are end at
// once.
func Decode(s *runtime.Stream, out, logs ops.View, p *Problem) error {
	q := p.Q.Layout.Shape()
	if p.Table.DType == 0 || len(q) != 5 || q[3] != 1 || p.ScoreFunc != nil || p.MaskFunc != nil {
		return fmt.Errorf("attention: %w: one query for each head, and a table, of queries %v", layout.ErrShape, q)
	}
	if Fits(s.Device(), p.Q.DType) {
		if err := Forward(s, out, logs, p); !errors.Is(err, jit.ErrUnsupported) {
			return err
		}
	}
	if err := p.check(); err != nil {
		return fmt.Errorf("attention: %w", err)
	}
	if err := p.checkResults(out, logs); err != nil {
		return fmt.Errorf("attention: %w", err)
	}
	if !p.Q.Layout.IsContiguous() || !p.lines() {
		return fmt.Errorf("attention: %w: operands are not contiguous along their last dimension", jit.ErrUnsupported)
	}
	problem, f, _, _ := p.inKernel()
	w := kernels.DecodeTiles{Rows: 1, Threads: decodeThreads}
	for w.Rows < 4 && problem.Groups%int(2*w.Rows) == 0 {
		w.Rows *= 2
	}
	w.Columns = dsl.ConstInt((problem.DV + decodeThreads - 1) / decodeThreads)
	problem.Tiles = problem.Groups / int(w.Rows)
	_, blocks := p.table(&problem, int(w.Rows))
	if blocks == 0 {
		return nil
	}
	info := ops.DeviceInfo(s.Device())
	problem.Splits = decodeSplits(&info, blocks, attended(&problem, &f, 1))
	f.Split = problem.Splits > 1
	return p.inParts(s, out, logs, &problem, func(parts, logs runtime.SliceHeader) error {
		d, sum := p.Q.DType, p.Q.DType.Compute()
		kernel, threads, tiles := decode, decodeThreads, any(w)
		if lanes := info.WarpSize; ops.TraitsOf(&info).WarpBlocks && max(problem.D, problem.DV) <= mostEach*lanes {
			kernel, threads, tiles = decodeWarp, lanes, kernels.WarpTiles{
				Rows: w.Rows, Lanes: dsl.ConstInt(lanes), Each: dsl.ConstInt((problem.D + lanes - 1) / lanes),
				Columns: dsl.ConstInt((problem.DV + lanes - 1) / lanes), Whole: problem.D%lanes == 0 && problem.DV%lanes == 0,
			}
		}
		g := runtime.Grid{Blocks: runtime.Dim3{X: blocks * problem.Splits}, Threads: runtime.Dim3{X: threads}}
		hs := [9]runtime.SliceHeader{
			out.Header(), parts, logs, p.Q.Header(), p.K.Header(), p.V.Header(),
			header(p.Slopes), header(p.Sinks), p.Table.Header(),
		}
		scale, limit, lowest := p.numbers(sum)
		return kernel.Launch(s, ops.TypeArgs{T: d}, g,
			ops.SliceArg(d, &hs[0]), ops.SliceArg(sum, &hs[1]), ops.SliceArg(sum, &hs[2]),
			ops.SliceArg(d, &hs[3]), ops.SliceArg(d, &hs[4]), ops.SliceArg(d, &hs[5]),
			ops.SliceArg(sum, &hs[6]), ops.SliceArg(sum, &hs[7]), ops.SliceArg(dtype.I32, &hs[8]),
			problem, ops.ScalarArg(sum, &scale), ops.ScalarArg(sum, &limit), ops.ScalarArg(sum, &lowest), f, tiles)
	})
}

// decodeSplits is how many blocks share keys: as many as there are multiprocessors for, of several
// tiles each.
func decodeSplits(info *runtime.Info, blocks, keys int) int {
	return max(1, min(info.Units/blocks, keys/(leastTiles*decodeThreads), mostSplits))
}

// New is the keys and values of one new token of each of some batches, (batches, heads, size), and
// the caches that they are stored in: (batches, heads, tokens, size), or with PageTokens (pages,
// heads, PageTokens, size). Cos and Sin, (batches, pairs) of the type that keys are computed in,
// rotate these, or have no type.
type New struct {
	K, V, ToK, ToV, Cos, Sin ops.View
	Interleaved              bool // pairs are neighbours
	Table                    ops.View
	PageTokens               int
}

// Append stores new tokens where a table says, see [Problem]: by one launch, which reads the table
// when it runs. Operands that do not go together are errors of the kinds ErrDType of package ops
// and ErrShape and ErrRank of package layout. What is in the table is not checked.
func Append(s *runtime.Stream, n *New) error {
	if err := n.check(); err != nil {
		return fmt.Errorf("attention append: %w", err)
	}
	k, v := n.K.Layout.Shape(), n.V.Layout.Shape()
	a := kernels.Appended{
		Heads: k[1], D: k[2], DV: v[2], PagesAt: k[0] * TableLen,
		K: newLines(n.K), V: newLines(n.V), ToK: lines(n.ToK), ToV: lines(n.ToV),
		Page: dsl.ConstInt(n.PageTokens), Interleaved: dsl.ConstBool(n.Interleaved),
	}
	if n.Cos.DType != 0 {
		a.Rotated, a.Pairs = true, n.Cos.Layout.Shape()[1]
	}
	d, sum, threads := n.K.DType, n.K.DType.Compute(), 32
	for threads < 256 && threads < max(k[2], v[2]) {
		threads *= 2
	}
	g := runtime.Grid{Blocks: runtime.Dim3{X: k[0] * k[1]}, Threads: runtime.Dim3{X: threads}}
	hs := [7]runtime.SliceHeader{
		n.ToK.Header(), n.ToV.Header(), n.K.Header(), n.V.Header(), header(n.Cos), header(n.Sin), n.Table.Header(),
	}
	return appended.Launch(s, ops.TypeArgs{T: d}, g,
		ops.SliceArg(d, &hs[0]), ops.SliceArg(d, &hs[1]), ops.SliceArg(d, &hs[2]), ops.SliceArg(d, &hs[3]),
		ops.SliceArg(sum, &hs[4]), ops.SliceArg(sum, &hs[5]), ops.SliceArg(dtype.I32, &hs[6]), a)
}

// newLines returns the strides of new keys or values.
func newLines(v ops.View) kernels.Strides {
	s := v.Layout.Strides()
	return kernels.Strides{Batch: s[0], Head: s[1]}
}

// check checks that operands go together.
func (n *New) check() error {
	d, t := n.K.DType, n.Table
	if !d.IsFloat() || n.V.DType != d || n.ToK.DType != d || n.ToV.DType != d || n.Cos.DType != n.Sin.DType ||
		n.Cos.DType != 0 && n.Cos.DType != d.Compute() || t.DType != dtype.I32 {
		return fmt.Errorf("%w: keys of %v and values of %v in %v and %v, by cosines of %v, sines of %v and a table of %v",
			ops.ErrDType, d, n.V.DType, n.ToK.DType, n.ToV.DType, n.Cos.DType, n.Sin.DType, t.DType)
	}
	k, v, toK, toV := n.K.Layout.Shape(), n.V.Layout.Shape(), n.ToK.Layout.Shape(), n.ToV.Layout.Shape()
	if len(k) != 3 || len(v) != 3 || len(toK) != 4 || len(toV) != 4 {
		return fmt.Errorf("%w: keys %v and values %v in %v and %v", layout.ErrRank, k, v, toK, toV)
	}
	fits := k[:2].Equal(v[:2]) && toK[:3].Equal(toV[:3]) && toK[1] == k[1] && toK[3] == k[2] && toV[3] == v[2]
	if n.PageTokens == 0 {
		fits = fits && toK[0] == k[0]
	} else {
		fits = fits && toK[2] == n.PageTokens
	}
	rows := true // contiguous
	for _, x := range []ops.View{n.K, n.V, n.ToK, n.ToV} {
		s := x.Layout.Strides()
		rows = rows && s[len(s)-1] == 1
	}
	if !fits || !rows || !t.Layout.IsContiguous() || t.Layout.Count() < k[0]*TableLen {
		return fmt.Errorf("%w: keys %v and values %v in %v and %v by a table %v",
			layout.ErrShape, n.K.Layout, n.V.Layout, n.ToK.Layout, n.ToV.Layout, t.Layout)
	}
	if n.Cos.DType == 0 {
		return nil
	}
	for _, x := range []ops.View{n.Cos, n.Sin} {
		c := x.Layout
		if !c.IsContiguous() || len(c.Shape()) != 2 || c.Shape()[0] != k[0] || 2*c.Shape()[1] > k[2] ||
			!c.Shape().Equal(n.Cos.Layout.Shape()) {
			return fmt.Errorf("%w: cosines %v and sines %v of keys %v", layout.ErrShape, n.Cos.Layout, n.Sin.Layout, k)
		}
	}
	return nil
}
