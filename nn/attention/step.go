package attention

import (
	"errors"
	"fmt"

	opsattention "github.com/gokiln/kiln/ops/attention"
	"github.com/gokiln/kiln/tensor"
)

// Step says where one new token of each of some sequences is stored, and how many tokens it attends
// to, by numbers that kernels read on the device. Nothing of a step is of the host, so that a
// [tensor.Graph] can hold it: the graph is launched for the next token when the numbers have
// changed, as long as there is room in the caches.
//
//	cache.Reserve(1024)
//	numbers := cache.Place().Numbers(nil)
//	table := tensor.From(dev, numbers, len(numbers))
//	y := cache.AttendStep(q, k, v, attention.Step{Table: table, MaxKeys: 1024}, o)
//	cache.Advance() // for the host
type Step struct {
	// Table is of type I32: the numbers of the [Place] of each sequence, and behind all of them the
	// pages that sequences of [Paged] caches have.
	Table *tensor.Tensor
	// MaxKeys is how many tokens a sequence may have at most, the new one included. By it work is
	// divided among blocks: results of the same MaxKeys have the same bits.
	MaxKeys int
	// Keys rotates keys before they are stored, by tables in float32, or float64 for that type,
	// with a row for each sequence. It is nil for keys that are as they shall be.
	Keys *Rotation
}

// Place is where the next token of a sequence is stored, and what it attends to.
type Place struct {
	Token int // where it is stored in the cache
	Page  int // where in the table's list of pages those of the sequence begin, of [Paged]
	Keys  int // how many tokens it attends to, with itself
}

// Numbers appends what a [Step.Table] has of a place.
func (p Place) Numbers(list []int32) []int32 {
	return append(list, int32(p.Token), 1, int32(p.Page), int32(p.Keys))
}

// Place is where the next token is stored. All sequences of a batch have the same.
func (c *Cache) Place() Place { return Place{Token: c.n, Keys: c.n + 1} }

// Place is where the next token is stored: over the one that leaves the window.
func (r *Rotating) Place() Place { return Place{Token: r.n % r.window, Keys: min(r.n+1, r.window)} }

// Place is where the next token is stored, of pages that are the first of the table's.
func (s *Sequence) Place() Place { return Place{Token: s.n, Keys: s.n + 1} }

// Memory returns where keys and values are stored, with room for more tokens than there are: nil as
// long as nothing was appended. What has taken these views goes on with others after they change.
func (c *Cache) Memory() (keys, values *tensor.Tensor) { return c.k.t, c.v.t }

// Memory returns where keys and values are stored, see [Cache.Memory].
func (r *Rotating) Memory() (keys, values *tensor.Tensor) { return r.k.t, r.v.t }

// Memory returns the pages, see [Cache.Memory].
func (c *Paged) Memory() (keys, values *tensor.Tensor) { return c.k, c.v }

// Reserve has room for so many tokens in all, in a cache to which something was appended.
func (c *Cache) Reserve(tokens int) error {
	if c.k.t == nil {
		return errNoMemory
	}
	for _, s := range []*store{&c.k, &c.v} {
		if more := tokens - s.t.Size(-2); more > 0 {
			if err := s.grow(s.t, tokens, c.n); err != nil {
				return fmt.Errorf("cache: %w", err)
			}
		}
	}
	return nil
}

// errNoMemory is the error of a step whose cache has none.
var errNoMemory = fmt.Errorf("cache: %w: nothing was appended", tensor.ErrEmpty)

// Reserve gives the sequence pages for so many tokens more. Without pages enough it is an error of
// kind [ErrPages].
func (s *Sequence) Reserve(tokens int) error {
	size := s.in.of.Tokens
	more := (s.n+tokens+size-1)/size - len(s.pages)
	if left := len(s.in.free) - more; left < 0 {
		return fmt.Errorf("paged cache: %w: %d are missing", ErrPages, -left)
	} else if more > 0 {
		s.pages = append(s.pages, s.in.free[left:]...)
		s.in.free = s.in.free[:left]
	}
	return nil
}

// Pages are those of the sequence, in the order of its tokens. They are not to be changed.
func (s *Sequence) Pages() []int32 { return s.pages }

// Advance counts a token that a step has stored, for which there must be room.
func (c *Cache) Advance() { c.n++ }

// Advance counts a token that a step has stored.
func (r *Rotating) Advance() {
	r.n++
	r.stored = max(r.stored, r.n)
}

// Advance counts a token that a step has stored, for which there must be pages: see
// [Sequence.Reserve].
func (s *Sequence) Advance() { s.n++ }

// AttendStep stores keys (batch, heads, 1, d) and values (batch, heads, 1, dv) of a new token, and
// returns attention of its queries (batch, heads of queries, 1, d) with what the step says. Masks,
// functions of positions, windows and dropout are errors. What [Cache.Len] is does not count: see
// [Cache.Advance].
func (c *Cache) AttendStep(q, k, v *tensor.Tensor, s Step, o Options) *tensor.Tensor {
	return s.attend(q, k, v, c.k.t, c.v.t, 0, o)
}

// AttendStep is [Cache.AttendStep] with the tokens of the window, in any order: slopes of positions
// are an error, too.
func (r *Rotating) AttendStep(q, k, v *tensor.Tensor, s Step, o Options) *tensor.Tensor {
	if o.ALiBi != nil {
		return tensor.Fail("attention step", fmt.Errorf("%w: slopes of a rotating cache", tensor.ErrArgument))
	}
	return s.attend(q, k, v, r.k.t, r.v.t, 0, o)
}

// AttendStep is [Cache.AttendStep] of a token of each of some sequences.
func (c *Paged) AttendStep(q, k, v *tensor.Tensor, s Step, o Options) *tensor.Tensor {
	return s.attend(q, k, v, c.k.Transpose(1, 2), c.v.Transpose(1, 2), c.of.Tokens, o)
}

// attend stores and attends, in caches (batches or pages, heads, tokens, size).
func (s *Step) attend(q, k, v, toK, toV *tensor.Tensor, page int, o Options) *tensor.Tensor {
	const op = "attention step"
	p, err := s.problem(q, k, v, toK, toV, page, o)
	if err == nil {
		err = s.store(k, v, toK, toV, page)
	}
	if err != nil {
		return tensor.Fail(op, err)
	}
	p.q, p.k, p.v = p.q.Contiguous(), toK, toV
	in := p.forKernels()
	in.Table, in.MaxKeys, in.PageTokens = view(s.Table), s.MaxKeys, page
	out, _, ok := p.runBy(opsattention.Decode, op, in)
	if !ok {
		return tensor.Fail(op, fmt.Errorf("%w: queries %v", tensor.ErrArgument, q.Shape()))
	}
	return out.Reshape(q.Size(0), q.Size(1), 1, p.dv)
}

// problem checks the operands, as those of attention to one key each: to how many is not known.
func (s *Step) problem(q, k, v, toK, toV *tensor.Tensor, page int, o Options) (*problem, error) {
	switch {
	case toK == nil || toV == nil:
		return nil, errNoMemory
	case s.Table == nil || s.MaxKeys < 1:
		return nil, fmt.Errorf("%w: a step without a table or of %d keys", tensor.ErrArgument, s.MaxKeys)
	case o.Mask != nil || o.MaskFunc != nil || o.ScoreFunc != nil || o.Dropout != 0 || o.Window != nil:
		return nil, fmt.Errorf("%w: a mask, a window, dropout or a function of positions", tensor.ErrArgument)
	case page == 0 && s.MaxKeys > toK.Size(-2):
		return nil, fmt.Errorf("%w: up to %d tokens, there is room for %d", tensor.ErrRange, s.MaxKeys, toK.Size(-2))
	}
	if err := errors.Join(s.Table.Err(), failure(q, k, v)); err != nil {
		return nil, err
	}
	if k.DType() != toK.DType() || k.Device() != toK.Device() || s.Table.Device() != toK.Device() {
		return nil, fmt.Errorf("%w: keys %v on %v and a table on %v, the cache has %v on %v", tensor.ErrDTypeMismatch,
			k.DType(), k.Device(), s.Table.Device(), toK.DType(), toK.Device())
	}
	if q.Rank() != 4 || k.Rank() != 4 || v.Rank() != 4 || q.Size(2) != 1 || k.Size(2) != 1 || q.Size(0) != k.Size(0) {
		return nil, fmt.Errorf("%w: queries %v, keys %v and values %v, want (batch, heads, 1, size)",
			tensor.ErrShape, q.Shape(), k.Shape(), v.Shape())
	}
	return check(q, k, v, o)
}

// store stores keys and values.
func (s *Step) store(k, v, toK, toV *tensor.Tensor, page int) error {
	n := opsattention.New{
		K: view(contiguousRows(k.Detach().Squeeze(2))), V: view(contiguousRows(v.Detach().Squeeze(2))),
		ToK: view(toK), ToV: view(toV), Table: view(s.Table), PageTokens: page,
	}
	if r := s.Keys; r != nil {
		if r.Cos == nil || r.Sin == nil {
			return fmt.Errorf("%w: a rotation without tables", tensor.ErrArgument)
		}
		cos, sin := r.Cos.Detach().Contiguous(), r.Sin.Detach().Contiguous()
		if err := failure(cos, sin); err != nil {
			return err
		}
		n.Cos, n.Sin, n.Interleaved = view(cos), view(sin), r.Interleaved
	}
	return tensor.InPlace1(stored(func() error {
		return tensor.InPlace1(stored(func() error { return opsattention.Append(k.Device().Stream(), &n) }), toV)
	}), toK)
}

// stored is a launch as an operation that changes a cache.
type stored func() error

// Name is for errors.
func (stored) Name() string { return "attention step" }

// Forward launches.
func (f stored) Forward(*tensor.Tensor) error { return f() }
