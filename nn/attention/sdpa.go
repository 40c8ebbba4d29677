package attention

import (
	"math"
	"slices"

	"github.com/gokiln/kiln/tensor"
)

// SDPA is scaled dot-product attention of queries (…, heads, s, d), keys (…, heads of keys, kv, d)
// and values (…, heads of keys, kv, dv): the result is (…, heads, s, dv), of their type, which is
// F16, BF16, F32 or F64. The heads of queries are a multiple of those of keys; head h of the
// queries attends to head h/(heads/heads of keys). Leading dimensions are broadcast, and need not
// be there; neither need heads. It is PyTorch's scaled_dot_product_attention.
//
// Operands that do not fit are errors of the kinds ErrRank, ErrShape, ErrBroadcast, ErrDType,
// ErrDTypeMismatch, ErrDevice and ErrArgument of package tensor.
func SDPA(q, k, v *tensor.Tensor, o Options) *tensor.Tensor {
	out, _ := run("sdpa", q, k, v, o, false)
	return out
}

// SDPAWithLSE is [SDPA], and the logarithm of each row's sum of exponentials of scores, with those
// of sinks: (…, heads, s), of type F64 for that type and else F32. It is −Inf for queries that
// attend to nothing. Both have gradients.
func SDPAWithLSE(q, k, v *tensor.Tensor, o Options) (out, lse *tensor.Tensor) {
	return run("sdpa", q, k, v, o, true)
}

// run checks the operands and computes the result, and the log-sum-exp if it is wanted.
func run(op string, q, k, v *tensor.Tensor, o Options, withLSE bool) (out, lse *tensor.Tensor) {
	p, err := check(q, k, v, o)
	if err != nil {
		bad := tensor.Fail(op, err)
		return bad, bad
	}
	out, lse = p.all(withLSE)
	shape := append(slices.Clone(p.lead), p.sizes...)
	if withLSE {
		lse = lse.Reshape(shape...)
	}
	return out.Reshape(append(shape, p.dv)...), lse
}

// maxScores is how many scores are in memory at once, about: larger problems are computed in blocks
// of batches and queries. There are no more than scoresPerUnit for each multiprocessor or core:
// these stay in caches between operations, and small blocks leave out keys that causal masks do.
var maxScores = 1 << 23

const scoresPerUnit = 1 << 17

// minRows is how many queries of a head a block has, if there are as many, before it has more than
// one batch.
const minRows = 64

// block is a part of a problem: some batches, some queries, and the keys that these attend to.
type block struct {
	batch, batches int
	row, rows      int
	key, keys      int
}

// all computes a problem.
func (p *problem) all(withLSE bool) (out, lse *tensor.Tensor) {
	tracked := slices.ContainsFunc(p.list(), (*tensor.Tensor).RequiresGrad)
	switch batches, rows := p.blockSizes(); {
	case tracked && p.fuses():
		return p.recorded(withLSE)
	case !tracked && p.fusesForward():
		if out, lse, ok := p.fused(); ok {
			return out, lse
		}
		return p.blocks(withLSE)
	case batches >= p.b && rows >= p.s && (tracked || p.b*p.s == 0):
		return p.atOnce(withLSE)
	case p.o.Dropout == 0 && p.o.ScoreFunc == nil && tracked:
		return p.recorded(withLSE)
	}
	return p.blocks(withLSE)
}

// forward computes a problem without its gradients, by the kernel or block by block.
func (p *problem) forward() (out, lse *tensor.Tensor) {
	if p.fusesForward() {
		if out, lse, ok := p.fused(); ok {
			return out, lse
		}
	}
	return p.blocks(true)
}

// blocks computes a problem block by block, and joins what they give.
func (p *problem) blocks(withLSE bool) (out, lse *tensor.Tensor) {
	var outs, lses, parts, sums []*tensor.Tensor
	for _, b := range p.allBlocks() {
		o, l := p.block(b, withLSE)
		parts, sums = append(parts, o), append(sums, l)
		if b.row+b.rows == p.s {
			outs, lses = append(outs, join(3, parts)), append(lses, join(3, sums))
			parts, sums = nil, nil
		}
	}
	return join(0, outs), join(0, lses)
}

// atOnce computes a problem as one block.
func (p *problem) atOnce(withLSE bool) (out, lse *tensor.Tensor) {
	b := p.blockAt(0, p.b, 0, p.s)
	return p.attend(b, p.cutOf(p.operands, b), withLSE)
}

// allBlocks returns the blocks of a problem, those of the same batches behind each other.
func (p *problem) allBlocks() (list []block) {
	batches, rows := p.blockSizes()
	for batch := 0; batch < p.b; batch += batches {
		for row := 0; row < p.s; row += rows {
			list = append(list, p.blockAt(batch, min(batches, p.b-batch), row, min(rows, p.s-row)))
		}
	}
	return list
}

// join is Cat of tensors that may be one, or nil for none.
func join(d int, list []*tensor.Tensor) *tensor.Tensor {
	if len(list) == 1 {
		return list[0]
	}
	if list[0] == nil {
		return nil
	}
	return tensor.Cat(d, list...)
}

// blockSizes returns how many batches and queries a block has.
func (p *problem) blockSizes() (batches, rows int) {
	perRow := max(p.hkv*p.g*p.kv, 1)
	most := min(maxScores, max(p.q.Device().Runtime().Info().Units, 1)*scoresPerUnit)
	batches = min(max(most/(perRow*max(min(p.s, minRows), 1)), 1), max(p.b, 1))
	rows = min(max(most/(perRow*batches), 1), max(p.s, 1))
	return batches, rows
}

// blockAt returns a block of batches and rows with the keys that these can attend to.
func (p *problem) blockAt(batch, batches, row, rows int) block {
	first, _ := p.keysOf(row)
	_, end := p.keysOf(row + rows - 1)
	b := block{batch: batch, batches: batches, row: row, rows: rows}
	if end > first {
		b.key, b.keys = first, end-first
	}
	return b
}

// keysOf returns the first key of those that a row can attend to, and the one behind the last.
func (p *problem) keysOf(row int) (first, end int) {
	at := row + p.kv - p.s
	return max(at-p.left, 0), min(at+p.right+1, p.kv)
}

// block computes one of several blocks. With dropout its gradients compute it again, with the same
// random numbers, and with a ScoreFunc, too; without them see [recomputed].
func (p *problem) block(b block, withLSE bool) (out, lse *tensor.Tensor) {
	both := checkpoint(func(in ...*tensor.Tensor) *tensor.Tensor {
		out, lse := p.attend(b, p.of(in), withLSE)
		if withLSE {
			out = tensor.Cat(-1, out.Cast(p.acc), lse.Unsqueeze(-1))
		}
		return out
	}, p.cutOf(p.operands, b).list())
	if !withLSE {
		return both, nil
	}
	return both.Narrow(-1, 0, p.dv).Cast(p.q.DType()), both.GetOn(-1, p.dv)
}

// checkpoint is Checkpoint, and frees what f computes in between.
func checkpoint(f func(in ...*tensor.Tensor) *tensor.Tensor, in []*tensor.Tensor) *tensor.Tensor {
	return tensor.InScope(func(in ...*tensor.Tensor) *tensor.Tensor { return tensor.Checkpoint(f, in...) }, in...)
}

// cutOf returns the parts of operands that a block has.
func (p *problem) cutOf(x operands, b block) operands {
	for i, t := range x.fields() {
		switch {
		case *t == nil:
			continue
		case i == 1 || i == 2: // keys and values
			*t = narrow(narrow(*t, 0, b.batch, b.batches), 2, b.key, b.keys)
			continue
		}
		*t = part(part(*t, 0, b.batch, b.batches), 3, b.row, b.rows)
		if t == &x.mask {
			*t = part(*t, 4, b.key, b.keys)
		}
	}
	return x
}

// part is a part of a dimension that may be one element that is broadcast.
func part(t *tensor.Tensor, d, at, n int) *tensor.Tensor {
	if t.Size(d) == 1 {
		return t
	}
	return narrow(t, d, at, n)
}

// narrow is Narrow of a part that may be all.
func narrow(t *tensor.Tensor, d, at, n int) *tensor.Tensor {
	if at == 0 && n == t.Size(d) {
		return t
	}
	return t.Narrow(d, at, n)
}

// attend computes the result of a block, (b, hkv, g, rows, dv), and the log-sum-exp if it is
// wanted, (b, hkv, g, rows).
func (p *problem) attend(b block, x operands, withLSE bool) (out, lse *tensor.Tensor) {
	s := p.scores(b, x)
	if x.sinks != nil {
		s = tensor.Cat(-1, s, x.sinks.BroadcastTo(b.batches, p.hkv, p.g, b.rows, 1))
	}
	var none *tensor.Tensor // rows that attend to nothing: their scores are all −Inf
	if s.Size(-1) > 0 && p.emptyRows(b, x) {
		none = s.Detach().MaxKeep(-1).EqScalar(math.Inf(-1))
		s = s.MaskedFill(none, 0)
	}
	if withLSE {
		if lse = s.LogSumExpKeep(-1); none != nil {
			lse = lse.MaskedFill(none, math.Inf(-1))
		}
		lse = lse.Squeeze(-1)
	}
	if s.Size(-1) > 0 {
		s = s.Softmax(-1)
	}
	if none != nil {
		s = s.MaskedFill(none, 0)
	}
	w := p.dropout(narrow(s, -1, 0, b.keys)).Cast(p.v.DType())
	out = w.Reshape(b.batches, p.hkv, p.g*b.rows, b.keys).MatMul(x.v)
	return out.Reshape(b.batches, p.hkv, p.g, b.rows, p.dv), lse
}

// emptyRows reports whether there can be rows of a block that attend to nothing.
func (p *problem) emptyRows(b block, x operands) bool {
	if x.mask != nil || p.o.MaskFunc != nil || p.o.ScoreFunc != nil {
		return true
	}
	for row := b.row; row < b.row+b.rows; row++ {
		if first, end := p.keysOf(row); first >= end {
			return true
		}
	}
	return false
}

// dropout leaves out probabilities at random.
func (p *problem) dropout(s *tensor.Tensor) *tensor.Tensor {
	switch r := p.o.Dropout; r {
	case 0:
		return s
	case 1:
		return s.MulScalar(0)
	default:
		out := tensor.Rand(s.Device(), tensor.F32, 0, 1, s.Shape()...).LtScalar(r)
		return s.MaskedFill(out, 0).MulScalar(1 / (1 - r))
	}
}
