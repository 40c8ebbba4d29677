package rows

import (
	"fmt"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/rows/kernels"
	"github.com/gokiln/kiln/runtime"
)

var keepParts = ops.NewGeneric("reduction", kernels.KeepParts[ops.C])

// stats reduces each row, and returns for each, in memory, what a [kernels.RowFn] needs: the
// location and the factor. They are views of the shape of the operand. The kernels are compiled
// at the same time as next, which is launched next, before memory is allocated.
func (c *rowCall) stats(s *runtime.Stream, next func() jit.Wanted) (location, factor ops.View, memory ops.Scratch, err error) {
	r, last := c.reduction()
	in, err := r.instance(c.X.DType)
	if err != nil {
		return location, factor, memory, err
	}
	kept := c.rows()
	reduced, err := layout.New(layout.Shape{c.Len()}, []int{c.X.Layout.Strides()[c.Dim]}, 0)
	if err != nil {
		return location, factor, memory, err
	}
	p := reductionPlan{r: r, in: in, x: c.X}
	if err := p.make(s.Device(), [2]layout.Layout{c.Kept[0], kept}, reduced); err != nil {
		return location, factor, memory, err
	}
	d, info, run := c.X.DType.Compute(), ops.DeviceInfo(s.Device()), c.statsOfParts
	if c.X.Layout.IsContiguous() && p.goDown(&info) {
		run = c.statsDown
	} else {
		p.planParts(&info)
	}
	var h [2]runtime.SliceHeader
	err = run(s, &p, last, next, func() (results [2]any, err error) {
		n := kept.Count()
		if err := memory.Alloc(s, 2*n*d.Size()); err != nil {
			return results, fmt.Errorf("%s: %w", c.Name, err)
		}
		for i := range h {
			h[i] = memory.Take(d.Size(), n)
			results[i] = ops.SliceArg(d, &h[i])
		}
		return results, nil
	})
	if err != nil {
		memory.Free(s)
		return location, factor, memory, err
	}
	return c.spread(d, kept, h[0]), c.spread(d, kept, h[1]), memory, nil
}

// statsOfParts reduces parts of rows first.
func (c *rowCall) statsOfParts(s *runtime.Stream, p *reductionPlan, last *ops.GenericFunc, next func() jit.Wanted, alloc func() ([2]any, error)) error {
	d := c.X.DType.Compute()
	k, err := keepParts.Of(ops.TypeArgs{C: d})
	if err != nil {
		return err
	}
	grid, f, fns := p.joinGrid(s), last.In(d), &p.in.fns
	if !k.Loaded(s.Device(), nil, nil, nil, nil, nil, nil, p.second, nil, nil, fns[2], f) {
		if err := jit.Prefetch(s.Device(), next(),
			jit.Wanted{Kernel: p.partial(), Consts: []any{p.reduction, fns[0], fns[1], fns[2]}},
			jit.Wanted{Kernel: k, Consts: []any{p.second, fns[2], f}}); err != nil {
			return err
		}
	}
	out, err := alloc()
	if err != nil {
		return err
	}
	var parts ops.Scratch
	args, err := p.runParts(s, &parts)
	if err != nil {
		return err
	}
	defer parts.Free(s)
	size, eps := c.lastArgs(d)
	return k.Launch(s, grid, out[0], out[1], args[0], args[1], args[2], args[3], p.second, ops.ScalarArg(d, &size), ops.ScalarArg(d, &eps), fns[2], f)
}

// statsDown reduces columns that blocks go down.
func (c *rowCall) statsDown(s *runtime.Stream, p *reductionPlan, last *ops.GenericFunc, next func() jit.Wanted, alloc func() ([2]any, error)) error {
	d := c.X.DType.Compute()
	k, err := keepStrips.Of(ops.TypeArgs{T: c.X.DType})
	if err != nil {
		return err
	}
	f, fns := last.In(d), &p.in.fns
	if !k.Loaded(s.Device(), nil, nil, nil, p.reduction, nil, nil, fns[0], fns[1], fns[2], f) {
		if err := jit.Prefetch(s.Device(), jit.Wanted{Kernel: k, Consts: []any{p.reduction, fns[0], fns[1], fns[2], f}}, next()); err != nil {
			return err
		}
	}
	out, err := alloc()
	if err != nil {
		return err
	}
	size, eps := c.lastArgs(d)
	return k.Launch(s, p.grid, out[0], out[1], ops.SliceArg(c.X.DType, &c.headers[1]), p.reduction, ops.ScalarArg(d, &size), ops.ScalarArg(d, &eps), fns[0], fns[1], fns[2], f)
}

// lastArgs are the bits of the numbers that the last function of a reduction takes: the number
// of elements and eps, which softmax does not need.
func (c *rowCall) lastArgs(d dtype.DType) (size, eps uint64) {
	return dtype.FromInt(d, int64(c.Len())).Bits(), dtype.FromFloat(d, c.param).Bits()
}
