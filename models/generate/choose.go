package generate

import (
	"cmp"
	"math"
	"slices"

	"github.com/gokiln/kiln/models/generate/kernels"
)

// TokenProb is a token and the logarithm of its probability.
type TokenProb struct {
	ID      int32   `json:"id"`
	LogProb float64 `json:"logprob"`
}

// Choice is a token that was chosen.
type Choice struct {
	ID      int32
	LogProb float64     // of the softmax of the model's logits, with [Sampling.LogProbs]
	Top     []TokenProb // the most likely ones, with [Sampling.TopLogProbs]
}

// entry is a token, its logit after penalties, and what it is ordered by.
type entry struct {
	id     int32
	z, key float32
}

// before is the order of tokens: the largest key first, of equal ones the lowest id.
func before(a, b entry) int {
	return cmp.Or(cmp.Compare(b.key, a.key), cmp.Compare(a.id, b.id))
}

// row is the logits of one sequence, wherever they are.
type row interface {
	// size is how many tokens there are.
	size() int
	// top returns the first n tokens by their keys without penalties; fewer if it cannot know more.
	top(n int) []entry
	// logit is the logit of a token among those that penalties change.
	logit(id int32) float32
	// logSum is log Σ exp(scale·z) over all tokens without penalties, and how far it may be off;
	// ok is false if it is not known.
	logSum(scale float32) (sum, off float64, ok bool)
}

// chooser is the choice of one token.
type chooser struct {
	s      *Sampler
	key    int64
	scale  float32 // of noise in keys; 0 if there is none
	from   row
	list   []entry // what is known of the order; empty before the first time
	whole  bool    // list is all tokens that are allowed
	weight []float64
}

// choose returns the token that is chosen of a row. ok is false if the row does not know enough
// for the exact choice.
func (s *Sampler) choose(from row) (id int32, ok bool, err error) {
	c := &chooser{s: s, from: from}
	if !s.o.greedy() {
		c.key = s.key()
		if !s.o.filters() {
			c.scale = s.o.scale()
		}
	}
	for n := s.wants(from.size()); ; n = min(8*n, from.size()) {
		raw := from.top(n)
		if len(raw) < n {
			return 0, false, nil
		}
		c.rank(raw)
		if len(c.list) > 0 || c.whole {
			if id, ok, err = c.pick(); ok || err != nil {
				return id, ok, err
			}
		}
		if n == from.size() {
			return 0, false, errLogits("the probabilities of tokens are not numbers")
		}
	}
}

// wants is how many tokens of a row are likely to be enough.
func (s *Sampler) wants(size int) int {
	n := 1
	if s.o.filters() {
		if n = 1024; s.o.Mirostat == 0 && s.o.TopK > 0 {
			n = s.o.TopK
		}
	}
	if !s.plain() {
		n += 32
	}
	return min(n, size)
}

// rank makes the list: the first tokens by keys after penalties, as far as they are certain.
func (c *chooser) rank(raw []entry) {
	last := raw[len(raw)-1]
	c.whole = len(raw) == c.from.size()
	changed := c.s.adjusted()
	c.list = c.list[:0]
	add := func(e entry) {
		e.key = kernels.Key(e.z, uint32(e.id), c.scale, c.key)
		if c.whole || before(e, last) <= 0 {
			c.list = append(c.list, e)
		}
	}
	for _, e := range raw {
		if _, is := slices.BinarySearch(changed, e.id); !is {
			c.list = append(c.list, e)
		}
	}
	for _, id := range changed {
		if int(id) < c.from.size() {
			add(entry{id: id, z: c.s.adjust(id, c.from.logit(id))})
		}
	}
	if c.s.limit != nil {
		c.list = slices.DeleteFunc(c.list, func(e entry) bool { return !c.s.limit.Allowed(e.id) })
	}
	if len(changed) > 0 {
		slices.SortFunc(c.list, before)
	}
}

// pick chooses of the list.
func (c *chooser) pick() (id int32, ok bool, err error) {
	if len(c.list) == 0 {
		return 0, false, errLogits("every token is forbidden")
	}
	if err := finite(c.list[0].z); err != nil {
		return 0, false, err
	}
	if !c.s.o.filters() {
		return c.list[0].id, true, nil
	}
	kept, ok := c.filter()
	if !ok {
		return 0, false, nil
	}
	best := entry{key: float32(math.Inf(-1))}
	for i, e := range kept {
		e.key = kernels.Key(e.z, uint32(e.id), c.s.o.scale(), c.key)
		if i == 0 || before(e, best) < 0 {
			best = e
		}
	}
	c.surprise(kept, best)
	return best.id, true, nil
}

// filter returns the tokens that one is drawn of; ok is false if the list is too short to say.
func (c *chooser) filter() (kept []entry, ok bool) {
	o := &c.s.o
	kept, whole := c.list, c.whole
	if o.Mirostat == 0 && o.TopK > 0 {
		if len(kept) >= o.TopK {
			kept, whole = kept[:o.TopK], true
		}
		if !whole {
			return nil, false
		}
	}
	c.weigh(kept)
	if o.Mirostat != 0 {
		return c.likely(kept, whole, math.Exp2(-c.s.bound))
	}
	if o.TopP < 1 {
		if kept, ok = c.nucleus(kept, whole); !ok {
			return nil, false
		}
		whole = true
	}
	if o.MinP > 0 {
		n := 1
		for n < len(kept) && c.weight[n] >= o.MinP {
			n++
		}
		if n == len(kept) && !whole {
			return nil, false
		}
		kept, whole = kept[:n], true
	}
	if o.TypicalP < 1 {
		if !whole {
			return nil, false
		}
		kept = c.typical(kept)
	}
	return kept, whole
}

// weigh computes the probabilities of tokens as multiples of that of the first.
func (c *chooser) weigh(list []entry) {
	c.weight = c.weight[:0]
	scale, first := float64(c.s.o.scale()), float64(list[0].z)
	for _, e := range list {
		c.weight = append(c.weight, math.Exp((float64(e.z)-first)*scale))
	}
}

// sum is the sum of all weights, and how far it may be off.
func (c *chooser) sum(kept []entry, whole bool) (sum, off float64, ok bool) {
	if whole {
		for _, w := range c.weight[:len(kept)] {
			sum += w
		}
		return sum, 0, true
	}
	if c.s.limit != nil {
		return 0, 0, false
	}
	scale := c.s.o.scale()
	log, off, ok := c.from.logSum(scale)
	if !ok {
		return 0, 0, false
	}
	first := float64(kept[0].z) * float64(scale)
	weight := func(z float32) float64 { return math.Exp(float64(z)*float64(scale) - first) }
	sum = math.Exp(log - first)
	off *= sum
	for _, id := range c.s.adjusted() {
		if int(id) < c.from.size() {
			z := c.from.logit(id)
			sum += weight(c.s.adjust(id, z)) - weight(z)
			off += 1e-15 * weight(z)
		}
	}
	return sum, off, !math.IsInf(sum, 0) && !math.IsNaN(sum) && !math.IsNaN(off)
}

// nucleus is top_p: the first tokens whose probabilities reach it.
func (c *chooser) nucleus(kept []entry, whole bool) ([]entry, bool) {
	sum, off, ok := c.sum(kept, whole)
	if !ok {
		return nil, false
	}
	p, so := c.s.o.TopP, 0.0
	if p == 0 {
		return kept[:1], true
	}
	for i, w := range c.weight[:len(kept)] {
		so += w
		if so >= p*(sum+off) {
			return kept[:i+1], true
		}
		if so >= p*(sum-off) {
			return nil, false // it may be this one or the next
		}
	}
	return kept, whole // rounded: all of them
}

// likely is the tokens whose probability is at least p, and the first one.
func (c *chooser) likely(kept []entry, whole bool, p float64) ([]entry, bool) {
	sum, off, ok := c.sum(kept, whole)
	if !ok {
		return nil, false
	}
	for n := 1; n < len(kept); n++ {
		switch w := c.weight[n]; {
		case w < p*(sum-off):
			return kept[:n], true
		case w < p*(sum+off):
			return nil, false
		}
	}
	return kept, whole
}

// typical keeps the tokens whose surprise is nearest to the entropy.
func (c *chooser) typical(kept []entry) []entry {
	sum, entropy := 0.0, 0.0
	for _, w := range c.weight[:len(kept)] {
		sum += w
	}
	type far struct {
		by, p float64
		at    int
	}
	list := make([]far, len(kept))
	for i := range kept {
		p := c.weight[i] / sum
		list[i] = far{math.Log(p), p, i}
		if p > 0 {
			entropy -= p * math.Log(p)
		}
	}
	for i := range list {
		list[i].by = math.Abs(-list[i].by - entropy)
	}
	slices.SortFunc(list, func(a, b far) int { return cmp.Or(cmp.Compare(a.by, b.by), cmp.Compare(a.at, b.at)) })
	n, so := 0, 0.0
	for n < len(list) && (n == 0 || so < c.s.o.TypicalP) {
		so += list[n].p
		n++
	}
	list = list[:n]
	slices.SortFunc(list, func(a, b far) int { return cmp.Compare(a.at, b.at) })
	out := make([]entry, n)
	for i, f := range list {
		out[i] = kept[f.at]
	}
	return out
}

// surprise notes how unlikely the token was among those kept, for mirostat.
func (c *chooser) surprise(kept []entry, chosen entry) {
	if c.s.o.Mirostat == 0 {
		return
	}
	sum := 0.0
	for _, w := range c.weight[:len(kept)] {
		sum += w
	}
	far := float64(kept[0].z-chosen.z) * float64(c.s.o.scale())
	c.s.last = surprise{chosen.id, (math.Log(sum) + far) / math.Ln2, true}
}
