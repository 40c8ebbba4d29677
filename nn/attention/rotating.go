package attention

import (
	"fmt"

	"github.com/gokiln/kiln/tensor"
)

// Rotating is a [Cache] of the last tokens only, for attention with a sliding window: a token is
// stored over the one that leaves the window. Its memory does not grow.
type Rotating struct {
	k, v   store
	window int
	n      int
	stored int // the position behind the last that was ever stored
}

// NewRotating returns an empty cache of the last tokens, as many as the window has: a query attends
// to itself and to the window−1 tokens in front of it. A window below 1 is 1.
func NewRotating(window int) *Rotating {
	window = max(window, 1)
	return &Rotating{k: store{step: window}, v: store{step: window}, window: window}
}

// Append stores keys (…, heads, tokens, d) and values (…, heads, tokens, dv) and returns those
// that the new tokens' queries attend to, in order of time: the new ones behind as many before
// them as the window has. Query i of n attends to those that SDPA with Causal and a window of
// window−1 keys in front gives it; see [Rotating.Attend]. They may be views, which the next tokens
// change. It is an error where [Cache.Append] is one, also while a graph is captured.
func (r *Rotating) Append(k, v *tensor.Tensor) (keys, values *tensor.Tensor) {
	return r.append(k, v, nil, true)
}

// AppendRotated is [Rotating.Append] of keys that are turned by their positions, which begin with
// [Rotating.Len].
func (r *Rotating) AppendRotated(k, v *tensor.Tensor, by Rotation) (keys, values *tensor.Tensor) {
	return r.append(k, v, &by, true)
}

// Attend stores keys and values, and returns [SDPA] of queries of the new tokens: causal, with the
// window of the cache, or that of the options if it has fewer keys in front. Functions of positions
// count from the first of the keys that [Rotating.Append] returns, so that only the distance of a
// query and a key means the same in each call.
func (r *Rotating) Attend(q, k, v *tensor.Tensor, o Options) *tensor.Tensor {
	// One query attends to all that is stored, in any order, unless something depends on positions.
	positions := o.Mask != nil || o.MaskFunc != nil || o.ScoreFunc != nil || o.ALiBi != nil || o.Window != nil
	keys, values := r.append(k, v, nil, positions)
	w := Window{Left: r.window - 1, Right: 0}
	if o.Window != nil && o.Window.Left >= 0 {
		w.Left = min(w.Left, o.Window.Left)
	}
	o.Causal, o.Window = true, &w
	return SDPA(q, keys, values, o)
}

// Len is the number of tokens that were appended, and so the position of the next one.
func (r *Rotating) Len() int { return r.n }

// Reset empties the cache and drops its memory.
func (r *Rotating) Reset() {
	r.n, r.stored = 0, 0
	r.k.t, r.v.t = nil, nil
}

// append is Append, of which the result for one token may be in any order.
func (r *Rotating) append(k, v *tensor.Tensor, by *Rotation, ordered bool) (keys, values *tensor.Tensor) {
	ks, vs := r.k, r.v
	err := checkNew(k, v, ks, vs)
	if err == nil {
		err = by.check(k, r.n)
	}
	var putKeys, putValues func() error
	if err == nil {
		keys, putKeys, err = r.store(&r.k, k, by, ordered)
	}
	if err == nil {
		values, putValues, err = r.store(&r.v, v, nil, ordered)
	}
	if err == nil { // nothing is stored over others before
		err = putKeys()
	}
	if err == nil {
		err = putValues()
	}
	if err != nil {
		r.k, r.v = ks, vs
		bad := tensor.Fail("cache append", err)
		return bad, bad
	}
	r.n += k.Size(-2)
	r.stored = max(r.stored, r.n)
	return keys, values
}

// Oldest is the smallest n that [Rotating.Truncate] can leave: 0 as long as no token was stored over
// another, and then all tokens but one.
func (r *Rotating) Oldest() int {
	if r.stored <= r.window {
		return 0
	}
	return r.stored - 1
}

// Truncate leaves only the first n tokens, as [Cache.Truncate] does. Fewer than [Rotating.Oldest]
// are an error of kind ErrRange of package tensor: what their window had is gone.
func (r *Rotating) Truncate(n int) error {
	if n < r.Oldest() || n > r.n {
		return fmt.Errorf("rotating cache: %w: %d tokens of %d, want %d at least, as the window is %d",
			tensor.ErrRange, n, r.n, r.Oldest(), r.window)
	}
	r.n = n
	return nil
}

// store returns what the queries of new tokens attend to, and put, which stores these in a ring,
// turned if there is a rotation.
func (r *Rotating) store(s *store, t *tensor.Tensor, by *Rotation, ordered bool) (all *tensor.Tensor, put func() error, err error) {
	if s.t == nil {
		if err := s.reserve(t.Narrow(-2, 0, 0), 1); err != nil {
			return nil, nil, err
		}
	}
	n := t.Size(-2)
	if r.n+n <= r.window { // the ring has not gone round
		return s.first(r.n + n), func() error { return s.put(t, r.n, by, r.n) }, nil
	}
	if n == 1 && !ordered {
		return s.first(r.window), func() error { return s.put(t, r.n%r.window, by, r.n) }, nil
	}
	t, err = by.turned(t, r.n)
	if err != nil {
		return nil, nil, err
	}
	past := r.past(s, min(r.n, r.window-1))
	all = tensor.Cat(-2, append(past, t.Detach())...) // a copy: what is stored changes
	last := min(n, r.window)
	return all, func() error { return r.put(s, t.Narrow(-2, n-last, last), r.n+n-last) }, all.Err()
}

// past returns the last n tokens in order of time, in one or two parts.
func (r *Rotating) past(s *store, n int) []*tensor.Tensor {
	at := (r.n - n) % r.window
	front := min(n, r.window-at)
	parts := []*tensor.Tensor{s.t.Narrow(-2, at, front)}
	if front < n {
		parts = append(parts, s.t.Narrow(-2, 0, n-front))
	}
	return parts
}

// put stores tokens, not more than the ring has, from a position on.
func (r *Rotating) put(s *store, t *tensor.Tensor, position int) error {
	at, n := position%r.window, t.Size(-2)
	front := min(n, r.window-at)
	if err := s.put(t.Narrow(-2, 0, front), at, nil, 0); err != nil {
		return err
	}
	return s.put(t.Narrow(-2, front, n-front), 0, nil, 0)
}
