package index

import (
	"fmt"
	"math"
	"slices"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/elementwise"
	"github.com/gokiln/kiln/ops/index/kernels"
	core "github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

var (
	maskedFill = ops.NewGeneric("masked_fill", kernels.MaskedFill[ops.M, ops.T])
	flip       = ops.NewGeneric("flip", kernels.Flip[ops.T])
	flipVec    = ops.NewGeneric("flip", kernels.FlipVec[ops.T])
	triangle   = ops.NewGeneric("triangle", kernels.Triangle[ops.T])
)

// MaskedFill stores v where the elements of mask, integers, are not 0, and else those
// of x. All have the shape of out.
func MaskedFill(s *runtime.Stream, out, mask, x ops.View, v dtype.Scalar) error {
	if !mask.DType.IsInt() {
		return ops.Unsupported("masked_fill with a mask", mask.DType, ops.Ints.String())
	}
	t := ops.Carrier(out.DType)
	k, err := maskedFill.Of(ops.TypeArgs{M: mask.DType, T: t})
	if err != nil {
		return err
	}
	out.DType, x.DType = t, t
	return ops.RunWalk(s, k, out, mask, x, dtype.FromBits(t, v.Bits()))
}

// Flip stores the elements of x in out, of the same shape, with some dimensions
// backwards.
func Flip(s *runtime.Stream, out, x ops.View, dims ...int) error {
	shape := x.Layout.Shape()
	dims, err := layout.Dims(dims, len(shape))
	if err != nil {
		return fmt.Errorf("flip: %w", err)
	}
	if err := ops.SameShape("flip", out.Layout.Shape(), shape); err != nil {
		return err
	}
	t := ops.Carrier(x.DType)
	k, err := flip.Of(ops.TypeArgs{T: t})
	if err != nil {
		return err
	}
	to, from := out.Header(), x.Header()
	vec := 1
	if info := ops.DeviceInfo(s.Device()); ops.TraitsOf(&info).VectorAccess {
		vec = asVectors(&out.Layout, &x.Layout, 16/t.Size())
	}
	last := 0
	back, straight := map[int]int{}, map[int]int{}
	shape = x.Layout.Shape()
	for d, n := range x.Layout.Strides() {
		if slices.Contains(dims, d) {
			back[d] = n
			last += n * (shape[d] - 1)
		} else {
			straight[d] = n
		}
	}
	var w core.Walk
	var g runtime.Grid
	if ok, err := ops.PlanWalk(s, &w, &g, out.Layout, ops.BroadcastAlong(shape, back), ops.BroadcastAlong(shape, straight)); !ok {
		return err
	}
	if vec > 1 {
		if k, err = flipVec.Of(ops.TypeArgs{T: t}); err != nil {
			return err
		}
		return k.Launch(s, g, ops.SliceArg(t, &to), ops.SliceArg(t, &from), w, last, dsl.ConstInt(vec), dsl.ConstBool(slices.Contains(dims, len(shape)-1)))
	}
	return k.Launch(s, g, ops.SliceArg(t, &to), ops.SliceArg(t, &from), w, last)
}

// asVectors makes layouts of one shape those of vectors of n elements, if both have all of
// their rows contiguous, and returns n; else 1.
func asVectors(a, b *layout.Layout, n int) int {
	last := a.Rank() - 1
	if last < 0 || !ops.Multiples(n, a.Shape()[last]) {
		return 1
	}
	of := []*layout.Layout{a, b}
	for _, l := range of {
		if l.Strides()[last] != 1 || !ops.Multiples(n, l.Strides()[:last]...) {
			return 1
		}
	}
	for _, l := range of {
		shape, strides := slices.Clone(l.Shape()), slices.Clone(l.Strides())
		shape[last] /= n
		for d := range last {
			strides[d] /= n
		}
		*l, _ = layout.New(shape, strides, 0) // smaller than one that was right
	}
	return n
}

// Roll stores the elements of x in out, of the same shape, moved by shift positions
// along dimension d. What leaves at one end comes in at the other.
func Roll(s *runtime.Stream, out, x ops.View, shift, d int) error {
	shape := x.Layout.Shape()
	d, err := layout.Dim(d, len(shape))
	if err != nil {
		return fmt.Errorf("roll: %w", err)
	}
	if err := ops.SameShape("roll", out.Layout.Shape(), shape); err != nil || shape[d] == 0 {
		return err
	}
	n := shape[d]
	shift = (shift%n + n) % n
	if err := copyPart(s, out, shift, x, 0, n-shift, d); err != nil {
		return err
	}
	return copyPart(s, out, 0, x, n-shift, shift, d)
}

// copyPart copies n positions of dimension d of x, which begin at from, to those of out
// which begin at to.
func copyPart(s *runtime.Stream, out ops.View, to int, x ops.View, from, n, d int) error {
	var err error
	if out.Layout, err = out.Layout.Narrow(d, to, n); err != nil {
		return err
	}
	if x.Layout, err = x.Layout.Narrow(d, from, n); err != nil {
		return err
	}
	return elementwise.Copy(s, out, x)
}

// Cat concatenates tensors in out along dimension d. Other sizes are
// the same.
func Cat(s *runtime.Stream, out ops.View, d int, x ...ops.View) error {
	d, err := layout.Dim(d, out.Layout.Rank())
	if err != nil {
		return fmt.Errorf("cat: %w", err)
	}
	at := 0
	for i := range x {
		shape := slices.Clone(out.Layout.Shape())
		if x[i].Layout.Rank() == len(shape) {
			shape[d] = x[i].Layout.Shape()[d]
		}
		if err := ops.SameShape("cat", x[i].Layout.Shape(), shape); err != nil {
			return err
		}
		if err := ops.SameType("cat", x[i], out); err != nil {
			return err
		}
		if err := copyPart(s, out, at, x[i], 0, shape[d], d); err != nil {
			return fmt.Errorf("cat: %w", err)
		}
		at += shape[d]
	}
	if at != out.Layout.Shape()[d] {
		return fmt.Errorf("%w: cat of %d places in dimension %d of %v", layout.ErrShape, at, d, out.Layout.Shape())
	}
	return nil
}

// Repeat stores x in out, so many times along each dimension. There is a count for
// each dimension of out, and the sizes of out are those of x times the counts.
func Repeat(s *runtime.Stream, out, x ops.View, counts ...int) error {
	shape := x.Layout.Shape()
	if len(counts) != len(shape) {
		return fmt.Errorf("%w: repeat of %v by %v", layout.ErrRank, shape, counts)
	}
	var split, strides, repeated, again []int
	for d, n := range shape {
		if counts[d] < 0 || out.Layout.Rank() != len(shape) || out.Layout.Shape()[d] != n*counts[d] {
			return fmt.Errorf("%w: repeat of %v by %v in %v", layout.ErrShape, shape, counts, out.Layout.Shape())
		}
		step := out.Layout.Strides()[d]
		split, strides = append(split, counts[d], n), append(strides, step*n, step)
		repeated, again = append(repeated, counts[d], n), append(again, 0, x.Layout.Strides()[d])
	}
	var err error
	if out.Layout, err = layout.New(split, strides, out.Layout.Offset()); err != nil {
		return err
	}
	if x.Layout, err = layout.New(repeated, again, x.Layout.Offset()); err != nil {
		return err
	}
	return elementwise.Copy(s, out, x)
}

// PadMode says what [Pad] puts around a tensor.
type PadMode int

// The modes.
const (
	PadConstant PadMode = iota // a number
	PadEdge                    // the element at the edge
	PadReflect                 // the elements inside, mirrored at the one at the edge
	PadCircular                // the elements at the other end
)

// Pad stores x in out with pads[d][0] positions in front and pads[d][1] behind along
// dimension d. The number is that of [PadConstant].
func Pad(s *runtime.Stream, out, x ops.View, pads [][2]int, mode PadMode, v dtype.Scalar) error {
	if err := checkPads(out.Layout.Shape(), x.Layout.Shape(), pads, mode); err != nil {
		return err
	}
	if err := ops.SameType("pad", out, x); err != nil {
		return err
	}
	inner := out
	for d, p := range pads {
		var err error
		if inner.Layout, err = inner.Layout.Narrow(d, p[0], x.Layout.Shape()[d]); err != nil {
			return err
		}
	}
	if err := elementwise.Copy(s, inner, x); err != nil {
		return err
	}
	// From the inside outwards: a dimension that is done belongs to what is padded
	// next, so that corners come by themselves.
	for d, p := range pads {
		whole := inner
		sizes := slices.Clone(inner.Layout.Shape())
		sizes[d] = out.Layout.Shape()[d]
		whole.Layout, _ = layout.New(sizes, inner.Layout.Strides(), inner.Layout.Offset()-p[0]*inner.Layout.Strides()[d])
		if err := padAlong(s, whole, d, p, x.Layout.Shape()[d], mode, v); err != nil {
			return err
		}
		inner = whole
	}
	return nil
}

func checkPads(out, x layout.Shape, pads [][2]int, mode PadMode) error {
	if len(pads) != len(x) || len(out) != len(x) {
		return fmt.Errorf("%w: pad of %v by %v in %v", layout.ErrRank, x, pads, out)
	}
	for d, p := range pads {
		most := math.MaxInt
		switch {
		case mode == PadReflect:
			most = x[d] - 1
		case mode == PadCircular:
			most = x[d]
		case mode == PadEdge && x[d] == 0:
			most = 0
		}
		if p[0] < 0 || p[1] < 0 || out[d] != x[d]+p[0]+p[1] {
			return fmt.Errorf("%w: pad of %v by %v in %v", layout.ErrShape, x, pads, out)
		}
		if max(p[0], p[1]) > max(most, 0) {
			return fmt.Errorf("%w: pad of dimension %d of %v by %v: there are %d elements to take", layout.ErrNarrow, d, x, p, max(most, 0))
		}
	}
	return nil
}

// padAlong fills what is in front of and behind the n positions along dimension d.
func padAlong(s *runtime.Stream, x ops.View, d int, p [2]int, n int, mode PadMode, v dtype.Scalar) error {
	for side, count := range p {
		if count == 0 {
			continue
		}
		to, from, edge := 0, p[0]+n-count, p[0] // the last places, and the first
		mirror := p[0] + 1
		if side == 1 {
			to, from, edge = p[0]+n, p[0], p[0]+n-1
			mirror = p[0] + n - 1 - count
		}
		slab, err := part(x, d, to, count)
		if err != nil {
			return err
		}
		switch mode {
		case PadConstant:
			err = elementwise.Fill(s, slab, v)
		case PadCircular:
			err = copyPart(s, x, to, x, from, count, d)
		case PadReflect:
			var inside ops.View
			if inside, err = part(x, d, mirror, count); err == nil {
				err = Flip(s, slab, inside, d)
			}
		default:
			var line ops.View
			if line, err = part(x, d, edge, 1); err != nil {
				return err
			}
			if line.Layout, err = line.Layout.BroadcastTo(slab.Layout.Shape()); err == nil {
				err = elementwise.Copy(s, slab, line)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func part(x ops.View, d, from, n int) (ops.View, error) {
	var err error
	x.Layout, err = x.Layout.Narrow(d, from, n)
	return x, err
}

// Tril stores the elements of x, of the same shape as out, on and below diagonal k of the
// last two dimensions, and else 0. Diagonal 1 is the one above the main diagonal.
func Tril(s *runtime.Stream, out, x ops.View, k int) error {
	return runTriangle(s, "tril", out, x, math.MinInt, k)
}

// Triu is [Tril] of the elements on and above the diagonal.
func Triu(s *runtime.Stream, out, x ops.View, k int) error {
	return runTriangle(s, "triu", out, x, k, math.MaxInt)
}

func runTriangle(s *runtime.Stream, name string, out, x ops.View, from, to int) error {
	shape := out.Layout.Shape()
	last := len(shape) - 1
	if last < 1 {
		return fmt.Errorf("%w: %s of %v, want two dimensions or more", layout.ErrRank, name, shape)
	}
	if err := ops.SameShape(name, x.Layout.Shape(), shape); err != nil {
		return err
	}
	if err := ops.SameType(name, out, x); err != nil {
		return err
	}
	t := ops.Carrier(x.DType)
	var w core.Walk
	var g runtime.Grid
	if ok, err := ops.PlanWalk(s, &w, &g, out.Layout, x.Layout, ops.BroadcastAlong(shape, map[int]int{last - 1: 1}), ops.BroadcastAlong(shape, map[int]int{last: 1})); !ok {
		return err
	}
	dst, src := out.Header(), x.Header()
	return triangle.Launch(s, ops.TypeArgs{T: t}, g, ops.SliceArg(t, &dst), ops.SliceArg(t, &src), w, from, to)
}

// Eye stores 1 on the diagonals of the last two dimensions of out and else 0.
func Eye(s *runtime.Stream, out ops.View) error {
	if err := elementwise.Fill(s, out, dtype.Zero(out.DType)); err != nil {
		return err
	}
	var err error
	if out.Layout, err = out.Layout.Diagonal(0, -2, -1); err != nil {
		return fmt.Errorf("eye: %w", err)
	}
	return elementwise.Fill(s, out, dtype.One(out.DType))
}
