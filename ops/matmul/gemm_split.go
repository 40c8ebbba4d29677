package matmul

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/matmul/kernels"
	"github.com/gokiln/kiln/runtime"
)

var splitKernel = jit.Of(kernels.Split)

// tiledProducts are for products whose parts there is no memory for.
var tiledProducts = ops.NewStrategies(tiledRows...)

const splitRows = 4 // of which a thread splits elements at a time

// terms is how many products of parts make one of float32 numbers of a precision.
func (o Precision) terms() int {
	switch o {
	case Medium:
		return 1
	case High:
		return 3
	}
	return 6
}

// worthSplitting reports whether the precision permits to split float32 factors into parts of type
// BF16, of which matrix instructions make products faster: TF32 is that for a precision of 10 bits.
func (p *Problem) worthSplitting() bool {
	if p.Precision == Highest || p.A.DType != dtype.F32 || p.Precision == High && p.Matrix() {
		return false
	}
	return p.HalfRows > 0 && min(p.M, p.N, p.K) >= leastSplit
}

// runSplit splits float32 factors into parts, which are one after the other along k as the terms of
// products go together, and multiplies as matrices of type BF16 with so many times the elements
// along k. Other types have no parts.
func runSplit(s *runtime.Stream, p *Problem) error {
	if p.A.DType != dtype.F32 {
		return runPadded(s, p)
	}
	terms := p.Precision.terms()
	return p.withCopies(s, tiledProducts, func(q *Problem, i int) (*runtime.Buffer, error) {
		return q.splitFactor(s, i, terms)
	}, func(q *Problem) {
		q.K, q.TF32, q.splits = terms*p.partLength(), false, terms == Split.terms()
		q.findUnit(s.Device())
	})
}

// partLength is how long parts of factors are along k: zeros come behind their elements.
func (p *Problem) partLength() int { return ops.RoundUp(p.K, tile.RowBytes/dtype.BF16.Size()) }

// splitFactor splits factor i, and makes the parts that of the product. Rows keep their direction.
func (p *Problem) splitFactor(s *runtime.Stream, i, terms int) (mem *runtime.Buffer, err error) {
	f := p.side(i)
	across := f.along != 1 && f.across == 1
	c := kernels.Splitting{Padding: p.padding(i, across), Terms: dsl.ConstInt(terms), Second: i == 2}
	length := p.partLength()
	if c.Each = splitRows; across {
		c.Width = ops.RoundUp(c.Cols, 16/dtype.BF16.Size())
		c.Pitch, c.Zeros = ops.RoundUp(c.Cols, tile.RowBytes/dtype.BF16.Size()), length-p.K
		c.Step = length * c.Pitch
		c.Matrix = terms * c.Step
	} else {
		c.Width, c.Pitch, c.Step = length, terms*length, length
		c.Matrix = c.Rows * c.Pitch
	}
	n := c.Batch * c.Matrix
	if mem, err = s.Alloc(n * dtype.BF16.Size()); err != nil {
		return nil, err
	}
	w, g, err := p.planPad(s, i, &c.Padding, c.Rows+c.Zeros)
	if err != nil {
		return mem, err
	}
	to := ops.View{Buf: mem, DType: dtype.BF16, Layout: layout.Contiguous(layout.Shape{n})}
	dst, src := to.Header(), f.view.Header()
	if err = splitKernel.Launch(s, g, ops.SliceArg(dtype.BF16, &dst), ops.SliceArg(dtype.F32, &src), w, c); err != nil {
		return mem, err
	}
	return mem, p.replace(i, to, across, c.Pitch, c.Matrix)
}

// worthWidening reports whether copies of factors of 8 bits as elements of type F16, which has all
// their numbers, pay, where there are no matrix instructions for 8 bits.
func (p *Problem) worthWidening() bool {
	return p.float8() && !p.Matrix() && p.HalfRows > 0 && p.worthCopies()
}

func (p *Problem) float8() bool { return p.A.DType.IsFloat() && p.A.DType.Size() == 1 }

// InParts divides the sums of a product of so many tiles into two parts or more, and adds what
// launch stores: [kernels.Product] says how long parts are, and how far apart they lie in row-major
// order.
func (p *Problem) InParts(s *runtime.Stream, tiles int, c *tile.Config, launch func(out ops.View) error) error {
	n := max(2, p.parts(tiles, c), (p.K+longRun-1)/longRun)
	p.Part = ops.RoundUp((p.K+n-1)/n, int(c.K))
	return p.withParts(s, (p.K+p.Part-1)/p.Part, launch)
}

// runWidened multiplies copies of factors of 8 bits as elements of type F16.
func runWidened(s *runtime.Stream, p *Problem) error {
	if !p.float8() {
		return runPadded(s, p)
	}
	return p.withCopies(s, tiledProducts, func(q *Problem, i int) (*runtime.Buffer, error) {
		return q.padFactor(s, i, dtype.F16)
	}, func(q *Problem) { q.findUnit(s.Device()) })
}

// findHalf finds out whether there is a matrix instruction for parts or copies of the factors.
func (p *Problem) findHalf(dev *runtime.Device) {
	switch {
	case p.Precision > Highest:
		p.HalfRows = jit.MatrixShape(dev, dtype.BF16.Type(), dsl.MatrixM)
	case p.float8():
		p.HalfRows = jit.MatrixShape(dev, dtype.F16.Type(), dsl.MatrixM)
	}
}
