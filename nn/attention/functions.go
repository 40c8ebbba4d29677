package attention

import (
	"fmt"
	"slices"
	"sync"

	"github.com/gokiln/kiln/jit"
	opsattention "github.com/gokiln/kiln/ops/attention"
	"github.com/gokiln/kiln/tensor"
)

// BlockMask keeps which tiles of keys [Options.MaskFunc] leaves out, so that attention does not
// compute them (the block mask of FlexAttention). The zero value is empty: the first call with it,
// of a function, a device and numbers of queries and keys, computes the table there, and other
// calls, such as those of all layers of a model, use it. Without one the function is asked for each
// score, and no tile is left out. It is for attention in one kernel; elsewhere it does nothing, as
// for [VarLen] and [Paged]. Goroutines may share one.
//
// It keeps the last 32 tables: decoding, where each step has more keys, makes a new one at each. A
// call in [tensor.Device.Capture] uses a table that is there, and else has each launch of the graph
// compute one that is not kept: call it once before.
type BlockMask struct {
	mu     sync.Mutex
	tables map[blockKey]*tensor.Tensor
	kept   []blockKey // of the tables, the oldest first
}

// blockKey is what a table depends on.
type blockKey struct {
	f          *jit.Fn
	d          *tensor.Device
	g, s, kv   int
	rows, keys int // tiles
}

// table returns the table for a problem, nil if there is none for it.
func (m *BlockMask) table(in *opsattention.Problem, p *problem) (*tensor.Tensor, error) {
	d := p.q.Device()
	shape, err := opsattention.SeenShape(d.Runtime(), in)
	if err != nil {
		return nil, err
	}
	key := blockKey{in.MaskFunc, d, p.g, p.s, p.kv, shape[0], shape[1]}
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.tables[key]; t != nil {
		return t, nil
	}
	t := tensor.Empty(d, tensor.U8, shape...)
	if t.Err() != nil {
		return nil, t.Err()
	}
	if err := opsattention.Seen(d.Stream(), view(t), in); err != nil {
		return nil, err
	}
	if !d.Stream().Capturing() { // nothing is in it before the graph is launched
		m.keep(key, t)
	}
	return t, nil
}

// maxTables is how many tables a BlockMask keeps.
const maxTables = 32

// keep keeps a table, and forgets the first of too many.
func (m *BlockMask) keep(key blockKey, t *tensor.Tensor) {
	if m.tables == nil {
		m.tables = map[blockKey]*tensor.Tensor{}
	}
	if m.kept = append(m.kept, key); len(m.kept) > maxTables {
		delete(m.tables, m.kept[0])
		m.kept = slices.Delete(m.kept, 0, 1)
	}
	m.tables[key] = t
}

// withFunctions gives a problem for the kernel the functions of the options.
func (p *problem) withFunctions(in *opsattention.Problem) error {
	if p.o.ScoreFunc != nil {
		in.ScoreFunc = jit.Func(p.o.ScoreFunc)
	}
	if p.o.MaskFunc == nil {
		return nil
	}
	in.MaskFunc = jit.Func(p.o.MaskFunc)
	if p.o.BlockMask == nil || in.Sequences != nil {
		return nil
	}
	t, err := p.o.BlockMask.table(in, p)
	in.Seen = view(t)
	return err
}

// checkFunctions checks that functions go together, and with the type of the queries.
func (o *Options) checkFunctions(d tensor.DType) error {
	switch {
	case o.ScoreFunc != nil && d == tensor.F64:
		return fmt.Errorf("%w: a ScoreFunc takes float32 scores, the queries are f64: cast them", tensor.ErrDType)
	case o.ScoreGrad != nil && o.ScoreFunc == nil:
		return fmt.Errorf("%w: a ScoreGrad without its ScoreFunc", tensor.ErrArgument)
	case o.BlockMask != nil && o.MaskFunc == nil:
		return fmt.Errorf("%w: a BlockMask without a MaskFunc", tensor.ErrArgument)
	}
	return nil
}

// scoring is a ScoreFunc of scores and the positions of queries and keys.
type scoring struct{ o *Options }

// Name is that of the operation in errors.
func (scoring) Name() string { return "sdpa score function" }

// Forward returns what the function makes of scores.
func (f scoring) Forward(s, rows, keys *tensor.Tensor) *tensor.Tensor {
	return tensor.Map3(f.o.ScoreFunc, s, rows, keys)
}

// Backward returns the gradient of the scores.
func (f scoring) Backward(g, s, rows, keys, _ *tensor.Tensor) (*tensor.Tensor, *tensor.Tensor, *tensor.Tensor) {
	if f.o.ScoreGrad == nil {
		return tensor.Fail("sdpa", fmt.Errorf("%w: ScoreFunc has no derivative: set Options.ScoreGrad", tensor.ErrNoGradient)), nil, nil
	}
	return g.Mul(tensor.Map3(f.o.ScoreGrad, s, rows, keys)), nil, nil
}

// scored returns what ScoreFunc makes of the scores of a block.
func (p *problem) scored(b block, d *tensor.Device, s *tensor.Tensor) *tensor.Tensor {
	if p.o.ScoreFunc == nil || b.keys == 0 {
		return s
	}
	rows, keys := p.positions(b, d)
	return tensor.Apply3(scoring{&p.o}, s, rows, keys)
}
