package matmul

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/dsl/tile"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/elementwise"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/matmul/kernels"
	"github.com/gokiln/kiln/runtime"
)

// ScaleBlock is how many elements along k, and rows or columns, the scale of a block is for.
const ScaleBlock = kernels.ScaleBlock

// Scaled stores in out the product of two matrices of type F8E4M3, F8E5M2, I8 or U8 whose elements
// stand for themselves times a scale, of type F32. The scales of a, (m, k), are of shape (1, 1) for
// one of the whole matrix, (m, 1) for one of each row, or with ceil(k/128) columns for one of each
// 128 elements along k; (ceil(m/128), ceil(k/128)) is one of each block of 128 by 128. Those of b,
// (k, n), are likewise (1, 1), (1, n), or with ceil(k/128) rows. Scales that differ along k are for
// floating-point elements.
//
// The type of out is a floating-point one of at most 32 bits. Sums are scaled in float32, those of
// integers after they are made, and results rounded once. See [Precision] for what is in the sums.
// Options have no epilogue.
func Scaled(s *runtime.Stream, out, a, b, scaleA, scaleB ops.View, o Options) error {
	if present(o.Up) || !o.empty() {
		return fmt.Errorf("scaled product: %w: it has no epilogue", jit.ErrUnsupported)
	}
	sc, err := newScales(out, a, b, scaleA, scaleB)
	if err != nil {
		return err
	}
	o.scales = sc
	p, err := newProduct(s, o, out, a, b, ops.View{})
	if err != nil || out.Layout.Count() == 0 {
		return err
	}
	if p.K == 0 {
		return elementwise.Fill(s, out, dtype.Zero(out.DType))
	}
	return scaledProducts.RunBy(s, o.Strategy, p)
}

// ScaledStrategies lists the strategies of [Scaled] that a device can be asked for.
func ScaledStrategies() []string { return scaledProducts.Names() }

var scaledProducts = ops.NewStrategies(slices.Concat([]ops.Strategy[Problem]{
	{Name: "scaled factors", Fits: func(p *Problem) bool { return p.Serial() && bool(p.scales.Blocks) }, Run: runScaledFactors},
	{Name: "scaled sums", Fits: (*Problem).Serial, Run: runScaledSums},
	{Name: "matrix tiles of float16 copies", Fits: (*Problem).worthWidening, Run: runWidened},
	{Name: "matrix tiles of padded factors", Fits: (*Problem).worthPadding, Run: runPadded},
}, fewRows, matrixRows, []ops.Strategy[Problem]{
	matrixTiles(smallMatrix, func(*Problem, tile.Config) bool { return true }),
})...)

var gemmScaled = ops.NewGeneric("matmul", kernels.MultiplyScaled[ops.O, ops.T, ops.C])

// scales are those of the factors of a product.
type scales struct {
	kernels.Scales
	of [2]ops.View // (rows, elements along k) and (columns, elements along k)
}

func (sc *scales) transpose() {
	sc.of[0], sc.of[1] = sc.of[1], sc.of[0]
	sc.X, sc.Y = sc.Y, sc.X
}

// arg is the scales of a factor as kernels take them, from the first one on.
func (sc *scales) arg(i int) runtime.Slice[float32] {
	return runtime.SliceOf[float32](sc.of[i].Header())
}

func newScales(out, a, b, scaleA, scaleB ops.View) (*scales, error) {
	if a.Layout.Rank() != 2 || b.Layout.Rank() != 2 || out.Layout.Rank() != 2 {
		return nil, fmt.Errorf("%w: scaled product of %v and %v in %v", layout.ErrRank, a.Layout.Shape(), b.Layout.Shape(), out.Layout.Shape())
	}
	if !out.DType.IsFloat() || out.DType.Size() > dtype.F32.Size() {
		return nil, fmt.Errorf("%w: scaled product in %v: want a floating-point type of at most 32 bits", ops.ErrDType, out.DType)
	}
	if !slices.Contains([]dtype.DType{dtype.F8E4M3, dtype.F8E5M2, dtype.I8, dtype.U8}, a.DType) {
		return nil, ops.Unsupported("scaled product", a.DType, "f8e4m3, f8e5m2, i8, u8")
	}
	sc := &scales{}
	for i, f := range []struct {
		name           string
		factor, scales ops.View
		to             *kernels.Scale
	}{{"lhs", a, scaleA, &sc.X}, {"rhs", b, scaleB, &sc.Y}} {
		if f.scales.DType != dtype.F32 {
			return nil, fmt.Errorf("%w: scaled product with scales of %v for the %s: want f32", ops.ErrDType, f.scales.DType, f.name)
		}
		if f.scales.Layout.Rank() != 2 {
			return nil, fmt.Errorf("%w: scaled product with scales %v for the %s %v", layout.ErrRank, f.scales.Layout.Shape(), f.name, f.factor.Layout.Shape())
		}
		if i == 1 {
			f.factor.Layout, _ = f.factor.Layout.Transpose(0, 1) // which matrices have
			f.scales.Layout, _ = f.scales.Layout.Transpose(0, 1)
		}
		sc.of[i] = f.scales
		var err error
		if *f.to, err = newScale(f.factor.Layout.Shape(), f.scales.Layout); err != nil {
			return nil, fmt.Errorf("scaled product, %s: %w", f.name, err)
		}
		sc.Blocks = sc.Blocks || f.to.Along != 0
	}
	if a.DType.IsInt() && bool(sc.Blocks) {
		return nil, fmt.Errorf("%w: scaled product of %v with scales that differ along k, which are for floating-point elements", ops.ErrDType, a.DType)
	}
	return sc, nil
}

// newScale says which scale an element of a factor of (rows, elements along k) has.
func newScale(factor layout.Shape, l layout.Layout) (sc kernels.Scale, err error) {
	blocks := func(n int) int { return (n + ScaleBlock - 1) / ScaleBlock }
	rows, along := l.Shape()[0], l.Shape()[1]
	sc = kernels.Scale{Across: l.Strides()[0], Along: l.Strides()[1]}
	switch rows {
	case 1:
		sc.Across = 0
	case factor[0]:
		sc.Wide = 1
	case blocks(factor[0]):
		sc.Wide = ScaleBlock
	default:
		return sc, fmt.Errorf("%w: %d scales across k for %d: want 1, %d or %d", layout.ErrShape, rows, factor[0], factor[0], blocks(factor[0]))
	}
	switch along {
	case 1:
		sc.Along = 0
	case blocks(factor[1]):
	default:
		return sc, fmt.Errorf("%w: %d scales along k for %d: want 1 or %d", layout.ErrShape, along, factor[1], blocks(factor[1]))
	}
	return sc, nil
}

// rows is factor i, 1 or 2, as a matrix of rows along k.
func (p *Problem) rows(i int) (ops.View, error) {
	f := p.side(i)
	l, err := layout.New(layout.Shape{f.size, p.K}, []int{f.across, f.along}, f.view.Layout.Offset())
	f.view.Layout = l
	return f.view, err
}

// inScratch has f compute a matrix of float32 of the size of the result, in memory of its own, and
// stores it as the result.
func (p *Problem) inScratch(s *runtime.Stream, f func(scratch ops.View) error) error {
	out := p.Out
	var err error
	if out.Layout, err = layout.New(layout.Shape{p.M, p.N}, []int{p.OutM, p.OutN}, out.Layout.Offset()); err != nil {
		return err
	}
	return withScratch(s, p.M, p.N, dtype.F32, func(scratch ops.View) error {
		if err := f(scratch); err != nil {
			return err
		}
		return elementwise.Copy(s, out, scratch)
	})
}

// withScratch calls f with memory for a matrix.
func withScratch(s *runtime.Stream, rows, columns int, d dtype.DType, f func(scratch ops.View) error) error {
	shape := layout.Shape{rows, columns}
	mem, err := s.Alloc(d.Bytes(shape.Count()))
	if err != nil {
		return err
	}
	err = f(ops.View{Buf: mem, DType: d, Layout: layout.Contiguous(shape)})
	if e := mem.FreeOn(s); err == nil {
		err = e
	}
	return err
}

// runScaledSums scales sums after they are made, where scales do not differ along k.
func runScaledSums(s *runtime.Stream, p *Problem) error {
	sc := p.scales
	if sc.Blocks || sc.X.Wide == ScaleBlock || sc.Y.Wide == ScaleBlock {
		return runScaledFactors(s, p)
	}
	x, err := p.rows(1)
	if err != nil {
		return err
	}
	y, err := p.rows(2)
	if err != nil {
		return err
	}
	y.Layout, _ = y.Layout.Transpose(0, 1) // which matrices have
	return p.inScratch(s, func(scratch ops.View) error {
		sums := scratch
		if x.DType.IsInt() {
			sums.DType = dtype.I32
		}
		if err := multiply(s, Options{Precision: p.Precision}, sums, x, y, ops.View{}); err != nil {
			return err
		}
		if sums.DType != scratch.DType {
			if err := elementwise.Copy(s, scratch, sums); err != nil { // in place: elements have one size
				return err
			}
		}
		return p.scale(s, scratch, &sc.X, &sc.Y)
	})
}

// scale multiplies the rows and columns of a matrix by their scales.
func (p *Problem) scale(s *runtime.Stream, scratch ops.View, x, y *kernels.Scale) error {
	for i, sc := range []*kernels.Scale{x, y} {
		of := p.scales.of[i]
		steps := []int{sc.Across, 0}
		if i == 1 {
			steps[0], steps[1] = 0, sc.Across
		}
		var err error
		if of.Layout, err = layout.New(scratch.Layout.Shape(), steps, of.Layout.Offset()); err != nil {
			return err
		}
		if err = elementwise.Mul.Run(s, scratch, []ops.View{scratch, of}); err != nil {
			return err
		}
	}
	return nil
}

// runScaledFactors multiplies copies of the factors as float32, times their scales.
func runScaledFactors(s *runtime.Stream, p *Problem) error {
	return withScratch(s, p.M, p.K, dtype.F32, func(x ops.View) error {
		return withScratch(s, p.N, p.K, dtype.F32, func(y ops.View) error {
			for i, to := range []ops.View{x, y} {
				if err := p.scaleFactor(s, i, to); err != nil {
					return err
				}
			}
			y.Layout, _ = y.Layout.Transpose(0, 1) // which matrices have
			return p.inScratch(s, func(scratch ops.View) error { return multiply(s, Options{}, scratch, x, y, ops.View{}) })
		})
	})
}

// scaleFactor stores factor i, 0 or 1, times its scales.
func (p *Problem) scaleFactor(s *runtime.Stream, i int, to ops.View) error {
	from, err := p.rows(i + 1)
	if err == nil {
		err = elementwise.Copy(s, to, from)
	}
	if err != nil {
		return err
	}
	sc, shape := []*kernels.Scale{&p.scales.X, &p.scales.Y}[i], to.Layout.Shape()
	wide, long := int(sc.Wide), ScaleBlock
	if wide == 0 {
		wide = shape[0]
	}
	if sc.Along == 0 {
		long = shape[1]
	}
	for _, r := range blocksOf(shape[0], wide) {
		for _, k := range blocksOf(shape[1], long) {
			piece, of := to, p.scales.of[i]
			size := layout.Shape{r.count, r.size, k.count, k.size}
			if piece.Layout, err = layout.New(size, []int{wide * shape[1], shape[1], long, 1}, r.first*shape[1]+k.first); err != nil {
				return err
			}
			if of.Layout, err = layout.New(size, []int{sc.Across, 0, sc.Along, 0}, of.Layout.Offset()+r.first/wide*sc.Across+k.first/long*sc.Along); err != nil {
				return err
			}
			if err = elementwise.Mul.Run(s, piece, []ops.View{piece, of}); err != nil {
				return err
			}
		}
	}
	return nil
}

// run is blocks of one size, one after the other.
type run struct{ first, count, size int }

// blocksOf divides n elements into blocks, of which the last may be smaller.
func blocksOf(n, size int) (list []run) {
	if n >= size {
		list = append(list, run{0, n / size, size})
	}
	if rest := n % size; rest > 0 {
		list = append(list, run{n - rest, 1, rest})
	}
	return list
}
