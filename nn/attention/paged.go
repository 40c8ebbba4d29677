package attention

import (
	"errors"
	"fmt"

	"github.com/gokiln/kiln/tensor"
)

// ErrPages is the kind of error of a [Paged] cache that has no free page left.
var ErrPages = errors.New("no free page")

// Paged is a cache of many sequences of different lengths in pages of one pool of memory (Kwon et
// al., "Efficient Memory Management for Large Language Model Serving with PagedAttention", 2023).
// One goroutine uses it, and its sequences, at a time.
//
//	pages := attention.Pages{Count: 512, Tokens: 16, Heads: 8, KeySize: 128, ValueSize: 128}
//	cache, err := attention.NewPaged(dev, tensor.BF16, pages)
//	s := cache.Open()
//	err = s.Append(k, v)
//	y := cache.Attend(q, []*attention.Sequence{s}, attention.Options{Causal: true})
type Paged struct {
	k, v *tensor.Tensor // (pages, tokens, heads, size)
	of   Pages
	free []int32
}

// Pages says how much memory a [Paged] cache has.
type Pages struct {
	Count     int // pages
	Tokens    int // of a page
	Heads     int // of keys and values
	KeySize   int // of a head
	ValueSize int
}

// Sequence is a sequence in a [Paged] cache.
type Sequence struct {
	in    *Paged
	pages []int32
	n     int
}

// NewPaged allocates a cache. Numbers below 1 are an error of kind ErrArgument of package tensor.
func NewPaged(d *tensor.Device, dt tensor.DType, p Pages) (*Paged, error) {
	if min(p.Count, p.Tokens, p.Heads, p.KeySize, p.ValueSize) < 1 {
		return nil, fmt.Errorf("paged cache: %w: %+v", tensor.ErrArgument, p)
	}
	c := &Paged{of: p}
	c.k = tensor.Empty(d, dt, p.Count, p.Tokens, p.Heads, p.KeySize)
	c.v = tensor.Empty(d, dt, p.Count, p.Tokens, p.Heads, p.ValueSize)
	for i := p.Count - 1; i >= 0; i-- {
		c.free = append(c.free, int32(i))
	}
	return c, errors.Join(c.k.Err(), c.v.Err())
}

// Free is the number of pages that no sequence has.
func (c *Paged) Free() int { return len(c.free) }

// Count is the number of all pages.
func (c *Paged) Count() int { return c.of.Count }

// Open begins a sequence.
func (c *Paged) Open() *Sequence { return &Sequence{in: c} }

// Len is the number of tokens of the sequence.
func (s *Sequence) Len() int { return s.n }

// Close gives the pages of the sequence back, and leaves it empty.
func (s *Sequence) Close() {
	s.in.free = append(s.in.free, s.pages...)
	s.pages, s.n = nil, 0
}

// Append copies keys (heads, tokens, KeySize) and values (heads, tokens, ValueSize) behind those of
// the sequence. Without pages enough it is an error of kind [ErrPages], and the sequence stays as
// it was. While a graph is captured it is one of kind [runtime.ErrCapturing], as of [Cache.Append].
func (s *Sequence) Append(k, v *tensor.Tensor) error { return s.append(k, v, nil) }

// AppendRotated is [Sequence.Append] of keys that are rotated by their positions, which begin
// with [Sequence.Len]: one kernel rotates those of a page and stores them there.
func (s *Sequence) AppendRotated(k, v *tensor.Tensor, r Rotation) error { return s.append(k, v, &r) }

func (s *Sequence) append(k, v *tensor.Tensor, r *Rotation) error {
	err := s.in.check(k, v)
	if err == nil {
		err = r.check(k, s.n)
	}
	if err != nil {
		return fmt.Errorf("paged cache: %w", err)
	}
	n, size := k.Size(1), s.in.of.Tokens
	if err := s.Reserve(n); err != nil {
		return err
	}
	for at := 0; at < n; {
		to := s.n + at
		m := min(size-to%size, n-at)
		if err := errors.Join(s.put(s.in.k, k, to, at, m, r), s.put(s.in.v, v, to, at, m, nil)); err != nil {
			return err
		}
		at += m
	}
	s.n += n
	return nil
}

// Grow gives the cache so many pages more. What is in it is copied to new memory.
func (c *Paged) Grow(pages int) error {
	if pages < 1 {
		return fmt.Errorf("paged cache: %w: %d pages more", tensor.ErrArgument, pages)
	}
	for _, pool := range []**tensor.Tensor{&c.k, &c.v} {
		shape := append([]int(nil), (*pool).Shape()...)
		shape[0] = c.of.Count + pages
		next := tensor.Empty((*pool).Device(), (*pool).DType(), shape...)
		if err := next.Err(); err != nil {
			return err
		}
		if err := next.SliceSet(*pool, 0, 0); err != nil {
			return err
		}
		*pool = next
	}
	for i := c.of.Count + pages - 1; i >= c.of.Count; i-- {
		c.free = append(c.free, int32(i))
	}
	c.of.Count += pages
	return nil
}

// AppendEach appends one token to each of some sequences, of keys (sequences, heads, 1, KeySize) and
// values (sequences, heads, 1, ValueSize), by one copy each. It is an error where
// [Sequence.Append] is one, and if a sequence is in the list twice; all stay as they were then.
func (c *Paged) AppendEach(list []*Sequence, k, v *tensor.Tensor) error {
	slots, err := c.reserveEach(list, k, v)
	if err != nil {
		return fmt.Errorf("paged cache: %w", err)
	}
	n := len(list)
	at := tensor.From(c.k.Device(), slots, n, 1)
	for _, x := range []struct{ pool, t *tensor.Tensor }{{c.k, k}, {c.v, v}} {
		width := c.of.Heads * x.pool.Size(-1)
		to := x.pool.Reshape(c.of.Count*c.of.Tokens, width)
		if err := to.ScatterSet(at.Expand(n, width), x.t.Detach().Reshape(n, width), 0); err != nil {
			return fmt.Errorf("paged cache: %w", err)
		}
	}
	for _, s := range list {
		s.n++
	}
	return nil
}

// reserveEach checks what is appended, and returns where the next token of each sequence goes.
func (c *Paged) reserveEach(list []*Sequence, k, v *tensor.Tensor) ([]int64, error) {
	seen, more := map[*Sequence]bool{}, 0
	for i, s := range list {
		if s == nil || s.in != c || seen[s] {
			return nil, fmt.Errorf("%w: sequence %d is of another cache, or in the list twice",
				tensor.ErrArgument, i)
		}
		if seen[s] = true; s.n == len(s.pages)*c.of.Tokens {
			more++
		}
	}
	for _, t := range []*tensor.Tensor{k, v} {
		if t != nil && t.Err() == nil && (t.Rank() != 4 || t.Size(0) != len(list) || t.Size(2) != 1) {
			return nil, fmt.Errorf("%w: %v, want (%d, heads, 1, size)", tensor.ErrShape, t.Shape(), len(list))
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: no sequences", tensor.ErrArgument)
	}
	if k == nil || v == nil || k.Err() != nil || v.Err() != nil {
		return nil, c.check(k, v)
	}
	if err := c.check(k.Get(0), v.Get(0)); err != nil {
		return nil, err
	}
	if left := len(c.free) - more; left < 0 {
		return nil, fmt.Errorf("%w: %d are missing", ErrPages, -left)
	}
	slots := make([]int64, len(list))
	for i, s := range list {
		if s.n == len(s.pages)*c.of.Tokens {
			s.pages = append(s.pages, c.free[len(c.free)-1])
			c.free = c.free[:len(c.free)-1]
		}
		slots[i] = int64(s.pages[s.n/c.of.Tokens])*int64(c.of.Tokens) + int64(s.n%c.of.Tokens)
	}
	return slots, nil
}

// Truncate leaves only the first n tokens of the sequence, and gives pages behind them back. More
// tokens than there are is an error of kind ErrRange of package tensor.
func (s *Sequence) Truncate(n int) error {
	if n < 0 || n > s.n {
		return fmt.Errorf("paged cache: %w: %d tokens of %d", tensor.ErrRange, n, s.n)
	}
	keep := (n + s.in.of.Tokens - 1) / s.in.of.Tokens
	s.in.free = append(s.in.free, s.pages[keep:]...)
	s.pages, s.n = s.pages[:keep], n
	return nil
}

// put copies m tokens of t from at on, rotated if there is a rotation, to token to of the sequence
// and those behind it, which are in one page.
func (s *Sequence) put(pool, t *tensor.Tensor, to, at, m int, r *Rotation) error {
	page := pool.Get(int(s.pages[to/s.in.of.Tokens])).Narrow(0, to%s.in.of.Tokens, m)
	return r.into(page.Transpose(0, 1), t.Narrow(1, at, m), to)
}

// check checks keys and values that are to be stored.
func (c *Paged) check(k, v *tensor.Tensor) error {
	for _, x := range []struct {
		name string
		t    *tensor.Tensor
		pool *tensor.Tensor
	}{{"keys", k, c.k}, {"values", v, c.v}} {
		want := []int{c.of.Heads, -1, x.pool.Size(-1)}
		switch {
		case x.t == nil:
			return fmt.Errorf("%w: the %s are nil", tensor.ErrArgument, x.name)
		case x.t.Err() != nil:
			return x.t.Err()
		case x.t.Device() != c.k.Device():
			return fmt.Errorf("%w: %s on %v, the cache is on %v", tensor.ErrDevice, x.name, x.t.Device(), c.k.Device())
		case x.t.DType() != c.k.DType():
			return fmt.Errorf("%w: %s of %v, the cache has %v", tensor.ErrDTypeMismatch, x.name, x.t.DType(), c.k.DType())
		case x.t.Rank() != 3 || x.t.Size(0) != want[0] || x.t.Size(2) != want[2]:
			return fmt.Errorf("%w: %s %v, want (%d, tokens, %d)", tensor.ErrShape, x.name, x.t.Shape(), want[0], want[2])
		}
	}
	if err := capturing(k); err != nil {
		return err
	}
	if k.Size(1) != v.Size(1) {
		return fmt.Errorf("%w: keys %v and values %v differ in the number of tokens", tensor.ErrShape, k.Shape(), v.Shape())
	}
	return nil
}

// Attend is attention of the last queries of some sequences, (sequences, heads, queries, KeySize),
// with all that is in each: (sequences, heads, queries, ValueSize). Options are as for [VarLen]. A
// graph cannot hold it, see [tensor.Device.Capture]: the list of the pages comes from the host.
func (c *Paged) Attend(q *tensor.Tensor, list []*Sequence, o Options) *tensor.Tensor {
	const op = "sdpa paged"
	if err := c.checkQueries(q, list, &o); err != nil {
		return tensor.Fail(op, err)
	}
	if out, ok := c.onePaged(op, q, list, o); ok {
		return out
	}
	parts := make([]*tensor.Tensor, len(list))
	for i, s := range list {
		one := o
		if o.ALiBi != nil && o.ALiBi.Rank() == 2 {
			one.ALiBi = o.ALiBi.Get(i)
		}
		parts[i], _ = run(op, q.Get(i), s.Keys(), s.Values(), one, false)
	}
	return tensor.Stack(0, parts...)
}

// checkQueries checks what is not checked of each sequence.
func (c *Paged) checkQueries(q *tensor.Tensor, list []*Sequence, o *Options) error {
	if err := checkTypes(q, c.k, c.v, o); err != nil {
		return err
	}
	if q.Rank() != 4 || q.Size(0) != len(list) || len(list) == 0 {
		return fmt.Errorf("%w: queries %v of %d sequences, want (sequences, heads, queries, size)",
			tensor.ErrShape, q.Shape(), len(list))
	}
	if o.Mask != nil {
		return fmt.Errorf("%w: a mask of sequences in pages", tensor.ErrArgument)
	}
	if a := o.ALiBi; a != nil && a.Rank() == 2 && a.Size(0) != len(list) {
		return fmt.Errorf("%w: ALiBi slopes %v of %d sequences", tensor.ErrShape, a.Shape(), len(list))
	}
	if s := o.Sinks; s != nil && s.Rank() != 1 {
		return fmt.Errorf("%w: sinks %v of sequences in pages, want (heads)", tensor.ErrShape, s.Shape())
	}
	for i, s := range list {
		if s == nil || s.in != c {
			return fmt.Errorf("%w: sequence %d is of another cache", tensor.ErrArgument, i)
		}
	}
	return nil
}

// Keys returns a copy of the keys of the sequence, (heads, tokens, KeySize).
func (s *Sequence) Keys() *tensor.Tensor { return s.gather(s.in.k) }

// Values returns a copy of the values of the sequence, (heads, tokens, ValueSize).
func (s *Sequence) Values() *tensor.Tensor { return s.gather(s.in.v) }

// gather copies the pages of the sequence behind each other.
func (s *Sequence) gather(pool *tensor.Tensor) *tensor.Tensor {
	ids := tensor.From(pool.Device(), s.pages, len(s.pages))
	return pool.IndexSelect(ids, 0).Flatten(0, 1).Narrow(0, 0, s.n).Transpose(0, 1)
}
