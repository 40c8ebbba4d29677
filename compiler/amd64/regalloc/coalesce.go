package regalloc

import "slices"

// coalesce makes one register of those joined by a COPY where that is right. Two
// registers interfere if one is live where the other is written,
// unless that is a COPY between them or an UNDEF: then both hold the same value
// for as long as both are live. The COPYs that run most often come first.
func (a *alloc) coalesce() {
	a.parent = grow(a.parent, a.count())
	for v := range a.parent {
		a.parent[v] = int32(v)
	}
	// The list was made backward.
	slices.Reverse(a.copies)
	slices.SortStableFunc(a.copies, func(x, y copyPair) int {
		switch {
		case x.freq > y.freq:
			return -1
		case x.freq < y.freq:
			return 1
		}
		return 0
	})
	kept := a.copies[:0]
	for _, c := range a.copies {
		d, s := a.find(c.dst), a.find(c.src)
		if d == s {
			continue
		}
		if a.interfere(d, s) || a.interfere(s, d) {
			kept = append(kept, c)
			continue
		}
		a.join(d, s)
	}
	a.copies = kept
}

// find returns the register that v has become one with.
func (a *alloc) find(v int32) int32 {
	for a.parent[v] != v {
		a.parent[v] = a.parent[a.parent[v]]
		v = a.parent[v]
	}
	return v
}

// interfere reports whether d is written where r is live.
func (a *alloc) interfere(d, r int32) bool {
	g := a.rangeHead[r]
	for u := a.useHead[d]; u >= 0; u = a.events[u].next {
		e := &a.events[u]
		if e.flags&(useWrite|useUndef) != useWrite {
			continue
		}
		for g >= 0 && a.links[g].to <= e.pos {
			g = a.links[g].next
		}
		if g < 0 {
			return false
		}
		if a.links[g].from > e.pos {
			continue
		}
		if e.peer >= 0 {
			if p := a.find(e.peer); p == r || p == d {
				continue
			}
		}
		return true
	}
	return false
}

// join makes one register of two.
func (a *alloc) join(d, s int32) {
	a.parent[s] = d
	a.useHead[d] = a.mergeEvents(a.useHead[d], a.useHead[s])
	a.rangeHead[d] = a.mergeRanges(a.rangeHead[d], a.rangeHead[s])
}

func (a *alloc) mergeEvents(x, y int32) int32 {
	head := int32(-1)
	tail := &head
	for x >= 0 && y >= 0 {
		if a.events[x].pos <= a.events[y].pos {
			*tail, tail, x = x, &a.events[x].next, a.events[x].next
		} else {
			*tail, tail, y = y, &a.events[y].next, a.events[y].next
		}
	}
	*tail = max(x, y)
	return head
}

// mergeRanges joins two lists to one without overlaps.
func (a *alloc) mergeRanges(x, y int32) int32 {
	head, last := int32(-1), int32(-1)
	for x >= 0 || y >= 0 {
		var n int32
		if y < 0 || x >= 0 && a.links[x].from <= a.links[y].from {
			n, x = x, a.links[x].next
		} else {
			n, y = y, a.links[y].next
		}
		switch {
		case last < 0:
			head, last = n, n
		case a.links[n].from <= a.links[last].to:
			a.links[last].to = max(a.links[last].to, a.links[n].to)
		default:
			a.links[last].next = n
			last = n
		}
	}
	if last >= 0 {
		a.links[last].next = -1
	}
	return head
}
