package matmul

import (
	"fmt"
	"math"
	"slices"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/elementwise"
	core "github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/matmul/kernels"
	"github.com/gokiln/kiln/runtime"
)

// Matmul stores in out the products of the matrices in the last two dimensions of a and b. The
// dimensions before count matrices and broadcast to those of out, which has as many. Layouts are
// any, but elements of out must not share memory. Sums are made in the type that is computed in,
// and are the same in every run. The type of out is that of a and b, or holds more of the sums: of
// factors of 8 bits I32 (of U8 U32, too), of floating-point factors of fewer than 32 bits a longer
// one up to F32.
func Matmul(s *runtime.Stream, out, a, b ops.View) error {
	return MatmulWith(s, Options{}, out, a, b)
}

// MatmulBy is [Matmul] by one of [MatmulStrategies], whether it is the best or not: for tests and
// benchmarks.
func MatmulBy(s *runtime.Stream, strategy string, out, a, b ops.View) error {
	return MatmulWith(s, Options{Strategy: strategy}, out, a, b)
}

// MatmulWith is [Matmul] in other ways than those that it chooses.
func MatmulWith(s *runtime.Stream, o Options, out, a, b ops.View) error {
	if present(o.Up) {
		return gated(s, o, out, a, b)
	}
	return multiply(s, o, out, a, b, ops.View{})
}

// multiply is MatmulWith of one product, the results of which are multiplied by the elements of a
// view, if that has a type.
func multiply(s *runtime.Stream, o Options, out, a, b, by ops.View) error {
	p, err := newProduct(s, o, out, a, b, by)
	if err != nil || out.Layout.Count() == 0 {
		return err
	}
	if p.K == 0 && p.then.on {
		return p.addParts(s, ops.View{DType: out.DType.Compute()}, 0, p.count(), func(ops.View) error { return nil })
	}
	if p.K == 0 {
		return elementwise.Fill(s, out, dtype.Zero(out.DType))
	}
	return matmuls.RunBy(s, o.Strategy, p)
}

// MatmulStrategies lists the strategies to multiply matrices that a device can be asked for. Those
// called skinny are for at most four rows or columns.
func MatmulStrategies() []string { return matmuls.Names() }

// matmuls are the strategies to multiply matrices.
var matmuls = ops.NewStrategies(slices.Concat([]ops.Strategy[Problem]{
	{Name: "skinny", Fits: func(p *Problem) bool { return p.skinny() && p.Serial() }, Run: func(s *runtime.Stream, p *Problem) error { return runSkinny(s, p, false) }},
	{Name: "skinny in vectors", Fits: (*Problem).skinny, Run: func(s *runtime.Stream, p *Problem) error { return runSkinny(s, p, true) }},
	{Name: "packed in blocks", Fits: (*Problem).worthBlocks, Run: runBlocks},
	{Name: "packed", Fits: (*Problem).Serial, Run: runPacked},
	{Name: "matrix tiles of bfloat16 parts", Fits: (*Problem).worthSplitting, Run: runSplit},
	{Name: "matrix tiles of float16 copies", Fits: (*Problem).worthWidening, Run: runWidened},
	{Name: "matrix tiles of padded factors", Fits: (*Problem).worthPadding, Run: runPadded},
}, fewRows, matrixRows, tiledRows)...).Tuned("github.com/gokiln/kiln/ops/matmul", (*Problem).Class)

// tiledRows are the strategies by ordinary arithmetic for devices whose blocks share memory.
var tiledRows = []ops.Strategy[Problem]{
	tiled(kernels.Tile{M: 64, N: 128, K: 8, Rows: 8, Cols: 8, Blocks: 4}, (*Problem).Low),
	tiled(kernels.Tile{M: 128, N: 128, K: 8, Rows: 8, Cols: 8, Blocks: 2}, (*Problem).Large),
	tiled(kernels.Tile{M: 128, N: 128, K: 16, Rows: 8, Cols: 8, Blocks: 2}, func(*Problem, kernels.Tile) bool { return false }),
	tiled(kernels.Tile{M: 64, N: 64, K: 16, Rows: 4, Cols: 4, Blocks: 3}, (*Problem).Medium),
	tiled(kernels.Tile{M: 32, N: 32, K: 16, Rows: 4, Cols: 4}, func(*Problem, kernels.Tile) bool { return true }),
}

// Class is what the best strategy for a product depends on.
func (p *Problem) Class() ops.Class {
	orders := 0 // which of the strides are one, which factors are not copied in chunks, and the precision
	for i, step := range []int{p.OutN, p.XK, p.YK} {
		if step == 1 {
			orders |= 1 << i
		}
	}
	for i := 1; p.Matrix() && i <= 2; i++ {
		if !p.inChunks(i) {
			orders |= 4 << i
		}
	}
	orders |= int(p.Precision) << 5
	return ops.Class{int(p.A.DType), int(p.Out.DType), ops.SizeClass(p.M), ops.SizeClass(p.N), ops.SizeClass(p.K), ops.SizeClass(p.Batch), orders}
}

// tiled is a row for a configuration of the tiled kernel.
func tiled(c kernels.Tile, fits func(*Problem, kernels.Tile) bool) ops.Strategy[Problem] {
	return ops.Strategy[Problem]{
		Name: fmt.Sprintf("tiles of %dx%dx%d", c.M, c.N, c.K),
		Fits: func(p *Problem) bool { return fits(p, c) },
		Run:  func(s *runtime.Stream, p *Problem) error { return runTile(s, p, c) },
	}
}

// Problem is matrices to multiply.
type Problem struct {
	kernels.Product
	Out, A, B  ops.View
	Info       runtime.Info
	Batches    [3]layout.Layout // dimensions that count matrices, of out, a and b
	BatchWalk  core.Walk        // over them
	Precision  Precision
	splits     bool          // factors are parts of others, see runSplit
	TF32       bool          // matrix instructions may read fewer bits of float32
	KMajor     bool          // warpgroups want factors that are contiguous along k
	MatrixRows int           // of the device's matrix instruction for the type, 0 if it has none
	HalfRows   int           // likewise for parts or copies of the factors in 16 bits, where those are made
	loads      bool          // it has one that loads several fragments
	transposes bool          // that, and the one for warpgroups, transpose factors
	Warpgroups bool          // it has one for factors in shared memory, too
	PackedMMA  bool          // the device has dsl.PackedMMA for the factors
	Columns    layout.Layout // of out, if they do not lie in a row
	words      bool          // packed operands are words of four factors
	Padded     [3]bool       // factors, 1 and 2, behind whose rows there is memory for whole chunks

	Raster     kernels.Raster // of tiles for matrix instructions
	then       epilogue
	fuses      bool     // the strategy's kernel has an epilogue
	up         ops.View // if it has a type, the second B of gated units, which lies as the first
	transposed bool     // the product is that of the transposed matrices
	scales     *scales  // of the factors, nil if they have none
}

func newProduct(s *runtime.Stream, o Options, out, a, b, by ops.View) (*Problem, error) {
	shapes := [3]layout.Shape{out.Layout.Shape(), a.Layout.Shape(), b.Layout.Shape()}
	rank := len(shapes[0])
	if rank < 2 || len(shapes[1]) < 2 || len(shapes[2]) < 2 || len(shapes[1]) > rank || len(shapes[2]) > rank {
		return nil, fmt.Errorf("%w: matmul of %v and %v in %v", layout.ErrRank, shapes[1], shapes[2], shapes[0])
	}
	p := &Problem{Out: out, A: a, B: b, Info: s.Device().Info(), scales: o.scales}
	dims := func(i int) (n, m int) { l := len(shapes[i]); return shapes[i][l-2], shapes[i][l-1] }
	m, k := dims(1)
	k2, n := dims(2)
	if om, on := dims(0); k != k2 || om != m || on != n {
		return nil, fmt.Errorf("%w in matmul, lhs: %v rhs: %v, in %v", layout.ErrShape, shapes[1], shapes[2], shapes[0])
	}
	batch := shapes[0][:rank-2]
	for i, v := range []ops.View{out, a, b} {
		l := v.Layout
		lead, err := layout.New(l.Shape()[:l.Rank()-2], l.Strides()[:l.Rank()-2], 0)
		if err == nil {
			p.Batches[i], err = lead.BroadcastTo(batch)
		}
		if err != nil {
			return nil, fmt.Errorf("matmul, lhs: %v rhs: %v: %w", shapes[1], shapes[2], err)
		}
	}
	if a.DType != b.DType || !resultOf(a.DType, out.DType) && o.scales == nil {
		return nil, fmt.Errorf("%w: matmul of %v and %v in %v", ops.ErrDType, a.DType, b.DType, out.DType)
	}
	if !a.DType.Computes() {
		return nil, ops.Unsupported("matmul", a.DType, ops.Numbers.String())
	}
	switch {
	case a.DType == dtype.F32:
		p.Precision, p.TF32 = o.Precision, o.Precision >= High
	case p.float8():
		p.Precision = o.Precision
	}
	var err error
	if p.then, err = newEpilogue(&o.Epilogue, out, by); err != nil {
		return nil, err
	}
	p.findUnit(s.Device())
	p.findHalf(s.Device())
	p.Product = kernels.Product{M: m, N: n, K: k, Batch: batch.Count()}
	p.OutM, p.OutN = strideOf(out, -2), strideOf(out, -1)
	p.XM, p.XK = strideOf(a, -2), strideOf(a, -1)
	p.YK, p.YN = strideOf(b, -2), strideOf(b, -1)
	p.simplify()
	return p, p.PlanBatches(s)
}

// resultOf reports whether products of factors of a type can be stored as another one: their own
// type, or one that holds more of a sum.
func resultOf(factors, out dtype.DType) bool {
	switch {
	case out == factors:
		return true
	case factors.IsFloat():
		return out.IsFloat() && factors.Size() < out.Size() && out.Size() <= dtype.F32.Size()
	}
	return factors.Size() == 1 && (out == dtype.I32 || out == dtype.U32 && factors == dtype.U8)
}

// sum is the type of the sums in ordinary arithmetic.
func (p *Problem) sum() dtype.DType {
	if out := p.Out.DType; out.IsInt() && out.Size() > p.A.DType.Size() {
		return out
	}
	return p.A.DType.Compute()
}

// strideOf is the stride of a dimension, 0 if it has one place.
func strideOf(v ops.View, d int) int {
	d += v.Layout.Rank()
	if v.Layout.Shape()[d] == 1 {
		return 0
	}
	return v.Layout.Strides()[d]
}

// simplify makes many small matrices one where that is the same, and takes the product of
// the transposed matrices where that is easier.
func (p *Problem) simplify() {
	batches := p.batches()
	of := make([]layout.Layout, len(batches))
	for i, l := range batches {
		of[i] = *l
	}
	m := layout.Merge(of...)
	if len(m.Sizes) > 0 && m.Strides[2][0] == 0 && m.Sizes[0] > 1 {
		rows := []*int{&p.OutM, &p.XM} // strides from row to row, and from product to product:
		steps := []int{m.Strides[0][0], m.Strides[1][0]}
		p.then.each(func(a *addend) {
			rows, steps = append(rows, &a.row), append(steps, m.Strides[1+len(rows)][0])
		})
		n, high := m.Sizes[0], p.M
		for i, row := range rows {
			if high > 1 && steps[i] != high**row {
				n = 1
			}
		}
		if p.M *= n; high == 1 {
			for i, row := range rows {
				*row = steps[i]
			}
		}
		if n > 1 {
			m.Sizes = m.Sizes[1:]
			for i := range m.Strides {
				m.Strides[i] = m.Strides[i][1:]
			}
			p.Batch /= n
		}
	}
	sizes := reversedInts(m.Sizes)
	for i, l := range batches {
		*l, _ = layout.New(sizes, reversedInts(m.Strides[i]), 0) // of right layouts
	}
	if p.M < p.N && p.M <= skinnyCols || p.OutM == 1 && p.OutN > 1 && p.N > skinnyCols {
		p.transpose()
	}
	if p.K == 1 {
		p.XK, p.YK = 1, 1
	}
}

func reversedInts(s []int) []int {
	s = slices.Clone(s)
	slices.Reverse(s)
	return s
}

// transpose makes the product that of the transposed matrices.
func (p *Problem) transpose() {
	p.A, p.B = p.B, p.A
	p.Batches[1], p.Batches[2] = p.Batches[2], p.Batches[1]
	p.M, p.N = p.N, p.M
	p.OutM, p.OutN = p.OutN, p.OutM
	p.XM, p.XK, p.YK, p.YN = p.YN, p.YK, p.XK, p.XM
	p.then.transpose()
	p.transposed = !p.transposed
	if p.scales != nil {
		p.scales.transpose()
	}
}

func (p *Problem) PlanBatches(s *runtime.Stream) error {
	if p.Out.Layout.Count() == 0 {
		return nil
	}
	var unused runtime.Grid
	_, err := ops.PlanWalk(s, &p.BatchWalk, &unused, p.Batches[:]...)
	ops.RandomAccess(&p.BatchWalk, p.Batch)
	return err
}

// Serial reports whether a multiprocessor runs one warp at a time, with the
// elements of a vector as its threads.
func (p *Problem) Serial() bool { return p.Info.ThreadsPerUnit <= p.Info.WarpSize }

// vectors reports whether an operand, with such strides from one matrix to the next,
// can be read n elements at a time along the dimension with stride one.
func vectors(n int, batch layout.Layout, one, other, size int) bool {
	return one == 1 && ops.Multiples(n, other, size) && ops.Multiples(n, batch.Strides()...)
}

var (
	gemmTiled = ops.NewGeneric("matmul", kernels.Gemm[ops.O, ops.T, ops.C])
	sumParts  = ops.NewGeneric("matmul", kernels.SumParts[ops.T, ops.C])
)

// Large reports whether tiles are enough for all multiprocessors of the device to be busy for
// some time. Numbers of 64 bits take twice the registers.
func (p *Problem) Large(c kernels.Tile) bool {
	return p.sum().Size() <= 4 && p.fitsShared(c) && p.blocks(&c)*2 >= p.Info.Units*3
}

// Low is large for few rows.
func (p *Problem) Low(c kernels.Tile) bool { return p.M <= int(c.M) && p.Large(c) }

// Medium is the same of all types. Where tiles are few but sums are long, parts of the
// sums make up for it.
func (p *Problem) Medium(c kernels.Tile) bool {
	if !p.fitsShared(c) {
		return false
	}
	return p.blocks(&c)*2 >= p.Info.Units*3 || p.M >= 64 && p.N >= 64 && p.K >= 16*(p.M+p.N)
}

// fitsShared reports whether a block has the shared memory that the kernel needs, which is 32 KiB
// on Apple's GPUs.
func (p *Problem) fitsShared(c kernels.Tile) bool {
	return c.Shared()*p.sum().Size() <= p.Info.SharedPerBlock
}

// blocks is how many tiles the results have.
func (p *Problem) blocks(c *kernels.Tile) int {
	return (p.M + int(c.M) - 1) / int(c.M) * ((p.N + int(c.N) - 1) / int(c.N)) * p.Batch
}

// runTile multiplies with a configuration of the tiled kernel.
func runTile(s *runtime.Stream, p *Problem, c kernels.Tile) error {
	return p.LaunchTiles(s, c, func(g runtime.Grid, out ops.View, c kernels.Tile) error {
		c.X, c.XVec = OperandOrder(p.Batches[1], p.XM, p.XK, p.M, p.K)
		c.Y, c.YVec = OperandOrder(p.Batches[2], p.YN, p.YK, p.N, p.K)
		to, x, y := out.Header(), p.A.Header(), p.B.Header()
		t, sum := p.A.DType, p.sum()
		return gemmTiled.Launch(s, ops.TypeArgs{T: t, O: out.DType, C: sum}, g, ops.SliceArg(out.DType, &to), ops.SliceArg(t, &x), ops.SliceArg(t, &y), p.BatchWalk, p.Product, c, ops.MulAddFn(sum))
	})
}

// LaunchTiles has a tiled kernel store products in out, or in memory for parts of sums.
func (p *Problem) LaunchTiles(s *runtime.Stream, c kernels.Tile, launch func(g runtime.Grid, out ops.View, c kernels.Tile) error) error {
	blocks := p.blocks(&c)
	parts := p.split(blocks, 2*p.Info.Units, 8*int(c.K), 4*int(c.K), p.run())
	g := runtime.Grid{
		Blocks:  runtime.Dim3{X: blocks / p.Batch, Y: min(p.Batch, ops.MaxBlocks()), Z: parts},
		Threads: runtime.Dim3{X: int(c.M / c.Rows * (c.N / c.Cols))},
	}
	if p.sum().Size() > 4 {
		c.Blocks = 0 // numbers of 64 bits take twice the registers
	}
	return p.withParts(s, parts, func(out ops.View) error {
		// Parts may lie otherwise than the result.
		c.OutVec = dsl.ConstBool(vectors(4, p.Batches[0], p.OutN, p.OutM, p.N))
		return launch(g, out, c)
	})
}

// OperandOrder chooses how an operand with strides across and along k is staged.
func OperandOrder(batch layout.Layout, across, along, n, k int) (way dsl.ConstInt, vec dsl.ConstBool) {
	switch {
	case vectors(4, batch, along, across, k):
		return kernels.AlongK, true
	case vectors(4, batch, across, along, n):
		return kernels.AcrossK, true
	case along != 0 && (along <= across || across == 0):
		return kernels.AlongK, false
	}
	return kernels.AcrossK, false
}

// split is into how many parts sums are divided so that there are enough blocks: parts
// of at least some length, which are multiples of step, and of at most another one, for
// numbers that are rounded.
func (p *Problem) split(blocks, enough, least, step, most int) int {
	parts := 1
	if blocks < enough {
		parts = max(1, min((enough+blocks-1)/blocks, p.K/least, maxParts))
	}
	if p.A.DType.IsFloat() {
		parts = max(parts, (p.K+most-1)/most)
	}
	if p.Part = p.K; parts > 1 {
		p.Part = ops.RoundUp((p.K+parts-1)/parts, step)
	}
	return (p.K + p.Part - 1) / p.Part
}

// The longest chains of additions of a product: errors grow with them.
const (
	longProduct = 2048    // sums of more elements are divided, where results are small
	middleRun   = 512     // into chains of so many
	longRun     = 8192    // as all sums are
	halfRun     = 1 << 16 // of products by matrix instructions whose results have 16 bits
	shortRun    = 128     // of products with vectors, of which parts cost nothing
)

// run is how many elements along k are added one after the other at most. Where results are
// large, to store and add parts of them would take as long as to multiply.
func (p *Problem) run() int {
	switch {
	case p.Out.DType.Size() == 2 && p.Matrix():
		return halfRun
	case p.K > longProduct && p.K >= 8*(p.M+p.N):
		return middleRun
	}
	return longRun
}

const maxParts = 256

// count is how many results there are.
func (p *Problem) count() int { return p.Batch * p.M * p.N }

// withParts has a kernel store in out, or the parts of sums in memory of its own, and
// adds these.
func (p *Problem) withParts(s *runtime.Stream, parts int, run func(out ops.View) error) error {
	if !p.apart(parts) {
		return run(p.Out)
	}
	c := p.Out.DType.Compute()
	n := p.count()
	if n > math.MaxInt/parts/c.Size() {
		return fmt.Errorf("%w: %d parts of %d sums", layout.ErrTooLarge, parts, n)
	}
	mem, err := s.Alloc(parts * n * c.Size())
	if err != nil {
		return err
	}
	err = p.addParts(s, ops.View{Buf: mem, DType: c}, parts, n, run)
	if e := mem.FreeOn(s); err == nil {
		err = e
	}
	return err
}

func (p *Problem) addParts(s *runtime.Stream, room ops.View, parts, n int, run func(out ops.View) error) error {
	batch := p.Batches[0].Shape()
	columns, steps := layout.Shape{p.N}, []int{p.OutN}
	if p.Columns.Rank() > 0 {
		columns, steps = p.Columns.Shape(), p.Columns.Strides()
	}
	shape := slices.Concat(batch, layout.Shape{p.M}, columns)
	final, err := layout.New(shape, slices.Concat(p.Batches[0].Strides(), []int{p.OutM}, steps), p.Out.Layout.Offset())
	if err != nil {
		return err
	}
	dense := layout.Contiguous(shape)
	p.Batches[0], _ = layout.New(batch, dense.Strides()[:len(batch)], 0)
	p.OutM, p.OutN, p.Parts, p.fuses = p.N, 1, n, false
	if err := p.PlanBatches(s); err != nil {
		return err
	}
	room.Layout = layout.Contiguous(layout.Shape{parts * n})
	if err := run(room); err != nil {
		return err
	}
	if p.then.on {
		return p.finish(s, final, room, parts, n)
	}
	var w core.Walk
	var g runtime.Grid
	if ok, err := ops.PlanWalk(s, &w, &g, final, dense); !ok {
		return err
	}
	to, from := p.Out.Header(), room.Header()
	return sumParts.Launch(s, ops.TypeArgs{T: p.Out.DType, C: room.DType}, g, ops.SliceArg(p.Out.DType, &to), ops.SliceArg(room.DType, &from), w, parts, n, ops.Add.In(room.DType))
}
