package regalloc

// foldCost is what reading an operand from the frame costs, compared with a load.
const foldCost = 0.5

// firstUse returns the first use of interval i at a position or later.
func (a *alloc) firstUse(i, pos int32) int32 {
	lo, hi := a.ivs[i].ulo, a.ivs[i].uhi
	for lo < hi {
		if m := (lo + hi) / 2; a.uses[m].pos < pos {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

// rangeAt returns the start of the range of interval i that has a position.
func (a *alloc) rangeAt(i, pos int32) int32 {
	x := &a.ivs[i]
	k := x.rlo
	for k+1 < x.rhi && a.rng[k].to <= pos {
		k++
	}
	return max(a.rng[k].from, x.from)
}

// cost returns what it costs to have interval i in the frame from a position on
// until its next use, and where that is. It may be in a register again from after
// on.
func (a *alloc) cost(i, now, after int32) (float32, int32) {
	x := &a.ivs[i]
	sum := float32(0)
	u := a.firstUse(i, now)
	for ; u < x.uhi && a.uses[u].pos < after; u++ {
		if a.uses[u].flags&useMemory == 0 {
			return infinite, 0
		}
		sum += foldCost * a.freqAt(a.uses[u].pos)
	}
	v := &a.vals[x.value]
	if v.remat < 0 && !(v.stored && v.defs == 1) {
		sum += min(a.freqAt(a.storePos(i, now)), v.defFreq)
	}
	w := a.wanted(i, after)
	next := x.to
	if w >= 0 {
		sum += a.freqAt(a.reloadPos(i, w, after))
		next = a.uses[w].pos
	}
	for ; u < x.uhi && u != w; u++ {
		sum += foldCost * a.freqAt(a.uses[u].pos)
	}
	if l := a.carrying(x, now, next); l >= 0 {
		// It is loaded again each time around.
		sum += a.loops[l].freq
		next = a.loops[l].end + a.nextAround(x, l)
	}
	return sum, next
}

// nextAround returns how far behind the start of a loop its first use of x is.
func (a *alloc) nextAround(x *ival, l int32) int32 {
	v := &a.vals[x.value]
	start := a.loops[l].start
	lo, hi := v.ulo, v.uhi
	for lo < hi {
		if m := (lo + hi) / 2; a.uses[m].pos < start {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return a.uses[lo].pos - start
}

// carrying returns the loop around a position that used x before the position and
// does so again only after its next start, or -1.
func (a *alloc) carrying(x *ival, now, next int32) int32 {
	v := &a.vals[x.value]
	for l := a.blockAt(now).loop; l >= 0; l = a.loops[l].parent {
		p := &a.loops[l]
		if p.end > next {
			return -1
		}
		if a.rng[v.rlo].from < p.start && a.usedBetween(v, p.start, now) {
			return l
		}
	}
	return -1
}

func (a *alloc) usedBetween(v *value, from, to int32) bool {
	lo, hi := v.ulo, v.uhi
	for lo < hi {
		if m := (lo + hi) / 2; a.uses[m].pos < from {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo < v.uhi && a.uses[lo].pos < to
}

// wanted returns the first use of interval i, not before a position, for which it
// should be in a register, or -1. A use that can read memory is not one, unless a
// load serves others too or runs less often.
func (a *alloc) wanted(i, after int32) int32 {
	x := &a.ivs[i]
	for u := a.firstUse(i, after); u < x.uhi; u++ {
		p := a.uses[u].pos
		if a.uses[u].flags&useMemory == 0 {
			return u
		}
		if u+1 < x.uhi && a.blockOf[a.uses[u+1].pos>>1] == a.blockOf[p>>1] {
			return u
		}
		if a.freqAt(a.reloadPos(i, u, after)) < a.freqAt(p) {
			return u
		}
	}
	return -1
}

// reloadPos returns where interval i, in the frame at a position, is best loaded for
// a use: before the outermost loop around the use that begins later.
func (a *alloc) reloadPos(i, u, after int32) int32 {
	p := a.uses[u].pos
	from := a.rangeAt(i, p)
	if p == from || p&1 != 0 {
		return p
	}
	low := max((from+1)&^1, after)
	pos := p
	for l := a.blockAt(p).loop; l >= 0 && a.loops[l].start >= low; l = a.loops[l].parent {
		pos = a.loops[l].start
	}
	return max(pos, low)
}

// storePos returns where interval i, in a register until a position, is best put
// into the frame: before the outermost loop around the position that begins after
// the last use, or where i begins if it has no use.
func (a *alloc) storePos(i, now int32) int32 {
	x := &a.ivs[i]
	low := x.from
	u := a.firstUse(i, now)
	if u > x.ulo {
		low = a.uses[u-1].pos&^1 + 2
	}
	from := a.rangeAt(i, now)
	low = max(low, (from+1)&^1)
	if u == x.ulo && low <= x.from && a.freqAt(x.from) <= a.freqAt(now) {
		return x.from
	}
	pos := now
	for l := a.blockAt(now).loop; l >= 0 && a.loops[l].start >= low; l = a.loops[l].parent {
		pos = a.loops[l].start
	}
	return pos
}
