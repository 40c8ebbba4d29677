package models

import (
	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/attention"
	"github.com/gokiln/kiln/nn/fn"
	"github.com/gokiln/kiln/tensor"
)

// Attention is attention of grouped queries with rotary positions.
type Attention struct {
	Q     *nn.Linear `nn:"q_proj"`
	K     *nn.Linear `nn:"k_proj"`
	V     *nn.Linear `nn:"v_proj"`
	O     *nn.Linear `nn:"o_proj"`
	QNorm norm       `nn:"q_norm"` // or nil
	KNorm norm       `nn:"k_norm"`
	Sinks *nn.Param  `nn:"sinks"`          // a score for each head, or nil
	PosQ  *nn.Linear `nn:"pos_query_proj"` // of embeddings of distances (DeBERTa), or nil
	PosK  *nn.Linear `nn:"pos_key_proj"`

	// Buckets has a score for each bucket of distances and each head (T5), or is nil.
	Buckets *nn.Embedding `nn:"relative_attention_bias"`

	qkv *nn.Joint `nn:"-"` // Q, K and V

	heads, kvHeads, size int

	wholeNorm   bool // norms are over all heads together
	rope        int  // which table, −1 for none
	interleaved bool
	gated       bool // rows of Q are those of a head's queries, then of its gate
	window      int  // tokens, 0 for all
	clip        float64
	slopes      []float64         // of ALiBi
	buckets     *buckets          `nn:"-"` // of this layer or of another, or nil
	options     attention.Options `nn:"-"`
	pool        *attention.Paged  `nn:"-"` // of all sequences, or nil
}

// newAttention returns the attention of layer i.
func newAttention(c *Config, t *traits, i int) *Attention {
	in, q, kv := c.HiddenSize, c.Heads*c.HeadDim, c.KVHeads*c.HeadDim
	a := &Attention{
		Q: linear(in, q, t.qkvBias), K: linear(in, kv, t.qkvBias), V: linear(in, kv, t.qkvBias),
		O:     linear(q, in, t.outBias),
		heads: c.Heads, kvHeads: c.KVHeads, size: c.HeadDim,
		interleaved: t.interleaved, clip: c.ClipQKV, rope: -1, slopes: t.slopes,
		options: attention.Options{Causal: !t.bidirectional, Scale: c.AttentionScale, SoftCap: c.AttentionSoftCap},
	}
	if t.gatedAttention {
		a.gated, a.Q = true, linear(in, 2*q, t.qkvBias)
	}
	a.qkv = nn.NewJoint(a.Q, a.K, a.V)
	switch t.qkNorm {
	case normOfHeads:
		a.QNorm, a.KNorm = t.newNorm(c, c.HeadDim), t.newNorm(c, c.HeadDim)
	case normOfAll:
		a.QNorm, a.KNorm, a.wholeNorm = t.newNorm(c, q), t.newNorm(c, kv), true
	}
	if t.sinks {
		a.Sinks = nn.NewParam(nn.Zeros, c.Heads)
	}
	if r := t.relative; r != nil && r.apart {
		if r.toPosition {
			a.PosK = linear(in, q, true)
		}
		if r.toContent {
			a.PosQ = linear(in, q, true)
		}
	}
	if len(t.ropes) > 0 {
		if t.ropeOf != nil {
			a.rope = t.ropeOf(i)
		} else {
			a.rope = 0
		}
	}
	if c.Window > 0 && t.windowed != nil && t.windowed(i) {
		if a.window = c.Window; t.bidirectional { // as many in front as behind
			a.options.Window = &attention.Window{Left: c.Window / 2, Right: c.Window / 2}
		}
	}
	return a
}

// forward returns (tokens, features) of (tokens, features) for layer i of a batch.
func (a *Attention) forward(x *tensor.Tensor, b *batch, i int) *tensor.Tensor {
	all := a.qkv.Forward(x)
	q, gate := a.queries(all[0])
	k := a.inHeads(all[1], a.KNorm, a.kvHeads)
	v := a.inHeads(all[2], nil, a.kvHeads)
	if a.slopes != nil && a.options.ALiBi == nil {
		a.options.ALiBi = tensor.From(b.device, a.slopes, len(a.slopes)).Cast(tensor.F32)
	}
	if a.Sinks != nil {
		a.options.Sinks = a.Sinks.Tensor()
	}
	q = a.rotated(q, b)
	if b.step != nil {
		return a.out(a.step(q, k, v, b, i), gate)
	}
	if a.window > 0 || !a.options.Causal {
		k = a.rotated(k, b)
	}
	if !a.options.Causal {
		return a.O.Forward(a.attendAll(q, k, v, b))
	}
	if b.paged(i) {
		return a.out(a.attendPaged(q, k, v, b, i), gate)
	}
	parts := make([]*tensor.Tensor, len(b.list))
	for n, s := range b.list {
		at, count := b.starts[n], b.count(n)
		of := func(t *tensor.Tensor) *tensor.Tensor {
			if len(b.list) == 1 {
				return t
			}
			return t.Narrow(2, at, count)
		}
		y := s.layers[i].(*keysValues).attend(a, of(q), of(k), of(v), b, n)
		parts[n] = y.Transpose(1, 2).Reshape(count, a.heads*a.size)
	}
	y := parts[0]
	if len(parts) > 1 {
		y = tensor.Cat(0, parts...)
	}
	return a.out(y, gate)
}

// Join has queries, keys and values be one product: see [nn.Joint.Join].
func (a *Attention) Join() error { return a.qkv.Join() }

// queries returns queries, (1, heads, tokens, size), and the gate of results, (tokens, heads·size)
// or nil, of what Q returns.
func (a *Attention) queries(y *tensor.Tensor) (q, gate *tensor.Tensor) {
	if !a.gated {
		return a.inHeads(y, a.QNorm, a.heads), nil
	}
	if y.Err() != nil {
		return y, y
	}
	y = y.Reshape(1, y.Size(0), a.heads, 2*a.size)
	q, gate = y.Narrow(3, 0, a.size), y.Narrow(3, a.size, a.size)
	if a.QNorm != nil {
		q = a.QNorm.Forward(q)
	}
	return q.Transpose(1, 2), gate.Reshape(y.Size(1), a.heads*a.size)
}

// out is what comes behind attention.
func (a *Attention) out(y, gate *tensor.Tensor) *tensor.Tensor {
	if gate != nil {
		y = y.Mul(gate.Sigmoid())
	}
	return a.O.Forward(y)
}

// attendAll returns (tokens, features) of queries, keys and values of a batch, of which each token
// attends to all of its sequence. Nothing is kept.
func (a *Attention) attendAll(q, k, v *tensor.Tensor, b *batch) *tensor.Tensor {
	if b.distances != nil || a.buckets != nil {
		parts := make([]*tensor.Tensor, len(b.list))
		for i := range parts {
			of := func(t *tensor.Tensor) *tensor.Tensor { return t.Narrow(2, b.starts[i], b.count(i)) }
			o := a.optionsOf(b, i)
			if b.distances != nil {
				o.Mask = b.distances.scores(a, of(q), of(k))
			}
			parts[i] = attention.SDPA(of(q), of(k), of(v), o).Transpose(1, 2)
		}
		return tensor.Cat(1, parts...).Reshape(b.starts[len(b.list)], a.heads*a.size)
	}
	packed := func(t *tensor.Tensor) *tensor.Tensor { return t.Squeeze(0).Transpose(0, 1) }
	y := attention.VarLen(packed(q), packed(k), packed(v), b.starts, b.starts, a.options)
	return y.Reshape(b.starts[len(b.list)], a.heads*a.size)
}

// project returns (1, heads, tokens, size) of (tokens, features).
func (a *Attention) project(l *nn.Linear, n norm, x *tensor.Tensor, heads int) *tensor.Tensor {
	return a.inHeads(l.Forward(x), n, heads)
}

// inHeads returns (1, heads, tokens, size) of what a projection returns, (tokens, features).
func (a *Attention) inHeads(y *tensor.Tensor, n norm, heads int) *tensor.Tensor {
	if y.Err() != nil {
		return y
	}
	if a.clip != 0 {
		y = y.Clamp(-a.clip, a.clip)
	}
	if n != nil && a.wholeNorm {
		y = n.Forward(y)
	}
	y = y.Reshape(1, y.Size(0), heads, a.size)
	if n != nil && !a.wholeNorm {
		y = n.Forward(y)
	}
	return y.Transpose(1, 2)
}

// rotated is queries or keys with their positions.
func (a *Attention) rotated(x *tensor.Tensor, b *batch) *tensor.Tensor {
	if a.rope < 0 {
		return x
	}
	r := b.rows[a.rope]
	if b.step != nil { // in the order of sequences, as attention of a step reads them
		rope := fn.RopeTHD
		if a.interleaved {
			rope = fn.RopeInterleavedTHD
		}
		return rope(x.Transpose(1, 2), r.Cos, r.Sin).Transpose(1, 2)
	}
	if a.interleaved {
		return fn.RopeInterleaved(x, r.Cos, r.Sin)
	}
	return fn.Rope(x, r.Cos, r.Sin)
}

// keysValues is what a sequence keeps for the attention of a layer: all keys and values, or those
// of a window.
type keysValues struct {
	all  *attention.Cache
	ring *attention.Rotating
}

// cacheStep is by how many tokens caches grow.
const cacheStep = 256

func (a *Attention) newState(m *LM) layerState {
	if m.paged && a.window == 0 && a.buckets == nil {
		return &paged{of: a, lm: m}
	}
	if a.window > 0 {
		return &keysValues{ring: attention.NewRotating(a.window)}
	}
	return &keysValues{all: attention.NewCache(cacheStep)}
}

// attend stores keys and values of sequence n, and returns (1, heads, tokens, size). Keys of a
// window are rotated already; others are when they are stored.
func (c *keysValues) attend(
	a *Attention, q, k, v *tensor.Tensor, b *batch, n int,
) *tensor.Tensor {
	if c.ring != nil {
		return c.ring.Attend(q, k, v, a.options)
	}
	if a.rope < 0 {
		return c.all.Attend(q, k, v, a.optionsOf(b, n))
	}
	t := b.tables[a.rope][n]
	t.Interleaved = a.interleaved
	keys, values := c.all.AppendRotated(k, v, t)
	return attention.SDPA(q, keys, values, a.options)
}

func (c *keysValues) oldest() int {
	if c.ring != nil {
		return c.ring.Oldest()
	}
	return 0
}

func (c *keysValues) truncate(n int) error {
	if c.ring != nil {
		return c.ring.Truncate(n)
	}
	return c.all.Truncate(n)
}

func (c *keysValues) reset() {
	if c.ring != nil {
		c.ring.Reset()
		return
	}
	c.all.Reset()
}
