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

var (
	packAlong  = ops.NewGeneric("matmul", kernels.PackWordsAlong[ops.T, ops.I])
	blocks     = ops.NewGeneric("matmul", kernels.MultiplyBlocks[ops.O, ops.T, ops.C])
	blocksThen = ops.NewGeneric("matmul", kernels.MultiplyBlocksThen[ops.O, ops.T, ops.C])
)

// blockTypes are the factors that dsl.PackedMMA multiplies, with the types of sums.
var blockTypes = map[dtype.DType]dtype.DType{dtype.BF16: dtype.F32, dtype.I8: dtype.I32, dtype.U8: dtype.U32}

// worthBlocks reports whether the device has dsl.PackedMMA for the factors, and most of the blocks'
// elements are the product's.
func (p *Problem) worthBlocks() bool {
	if !p.PackedMMA {
		return false
	}
	m, n := ops.RoundUp(p.M, dsl.PackedRows), ops.RoundUp(p.N, dsl.PackedColumns*p.Info.WarpSize)
	k := ops.RoundUp(p.K, dsl.PackedBytes/p.A.DType.Size())
	return m*n*k <= 4*p.M*p.N*p.K
}

// runBlocks multiplies by dsl.PackedMMA, or as [kernels.MultiplyBlocks] does without.
func runBlocks(s *runtime.Stream, p *Problem) error {
	c, ok := blockTypes[p.A.DType]
	if !ok {
		return fmt.Errorf("matmul: %w: blocks of %v", jit.ErrUnsupported, p.A.DType)
	}
	size, width := p.A.DType.Size(), dsl.PackedColumns*p.Info.WarpSize
	step := dsl.PackedBytes / size
	cfg := kernels.Blocks{Each: dsl.ConstInt(4 / size)}
	cfg.Direct = dsl.ConstBool(p.XK == 1 && p.M%dsl.PackedRows == 0 && p.K%step == 0 && p.XM >= 0)
	p.Part = p.K
	if p.A.DType.IsFloat() {
		p.Part = min(p.Part, p.run())
	}
	parts := (p.K + p.Part - 1) / p.Part
	xs := packedWords{to: p.A}
	var err error
	if !cfg.Direct {
		if xs, err = p.packing(s, p.A, 1, p.M, p.XM, p.XK, dsl.PackedRows); err != nil {
			return err
		}
	}
	ys, err := p.packing(s, p.B, 2, p.N, p.YN, p.YK, width)
	if err != nil {
		return err
	}
	if err := p.PlanBatches(s); err != nil { // with the numbers of packed matrices
		return err
	}
	numbered(&p.BatchWalk)
	p.fuses = p.A.DType.IsFloat() && c == p.Out.DType.Compute()
	return xs.with(s, func(x ops.View) error {
		return ys.with(s, func(y ops.View) error {
			return p.withParts(s, parts, func(out ops.View) error {
				return p.launchBlocks(s, out, x, y, c, cfg)
			})
		})
	})
}

func (p *Problem) launchBlocks(s *runtime.Stream, out, x, y ops.View, c dtype.DType, cfg kernels.Blocks) error {
	bands := ops.RoundUp(p.M, dsl.PackedRows) / dsl.PackedRows
	width := dsl.PackedColumns * p.Info.WarpSize
	columns := ops.RoundUp(p.N, width) / width
	cfg.Contiguous = p.OutN == 1
	cfg.Bands = p.sharing(bands, dsl.PackedRows*x.DType.Size(), columns)
	g := runtime.Grid{
		Blocks:  runtime.Dim3{X: columns, Y: (bands + cfg.Bands - 1) / cfg.Bands, Z: min(p.Batch*((p.K+p.Part-1)/p.Part), ops.MaxBlocks())},
		Threads: runtime.Dim3{X: p.Info.WarpSize},
	}
	to, xs, ys := out.Header(), x.Header(), y.Header()
	t := x.DType
	f, ok, err := p.fused(s, c)
	if err != nil {
		return err
	}
	if ok {
		f.single()
		return blocksThen.Launch(s, ops.TypeArgs{O: out.DType, T: t, C: c}, g, ops.SliceArg(out.DType, &to), ops.SliceArg(t, &xs), ops.SliceArg(t, &ys), f.bias, f.factor, f.residual, f.walk, p.Product, cfg, f.scale, f.e, ops.MulAddFn(c), p.then.act)
	}
	return blocks.Launch(s, ops.TypeArgs{O: out.DType, T: t, C: c}, g, ops.SliceArg(out.DType, &to), ops.SliceArg(t, &xs), ops.SliceArg(t, &ys), p.BatchWalk, p.Product, cfg, ops.MulAddFn(c))
}

// packedWords is an operand that is to be packed in words along k.
type packedWords struct {
	kernel *jit.Kernel
	from   runtime.SliceHeader
	moves  dtype.DType // the type of elements that are moved
	to     ops.View    // has no memory before the operand is packed
	args   []any
	grid   runtime.Grid
}

// packing plans how operand i, with rows and strides across and along k, is packed in bands of high
// rows; those of the second one are columns. Matrices that are all the same are packed once.
func (p *Problem) packing(s *runtime.Stream, v ops.View, i, rows, across, along, high int) (k packedWords, err error) {
	n, index := p.packedBatch(i)
	each := 4 / v.DType.Size()
	cfg := kernels.Words{Rows: rows, K: p.K, Across: across, Along: along, Batch: n, Each: dsl.ConstInt(each), Columns: i == 2}
	step, bands := dsl.PackedBytes/v.DType.Size(), ops.RoundUp(rows, high)/high
	long := ops.RoundUp(p.K, step)
	if i == 1 {
		long += step // between rows
	}
	k.to = ops.View{DType: v.DType, Layout: layout.Contiguous(layout.Shape{n * bands * high * long})}
	k.from, k.moves = v.Header(), ops.Carrier(v.DType)
	if along == 1 && vectors(each, p.Batches[i], along, across, p.K) && k.from.Off%each == 0 && k.from.Len%each == 0 { // whole words as they are
		k.from.Off, k.from.Len, k.moves = k.from.Off/each, k.from.Len/each, dtype.U32
		cfg.K, cfg.Across, cfg.Each = p.K/each, across/each, 1
		strides := slices.Clone(p.Batches[i].Strides())
		for d := range strides {
			strides[d] /= each
		}
		if p.Batches[i], err = layout.New(p.Batches[i].Shape(), strides, 0); err != nil {
			return k, err
		}
	}
	cfg.Axis, cfg.Contiguous = kernels.AlongK, along == 1
	if across == 1 && along != 1 {
		cfg.Axis, cfg.Contiguous = kernels.AcrossK, true
	}
	if k.kernel, err = packAlong.Of(ops.TypeArgs{T: k.moves, I: dtype.U32}); err != nil {
		return k, err
	}
	walk, err := p.packedWalk(s, i)
	if err != nil {
		return k, err
	}
	k.args = []any{walk, cfg}
	k.grid = runtime.Grid{Blocks: runtime.Dim3{X: bands, Y: min(n, ops.MaxBlocks())}, Threads: runtime.Dim3{X: p.Info.WarpSize}}
	p.Batches[i] = index
	return k, nil
}

// with packs the operand for a function, if it is to be packed.
func (k *packedWords) with(s *runtime.Stream, run func(v ops.View) error) (err error) {
	if k.kernel == nil {
		return run(k.to)
	}
	size := k.to.Layout.Count() * k.to.DType.Size()
	if k.to.Buf, err = s.Alloc(size); err != nil {
		return err
	}
	dst := k.to.Header()
	dst.Len = size / dtype.U32.Size()
	args := append([]any{ops.SliceArg(dtype.U32, &dst), ops.SliceArg(k.moves, &k.from)}, k.args...)
	if err = k.kernel.Launch(s, k.grid, args...); err == nil {
		err = run(k.to)
	}
	if e := k.to.Buf.FreeOn(s); err == nil {
		err = e
	}
	return err
}
