package fn

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/nn/fn/kernels"
	"github.com/gokiln/kiln/nn/internal/operand"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	opskernels "github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// Rope rotates pairs of elements of x, of (batch, heads, time, d), by the angles of their
// positions (Su et al., "RoFormer", 2021). Element i is paired with i + n/2, where n is at most d:
//
//	y[i]     = x[i]·cos[i] - x[i+n/2]·sin[i]
//	y[i+n/2] = x[i]·sin[i] + x[i+n/2]·cos[i]
//
// and those from n on stay. The tables, see [RopeTable], have shape (T, n/2) with at least as many
// rows as there are times, or (batch, T, n/2); for times that begin elsewhere they are narrowed.
// They are of the type of x or of that in which it is computed.
func Rope(x, cos, sin *tensor.Tensor) *tensor.Tensor {
	return rotated(&rope{name: "rope"}, x, cos, sin)
}

// RopeInterleaved is [Rope] whose pairs are neighbours, 2i and 2i+1.
func RopeInterleaved(x, cos, sin *tensor.Tensor) *tensor.Tensor {
	return rotated(&rope{name: "rope_interleaved", interleaved: true}, x, cos, sin)
}

// RopeTHD is [Rope] of (batch, time, heads, d).
func RopeTHD(x, cos, sin *tensor.Tensor) *tensor.Tensor {
	return rotated(&rope{name: "rope_thd", timeFirst: true}, x, cos, sin)
}

// RopeInterleavedTHD is [RopeInterleaved] of (batch, time, heads, d).
func RopeInterleavedTHD(x, cos, sin *tensor.Tensor) *tensor.Tensor {
	return rotated(&rope{name: "rope_interleaved_thd", interleaved: true, timeFirst: true}, x, cos, sin)
}

// RopeInto is [Rope], or [RopeInterleaved], whose result is stored in out, a view of any layout
// with the shape and the type of x: in the memory of a cache of keys, for one. It is stored behind
// the work of the device so far, has no gradient, and changes out in place: see
// [tensor.Tensor.Assign]. out may be x itself; where it has parts of x otherwise, x is copied
// first.
func RopeInto(out, x, cos, sin *tensor.Tensor, interleaved bool) error {
	r := &rope{name: "rope_into", interleaved: interleaved}
	if b := r.check(x, cos, sin); b != nil {
		return b.Err()
	}
	if b := operand.Floats(r.name, out); b != nil {
		return b.Err()
	}
	var err error
	switch {
	case !out.Shape().Equal(x.Shape()):
		err = fmt.Errorf("%w: %v into %v", tensor.ErrShape, x.Shape(), out.Shape())
	case out.DType() != x.DType():
		err = fmt.Errorf("%w: %s into %s", tensor.ErrDTypeMismatch, x.DType(), out.DType())
	case out.Device() != x.Device():
		err = fmt.Errorf("%w: %s into %s", tensor.ErrDevice, x.Device(), out.Device())
	case out.Layout().Overlaps():
		err = fmt.Errorf("%w: indices of the tensor share elements, as it is broadcast: Copy it first", tensor.ErrArgument)
	case out.RequiresGrad():
		err = fmt.Errorf("%w: into a tensor with a gradient", tensor.ErrArgument)
	case x.Count() > 0:
		x, cos, sin = apart(out, x), apart(out, cos), apart(out, sin)
		if err = errors.Join(x.Err(), cos.Err(), sin.Err()); err == nil {
			err = r.launch(out, x, cos, sin)
		}
	}
	if err != nil {
		return tensor.Fail(r.name, err).Err()
	}
	return nil
}

// apart is x, or a copy if out may have some of its elements at other indices.
func apart(out, x *tensor.Tensor) *tensor.Tensor {
	if x.Buffer() == nil || x.Buffer() != out.Buffer() {
		return x
	}
	if a, b := out.Layout(), x.Layout(); out.DType() == x.DType() && a.Offset() == b.Offset() &&
		a.Shape().Equal(b.Shape()) && slices.Equal(a.Strides(), b.Strides()) {
		return x
	}
	return x.Detach().Copy()
}

// rope is the rotation as an operation.
type rope struct {
	name                         string
	interleaved, timeFirst, back bool

	learned bool // the tables want gradients
}

func rotated(r *rope, x, cos, sin *tensor.Tensor) *tensor.Tensor {
	if b := r.check(x, cos, sin); b != nil {
		return b
	}
	r.learned = cos.RequiresGrad() || sin.RequiresGrad()
	return tensor.Apply3(r, x, cos, sin)
}

// check checks the operands.
func (r *rope) check(x, cos, sin *tensor.Tensor) *tensor.Tensor {
	if b := operand.Floats(r.name, x); b != nil {
		return b
	}
	if b := operand.Floats(r.name, cos, sin); b != nil {
		return b
	}
	s, t := x.Shape(), cos.Shape()
	time := 2
	if r.timeFirst {
		time = 1
	}
	switch {
	case cos.DType() != x.DType() && cos.DType() != x.DType().Compute():
		return operand.Fail(r.name, tensor.ErrDTypeMismatch, "%v of %s and tables of %s", s, x.DType(), cos.DType())
	case cos.Device() != x.Device():
		return operand.Fail(r.name, tensor.ErrDevice, "%s and tables on %s", x.Device(), cos.Device())
	case x.Rank() != 4 || cos.Rank() != 2 && cos.Rank() != 3:
		return operand.Fail(r.name, tensor.ErrRank, "%v and tables of %v, want four dimensions and two or three", s, t)
	case !t.Equal(sin.Shape()):
		return operand.Fail(r.name, tensor.ErrShape, "%v and tables of %v and %v", s, t, sin.Shape())
	case cos.Size(-1)*2 > s[3] || cos.Size(-2) < s[time] || cos.Rank() == 3 && t[0] != s[0]:
		return operand.Fail(r.name, tensor.ErrShape, "%v and tables of %v for %d elements at %d times", s, t, s[3], s[time])
	}
	return nil
}

var ropeKernel = ops.NewGeneric("rope", kernels.Rope[ops.T, ops.O, ops.C])

// ropeThreads is how many threads a block has.
const ropeThreads = 256

// Name is for errors.
func (r *rope) Name() string { return r.name }

// Forward rotates.
func (r *rope) Forward(x, cos, sin *tensor.Tensor) *tensor.Tensor {
	out := tensor.Empty(x.Device(), x.DType(), x.Shape()...)
	if err := r.launch(out, x, cos, sin); err != nil {
		return tensor.Fail(r.name, err)
	}
	return out
}

// launch rotates into a tensor of any layout.
func (r *rope) launch(out, x, cos, sin *tensor.Tensor) error {
	cos, sin = cos.Contiguous(), sin.Contiguous()
	w := kernels.Rotation{Pairs: cos.Size(-1), Width: x.Size(3), Interleaved: dsl.ConstBool(r.interleaved)}
	for i, d := range r.order() {
		w.X[i], w.Out[i] = x.Strides()[d], out.Strides()[d]
		if i < 3 {
			w.Size[i] = x.Size(d)
		}
	}
	w.Contiguous = w.X[3] == 1 && w.Out[3] == 1
	w.Table[1] = w.Pairs
	w.Vectors = w.Contiguous && !w.Interleaved && dsl.ConstBool(vectors(w.Pairs, w.Width, w.X[:3], w.Out[:3], x, out, cos, sin))
	if cos.Rank() == 3 {
		w.Table[0] = cos.Size(1) * w.Pairs
	}
	k, err := ropeKernel.Of(ops.TypeArgs{T: x.DType(), O: cos.DType()})
	if err != nil {
		return err
	}
	direction := dtype.FromFloat(x.DType().Compute(), 1).Bits()
	if r.back {
		direction = dtype.FromFloat(x.DType().Compute(), -1).Bits()
	}
	rows := w.Size[0] * w.Size[1] * w.Size[2]
	w.Div, w.Wide = [2]opskernels.Divisor{ops.Divisor(max(w.Size[1], 1)), ops.Divisor(max(w.Size[2], 1))}, rows > math.MaxInt32
	wide := ropeThreads
	items, least := w.Width-w.Pairs, 32
	if w.Vectors {
		items, least = items/4, 8
	}
	for wide > least && wide/2 >= items {
		wide /= 2
	}
	high := ropeThreads / wide
	g := runtime.Grid{Blocks: runtime.Dim3{X: max((rows+high-1)/high, 1)}, Threads: runtime.Dim3{X: wide, Y: high}}
	return tensor.Launch(k, g, out, x, cos, sin, w, ops.ScalarArg(x.DType().Compute(), &direction))
}

// vectors reports whether rows of pairs can be rotated four elements at a time: all begin at multiples
// of these, where blocks have lanes to load vectors by.
func vectors(pairs, width int, steps, outSteps []int, operands ...*tensor.Tensor) bool {
	info := ops.DeviceInfo(operands[0].Device().Runtime())
	all := append(append([]int{pairs, width}, steps...), outSteps...)
	for _, t := range operands {
		all = append(all, t.Layout().Offset())
	}
	return ops.TraitsOf(&info).VectorAccess && ops.Multiples(4, all...)
}

// order is where batch, heads, times and elements are.
func (r *rope) order() [4]int {
	if r.timeFirst {
		return [4]int{0, 2, 1, 3}
	}
	return [4]int{0, 1, 2, 3}
}

// Backward rotates back, which has a gradient itself. Tables have gradients where they are learned.
func (r *rope) Backward(g, x, cos, sin, _ *tensor.Tensor) (dx, dcos, dsin *tensor.Tensor) {
	back := *r
	back.back = !r.back
	if r.learned {
		dcos, dsin = r.tables(g, x, cos)
	}
	return tensor.Apply3(&back, g, cos, sin), dcos, dsin
}

// tables returns the gradients of the tables: sums over all that was rotated by them.
func (r *rope) tables(g, x, cos *tensor.Tensor) (dcos, dsin *tensor.Tensor) {
	wide := x.DType().Compute()
	ga, gb := r.pairs(g.Cast(wide), cos.Size(-1))
	xa, xb := r.pairs(x.Cast(wide), cos.Size(-1))
	of := func(t *tensor.Tensor) *tensor.Tensor {
		t = t.Sum(r.order()[1])
		if cos.Rank() == 2 {
			t = t.Sum(0)
		}
		rest := cos.Size(-2) - t.Size(-2) // positions that there were none of
		return t.Pad(-2, 0, rest, tensor.PadConstant, 0).Cast(cos.DType())
	}
	dcos, dsin = of(ga.Mul(xa).Add(gb.Mul(xb))), of(gb.Mul(xa).Sub(ga.Mul(xb)))
	if r.back {
		dsin = dsin.Neg()
	}
	return dcos, dsin
}

// pairs are the first and the second elements of n pairs.
func (r *rope) pairs(x *tensor.Tensor, n int) (a, b *tensor.Tensor) {
	if r.interleaved {
		x = x.Narrow(-1, 0, 2*n).Unfold(-1, 2, 2)
		return x.GetOn(-1, 0), x.GetOn(-1, 1)
	}
	return x.Narrow(-1, 0, n), x.Narrow(-1, n, n)
}
