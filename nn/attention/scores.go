package attention

import (
	"math"

	"github.com/gokiln/kiln/tensor"
)

// scores returns the scores of a block, (b, hkv, g, rows, keys), in the type of the sums, −Inf
// where a query does not attend to a key.
func (p *problem) scores(b block, x operands) *tensor.Tensor {
	return p.masked(b, x, p.capped(p.products(b, x)))
}

// masked adds what is not of products to scores, and leaves out keys.
func (p *problem) masked(b block, x operands, s *tensor.Tensor) *tensor.Tensor {
	s = p.scored(b, x.q.Device(), s)
	if x.slopes != nil {
		far := p.distances(b, x.q.Device()).Abs().Cast(p.acc)
		s = s.Sub(x.slopes.Mul(far))
	}
	if x.mask != nil && x.mask.DType() == tensor.U8 {
		s = s.MaskedFill(x.mask.EqScalar(0), math.Inf(-1))
	} else if x.mask != nil {
		s = s.Add(x.mask)
	}
	if out := p.outside(b, x.q.Device()); out != nil {
		s = s.MaskedFill(out, math.Inf(-1))
	}
	if p.o.MaskFunc != nil && b.keys > 0 {
		rows, keys := p.positions(b, x.q.Device())
		s = s.MaskedFill(tensor.Map2(p.o.MaskFunc, rows, keys).LogicalNot(), math.Inf(-1))
	}
	return s
}

// products returns q·kᵀ·scale. Queries of a group of heads are the rows of one product with the
// keys that they share.
func (p *problem) products(b block, x operands) *tensor.Tensor {
	q, scale := x.q, p.scale
	if frac, _ := math.Frexp(scale); q.DType() == p.acc || math.Abs(frac) == 0.5 {
		q, scale = q.MulScalar(scale), 1 // exact for types of 16 bits where it is a power of two
	}
	q = q.Reshape(b.batches, p.hkv, p.g*b.rows, p.d)
	s := q.MatMulAs(x.k.T(), p.acc).Reshape(b.batches, p.hkv, p.g, b.rows, b.keys)
	if scale != 1 {
		s = s.MulScalar(scale)
	}
	return s
}

// capped bounds the scores: cap·tanh(s/cap).
func (p *problem) capped(s *tensor.Tensor) *tensor.Tensor {
	if c := p.o.SoftCap; c != 0 {
		return s.DivScalar(c).Tanh().MulScalar(c)
	}
	return s
}

// distances returns how far each key of a block is behind the position of each query, of type I32.
func (p *problem) distances(b block, d *tensor.Device) *tensor.Tensor {
	rows, keys := p.positions(b, d)
	return keys.Sub(rows)
}

// positions returns the positions of the queries of a block, (rows, 1), and of its keys, (keys).
func (p *problem) positions(b block, d *tensor.Device) (rows, keys *tensor.Tensor) {
	at := b.row + p.kv - p.s
	rows = tensor.Arange(d, int32(at), int32(at+b.rows)).Unsqueeze(-1)
	return rows, tensor.Arange(d, int32(b.key), int32(b.key+b.keys))
}

// outside is 1 where a key is outside of the window of a query of a block, nil if none is.
func (p *problem) outside(b block, d *tensor.Device) *tensor.Tensor {
	first, _ := p.keysOf(b.row + b.rows - 1)
	_, end := p.keysOf(b.row)
	left, right := first > b.key, end < b.key+b.keys
	switch {
	case b.keys == 0 || !left && !right:
		return nil
	case !left:
		return p.distances(b, d).GtScalar(float64(p.right))
	case !right:
		return p.distances(b, d).LtScalar(float64(-p.left))
	}
	far := p.distances(b, d)
	return far.GtScalar(float64(p.right)).LogicalOr(far.LtScalar(float64(-p.left)))
}
