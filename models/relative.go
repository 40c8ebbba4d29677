package models

import (
	"cmp"
	"math"
	"slices"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/tensor"
)

// relative is what scores have by how far a key is from the query: a number for each head (bias),
// or the products of queries and keys with embeddings of distances.
type relative struct {
	rows   int
	bucket func(d int) int // the row of query − key
	bias   bool

	toPosition, toContent bool // products with queries, with keys
	apart                 bool // distances have projections of their own
	norm                  bool
}

// Relative is the embeddings of distances between queries and keys.
type Relative struct {
	Embed *nn.Embedding `nn:"embed"`
	Norm  norm          `nn:"norm"` // or nil

	of *relative `nn:"-"`
}

func newRelative(c *Config, t *traits) *Relative {
	width := c.HiddenSize
	if t.relative.bias {
		width = c.Heads
	}
	r := &Relative{Embed: nn.NewEmbedding(t.relative.rows, width), of: t.relative}
	if t.relative.norm {
		r.Norm = t.newNorm(c, width)
	}
	return r
}

// distances are the embeddings for a batch, and what is the same in all layers, by the number of
// tokens of a sequence.
type distances struct {
	*relative
	rows    *tensor.Tensor
	indices map[int]*tensor.Tensor // (1, tokens, tokens), of rows
	biases  map[int]*tensor.Tensor // (heads, tokens, tokens)
}

// distances returns those of a batch, nil of nil.
func (r *Relative) distances() *distances {
	if r == nil {
		return nil
	}
	rows := r.Embed.Weight.Tensor()
	if r.Norm != nil {
		rows = r.Norm.Forward(rows)
	}
	return &distances{relative: r.of, rows: rows,
		indices: map[int]*tensor.Tensor{}, biases: map[int]*tensor.Tensor{}}
}

// index returns the rows for all pairs of n tokens.
func (d *distances) index(n int) *tensor.Tensor {
	if t := d.indices[n]; t != nil {
		return t
	}
	of := make([]int32, 2*n-1) // by key − query + n − 1
	for i := range of {
		of[i] = int32(d.bucket(n - 1 - i))
	}
	all := make([]int32, 0, n*n)
	for i := range n {
		all = append(all, of[n-1-i:2*n-1-i]...)
	}
	d.indices[n] = tensor.FromOwned(d.rows.Device(), all, 1, n, n)
	return d.indices[n]
}

// scores returns what is added to the scores of a sequence, (heads, tokens, tokens).
func (d *distances) scores(a *Attention, q, k *tensor.Tensor) *tensor.Tensor {
	if q.Err() != nil || k.Err() != nil {
		return cmp.Or(q, k)
	}
	n := q.Size(2)
	at := d.index(n)
	if d.bias {
		if d.biases[n] == nil {
			all := d.rows.IndexSelect(at.FlattenAll(), 0)
			d.biases[n] = all.Reshape(n, n, a.heads).Permute(2, 0, 1)
		}
		return d.biases[n]
	}
	var sum *tensor.Tensor
	if d.toPosition {
		keys := d.heads(a, cmp.Or(a.PosK, a.K))
		sum = q.Squeeze(0).MatMul(keys.Transpose(1, 2)).Gather(at.Expand(a.heads, n, n), 2)
	}
	if d.toContent {
		queries := d.heads(a, cmp.Or(a.PosQ, a.Q))
		at := at.Transpose(1, 2).Expand(a.heads, n, n)
		y := k.Squeeze(0).MatMul(queries.Transpose(1, 2)).Gather(at, 2).Transpose(1, 2)
		if sum != nil {
			y = sum.Add(y)
		}
		sum = y
	}
	if sum == nil {
		return nil
	}
	return sum.MulScalar(a.options.Scale)
}

// heads returns (heads, rows, size) of the embeddings behind a projection.
func (d *distances) heads(a *Attention, l *nn.Linear) *tensor.Tensor {
	return l.Forward(d.rows).Reshape(d.relative.rows, a.heads, a.size).Transpose(0, 1)
}

// disentangled is the attention of DeBERTa (He et al., 2021).
func disentangled(c *Config) *relative {
	most := c.keys.int("max_relative_positions")
	if most < 1 {
		most = c.MaxPositions
	}
	kinds := value[[]string](&c.keys, nil, "pos_att_type")
	r := &relative{
		toPosition: slices.Contains(kinds, "c2p"), toContent: slices.Contains(kinds, "p2c"),
		apart: !c.keys.bool("share_att_key"), norm: c.keys.text("norm_rel_ebd") == "layer_norm",
	}
	parts := 1
	for _, is := range []bool{r.toPosition, r.toContent} {
		if is {
			parts++
		}
	}
	c.AttentionScale = 1 / math.Sqrt(float64(c.HeadDim*parts))
	span := most
	buckets := c.keys.int("position_buckets")
	if buckets > 0 {
		span = buckets
	}
	r.rows = 2 * span
	r.bucket = func(d int) int {
		if buckets > 0 {
			d = logBucket(d, buckets, most)
		}
		return min(max(d+span, 0), 2*span-1)
	}
	return r
}

// logBucket is a distance, of which those beyond half of the buckets are on a logarithmic scale.
// The reference library computes it in float32.
func logBucket(d, buckets, most int) int {
	mid := buckets / 2
	far := max(d, -d)
	if far <= mid {
		return d
	}
	x := log32(float32(far)/float32(mid)) / log32(float32(most-1)/float32(mid))
	y := int(math.Ceil(float64(x*float32(mid-1)))) + mid
	if d < 0 {
		return -y
	}
	return y
}

func log32(x float32) float32 { return float32(math.Log(float64(x))) }

// bucketsT5 are n rows for distances as T5 has them in both directions (Raffel et al., 2020): half
// for keys behind the query, and of each half the first half one by one, the rest on a logarithmic
// scale up to a distance of most.
func bucketsT5(n, most int) func(d int) int {
	half := n / 2
	near := half / 2
	return func(d int) int {
		base := 0
		if d < 0 {
			base, d = half, -d
		}
		if d < near {
			return base + d
		}
		x := log32(float32(d)/float32(near)) / log32(float32(most)/float32(near))
		return base + min(near+int(x*float32(half-near)), half-1)
	}
}
