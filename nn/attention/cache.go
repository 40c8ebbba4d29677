package attention

import (
	"fmt"

	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// Cache holds the keys and values of the tokens of a sequence so far, or of a batch of sequences of
// one length, each in one piece of memory. It is for models that are used: what is appended is
// copied without its gradient. One goroutine uses a cache at a time.
//
//	cache := attention.NewCache(4096)
//	y := cache.Attend(q, k, v, attention.Options{Causal: true}) // of the new tokens
type Cache struct {
	k, v store
	n    int
}

// NewCache returns an empty cache with room for a number of tokens. Its memory is allocated by the
// first [Cache.Append], and grows by as much whenever it is full.
func NewCache(tokens int) *Cache {
	return &Cache{k: store{step: tokens}, v: store{step: tokens}}
}

// Append copies keys (…, heads, tokens, d) and values (…, heads, tokens, dv) behind those that are
// there, of the same other sizes and types, and returns all of them, as views that stay as they
// are. The cache is as it was before where that cannot be done. A graph cannot hold how many there
// are: Append is an error of kind [runtime.ErrCapturing] while one is captured.
func (c *Cache) Append(k, v *tensor.Tensor) (keys, values *tensor.Tensor) {
	return c.append(k, v, nil)
}

// AppendRotated is [Cache.Append] of keys that are turned by their positions, which begin with
// [Cache.Len]: one kernel turns and stores them.
func (c *Cache) AppendRotated(k, v *tensor.Tensor, r Rotation) (keys, values *tensor.Tensor) {
	return c.append(k, v, &r)
}

func (c *Cache) append(k, v *tensor.Tensor, r *Rotation) (keys, values *tensor.Tensor) {
	ks, vs := c.k, c.v
	err := checkNew(k, v, ks, vs)
	if err == nil {
		err = r.check(k, c.n)
	}
	if err == nil {
		err = c.store(k, v, r)
	}
	if err != nil {
		c.k, c.v = ks, vs
		bad := tensor.Fail("cache append", err)
		return bad, bad
	}
	c.n += k.Size(-2)
	return c.Keys(), c.Values()
}

// store stores new tokens.
func (c *Cache) store(k, v *tensor.Tensor, r *Rotation) error {
	if err := c.k.reserve(k, c.n); err != nil {
		return err
	}
	if err := c.v.reserve(v, c.n); err != nil {
		return err
	}
	if err := c.k.put(k, c.n, r, c.n); err != nil {
		return err
	}
	return c.v.put(v, c.n, nil, 0)
}

// Attend appends keys and values, and returns [SDPA] of queries of the new tokens with all that
// are there then.
func (c *Cache) Attend(q, k, v *tensor.Tensor, o Options) *tensor.Tensor {
	keys, values := c.Append(k, v)
	return SDPA(q, keys, values, o)
}

// Len is the number of tokens in the cache.
func (c *Cache) Len() int { return c.n }

// Keys returns the keys in the cache as a view, nil if nothing was ever appended.
func (c *Cache) Keys() *tensor.Tensor { return c.k.first(c.n) }

// Values returns the values in the cache as a view, nil if nothing was ever appended.
func (c *Cache) Values() *tensor.Tensor { return c.v.first(c.n) }

// Truncate leaves only the first n tokens in the cache, as after tokens that were proposed and not
// taken. What is appended then is stored over the others: views of them change. More tokens than
// there are is an error of kind ErrRange of package tensor.
func (c *Cache) Truncate(n int) error {
	if n < 0 || n > c.n {
		return fmt.Errorf("cache: %w: %d tokens of %d", tensor.ErrRange, n, c.n)
	}
	c.n = n
	return nil
}

// Reset empties the cache and drops its memory.
func (c *Cache) Reset() {
	c.n = 0
	c.k.t, c.v.t = nil, nil
}

// store is the memory of keys or of values: (…, heads, tokens, size) with room for more tokens.
type store struct {
	t    *tensor.Tensor
	step int // of tokens
}

// reserve makes room for t behind n tokens.
func (s *store) reserve(t *tensor.Tensor, n int) error {
	need := n + t.Size(-2)
	if s.t != nil && need <= s.t.Size(-2) {
		return nil
	}
	step := max(s.step, 1)
	return s.grow(t, (need+step-1)/step*step, n)
}

// grow makes room for so many tokens like t, and copies the first n.
func (s *store) grow(t *tensor.Tensor, tokens, n int) error {
	shape := append([]int(nil), t.Shape()...)
	shape[len(shape)-2] = tokens
	next := tensor.Empty(t.Device(), t.DType(), shape...)
	if err := next.Err(); err != nil {
		return err
	}
	if n > 0 && s.t != nil {
		if err := next.SliceSet(s.first(n), len(shape)-2, 0); err != nil {
			return err
		}
	}
	s.t = next
	return nil
}

// put copies t, turned if there is a rotation by positions from one on, to token n and those behind
// it.
func (s *store) put(t *tensor.Tensor, n int, r *Rotation, position int) error {
	if t.Size(-2) == 0 {
		return nil
	}
	if r == nil {
		return s.t.SliceSet(t.Detach(), t.Rank()-2, n)
	}
	return r.into(s.t.Narrow(-2, n, t.Size(-2)), t, position)
}

// first returns the first n tokens.
func (s *store) first(n int) *tensor.Tensor {
	if s.t == nil {
		return nil
	}
	return s.t.Narrow(-2, 0, n)
}

// fits checks that t is like what is stored, but for the number of tokens.
func (s *store) fits(name string, t *tensor.Tensor) error {
	switch {
	case t == nil:
		return fmt.Errorf("%w: the %s are nil", tensor.ErrArgument, name)
	case t.Err() != nil:
		return t.Err()
	case t.Rank() < 2:
		return fmt.Errorf("%w: %s %v, want (…, heads, tokens, size)", tensor.ErrRank, name, t.Shape())
	case s.t == nil:
		return nil
	case t.Device() != s.t.Device():
		return fmt.Errorf("%w: %s on %v, the cache is on %v", tensor.ErrDevice, name, t.Device(), s.t.Device())
	case t.DType() != s.t.DType():
		return fmt.Errorf("%w: %s of %v, the cache has %v", tensor.ErrDTypeMismatch, name, t.DType(), s.t.DType())
	}
	a, b := append([]int(nil), t.Shape()...), append([]int(nil), s.t.Shape()...)
	if len(a) == len(b) {
		b[len(b)-2] = a[len(a)-2]
	}
	if tensor.Shape(a).String() != tensor.Shape(b).String() {
		return fmt.Errorf("%w: %s %v behind those of %v", tensor.ErrShape, name, t.Shape(), s.t.Shape())
	}
	return nil
}

// capturing reports that what is appended would become part of a graph.
func capturing(k *tensor.Tensor) error {
	if k.Device().Stream().Capturing() {
		return fmt.Errorf("%w: each launch would store the tokens at the same place", runtime.ErrCapturing)
	}
	return nil
}

// checkNew checks keys and values that are to be stored.
func checkNew(k, v *tensor.Tensor, ks, vs store) error {
	if err := ks.fits("keys", k); err != nil {
		return err
	}
	if err := vs.fits("values", v); err != nil {
		return err
	}
	if err := capturing(k); err != nil {
		return err
	}
	if k.Size(-2) != v.Size(-2) {
		return fmt.Errorf("%w: keys %v and values %v differ in the number of tokens", tensor.ErrShape, k.Shape(), v.Shape())
	}
	return nil
}
