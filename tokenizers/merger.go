package tokenizers

import "slices"

// fewSymbols is up to how many symbols the next merge is looked for among all:
// below it that is faster than a queue.
const fewSymbols = 48

// merger merges the symbols of a piece. Its slices are kept from piece to
// piece.
type merger struct {
	ranks      []uint64
	prev, next []int32
	queue      []candidate
}

// candidate is a merge that was possible when it was put into the queue.
type candidate struct {
	rank        uint32
	pos         int32 // of the left symbol
	left, right int32
}

func (c candidate) before(d candidate) bool {
	return c.rank < d.rank || c.rank == d.rank && c.pos < d.pos
}

// run merges symbols in place until no merge is left, and returns how many of
// them there are.
func (m *merger) run(merges *table, toks []tok) int {
	switch {
	case len(toks) < 2:
		return len(toks)
	case len(toks) <= fewSymbols:
		return m.runFew(merges, toks)
	}
	return m.runMany(merges, toks)
}

// runFew looks through all pairs for the next merge.
func (m *merger) runFew(merges *table, toks []tok) int {
	m.ranks = m.ranks[:0]
	for i := 1; i < len(toks); i++ {
		m.ranks = append(m.ranks, rankOf(merges, toks[i-1].id, toks[i].id))
	}
	for {
		low, at := uint64(noMerge), -1
		for i, r := range m.ranks {
			if r>>32 < low>>32 { // of equal ranks the first
				low, at = r, i
			}
		}
		if at < 0 {
			return len(m.ranks) + 1
		}
		toks[at].id, toks[at].hi = int32(uint32(low)), toks[at+1].hi
		n := len(m.ranks)
		copy(toks[at+1:n], toks[at+2:n+1])
		copy(m.ranks[at:], m.ranks[at+1:])
		m.ranks = m.ranks[:n-1]
		if at > 0 {
			m.ranks[at-1] = rankOf(merges, toks[at-1].id, toks[at].id)
		}
		if at < n-1 {
			m.ranks[at] = rankOf(merges, toks[at].id, toks[at+1].id)
		}
	}
}

// runMany keeps candidates in a priority queue, so that time grows with
// n·log n. A symbol that was merged into its left neighbour has no id.
func (m *merger) runMany(merges *table, toks []tok) int {
	m.link(len(toks))
	m.queue = m.queue[:0]
	for i := 1; i < len(toks); i++ {
		m.offer(merges, toks, int32(i-1), int32(i))
	}
	for len(m.queue) > 0 {
		c := m.pop()
		if toks[c.pos].id != c.left {
			continue
		}
		right := m.next[c.pos]
		if right < 0 || toks[right].id != c.right {
			continue
		}
		merged := rankOf(merges, c.left, c.right)
		toks[c.pos].id, toks[c.pos].hi = int32(uint32(merged)), toks[right].hi
		toks[right].id = -1
		after := m.next[right]
		m.next[c.pos] = after
		if after >= 0 {
			m.prev[after] = c.pos
			m.offer(merges, toks, c.pos, after)
		}
		if before := m.prev[c.pos]; before >= 0 {
			m.offer(merges, toks, before, c.pos)
		}
	}
	return len(slices.DeleteFunc(toks, func(t tok) bool { return t.id < 0 }))
}

// link makes a list of n symbols.
func (m *merger) link(n int) {
	m.prev, m.next = m.prev[:0], m.next[:0]
	for i := range int32(n) {
		m.prev, m.next = append(m.prev, i-1), append(m.next, i+1)
	}
	m.next[n-1] = -1
}

// offer puts the merge of two neighbours into the queue if there is one.
func (m *merger) offer(merges *table, toks []tok, left, right int32) {
	a, b := toks[left].id, toks[right].id
	v := rankOf(merges, a, b)
	if v == noMerge {
		return
	}
	m.queue = append(m.queue, candidate{uint32(v >> 32), left, a, b})
	q := m.queue
	for i := len(q) - 1; i > 0; {
		up := (i - 1) / 2
		if !q[i].before(q[up]) {
			return
		}
		q[i], q[up] = q[up], q[i]
		i = up
	}
}

// pop takes the first candidate out of the queue.
func (m *merger) pop() candidate {
	q := m.queue
	top, n := q[0], len(q)-1
	q[0] = q[n]
	m.queue = q[:n]
	q = m.queue
	for i := 0; ; {
		down := 2*i + 1
		if down >= n {
			return top
		}
		if down+1 < n && q[down+1].before(q[down]) {
			down++
		}
		if !q[down].before(q[i]) {
			return top
		}
		q[i], q[down] = q[down], q[i]
		i = down
	}
}
