package nn

import (
	"fmt"

	"github.com/gokiln/kiln/tensor"
)

// BagMode is how an [EmbeddingBag] combines rows.
type BagMode int

// The modes of bags.
const (
	BagMean BagMode = iota
	BagSum
	BagMax
)

// NoPadding is a [EmbeddingBag.PaddingID] that no number is.
const NoPadding = -1

// EmbeddingBag is a table whose rows are looked up by number and combined, a bag of rows at a time.
type EmbeddingBag struct {
	Weight    *Param // (n, d)
	Mode      BagMode
	PaddingID int // the number of a row that is left out, NoPadding for none
}

// NewEmbeddingBag returns a table of n rows of d numbers, normally distributed at first.
func NewEmbeddingBag(n, d int, mode BagMode) *EmbeddingBag {
	return &EmbeddingBag{Weight: NewParam(Normal(0, 1), n, d), Mode: mode, PaddingID: NoPadding}
}

// Forward returns (bags, d) of ids of shape (bags, k).
func (e *EmbeddingBag) Forward(ids *tensor.Tensor) *tensor.Tensor {
	const op = "embedding_bag"
	if bad := failure(op, ids); bad != nil {
		return bad
	}
	if ids.Rank() != 2 {
		return tensor.Fail(op, fmt.Errorf("%w: ids of %v, want (bags, k), or Bags for lists", tensor.ErrRank, ids.Shape()))
	}
	bags, k := ids.Size(0), ids.Size(1)
	of := tensor.Arange(ids.Device(), int64(0), int64(bags)).Unsqueeze(1).Expand(bags, k)
	return e.combine(ids.FlattenAll(), of.FlattenAll(), bags, nil)
}

// Bags returns (bags, d) of ids in one dimension, where offsets says where each bag begins.
// Weights, if not nil, has a factor for each id; that is for sums only.
func (e *EmbeddingBag) Bags(ids, offsets, weights *tensor.Tensor) *tensor.Tensor {
	const op = "embedding_bag"
	if bad := failure(op, ids, offsets); bad != nil {
		return bad
	}
	if ids.Rank() != 1 || offsets.Rank() != 1 {
		return tensor.Fail(op, fmt.Errorf("%w: ids of %v and offsets of %v, want one dimension each", tensor.ErrRank, ids.Shape(), offsets.Shape()))
	}
	if weights != nil && e.Mode != BagSum {
		return tensor.Fail(op, fmt.Errorf("%w: weights of ids are for sums only", tensor.ErrArgument))
	}
	at := tensor.Arange(ids.Device(), int64(0), int64(ids.Count()))
	of := offsets.Cast(tensor.I64).SearchSorted(at, true).Cast(tensor.I64).SubScalar(1)
	return e.combine(ids, of, offsets.Count(), weights)
}

// combine combines the rows of ids by the bags that they are of.
func (e *EmbeddingBag) combine(ids, of *tensor.Tensor, bags int, weights *tensor.Tensor) *tensor.Tensor {
	if e.PaddingID != NoPadding && ids.Err() == nil { // indices of -1 are left out
		of = ids.EqScalar(float64(e.PaddingID)).Where(of.FullLike(-1), of)
	}
	rows := lookup(e.Weight, ids)
	if rows.Err() != nil {
		return rows
	}
	if weights != nil {
		rows = rows.Mul(weights.Unsqueeze(-1))
	}
	d := rows.Size(-1)
	zeros := tensor.Zeros(rows.Device(), rows.DType(), bags, d)
	if e.Mode == BagMax {
		return zeros.ScatterReduce(tensor.ScatterMax, of.Unsqueeze(1).Expand(of.Count(), d), rows, 0, false)
	}
	sum := zeros.IndexAdd(of, rows, 0)
	if e.Mode == BagSum {
		return sum
	}
	ones := tensor.Ones(rows.Device(), rows.DType(), of.Count(), 1)
	n := tensor.Zeros(rows.Device(), rows.DType(), bags, 1).IndexAdd(of, ones, 0)
	return sum.Div(n.MaximumScalar(1))
}
