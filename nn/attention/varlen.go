package attention

import (
	"fmt"

	"github.com/gokiln/kiln/tensor"
)

// VarLen is attention of sequences of different lengths, packed one behind the other: queries
// (tokens, heads, d), keys (tokens, heads of keys, d) and values (tokens, heads of keys, dv). It
// returns (tokens of the queries, heads, dv). Sequence i has the queries from ends[i] up to, but
// not including, ends[i+1] of endsQ, and likewise the keys and values of endsK: each begins with 0
// and ends with the number of tokens. Queries attend to keys of their sequence alone.
//
// In [tensor.Device.Capture] each sequence is computed by itself, as a graph cannot hold a table of
// them.
//
// Options are as for [SDPA], with positions in each sequence. ALiBi has slopes for the heads, or
// (sequences, heads). A mask is an error of kind ErrArgument, ends that do not fit one of kind
// ErrShape.
func VarLen(q, k, v *tensor.Tensor, endsQ, endsK []int, o Options) *tensor.Tensor {
	const op = "sdpa varlen"
	if err := checkVarLen(q, k, v, endsQ, endsK, &o); err != nil {
		return tensor.Fail(op, err)
	}
	if out, ok := oneVarLen(op, q, k, v, endsQ, endsK, o); ok {
		return out
	}
	parts := make([]*tensor.Tensor, 0, len(endsQ))
	for i := range len(endsQ) - 1 {
		one := o
		if o.ALiBi != nil && o.ALiBi.Rank() == 2 {
			one.ALiBi = o.ALiBi.Get(i)
		}
		y, _ := run(op, sequence(q, endsQ, i), sequence(k, endsK, i), sequence(v, endsK, i), one, false)
		parts = append(parts, y.Transpose(0, 1))
	}
	return join(0, parts)
}

// sequence returns sequence i of packed ones, with heads in front of tokens.
func sequence(t *tensor.Tensor, ends []int, i int) *tensor.Tensor {
	return narrow(t, 0, ends[i], ends[i+1]-ends[i]).Transpose(0, 1)
}

// checkVarLen checks what is not checked of each sequence.
func checkVarLen(q, k, v *tensor.Tensor, endsQ, endsK []int, o *Options) error {
	if err := checkTypes(q, k, v, o); err != nil {
		return err
	}
	if q.Rank() != 3 || k.Rank() != 3 || v.Rank() != 3 {
		return fmt.Errorf("%w: queries %v, keys %v and values %v, want (tokens, heads, size) each",
			tensor.ErrRank, q.Shape(), k.Shape(), v.Shape())
	}
	if o.Mask != nil {
		return fmt.Errorf("%w: a mask of packed sequences", tensor.ErrArgument)
	}
	if len(endsQ) != len(endsK) || len(endsQ) < 2 {
		return fmt.Errorf("%w: %d ends of queries and %d of keys, want one more than sequences of each",
			tensor.ErrShape, len(endsQ), len(endsK))
	}
	if a := o.ALiBi; a != nil && a.Rank() == 2 && a.Size(0) != len(endsQ)-1 {
		return fmt.Errorf("%w: ALiBi slopes %v of %d sequences", tensor.ErrShape, a.Shape(), len(endsQ)-1)
	}
	if err := checkEnds("queries", endsQ, q.Size(0)); err != nil {
		return err
	}
	if err := checkEnds("keys", endsK, k.Size(0)); err != nil {
		return err
	}
	return checkEnds("values", endsK, v.Size(0))
}

// checkEnds checks that ends go in order from 0 to the number of tokens.
func checkEnds(name string, ends []int, tokens int) error {
	last := 0
	for i, end := range ends {
		if end < last || i == 0 && end != 0 {
			return fmt.Errorf("%w: ends of the %s %v, want them in order from 0", tensor.ErrShape, name, ends)
		}
		last = end
	}
	if last != tokens {
		return fmt.Errorf("%w: the last end of the %s is %d, the tokens are %d", tensor.ErrShape, name, last, tokens)
	}
	return nil
}
