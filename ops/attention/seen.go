package attention

import (
	"errors"
	"fmt"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/attention/kernels"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

var (
	seenTiles = jit.Of(kernels.SeenTiles)
	anyScore  = jit.Func(kernels.AnyScore)
	anyKey    = jit.Func(kernels.AnyKey)
)

// or is a function, or another one in place of none.
func or(f, other *jit.Fn) *jit.Fn {
	if f != nil {
		return f
	}
	return other
}

// SeenShape is the shape of the table that [Seen] stores for a problem on a device: tiles of rows
// and tiles of keys. There is none for sequences, of which each has positions of its own; that, and
// a problem that the kernel does not compute, is an error of kind [jit.ErrUnsupported].
func SeenShape(d *runtime.Device, p *Problem) (layout.Shape, error) {
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("attention: %w", err)
	}
	info := ops.DeviceInfo(d)
	w, _, err := p.tiles(d, &info)
	if err != nil {
		return nil, err
	}
	if p.Sequences != nil || p.Table.DType != 0 {
		return nil, fmt.Errorf("attention: %w: a table of tiles of sequences", jit.ErrUnsupported)
	}
	return p.seenShape(&w), nil
}

func (p *Problem) seenShape(w *kernels.ForwardTiles) layout.Shape {
	n := p.sizes()
	return layout.Shape{(n.groups*n.s + int(w.M) - 1) / int(w.M), (n.keys + int(w.N) - 1) / int(w.N)}
}

// Seen stores of which tiles of keys MaskFunc leaves out all for the rows of each tile: 0 for
// those, 1 for others, of type U8, contiguous and of [SeenShape]. It depends on the function, the
// device, the numbers of heads of a group, queries and keys, and on the types and sizes of the
// operands alone: the table of one call is good for others. A problem without a MaskFunc is an
// error.
func Seen(s *runtime.Stream, out ops.View, p *Problem) error {
	if p.MaskFunc == nil {
		return errors.New("attention: Seen of a problem without a MaskFunc, which leaves out no tiles")
	}
	if err := p.check(); err != nil {
		return fmt.Errorf("attention: %w", err)
	}
	info := ops.DeviceInfo(s.Device())
	w, _, err := p.tiles(s.Device(), &info)
	if err != nil {
		return err
	}
	q := *p
	if q.Seen = out; out.DType == 0 {
		return fmt.Errorf("attention: %w: a table of tiles without a type, want u8", ops.ErrDType)
	}
	if err := q.checkFunctions(&w); err != nil {
		return fmt.Errorf("attention: %w", err)
	}
	problem, _, _, _ := p.inKernel()
	shape := p.seenShape(&w)
	problem.Tiles = shape[0]
	const warps = 4
	g := runtime.Grid{
		Blocks:  runtime.Dim3{X: (shape.Count() + warps - 1) / warps},
		Threads: runtime.Dim3{X: warps * info.WarpSize},
	}
	to := out.Header()
	return seenTiles.Launch(s, g, ops.SliceArg(dtype.U8, &to), problem, int(w.M), int(w.N), p.MaskFunc)
}

// checkFunctions checks that functions go with the type of sums, and the table of tiles with the
// tiles.
func (p *Problem) checkFunctions(w *kernels.ForwardTiles) error {
	if d := p.Q.DType; p.ScoreFunc != nil && d.Compute() != dtype.F32 {
		return fmt.Errorf("%w: a function of float32 scores of %v", ops.ErrDType, d)
	}
	if p.Seen.DType == 0 {
		return nil
	}
	if p.Sequences != nil || p.Table.DType != 0 {
		return fmt.Errorf("%w: a table of tiles of sequences", layout.ErrShape)
	}
	return checkOperands(operand{"table of tiles", p.Seen, dtype.U8, p.seenShape(w), false})
}
