package matmul

import (
	"errors"
	"slices"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	core "github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/matmul/kernels"
	"github.com/gokiln/kiln/runtime"
)

var (
	pack      = ops.NewGeneric("matmul", kernels.Pack[ops.T, ops.C])
	packWords = ops.NewGeneric("matmul", kernels.PackWords[ops.T, ops.I])
	packed    = ops.NewGeneric("matmul", kernels.Packed[ops.O, ops.C])

	packedThen = ops.NewGeneric("matmul", kernels.PackedThen[ops.O, ops.C])
)

// VectorTiling is the tile that fits into the vector registers of a processor: those of
// eight lanes have 16, wider ones 32. A vector has half as many 64-bit numbers.
func VectorTiling(warp int, c dtype.DType) kernels.Tiling {
	t := kernels.Tiling{MR: 8, NR: 3, Threads: dsl.ConstInt(warp)}
	if warp <= 8 {
		t.MR, t.NR = 4, 2
	}
	if c.Size() > 4 {
		t.NR = 1
	}
	return t
}

// FitTiling makes tiles less wide where that leaves fewer columns of the last ones unused, which
// must be worth that each element of x is loaded more often.
func FitTiling(t kernels.Tiling, columns int) kernels.Tiling {
	narrow := t
	narrow.NR--
	if t.NR > 2 && ops.RoundUp(columns, int(narrow.Threads*narrow.NR))*21 < ops.RoundUp(columns, int(t.Threads*t.NR))*20 {
		return narrow
	}
	return t
}

// Tall makes tiles of four rows six rows high, of which each element of y that is loaded is
// used more often, where that leaves few rows of the last ones unused.
func Tall(t kernels.Tiling, rows int) kernels.Tiling {
	const most = 6
	if t.MR < most && ops.RoundUp(rows, most)*20 <= ops.RoundUp(rows, int(t.MR))*21 {
		t.MR = most
	}
	return t
}

// runPacked packs both operands and multiplies them.
func runPacked(s *runtime.Stream, p *Problem) error {
	p.words = p.A.DType.Size() == 1 && p.A.DType.IsInt() && p.Out.DType.Size() <= 4
	c := p.packedType()
	cfg := FitTiling(VectorTiling(p.Info.WarpSize, c), p.N)
	switch {
	case !p.words:
		cfg = Tall(cfg, p.M)
	case cfg.MR > 6:
		cfg.MR = 6 // what is made of bytes before they are multiplied takes registers, too
	}
	cfg.X, cfg.Direct = p.directX(cfg.MR), p.direct(cfg.Threads*cfg.NR)
	xs, ys := packing{To: p.A}, packing{To: p.B}
	var err error
	if cfg.X == kernels.InBands {
		if xs, err = p.Packing(s, p.A, 1, p.M, p.XM, p.XK, cfg.MR); err != nil {
			return err
		}
	}
	if !cfg.Direct {
		if ys, err = p.Packing(s, p.B, 2, p.N, p.YN, p.YK, cfg.Threads*cfg.NR); err != nil {
			return err
		}
	}
	if p.words {
		p.K = ops.RoundUp(p.K, kernels.WordBytes) / kernels.WordBytes
	}
	if err := p.PlanBatches(s); err != nil { // with the numbers of packed matrices
		return err
	}
	numbered(&p.BatchWalk)
	parts := p.serialParts()
	p.fuses = !p.words && c == p.Out.DType.Compute()
	if err := p.prefetchPacked(s.Device(), &xs, &ys, cfg, parts); err != nil {
		return err
	}
	return xs.with(s, func(x ops.View) error {
		return ys.with(s, func(y ops.View) error {
			return p.withParts(s, parts, func(out ops.View) error { return p.launchPacked(s, out, x, y, cfg) })
		})
	})
}

// directX is how x lies if bands of so many rows are read where they are. That is worth it where each
// element is used by few panels, as to pack one takes about as long as to multiply it by two vectors,
// where what is read together is not far apart, and where there are registers for the addresses.
func (p *Problem) directX(high dsl.ConstInt) dsl.ConstInt {
	const few, near, registers = 512, 16 << 10, 16
	c := p.packedType()
	switch {
	case p.words || p.A.DType != c || p.N > few || p.Info.WarpSize < registers:
	case p.XK == 1 && p.XM >= 0 && p.XM*c.Size() <= near:
		return kernels.InRows
	case p.XM == 1 && p.XK > 0 && p.XK*c.Size() <= near && p.M%int(high) == 0:
		return kernels.InColumns
	}
	return kernels.InBands
}

// direct reports whether bands of y of some width are read where they are: rows so short that those
// which follow each other along k are near each other, too.
func (p *Problem) direct(width dsl.ConstInt) dsl.ConstBool {
	const near = 1 << 10
	c := p.packedType()
	return dsl.ConstBool(!p.words && p.B.DType == c && p.YN == 1 && p.N%int(width) == 0 && p.YK > 0 && p.YK*c.Size() <= near)
}

// packedType is the type of packed operands and of the sums of their products. Factors of 8 bits
// are in words of four, whose sums hold all of what a result can.
func (p *Problem) packedType() dtype.DType {
	switch {
	case !p.words:
		return p.sum()
	case p.A.DType == dtype.U8:
		return dtype.U32
	}
	return dtype.I32
}

// packedMulAdd is the function that adds a product of what is packed to a sum.
func (p *Problem) packedMulAdd() *jit.Fn {
	if p.words {
		return ops.MulAddWordsFn(p.packedType())
	}
	return ops.MulAddFn(p.packedType())
}

// packing is an operand that is to be packed in bands.
type packing struct {
	kernel   *jit.Kernel
	from, To ops.View // to has no memory before the operand is packed
	walk     core.Walk
	cfg      kernels.Packing
	grid     runtime.Grid
}

// Packing plans how operand i, with rows and strides across and along k, is packed. Matrices
// that are all the same are packed once.
func (p *Problem) Packing(s *runtime.Stream, v ops.View, i, rows, across, inner int, high dsl.ConstInt) (k packing, err error) {
	n, index := p.packedBatch(i)
	c, steps := p.packedType(), p.K
	if p.words {
		steps = ops.RoundUp(p.K, kernels.WordBytes) / kernels.WordBytes
		k.kernel, err = packWords.Of(ops.TypeArgs{T: v.DType, I: c})
	} else {
		k.kernel, err = pack.Of(ops.TypeArgs{T: v.DType, C: c})
	}
	if err != nil {
		return k, err
	}
	k.cfg = kernels.Packing{Rows: rows, K: p.K, Across: across, Along: inner, Batch: n, MR: high}
	packOrder(&k.cfg, dsl.ConstInt(p.Info.WarpSize), !p.words)
	bands := ops.RoundUp(rows, int(high)) / int(high)
	k.from, k.To = v, ops.View{DType: c, Layout: layout.Contiguous(layout.Shape{n * bands * int(high) * steps})}
	if k.walk, err = p.packedWalk(s, i); err != nil {
		return k, err
	}
	blocks := bands
	if k.cfg.Axis == kernels.AcrossK {
		each := max(int(k.cfg.Transpose), 1)
		blocks = (bands + each - 1) / each
	}
	k.grid = runtime.Grid{Blocks: runtime.Dim3{X: blocks, Y: min(n, ops.MaxBlocks())}, Threads: runtime.Dim3{X: p.Info.WarpSize}}
	p.Batches[i] = index
	return k, nil
}

// packOrder chooses in which way threads of warps of so many go over a matrix that is to be packed,
// and how many vectors they transpose, if its kernel does that: where a band is less or more than a
// vector of what lies next to each other.
func packOrder(c *kernels.Packing, warp dsl.ConstInt, transposes bool) {
	c.Axis, c.Contiguous = kernels.AlongK, c.Along == 1
	narrow := transposes && warp%c.MR == 0 && c.MR > 1 && c.MR < warp && c.MR&(c.MR-1) == 0
	whole := c.MR%warp == 0
	switch {
	case c.Along == 1 && narrow:
		c.Transpose = c.MR
	case c.Along == 1 && whole && transposes:
		c.Transpose = warp
	case c.Along != 1 && c.Across == 1 && narrow:
		c.Axis, c.Contiguous, c.Transpose = kernels.AcrossK, true, warp/c.MR
	case c.Along != 1 && c.Across == 1 && whole:
		c.Axis, c.Contiguous = kernels.AcrossK, true
	}
}

// packedBatch is how many matrices of operand i are packed, once if they are all the same, and
// their numbers.
func (p *Problem) packedBatch(i int) (n int, index layout.Layout) {
	shape := p.Batches[i].Shape()
	if !slices.ContainsFunc(p.Batches[i].Strides(), func(n int) bool { return n != 0 }) {
		return 1, ops.BroadcastAlong(shape, nil)
	}
	return p.Batch, layout.Contiguous(shape)
}

// packedWalk is the walk over the matrices of operand i.
func (p *Problem) packedWalk(s *runtime.Stream, i int) (w core.Walk, err error) {
	var unused runtime.Grid
	_, err = ops.PlanWalk(s, &w, &unused, p.Batches[i])
	ops.RandomAccess(&w, p.Batch)
	numbered(&w)
	return w, err
}

// numbered makes a walk over matrices that lie one after the other the general one of a single
// dimension: a block asks it once for each matrix, so one product shares its kernels with several.
func numbered(w *core.Walk) {
	if w.Mode != core.Flat {
		return
	}
	w.Mode, w.Rank, w.Size[0], w.Div[0] = core.Dims, 1, w.N, ops.Divisor(w.N)
	for k := range w.Step {
		w.Step[k][0] = 1
	}
}

// Run packs the operand, into memory that is the caller's if there is no error.
func (k *packing) Run(s *runtime.Stream) (err error) {
	if k.To.Buf, err = s.Alloc(k.To.Layout.Count() * k.To.DType.Size()); err != nil {
		return err
	}
	dst, src := k.To.Header(), k.from.Header()
	if err = k.kernel.Launch(s, k.grid, ops.SliceArg(k.To.DType, &dst), ops.SliceArg(k.from.DType, &src), k.walk, k.cfg); err != nil {
		_ = k.To.Buf.FreeOn(s) // the launch's error is the one that counts
	}
	return err
}

// with packs the operand for a function, if it is to be packed.
func (k *packing) with(s *runtime.Stream, run func(v ops.View) error) error {
	if k.kernel == nil {
		return run(k.To)
	}
	err := k.Run(s)
	if err != nil {
		return err
	}
	return errors.Join(run(k.To), k.To.Buf.FreeOn(s))
}

// prefetchPacked has the kernels compiled at the same time.
func (p *Problem) prefetchPacked(dev *runtime.Device, xs, ys *packing, cfg kernels.Tiling, parts int) error {
	if p.then.on || parts > 1 && p.Batches[0].Rank() > 0 {
		return nil // partial sums have another layout, of which addParts decides, and an epilogue another kernel
	}
	c, out := p.packedType(), p.Out.DType
	if parts > 1 {
		out = out.Compute()
	}
	k, err := packed.Of(ops.TypeArgs{O: out, C: c})
	if err != nil {
		return err
	}
	cfg.Contiguous = p.OutN == 1 || parts > 1
	if k.Loaded(dev, nil, nil, nil, p.BatchWalk, nil, cfg, p.packedMulAdd()) {
		return nil
	}
	wanted := []jit.Wanted{{Kernel: k, Consts: []any{p.BatchWalk, cfg, p.packedMulAdd()}}}
	for _, v := range []*packing{xs, ys} {
		if v.kernel != nil {
			wanted = append(wanted, jit.Wanted{Kernel: v.kernel, Consts: []any{v.walk, v.cfg}})
		}
	}
	return jit.Prefetch(dev, wanted...)
}

// serialParts is into how many parts the sums of packed operands are divided: what a panel
// of y has for one is to stay in a cache, if the parts of the sums are not more than that,
// and no chain of additions is to be long.
func (p *Problem) serialParts() int {
	const part = 1024
	p.Part = p.K
	if parts := p.K / part; parts > 3 && parts*p.M*p.N/2 <= (p.M+p.N)*p.K {
		p.Part = part
	}
	if p.A.DType.IsFloat() {
		p.Part = min(p.Part, p.run())
	}
	return (p.K + p.Part - 1) / p.Part
}

// sharing is how many bands of a block share a panel of y, which comes from far once for
// them: as many as stay in the processor's cache from panel to panel, if there are blocks
// enough for all processors then.
func (p *Problem) sharing(bands, column, panels int) int {
	const cached, least, blocks = 1 << 20, 16, 4
	most := max(least, cached/(column*p.Part))
	for most > least && (bands+most-1)/most*panels*p.Batch < blocks*p.Info.Units {
		most /= 2
	}
	return min(most, bands)
}

func (p *Problem) launchPacked(s *runtime.Stream, out, xs, ys ops.View, cfg kernels.Tiling) error {
	bands := (p.M + int(cfg.MR) - 1) / int(cfg.MR)
	panels := ops.RoundUp(p.N, int(cfg.Threads*cfg.NR)) / int(cfg.Threads*cfg.NR)
	c := xs.DType
	cfg.Contiguous = p.OutN == 1
	cfg.Bands = p.sharing(bands, int(cfg.MR)*c.Size(), panels)
	g := runtime.Grid{
		Blocks:  runtime.Dim3{X: panels, Y: (bands + cfg.Bands - 1) / cfg.Bands, Z: min(p.Batch*((p.K+p.Part-1)/p.Part), ops.MaxBlocks())},
		Threads: runtime.Dim3{X: int(cfg.Threads)},
	}
	to, x, y := out.Header(), xs.Header(), ys.Header()
	f, ok, err := p.fused(s, c)
	if err != nil {
		return err
	}
	if ok {
		f.single()
		return packedThen.Launch(s, ops.TypeArgs{O: out.DType, C: c}, g, ops.SliceArg(out.DType, &to), ops.SliceArg(c, &x), ops.SliceArg(c, &y), f.bias, f.factor, f.residual, f.walk, p.Product, cfg, f.scale, f.e, ops.MulAddFn(c), p.then.act)
	}
	return packed.Launch(s, ops.TypeArgs{O: out.DType, C: c}, g, ops.SliceArg(out.DType, &to), ops.SliceArg(c, &x), ops.SliceArg(c, &y), p.BatchWalk, p.Product, cfg, p.packedMulAdd())
}
