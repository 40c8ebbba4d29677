package conv

import (
	"fmt"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/conv/kernels"
	"github.com/gokiln/kiln/ops/index"
	core "github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

// SampleMode is how [Sample] finds a number at a position between elements.
type SampleMode int

// The modes of [Sample].
const (
	SampleBilinear SampleMode = kernels.SampleBilinear // the mean of the four elements around it, weighted by how near they are
	SampleNearest  SampleMode = kernels.SampleNearest  // the nearest element, of two the even one
	SampleBicubic  SampleMode = kernels.SampleBicubic  // a sum of the sixteen elements around it, by cubic convolution with the parameter -3/4
)

// Sampling says how [Sample] reads images.
type Sampling struct {
	Mode    SampleMode
	Padding index.PadMode // what is beyond the edges: PadConstant, of 0, PadEdge or PadReflect

	// AlignCorners has -1 and 1 be the middles of the elements at the edges; else they are
	// the outer sides of these. PadReflect mirrors there.
	AlignCorners bool
}

// Check reports a mode or a padding that there is not.
func (p *Sampling) Check() error {
	if p.Mode < SampleBilinear || p.Mode > SampleBicubic {
		return fmt.Errorf("grid_sample with mode %d: want SampleBilinear, SampleNearest or SampleBicubic", p.Mode)
	}
	if p.Padding < index.PadConstant || p.Padding > index.PadReflect {
		return fmt.Errorf("grid_sample with padding %d: want PadConstant, PadEdge or PadReflect", p.Padding)
	}
	return nil
}

var (
	sample = ops.NewGeneric("grid_sample", kernels.Sample[ops.T, ops.C])
)

// mostChannels is how many channels a thread has at most, which share what it finds out about
// their position.
const mostChannels = 4

// Sample stores in out, (n, channels, rows, columns), the numbers of the images x, (n, channels,
// height, width), at the positions of grid, (n, rows, columns, 2): each a number across and one
// down, from -1 to 1, NaN is -1. The grid has the type that numbers of x are computed in.
func Sample(s *runtime.Stream, out, x, grid ops.View, p Sampling) error {
	const op = "grid_sample"
	if !ops.Floats.Has(x.DType) {
		return ops.Unsupported(op, x.DType, ops.Floats.String())
	}
	c := x.DType.Compute()
	if grid.DType != c {
		return ops.Unsupported(fmt.Sprintf("%s of %v with a grid", op, x.DType), grid.DType, c.String())
	}
	if err := ops.SameType(op, out, x); err != nil {
		return err
	}
	if err := p.Check(); err != nil {
		return err
	}
	from, at, to := x.Layout.Shape(), grid.Layout.Shape(), out.Layout.Shape()
	if len(from) != 4 || len(at) != 4 || len(to) != 4 {
		return fmt.Errorf("%w: %s of %v at %v to %v, want 4 dimensions of each", layout.ErrRank, op, from, at, to)
	}
	if at[0] != from[0] || at[3] != 2 || !to.Equal(layout.Shape{from[0], from[1], at[1], at[2]}) || from[2]*from[3] == 0 && to.Count() > 0 {
		return fmt.Errorf("%w: %s of %v at %v to %v", layout.ErrShape, op, from, at, to)
	}
	xs, gs, os := x.Layout.Strides(), grid.Layout.Strides(), out.Layout.Strides()
	r := kernels.Sampling{
		Mode: dsl.ConstInt(p.Mode), Outside: dsl.ConstInt(p.Padding), Aligned: dsl.ConstBool(p.AlignCorners), Each: 1,
		In: [2]int{from[2], from[3]}, X: [2]int{xs[2], xs[3]}, Pair: gs[3], Channels: from[1], XC: xs[1], OutC: os[1],
	}
	info := ops.DeviceInfo(s.Device())
	for r.Each < mostChannels && 2*int(r.Each) <= from[1] && to.Count()/(2*int(r.Each)) >= info.Units*info.ThreadsPerUnit {
		r.Each *= 2
	}
	each := int(r.Each)
	shape := layout.Shape{from[0], (from[1] + each - 1) / each, at[1], at[2]}
	var of [4]layout.Layout
	var err error
	for i, l := range []struct {
		strides []int
		offset  int
	}{{[]int{os[0], os[1] * each, os[2], os[3]}, out.Layout.Offset()}, {[]int{xs[0], xs[1] * each, 0, 0}, x.Layout.Offset()}, {[]int{gs[0], 0, gs[1], gs[2]}, grid.Layout.Offset()}, {[]int{0, each, 0, 0}, 0}} {
		if of[i], err = layout.New(shape, l.strides, l.offset); err != nil {
			return err
		}
	}
	var w core.Walk
	var g runtime.Grid
	if ok, err := ops.PlanWalk(s, &w, &g, of[:]...); !ok {
		return err
	}
	if ops.TraitsOf(&info).ThreadPerElement {
		ops.OnePerThread(&w, &g, &info, shape.Count())
	}
	to0, in, places := out.Header(), x.Header(), grid.Header()
	return sample.Launch(s, ops.TypeArgs{T: x.DType}, g, ops.SliceArg(x.DType, &to0), ops.SliceArg(x.DType, &in), ops.SliceArg(c, &places), w, r, ops.MulAddFn(c))
}
