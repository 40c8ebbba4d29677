package matmul

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/matmul/kernels"
	"github.com/gokiln/kiln/runtime"
)

// skinnyCols is how many columns a matrix has at most that is multiplied column by column.
const skinnyCols = 4

var (
	skinnyRows    = ops.NewGeneric("matmul", kernels.SkinnyRows[ops.O, ops.T, ops.C])
	skinnyColumns = ops.NewGeneric("matmul", kernels.SkinnyCols[ops.O, ops.T, ops.C])
	skinnyWarps   = ops.NewGeneric("matmul", kernels.SkinnyWarps[ops.O, ops.T, ops.C])

	skinnyRowsThen  = ops.NewGeneric("matmul", kernels.SkinnyRowsThen[ops.O, ops.T, ops.C])
	skinnyWarpsThen = ops.NewGeneric("matmul", kernels.SkinnyWarpsThen[ops.O, ops.T, ops.C])
)

// skinny reports whether there are few columns, so that time goes into reading x.
func (p *Problem) skinny() bool { return p.N <= skinnyCols }

// runSkinny multiplies skinny matrices. With vectors a thread reads 16 bytes at once where
// it can: on a processor whose vectors are warps, the elements of one would lie apart.
func runSkinny(s *runtime.Stream, p *Problem, vectors bool) error {
	if !p.skinny() {
		return fmt.Errorf("%w: %d by %d is not skinny, at most %d columns are", layout.ErrShape, p.M, p.N, skinnyCols)
	}
	switch {
	case p.XM != 1 || p.XK == 1:
		return runSkinnyRows(s, p, vectors)
	case vectors:
		return runSkinnyWarps(s, p)
	}
	return runSkinnyCols(s, p)
}

// skinnyWords are the factors that skinny products multiply in words of 32 bits, with the types of
// these: bytes by dot products of four, whose sums hold all that shorter results do, and pairs of
// bfloat16, which take one load and no conversion of each element.
var skinnyWords = map[dtype.DType]dtype.DType{dtype.I8: dtype.I32, dtype.U8: dtype.U32, dtype.BF16: dtype.F32}

// inWords makes the factors words along k where both are whole words there.
func (p *Problem) inWords(s *runtime.Stream) error {
	d, ok := skinnyWords[p.A.DType]
	n := 4 / p.A.DType.Size()
	whole := func(v *ops.View, i, along, across int) bool {
		return vectors(n, p.Batches[i], along, across, p.K) && v.Layout.Offset()%n == 0
	}
	if !ok || p.Out.DType.Size() > 4 || !whole(&p.A, 1, p.XK, p.XM) || !whole(&p.B, 2, p.YK, p.YN) {
		return nil
	}
	var err error
	if p.A, p.Batches[1], err = words(p.A, p.Batches[1], d, n); err != nil {
		return err
	}
	if p.B, p.Batches[2], err = words(p.B, p.Batches[2], d, n); err != nil {
		return err
	}
	p.words, p.K, p.XM, p.YN = true, p.K/n, p.XM/n, p.YN/n
	return p.PlanBatches(s)
}

// words is a factor, and how its matrices lie, as words of n elements.
func words(v ops.View, batch layout.Layout, d dtype.DType, n int) (ops.View, layout.Layout, error) {
	flat, err := layout.New(layout.Shape{v.Layout.Span() / n}, []int{1}, v.Layout.Offset()/n)
	if err != nil {
		return v, batch, err
	}
	strides := slices.Clone(batch.Strides())
	for i := range strides {
		strides[i] /= n
	}
	batch, err = layout.New(batch.Shape(), strides, 0)
	return ops.View{Buf: v.Buf, DType: d, Layout: flat}, batch, err
}

// skinnyMulAdd is the function that adds a product, or those of words, to a sum.
func (p *Problem) skinnyMulAdd() *jit.Fn {
	if p.words {
		return ops.MulAddWordsFn(p.sum())
	}
	return ops.MulAddFn(p.sum())
}

// runSkinnyRows has a warp sum a row, or blocks some rows that are long.
func runSkinnyRows(s *runtime.Stream, p *Problem, wide bool) error {
	if !wide {
		if err := p.inWords(s); err != nil {
			return err
		}
	}
	c := kernels.Skinny{Cols: dsl.ConstInt(p.N), Rows: 1, Vec: 1, Unroll: 4, XUnit: p.XK == 1, YUnit: p.YK == 1}
	warp := p.Info.WarpSize
	warps, rows := 1, p.M
	enough := p.Info.Units * p.Info.ThreadsPerUnit / warp / 2
	if wide {
		warps = max(1, min(ops.MaxThreads, p.Info.MaxThreads)/warp)
		if c.Vec = p.skinnyVec(p.Batches[1], p.XK, p.XM, p.K); c.Vec > 1 {
			c.Unroll, c.YVec = 2, dsl.ConstBool(vectors(int(c.Vec), p.Batches[2], p.YK, p.YN, p.K))
		}
		// A row for each warp would not be enough for the device, or its warps would be busy for long.
		if block := warps * warp * int(c.Vec); p.K >= 4*block || p.K >= 2*block && p.M*p.Batch < enough {
			c.Share, c.Unroll, c.Warps, enough = true, 1, dsl.ConstInt(warps), 3*p.Info.Units
			// More than the device takes at once: blocks that are placed early may not be where
			// there is least to do.
			for c.Rows < 8 && c.Rows*c.Cols < 16 && p.M/int(2*c.Rows)*p.Batch >= 2*enough {
				c.Rows *= 2
			}
		}
	} else {
		// Rows that are read at once keep more of memory's time busy than one does.
		sums := p.sums()
		if c.Rows = 4; c.Rows*c.Cols > sums {
			c.Rows = 2
		}
		c.Unroll = max(1, sums/(c.Rows*c.Cols))
		rows = (p.M + int(c.Rows) - 1) / int(c.Rows)
	}
	step := max(1, int(c.Vec))
	blocks, least := (rows+warps-1)/warps, 8*warp*int(c.Vec)
	if c.Share {
		blocks, least = (rows+int(c.Rows)-1)/int(c.Rows), 4*warps*warp*int(c.Vec)
		rows = blocks
	}
	most := shortRun * warp * int(c.Unroll) // what each of the sums that a thread makes has
	if c.Share {
		most *= warps
	}
	if p.words {
		most /= 2 // a word of bfloat16 has two
	}
	parts := p.split(rows*p.Batch, enough, least, step, most)
	g := runtime.Grid{Blocks: runtime.Dim3{X: blocks, Y: min(p.Batch, ops.MaxBlocks()), Z: parts}, Threads: runtime.Dim3{X: warps * warp}}
	// What words are multiplied by is no arithmetic for an epilogue.
	p.fuses = !p.words && p.sum() == p.Out.DType.Compute()
	return p.withParts(s, parts, func(out ops.View) error {
		return p.launchSkinny(s, skinnyRows, skinnyRowsThen, g, out, c)
	})
}

// launchSkinny launches a kernel, or the one with an epilogue if sums go through one there.
func (p *Problem) launchSkinny(s *runtime.Stream, kernel, then *ops.Generic, g runtime.Grid, out ops.View, c kernels.Skinny) error {
	to, x, y := out.Header(), p.A.Header(), p.B.Header()
	t, sum := p.A.DType, p.sum()
	f, ok, err := p.fused(s, sum)
	if err != nil {
		return err
	}
	types, mad, add := ops.TypeArgs{T: t, O: out.DType, C: sum}, p.skinnyMulAdd(), ops.Add.In(sum)
	if ok {
		f.single()
		return then.Launch(s, types, g, ops.SliceArg(out.DType, &to), ops.SliceArg(t, &x), ops.SliceArg(t, &y), f.bias, f.factor, f.residual, f.walk, p.Product, c, f.scale, f.e, mad, add, p.then.act)
	}
	return kernel.Launch(s, types, g, ops.SliceArg(out.DType, &to), ops.SliceArg(t, &x), ops.SliceArg(t, &y), p.BatchWalk, p.Product, c, mad, add)
}

// sums is how many vectors of sums a processor without shared memory has registers for, beside what
// it multiplies: half of them.
func (p *Problem) sums() dsl.ConstInt {
	if p.Info.WarpSize <= 8 {
		return 8
	}
	return 16
}

// skinnyVec is how many elements of x, with such strides and so many contiguous, are read
// at once.
func (p *Problem) skinnyVec(batch layout.Layout, one, other, size int) dsl.ConstInt {
	for _, n := range []int{8, 4, 2} {
		if n*p.A.DType.Size() <= ops.VectorBytes && vectors(n, batch, one, other, size) {
			return dsl.ConstInt(n)
		}
	}
	return 1
}

// runSkinnyCols has blocks sum rows that are next to each other.
func runSkinnyCols(s *runtime.Stream, p *Problem) error {
	const (
		bytes = 8 << 10 // of sums, which stay in the L1 cache
		most  = 8       // of numbers of y that are in registers
	)
	c := kernels.Skinny{Cols: dsl.ConstInt(p.N), XUnit: p.XM == 1}
	c.Unroll = max(2, most/c.Cols)
	c.Wide = dsl.ConstInt(bytes / p.A.DType.Compute().Size() / p.N)
	threads := min(ops.MaxThreads, p.Info.ThreadsPerUnit, p.Info.MaxThreads)
	blocks := (p.M + int(c.Wide) - 1) / int(c.Wide)
	parts := p.split(blocks*p.Batch, 4*p.Info.Units, 32, 1, shortRun)
	g := runtime.Grid{Blocks: runtime.Dim3{X: blocks, Y: min(p.Batch, ops.MaxBlocks()), Z: parts}, Threads: runtime.Dim3{X: threads}}
	return p.withParts(s, parts, func(out ops.View) error {
		c.OutUnit = p.OutM == 1 // of parts, too
		to, x, y := out.Header(), p.A.Header(), p.B.Header()
		t, sum := p.A.DType, p.sum()
		return skinnyColumns.Launch(s, ops.TypeArgs{T: t, O: out.DType, C: sum}, g, ops.SliceArg(out.DType, &to), ops.SliceArg(t, &x), ops.SliceArg(t, &y), p.BatchWalk, p.Product, c, ops.MulAddFn(sum))
	})
}

// runSkinnyWarps has the warps of a block sum the same rows, each at other places along k.
func runSkinnyWarps(s *runtime.Stream, p *Problem) error {
	c := kernels.Skinny{Cols: dsl.ConstInt(p.N), Unroll: 4, XUnit: p.XM == 1, Lanes: dsl.ConstInt(p.Info.WarpSize)}
	c.Vec = p.skinnyVec(p.Batches[1], p.XM, p.XK, p.M)
	warps := max(1, min(ops.MaxThreads, p.Info.MaxThreads)/p.Info.WarpSize)
	c.Warps = dsl.ConstInt(warps)
	each := p.Info.WarpSize * int(c.Vec)
	blocks := (p.M + each - 1) / each
	parts := p.split(blocks*p.Batch, max(1, 4*p.Info.Units), 4*warps*int(c.Unroll), 1, shortRun*warps)
	g := runtime.Grid{Blocks: runtime.Dim3{X: blocks, Y: min(p.Batch, ops.MaxBlocks()), Z: parts}, Threads: runtime.Dim3{X: warps * p.Info.WarpSize}}
	p.fuses = p.sum() == p.Out.DType.Compute()
	return p.withParts(s, parts, func(out ops.View) error {
		return p.launchSkinny(s, skinnyWarps, skinnyWarpsThen, g, out, c)
	})
}
