package quantized

import (
	"errors"
	"fmt"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/quantized/kernels"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

var (
	bandDots = newFamily(kernels.BandDots[prototype, float32])
	bandRows = newFamily(kernels.BandActivations[prototype, float32])
)

// bytesOf is a row for processors, whose warps are vectors: it rounds activations to bytes.
func bytesOf(c kernels.Band) ops.Strategy[manyProblem] {
	return ops.Strategy[manyProblem]{
		Name: fmt.Sprintf("bytes of %d rows by %d for a lane", c.MR, c.NR),
		Fits: func(p *manyProblem) bool { return p.vectors() == nil },
		Run:  func(_ *runtime.Stream, p *manyProblem) error { return p.runBands(c) },
	}
}

// vectors returns why the device is no processor whose warps are vectors, nil if it is.
func (p *manyProblem) vectors() error {
	if !ops.TraitsOf(&p.info).WarpBlocks {
		return fmt.Errorf("%w: warps of %s are no vectors of a processor", jit.ErrUnsupported, p.info.Name)
	}
	return nil
}

// runBands rounds activations by a kernel of its own. Each block of the product has memory for a
// panel of the weight, which stays in the cache of its processor.
func (p *manyProblem) runBands(c kernels.Band) error {
	if err := p.vectors(); err != nil {
		return err
	}
	f, err := p.q.of.Block()
	if err != nil {
		return err
	}
	i := instance{of: p.q.of, out: p.x.DType()}
	round, err := bandRows.of(i)
	if err != nil {
		return err
	}
	multiply, err := bandDots.of(i)
	if err != nil {
		return err
	}
	m, n, k := p.x.Size(0), p.q.shape[0], p.q.shape[1]
	lanes, line := p.info.WarpSize, k/format.PartLen
	c.Lanes = dsl.ConstInt(lanes)
	most := ops.RowBlocks(&p.info, lanes)
	blocks := func(work int) runtime.Grid { return runtime.Blocks(min(work, most), lanes) }
	x := tensor.Empty(p.x.Device(), tensor.U32, ops.RoundUp(m, int(c.MR))*line*kernels.BandSize(f))
	x = tensor.LaunchInto(x, round, blocks(m), p.x, m, line, c.MR, f)
	width := lanes * int(c.NR)
	g := blocks((n + width - 1) / width)
	panels := tensor.Empty(p.x.Device(), tensor.U32, g.Blocks.X*line*kernels.PanelSize(f, c)*lanes)
	p.out = tensor.Empty(p.x.Device(), p.x.DType(), m, n)
	p.out = p.q.launch(p.out, multiply, g, []any{x, panels}, m, n, k, c)
	if p.out.Err() != nil {
		return p.out.Err()
	}
	return errors.Join(x.Free(), panels.Free()) // when the product is done
}
