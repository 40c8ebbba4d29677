package nn

import (
	"cmp"
	"fmt"
	"math"

	"github.com/gokiln/kiln/nn/attention"
	"github.com/gokiln/kiln/tensor"
)

// AttentionOptions are what a [MultiHeadAttention] has beyond the usual. The zero value is
// PyTorch's default.
type AttentionOptions struct {
	KVHeads   int     // heads of keys and values, which divide the others; 0 for as many
	KeySize   int     // features of what keys are made of, 0 for embed
	ValueSize int     // features of what values are made of, 0 for embed
	NoBias    bool    //
	Dropout   float64 // the share of attention weights that is set to zero in training
	BiasKV    bool    // a key and a value that are parameters are behind all others
	ZeroKV    bool    // a key and a value of zeros are behind all others: PyTorch's add_zero_attn
}

// MultiHeadAttention attends with several heads (Vaswani et al., 2017). It is PyTorch's
// MultiheadAttention with batch_first, under its names.
//
// With fewer heads of keys and values than of queries, which PyTorch has not, each is for a group
// of heads, and the parts of the packed weight for keys and values have as many rows fewer.
type MultiHeadAttention struct {
	InProjWeight *Param  // (embed + 2·kv, embed): queries, keys, values; nil if the next three are there
	QProjWeight  *Param  // (embed, embed)
	KProjWeight  *Param  // (kv, KeySize)
	VProjWeight  *Param  // (kv, ValueSize)
	InProjBias   *Param  // (embed + 2·kv), or nil
	BiasK, BiasV *Param  // (1, 1, kv): a key and a value behind all others; or nil
	OutProj      *Linear // (embed, embed)
	ZeroKV       bool
	Heads        int
	KVHeads      int
	Dropout      float64
	embed        int
	training     bool
	observer     Observer
}

// Observe makes the layer tell f what the weights of queries, keys and values are multiplied with:
// see [Observable]. A packed weight is called with queries, keys and values one after another where
// they are not one tensor.
func (m *MultiHeadAttention) Observe(f Observer) { changed(); m.observer = f }

// NewMultiHeadAttention returns a layer of embed features in so many heads, which divide them.
// Weights of inputs begin by the initialisation of Glorot, biases as 0.
func NewMultiHeadAttention(embed, heads int, o AttentionOptions) *MultiHeadAttention {
	m := &MultiHeadAttention{Heads: heads, KVHeads: cmp.Or(o.KVHeads, heads), Dropout: o.Dropout, ZeroKV: o.ZeroKV, embed: embed}
	kv := embed / max(heads, 1) * m.KVHeads
	glorot := Scaled(FanMean, 1, true)
	keys, values := cmp.Or(o.KeySize, embed), cmp.Or(o.ValueSize, embed)
	if keys == embed && values == embed {
		m.InProjWeight = NewParam(glorot, embed+2*kv, embed)
	} else {
		m.QProjWeight, m.KProjWeight, m.VProjWeight = NewParam(glorot, embed, embed), NewParam(glorot, kv, keys), NewParam(glorot, kv, values)
	}
	m.OutProj = NewLinearNoBias(embed, embed)
	if !o.NoBias {
		m.InProjBias, m.OutProj.Bias = NewParam(Zeros, embed+2*kv), NewParam(Zeros, embed)
	}
	if o.BiasKV {
		normal := Scaled(FanMean, 1, false)
		m.BiasK, m.BiasV = NewParam(normal, 1, 1, kv), NewParam(normal, 1, 1, kv)
	}
	return m
}

// SetTraining says whether attention weights are dropped.
func (m *MultiHeadAttention) SetTraining(on bool) { m.training = on }

// Attend says what queries attend to. The zero value is all keys.
type Attend struct {
	// Mask is broadcast to (b, heads, queries, keys). Integers leave out keys where they are 0,
	// which is the reverse of PyTorch's attn_mask; floating-point numbers are added to the scores.
	// Nil is none.
	Mask *tensor.Tensor

	// Keys, of shape (b, keys), leaves out keys where it is 0, which is the reverse of PyTorch's
	// key_padding_mask. Nil is none.
	Keys *tensor.Tensor

	Causal bool             // query i of s attends to keys up to i + keys − s
	Cache  *attention.Cache // keys and values of earlier calls, to which those of this one are added; nil for none

	// Weights has the attention weights returned, (b, heads, queries, keys), with those of the keys
	// of BiasKV and ZeroKV at the end. PyTorch returns their mean over heads.
	Weights bool
}

// Forward attends to x itself: (b, t, embed).
func (m *MultiHeadAttention) Forward(x *tensor.Tensor) *tensor.Tensor {
	y, _ := m.Attend(x, x, x, Attend{})
	return y
}

// Attend returns (b, t, embed) of queries (b, t, embed), keys (b, s, …) and values (b, s, …). The
// attention weights are nil but where o asks for them. Where all three are one tensor there is one
// product for them.
func (m *MultiHeadAttention) Attend(q, k, v *tensor.Tensor, o Attend) (y, weights *tensor.Tensor) {
	const op = "multi_head_attention"
	if bad := failure(op, q, k, v); bad != nil {
		return bad, nil
	}
	for _, x := range []*tensor.Tensor{q, k, v} {
		if x.Rank() != 3 {
			return tensor.Fail(op, fmt.Errorf("%w: %v, want (b, t, features)", tensor.ErrRank, x.Shape())), nil
		}
	}
	if m.Heads < 1 || m.embed%m.Heads != 0 || m.KVHeads < 1 || m.Heads%m.KVHeads != 0 {
		return tensor.Fail(op, fmt.Errorf("%w: %d features in %d heads, and %d of keys", tensor.ErrArgument, m.embed, m.Heads, m.KVHeads)), nil
	}
	q, k, v = m.project(q, k, v)
	q, k, v = split(q, m.Heads), split(k, m.KVHeads), split(v, m.KVHeads)
	if o.Cache != nil {
		k, v = o.Cache.Append(k, v)
	}
	drop := 0.0
	if m.training {
		drop = m.Dropout
	}
	ao := attention.Options{Causal: o.Causal, Mask: o.mask(), Dropout: drop}
	if m.BiasK != nil || m.BiasV != nil || m.ZeroKV {
		k, v, ao = m.extend(q, k, v, ao)
	}
	if o.Weights {
		y, weights = weighted(q, k, v, ao)
	} else {
		y = attention.SDPA(q, k, v, ao)
	}
	if y.Err() != nil {
		return y, weights
	}
	y = y.Transpose(1, 2).Reshape(y.Size(0), y.Size(2), m.embed)
	return m.OutProj.Forward(y), weights
}

// extend puts the keys and values of BiasKV and ZeroKV, which masks never leave out, behind others.
func (m *MultiHeadAttention) extend(q, k, v *tensor.Tensor, o attention.Options) (keys, values *tensor.Tensor, with attention.Options) {
	if bad := failure("multi_head_attention", q, k, v); bad != nil {
		return bad, bad, o
	}
	s, kv, more := q.Size(2), k.Size(2), 0
	add := func(bk, bv *tensor.Tensor) {
		if bk == nil || bv == nil {
			bk = tensor.Fail("multi_head_attention", fmt.Errorf("%w: BiasK or BiasV without the other", tensor.ErrArgument))
			bv = bk
		}
		b, h := k.Size(0), m.KVHeads
		k = tensor.Cat(2, k, split(bk, h).BroadcastTo(b, h, 1, k.Size(3)))
		v = tensor.Cat(2, v, split(bv, h).BroadcastTo(b, h, 1, v.Size(3)))
		more++
	}
	if m.BiasK != nil || m.BiasV != nil {
		add(optional(m.BiasK), optional(m.BiasV))
	}
	if m.ZeroKV && k.Err() == nil {
		zeros := tensor.Zeros(q.Device(), q.DType(), 1, 1, k.Size(3)*m.KVHeads)
		add(zeros, zeros)
	}
	if o.Causal {
		o.Causal, o.Mask = false, both(o.Mask, tensor.Ones(q.Device(), tensor.U8, s, kv).Tril(kv-s))
	}
	if x := o.Mask; x != nil && x.Err() == nil {
		shape := append([]int(nil), x.Shape()...)
		attends := 1.0
		if x.DType().IsFloat() {
			attends = 0
		}
		if n := len(shape); n > 0 {
			shape[n-1] = kv
		} else {
			shape = []int{kv}
		}
		o.Mask = x.BroadcastTo(shape...).Pad(-1, 0, more, tensor.PadConstant, attends)
	}
	return k, v, o
}

// both is a mask, nil for none, and one of booleans.
func both(mask, keys *tensor.Tensor) *tensor.Tensor {
	switch {
	case mask == nil:
		return keys
	case mask.Err() != nil:
		return mask
	case mask.DType().IsFloat():
		return keys.Where(mask, mask.Detach().FullLike(math.Inf(-1)))
	}
	return mask.LogicalAnd(keys)
}

// project is the products with the weights of queries, keys and values.
func (m *MultiHeadAttention) project(q, k, v *tensor.Tensor) (a, b, c *tensor.Tensor) {
	kv := m.embed / m.Heads * m.KVHeads
	sizes := []int{m.embed, kv, kv}
	if m.InProjWeight != nil && q == k && k == v {
		m.observer.call("in_proj_weight", q, nil)
		all := product(q, m.InProjWeight, optional(m.InProjBias)).Split(sizes, -1)
		return all[0], all[1], all[2]
	}
	names := []string{"q_proj_weight", "k_proj_weight", "v_proj_weight"}
	ws := []*Param{m.QProjWeight, m.KProjWeight, m.VProjWeight}
	if m.InProjWeight != nil {
		names = []string{"in_proj_weight", "in_proj_weight", "in_proj_weight"}
		for i, w := range m.InProjWeight.Tensor().Split(sizes, 0) {
			ws[i] = computed(w)
		}
	}
	bs := make([]*tensor.Tensor, 3)
	if m.InProjBias != nil {
		bs = m.InProjBias.Tensor().Split(sizes, 0)
	}
	out := make([]*tensor.Tensor, 3)
	for i, x := range []*tensor.Tensor{q, k, v} {
		m.observer.call(names[i], x, nil)
		out[i] = product(x, ws[i], bs[i])
	}
	return out[0], out[1], out[2]
}

// split is (b, heads, t, size) of (b, t, heads·size).
func split(x *tensor.Tensor, heads int) *tensor.Tensor {
	if x.Err() != nil {
		return x
	}
	return x.Reshape(x.Size(0), x.Size(1), heads, x.Size(2)/heads).Transpose(1, 2)
}

// mask is both masks as one, nil if there is none.
func (o *Attend) mask() *tensor.Tensor {
	mask := o.Mask
	if mask != nil && mask.Err() == nil && !mask.DType().IsFloat() {
		mask = mask.NeScalar(0)
	}
	if o.Keys == nil {
		return mask
	}
	return both(mask, o.Keys.NeScalar(0).Unsqueeze(1).Unsqueeze(1))
}

// weighted is attention whose weights are in memory.
func weighted(q, k, v *tensor.Tensor, o attention.Options) (y, weights *tensor.Tensor) {
	for _, x := range []*tensor.Tensor{q, k, v} {
		if x.Err() != nil {
			return x, x
		}
	}
	if n := q.Size(1) / k.Size(1); n > 1 {
		k, v = repeated(k, n), repeated(v, n)
	}
	scores := q.MatMulAs(k.T(), q.DType().Compute()).MulScalar(1 / math.Sqrt(float64(q.Size(-1))))
	if o.Causal {
		s, kv := q.Size(-2), k.Size(-2)
		below := tensor.Ones(q.Device(), tensor.U8, s, kv).Tril(kv - s)
		scores = scores.MaskedFill(below.LogicalNot(), math.Inf(-1))
	}
	switch {
	case o.Mask == nil:
	case o.Mask.Err() != nil:
		return o.Mask, o.Mask
	case o.Mask.DType().IsFloat():
		scores = scores.Add(o.Mask.Cast(scores.DType()))
	default:
		scores = scores.MaskedFill(o.Mask.LogicalNot(), math.Inf(-1))
	}
	none := scores.Detach().MaxKeep(-1).EqScalar(math.Inf(-1)) // queries that attend to nothing
	weights = narrowed(scores.MaskedFill(none, 0).Softmax(-1).MaskedFill(none, 0), q)
	drop := Dropout{P: o.Dropout, training: true}
	weights = drop.Forward(weights)
	return weights.MatMul(v), weights
}

// repeated is each head n times.
func repeated(x *tensor.Tensor, n int) *tensor.Tensor {
	b, h, t, d := x.Size(0), x.Size(1), x.Size(2), x.Size(3)
	return x.Unsqueeze(2).Expand(b, h, n, t, d).Reshape(b, h*n, t, d)
}
