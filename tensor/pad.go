package tensor

import (
	"fmt"
	"math"
	"slices"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/index"
	"github.com/gokiln/kiln/ops/layout"
)

// PadMode says what [Tensor.Pad] puts around a tensor.
type PadMode = index.PadMode

// The modes of padding.
const (
	PadConstant = index.PadConstant // a number
	PadEdge     = index.PadEdge     // the element at the edge
	PadReflect  = index.PadReflect  // the elements inside, mirrored at the one at the edge
	PadCircular = index.PadCircular // the elements at the other end
)

// Pad adds so many elements in front of and behind dimension d. The number x is that of
// [PadConstant].
func (t *Tensor) Pad(d, front, behind int, mode PadMode, x float64) *Tensor {
	const op = "pad"
	if bad := first(op, t); bad != nil {
		return bad
	}
	i, err := layout.Dim(d, t.Rank())
	if err != nil {
		return failed(op, err)
	}
	pads := make([][2]int, t.Rank())
	pads[i] = [2]int{front, behind}
	return t.padded(pads, mode, x)
}

// PadAll pads several dimensions at once: pads has, for each of the last ones in their
// order, how many elements go in front and how many behind. Corners are as if one dimension after
// the other was padded. The number x is that of [PadConstant].
//
//	images.PadAll([][2]int{{1, 1}, {2, 2}}, tensor.PadReflect, 0) // 1 above and below, 2 at the sides
func (t *Tensor) PadAll(pads [][2]int, mode PadMode, x float64) *Tensor {
	const op = "pad"
	if bad := first(op, t); bad != nil {
		return bad
	}
	if len(pads) > t.Rank() {
		return failf(op, ErrRank, "places for %d dimensions of %v", len(pads), t.layout.Shape())
	}
	return t.padded(slices.Concat(make([][2]int, t.Rank()-len(pads)), pads), mode, x)
}

// padded pads all dimensions.
func (t *Tensor) padded(pads [][2]int, mode PadMode, x float64) *Tensor {
	const op = "pad"
	s, err := t.number(x)
	shape, some := t.Shape(), false
	for d, p := range pads {
		switch {
		case err != nil:
		case p[0] < 0 || p[1] < 0:
			err = fmt.Errorf("%w: %d in front and %d behind dimension %d of %v", ErrArgument, p[0], p[1], d, t.layout.Shape())
		case p[0] > math.MaxInt-p[1]-shape[d]:
			err = fmt.Errorf("%w: %d in front and %d behind dimension %d of %v", ErrTooLarge, p[0], p[1], d, t.layout.Shape())
		}
		shape[d] += p[0] + p[1]
		some = some || p != [2]int{}
	}
	if err != nil {
		return failed(op, err)
	}
	if !some {
		return t
	}
	out := t.produce(op, shape, func(out ops.View) error {
		return index.Pad(t.dev.stream, out, t.view(), pads, mode, s.Convert(t.dtype))
	})
	return out.from(op, grad1(func(g, x, _ *Tensor) *Tensor { return gradPad(g, x.layout.Shape(), pads, mode) }), t)
}

// gradPad adds the gradient of each element to the element of a tensor of shape s that it copies,
// one dimension after the other.
func gradPad(g *Tensor, s Shape, pads [][2]int, mode PadMode) *Tensor {
	for d, p := range pads {
		switch {
		case p == [2]int{} || g.err != nil:
		case mode == PadConstant:
			g = g.Narrow(d, p[0], s[d])
		default: // the elements that padding copies are known from the padded numbers of the elements
			from := Arange(g.dev, int32(0), int32(s[d])).scoped(g).Pad(0, p[0], p[1], mode, 0)
			shape := g.Shape()
			shape[d] = s[d]
			g = Zeros(g.dev, g.dtype, shape...).scoped(g).IndexAdd(from, g, d)
		}
	}
	return g
}
