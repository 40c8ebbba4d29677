package attention

import (
	"fmt"

	"github.com/gokiln/kiln/nn/fn"
	"github.com/gokiln/kiln/tensor"
)

// Rotation is the rotary position embedding of keys, [fn.Rope], applied by the kernel that stores
// them in a cache. Its tables, see [fn.RopeTable], have a row for each position of a sequence, from
// 0 on; the cache knows the positions of the tokens that are appended. Keys of
// (…, tokens, heads, d) are passed transposed, as views.
type Rotation struct {
	Cos, Sin    *tensor.Tensor
	Interleaved bool // pairs are neighbours: see [fn.RopeInterleaved]
}

// rows are those of n tokens from a position on.
func (r *Rotation) rows(position, n int) (cos, sin *tensor.Tensor, err error) {
	for _, t := range []*tensor.Tensor{r.Cos, r.Sin} {
		switch {
		case t == nil:
			return nil, nil, fmt.Errorf("%w: a rotation without tables", tensor.ErrArgument)
		case t.Err() != nil:
			return nil, nil, t.Err()
		case t.Rank() < 2:
			return nil, nil, fmt.Errorf("%w: tables of %v", tensor.ErrRank, t.Shape())
		case position+n > t.Size(-2):
			return nil, nil, fmt.Errorf("%w: tables of %v for positions up to %d", tensor.ErrRange, t.Shape(), position+n-1)
		}
	}
	return r.Cos.Detach().Narrow(-2, position, n), r.Sin.Detach().Narrow(-2, position, n), nil
}

// check reports that there are no tables for keys from a position on, before anything is stored.
func (r *Rotation) check(k *tensor.Tensor, position int) error {
	if r == nil {
		return nil
	}
	_, _, err := r.rows(position, k.Size(-2))
	return err
}

// turned returns keys from a position on, turned or as they are without a rotation.
func (r *Rotation) turned(k *tensor.Tensor, position int) (*tensor.Tensor, error) {
	if r == nil {
		return k, nil
	}
	out := tensor.Empty(k.Device(), k.DType(), k.Shape()...)
	return out, r.into(out, k, position)
}

// into stores keys from a position on in out, turned or as they are without a rotation.
func (r *Rotation) into(out, k *tensor.Tensor, position int) error {
	if r == nil {
		return out.Assign(k.Detach())
	}
	cos, sin, err := r.rows(position, k.Size(-2))
	if err != nil {
		return err
	}
	x, err := four(k.Detach())
	if err != nil {
		return err
	}
	to, err := four(out)
	if err != nil {
		return err
	}
	return fn.RopeInto(to, x, cos, sin, r.Interleaved)
}

// four is a view with the dimensions batch, heads, tokens and size.
func four(t *tensor.Tensor) (*tensor.Tensor, error) {
	if t.Rank() > 4 {
		return nil, fmt.Errorf("%w: keys %v that are turned, want (batch, heads, tokens, size)", tensor.ErrRank, t.Shape())
	}
	for t.Rank() < 4 {
		t = t.Unsqueeze(0)
	}
	return t, nil
}
