package attention

import (
	"slices"

	opsattention "github.com/gokiln/kiln/ops/attention"
	"github.com/gokiln/kiln/tensor"
)

// fusesSequences reports whether attention of sequences, of the types and sizes of q, k and v, is
// computed by one kernel that has a table of them: gradients are those of each sequence alone.
func (p *problem) fusesSequences(op ...*tensor.Tensor) bool {
	tracked := slices.ContainsFunc(append(p.list(), op...), (*tensor.Tensor).RequiresGrad)
	return !tracked && p.o.Dropout == 0 && fusing(p)
}

// onePaged is Attend by one kernel that reads keys and values where they are in the pages. It
// reports false where there is none.
func (c *Paged) onePaged(op string, q *tensor.Tensor, list []*Sequence, o Options) (out *tensor.Tensor, ok bool) {
	k, v := c.k.Transpose(1, 2), c.v.Transpose(1, 2) // (pages, heads, tokens, size)
	p, err := check(q, k.Narrow(0, 0, 1), v.Narrow(0, 0, 1), o)
	if err != nil {
		return tensor.Fail(op, err), true
	}
	if p.g*p.s == 0 || !p.fusesSequences() {
		return nil, false
	}
	p.k, p.v = k, v
	in := p.forKernels()
	in.PageTokens = c.of.Tokens
	for _, s := range list {
		in.Sequences = append(in.Sequences, opsattention.Sequence{Key: len(in.Pages), Keys: s.n})
		in.Pages = append(in.Pages, s.pages...)
	}
	if out, ok = p.launch(op, in); !ok {
		return nil, false
	}
	return out.Reshape(len(list), p.hkv*p.g, p.s, p.dv), true
}

// oneVarLen is [VarLen] by one kernel for all sequences. It reports false where there is none.
func oneVarLen(op string, q, k, v *tensor.Tensor, endsQ, endsK []int, o Options) (out *tensor.Tensor, ok bool) {
	one := o
	slopes := o.ALiBi
	if slopes != nil && slopes.Rank() == 2 {
		one.ALiBi = slopes.Get(0)
	}
	p, err := check(sequence(q, endsQ, 0), sequence(k, endsK, 0), sequence(v, endsK, 0), one)
	if err != nil {
		return tensor.Fail(op, err), true
	}
	if p.g*q.Size(0)*p.d*p.dv == 0 || k.Size(0) == 0 || !p.fusesSequences(q, k, v) {
		return nil, false
	}
	if q.Device().Stream().Capturing() {
		return nil, false // a graph cannot hold the copy of the table of sequences
	}
	if slopes != nil && slopes.Rank() == 2 {
		p.slopes = slopes.Cast(p.acc).Reshape(slopes.Size(0), p.hkv, p.g, 1, 1)
	}
	tokens := q.Size(0)
	p.q = q.Reshape(tokens, p.hkv, p.g, p.d).Transpose(0, 1)
	p.k, p.v = k.Transpose(0, 1).Unsqueeze(0), v.Transpose(0, 1).Unsqueeze(0)
	in := p.forKernels()
	in.Packed = true
	for i := range len(endsQ) - 1 {
		in.Sequences = append(in.Sequences, opsattention.Sequence{
			Query: endsQ[i], Queries: endsQ[i+1] - endsQ[i], Key: endsK[i], Keys: endsK[i+1] - endsK[i],
		})
	}
	if out, ok = p.launch(op, in); !ok {
		return nil, false
	}
	return out.Transpose(0, 1).Reshape(tokens, p.hkv*p.g, p.dv), true
}

// launch runs the kernel for a problem of sequences.
func (p *problem) launch(op string, in *opsattention.Problem) (out *tensor.Tensor, ok bool) {
	p.q, p.k, p.v = p.q.Contiguous(), contiguousRows(p.k), contiguousRows(p.v)
	in.Q, in.K, in.V = view(p.q), view(p.k), view(p.v)
	out, _, ok = p.run(op, in)
	return out, ok
}
