package regalloc

import "math"

const (
	noReg   = int16(-2)
	inFrame = int16(-1)
	never   = int32(math.MaxInt32)
)

// split cuts interval i at a position inside it and returns the second part.
func (a *alloc) split(i, pos int32) int32 {
	j := int32(len(a.ivs))
	a.ivs = append(a.ivs, a.ivs[i])
	x, y := &a.ivs[i], &a.ivs[j]
	k := x.rlo
	for a.rng[k].to <= pos {
		k++
	}
	y.rlo, y.cur = k, k
	y.from = max(pos, a.rng[k].from)
	x.rhi = k
	if a.rng[k].from < pos {
		x.rhi++
	}
	x.to = min(pos, a.rng[x.rhi-1].to)
	u := x.ulo
	for u < x.uhi && a.uses[u].pos < pos {
		u++
	}
	x.uhi, y.ulo = u, u
	x.next = j
	y.reg = noReg
	return j
}

// covers reports whether pos is in interval i.
func (a *alloc) covers(i, pos int32) bool {
	x := &a.ivs[i]
	if pos < x.from || pos >= x.to {
		return false
	}
	for k := x.rlo; k < x.rhi && a.rng[k].from <= pos; k++ {
		if pos < a.rng[k].to {
			return true
		}
	}
	return false
}

// meet returns the first position that intervals i and j share, or never. All that
// is before position now is over for i.
func (a *alloc) meet(i, j, now int32) int32 {
	x, y := &a.ivs[i], &a.ivs[j]
	if x.from >= y.to || y.from >= x.to {
		return never
	}
	for x.cur < x.rhi && a.rng[x.cur].to <= now {
		x.cur++
	}
	for k, l := x.cur, y.rlo; k < x.rhi && l < y.rhi; {
		g, h := &a.rng[k], &a.rng[l]
		from := max(g.from, h.from, x.from, y.from)
		if from < min(g.to, h.to, x.to, y.to) {
			return from
		}
		if g.to < h.to {
			k++
		} else {
			l++
		}
	}
	return never
}
