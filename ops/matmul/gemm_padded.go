package matmul

import (
	"errors"
	"slices"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/elementwise"
	core "github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/matmul/kernels"
	"github.com/gokiln/kiln/runtime"
)

var padKernel = ops.NewGeneric("matmul", kernels.Pad[ops.O, ops.T])

// matrixProducts are the rows that multiply by matrix instructions, for factors that were copied.
var matrixProducts = ops.NewStrategies(slices.Concat(fewRows, matrixRows, []ops.Strategy[Problem]{
	matrixTiles(smallMatrix, func(*Problem, tile.Config) bool { return true }),
})...)

// From what sizes on copies of factors pay, by the rates of an H200.
const (
	leastReuse    = 64      // rows or columns that an element of a copy is multiplied for, against single loads of them
	minTransposed = 512     // against tiles of factors across k
	leastSplit    = 512     // rows, columns and places along k, against fused multiply-adds
	leastCopied   = 1 << 27 // multiply-adds of a product
	padRows       = 8       // that a thread copies at a time
)

// chunk is how many elements are copied to shared memory at once: those of 16 bytes.
func (p *Problem) chunk() int { return 16 / p.A.DType.Size() }

// side is factor i, 1 or 2, of a product: what is across k, and its strides.
type side struct {
	view                ops.View
	size, across, along int
}

func (p *Problem) side(i int) side {
	if i == 1 {
		return side{p.A, p.M, p.XM, p.XK}
	}
	return side{p.B, p.N, p.YN, p.YK}
}

// reach is how many of n elements of factor i that are contiguous can be read: there is memory for
// whole chunks behind those that were copied.
func (p *Problem) reach(i, n int) int {
	if p.Padded[i] {
		return ops.RoundUp(n, p.chunk())
	}
	return n
}

// order is how factor i lies in shared memory in a tile of so many rows or columns, and whether it
// is copied in chunks.
func (p *Problem) order(i, tileSize int) (order dsl.ConstInt, vec dsl.ConstBool) {
	f := p.side(i)
	return factorOrder(p.chunk(), tileSize, p.Batches[i], f.across, f.along, p.reach(i, f.size), p.reach(i, p.K))
}

// inChunks reports whether factor i can be copied in chunks of 16 bytes.
func (p *Problem) inChunks(i int) bool {
	f := p.side(i)
	if f.view.Buf == nil || f.view.Addr()%16 != 0 {
		return f.view.Buf == nil
	}
	_, vec := p.order(i, int(largestTile))
	return bool(vec)
}

// largestTile is how many columns the widest tiles have: all orders fit into it.
const largestTile = 256

// distinct is the shape of the matrices of factor i that are not the same, 1 in the place of
// dimensions along which they are.
func (p *Problem) distinct(i int) layout.Shape {
	shape := append(layout.Shape{}, p.Batches[i].Shape()...)
	for d, step := range p.Batches[i].Strides() {
		if step == 0 {
			shape[d] = 1
		}
	}
	return shape
}

// copies reports whether matrix instructions take a copy of factor i better than what it is.
func (p *Problem) copies(i int) bool { return !p.inChunks(i) || p.needsKMajor(i) }

// worthPadding reports whether copies of the factors that cannot be copied in chunks, or should lie
// along k, pay: what is copied is multiplied often, and the copies are little longer than what they
// are of.
func (p *Problem) worthPadding() bool {
	if !p.Matrix() || !p.worthCopies() || !p.hasMatrix(smallMatrix) {
		return false
	}
	elements, spans := 0, 0
	for i := 1; i <= 2; i++ {
		if !p.copies(i) {
			continue
		}
		if p.inChunks(i) && p.side(3-i).size < minTransposed {
			return false
		}
		f := p.side(i)
		elements, spans = elements+p.distinct(i).Count()*f.size*p.K, spans+f.view.Layout.Span()
	}
	return elements > 0 && elements/5*4 <= spans
}

// worthCopies reports whether the product is large enough for copies of its factors.
func (p *Problem) worthCopies() bool {
	return min(p.M, p.N, p.K) >= leastReuse && p.M*p.N >= leastCopied/p.K/p.Batch
}

// runPadded copies factors that cannot be copied to shared memory in chunks to memory of its own,
// in rows of a pitch for which they can, and multiplies by matrix instructions then. Without memory
// it multiplies what there is.
func runPadded(s *runtime.Stream, p *Problem) error {
	return p.withCopies(s, matrixProducts, func(q *Problem, i int) (*runtime.Buffer, error) {
		if !q.copies(i) {
			return nil, nil
		}
		return q.padFactor(s, i, p.A.DType)
	}, func(*Problem) {})
}

// withCopies multiplies by matrix instructions what a function makes of the factors, in memory that
// is freed then. Another one says what follows from it. Without memory it multiplies what there is
// by the first of other strategies.
func (p *Problem) withCopies(s *runtime.Stream, others *ops.Strategies[Problem], factor func(q *Problem, i int) (*runtime.Buffer, error), then func(q *Problem)) (err error) {
	q := *p
	var made [2]*runtime.Buffer
	for i := 1; i <= 2 && err == nil; i++ {
		made[i-1], err = factor(&q, i)
	}
	switch {
	case errors.Is(err, runtime.ErrOutOfMemory):
		err = others.Run(s, p)
	case err == nil:
		then(&q)
		if err = q.PlanBatches(s); err == nil {
			err = matrixProducts.Run(s, &q)
		}
	}
	for _, mem := range made {
		if mem == nil {
			continue
		}
		if e := mem.FreeOn(s); err == nil {
			err = e
		}
	}
	return err
}

// padFactor copies factor i as elements of type d, and makes it that of the product. Rows keep
// their direction if they may, and begin at multiples of those of a stage.
func (p *Problem) padFactor(s *runtime.Stream, i int, d dtype.DType) (mem *runtime.Buffer, err error) {
	f := p.side(i)
	across := f.along != 1 && f.across == 1 && !p.KMajor
	c := p.padding(i, across)
	c.Width, c.Pitch = ops.RoundUp(c.Cols, 16/d.Size()), ops.RoundUp(c.Cols, tile.RowBytes/d.Size())
	shape := p.distinct(i)
	n := c.Batch * c.Rows * c.Pitch
	if mem, err = s.Alloc(n * d.Size()); err != nil {
		return nil, err
	}
	to := ops.View{Buf: mem, DType: d, Layout: layout.Contiguous(layout.Shape{n})}
	if err = p.launchPad(s, i, shape, to, f.view, c); err != nil {
		_ = mem.FreeOn(s) // the launch's error is the one that counts
		return nil, err
	}
	return mem, p.replace(i, to, across, c.Pitch, c.Rows*c.Pitch)
}

// padding is the part of a copy of factor i that says what is copied, in rows across k or along k.
func (p *Problem) padding(i int, across bool) kernels.Padding {
	f := p.side(i)
	c := kernels.Padding{Rows: f.size, Cols: p.K, Down: f.across, Right: f.along, Each: padRows, Batch: p.distinct(i).Count()}
	if across {
		c.Rows, c.Cols, c.Down, c.Right = p.K, f.size, f.along, f.across
	}
	c.Contiguous = c.Right == 1
	return c
}

// replace makes copies factor i of the product: matrices of some distance, with rows of a pitch.
func (p *Problem) replace(i int, to ops.View, across bool, pitch, matrix int) (err error) {
	p.Padded[i] = true
	shape := p.distinct(i)
	steps := shape.Strides()
	for d, size := range shape {
		if steps[d] *= matrix; size == 1 {
			steps[d] = 0
		}
	}
	if p.Batches[i], err = layout.New(p.Batches[i].Shape(), steps, 0); err != nil {
		return err
	}
	step, one := pitch, 1
	if across {
		step, one = one, step
	}
	if i == 1 {
		p.A, p.XM, p.XK = to, step, one
	} else {
		p.B, p.YN, p.YK = to, step, one
	}
	return nil
}

// transposeFactor copies the matrices of factor i, in some shape, to rows along k of a pitch.
func (p *Problem) transposeFactor(s *runtime.Stream, i int, shape layout.Shape, to, from ops.View, c kernels.Padding) (err error) {
	whole, zeros := to, to
	size := slices.Concat(shape, layout.Shape{c.Rows, c.Cols})
	dense := layout.Contiguous(slices.Concat(shape, layout.Shape{c.Rows, c.Pitch}))
	if whole.Layout, err = layout.New(size, dense.Strides(), 0); err != nil {
		return err
	}
	if from.Layout, err = layout.New(size, slices.Concat(p.Batches[i].Strides(), []int{c.Down, c.Right}), from.Layout.Offset()); err != nil {
		return err
	}
	if err = elementwise.Copy(s, whole, from); err != nil || c.Width == c.Cols {
		return err
	}
	if zeros.Layout, err = layout.New(layout.Shape{c.Batch * c.Rows, c.Width - c.Cols}, []int{c.Pitch, 1}, c.Cols); err != nil {
		return err
	}
	return elementwise.Fill(s, zeros, dtype.Zero(to.DType))
}

// launchPad copies the matrices of factor i, in some shape.
func (p *Problem) launchPad(s *runtime.Stream, i int, shape layout.Shape, to, from ops.View, c kernels.Padding) error {
	if c.Down == 1 && c.Right != 1 {
		return p.transposeFactor(s, i, shape, to, from, c)
	}
	w, g, err := p.planPad(s, i, &c, c.Rows)
	if err != nil {
		return err
	}
	dst, src := to.Header(), from.Header()
	return padKernel.Launch(s, ops.TypeArgs{T: from.DType, O: to.DType}, g, ops.SliceArg(to.DType, &dst), ops.SliceArg(from.DType, &src), w, c)
}

// planPad plans a copy of factor i to so many rows.
func (p *Problem) planPad(s *runtime.Stream, i int, c *kernels.Padding, rows int) (w core.Walk, g runtime.Grid, err error) {
	batches, err := layout.New(p.distinct(i), p.Batches[i].Strides(), 0)
	if err != nil {
		return w, g, err
	}
	var unused runtime.Grid
	if _, err = ops.PlanWalk(s, &w, &unused, batches); err != nil {
		return w, g, err
	}
	ops.RandomAccess(&w, c.Batch)
	threads, each := min(ops.MaxThreads, p.Info.ThreadsPerUnit, p.Info.MaxThreads), int(c.Each)
	g = runtime.Grid{
		Blocks:  runtime.Dim3{X: (c.Width + threads - 1) / threads, Y: min((rows+each-1)/each, ops.MaxBlocks()), Z: min(c.Batch, ops.MaxBlocks())},
		Threads: runtime.Dim3{X: threads},
	}
	return w, g, nil
}
