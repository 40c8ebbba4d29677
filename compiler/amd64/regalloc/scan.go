package regalloc

import "fmt"

// scan gives registers to the intervals of all classes that are queued, by start.
func (a *alloc) scan() error {
	for c := range a.active {
		for r := range a.active[c] {
			a.active[c][r] = a.active[c][r][:0]
			a.cover[c][r] = -1
		}
	}
	a.addFixed()
	for len(a.heap) > 0 {
		i := a.pop()
		a.class = a.classOf(a.ivs[i].value)
		a.expire(a.ivs[i].from)
		if a.tryFree(i) {
			continue
		}
		if err := a.spillOrSplit(i); err != nil {
			return err
		}
	}
	return nil
}

// addFixed blocks machine registers where the code names them.
func (a *alloc) addFixed() {
	for c := range a.fixed {
		for n, head := range a.fixed[c] {
			if head < 0 {
				continue
			}
			lo := int32(len(a.rng))
			for g := head; g >= 0; g = a.links[g].next {
				a.rng = append(a.rng, span{a.links[g].from, a.links[g].to})
			}
			hi := int32(len(a.rng))
			r := a.physOf[c][n]
			a.ivs = append(a.ivs, ival{value: -1, from: a.rng[lo].from, to: a.rng[hi-1].to, rlo: lo, rhi: hi, cur: lo, next: -1, reg: int16(r)})
			a.active[c][r] = append(a.active[c][r], int32(len(a.ivs)-1))
		}
	}
}

func (a *alloc) regs() int { return len(a.cfg.Regs[a.class]) }

// expire forgets the intervals that are over at a position.
func (a *alloc) expire(now int32) {
	for r := range a.regs() {
		list := a.active[a.class][r]
		n := 0
		for _, i := range list {
			if a.ivs[i].to > now {
				list[n] = i
				n++
			}
		}
		a.active[a.class][r] = list[:n]
	}
}

// tryFree gives interval i a register that is free for all of it: one that saves a move, or the
// first. If there is none, a.free has from where on each register is taken.
func (a *alloc) tryFree(i int32) bool {
	best := a.hint(i)
	for r := 0; best == noReg && r < a.regs(); r++ {
		if a.free[r] = a.takenFrom(r, i); a.free[r] == never {
			best = int16(r)
		}
	}
	if best == noReg {
		return false
	}
	a.assign(i, best)
	a.cover[a.class][best] = i // which begins at x.from
	return true
}

// takenFrom returns the first position of interval i, which is next in the scan, at which register r
// is another's, or never.
func (a *alloc) takenFrom(r int, i int32) int32 {
	now := a.ivs[i].from
	// Most registers are taken, and by the interval that had it the last time.
	if j := a.cover[a.class][r]; j >= 0 && int(a.ivs[j].reg) == r && a.meet(j, i, now) == now {
		return now
	}
	free := never
	for _, j := range a.active[a.class][r] {
		if free = min(free, a.meet(j, i, now)); free == now {
			a.cover[a.class][r] = j
			break
		}
	}
	return free
}

// hint returns a register that would save a move and is free for all of interval i.
func (a *alloc) hint(i int32) int16 {
	v := &a.vals[a.ivs[i].value]
	hints := [...]int16{v.last, v.hint, noReg}
	if v.partner >= 0 {
		hints[2] = a.vals[v.partner].last
	}
	for _, h := range hints {
		if h >= 0 && a.takenFrom(int(h), i) == never {
			return h
		}
	}
	return noReg
}

func (a *alloc) assign(i int32, r int16) {
	x := &a.ivs[i]
	x.reg = r
	a.vals[x.value].last = r
	a.active[a.class][r] = append(a.active[a.class][r], i)
}

// spillOrSplit gives interval i a register for a part of its life, or that of others
// that cost less to keep in the frame, or puts i there.
func (a *alloc) spillOrSplit(i int32) error {
	now := a.ivs[i].from
	after := now&^1 + 2 // behind the instruction
	own, ownNext := infinite, never
	if a.ivs[i].to > after || !a.needed(i, after) {
		own, ownNext = a.cost(i, after, after)
	}
	victim, cost, next := a.cheapest(i, now, after)
	if r, s, freq := a.freeUntil(i, after); r >= 0 && freq <= cost && freq <= own {
		a.push(a.split(i, s))
		a.assign(i, r)
		return nil
	}
	if cost < infinite && density(cost, now, next) < density(own, now, ownNext) {
		a.evict(i, victim, now, after)
		return nil
	}
	if !a.needed(i, after) {
		a.toFrame(i, after)
		return nil
	}
	if a.ivs[i].to > after {
		a.toFrame(a.split(i, after), after)
	}
	if r := a.freeNow(i); r >= 0 {
		a.assign(i, r)
		return nil
	}
	victim, cost, _ = a.cheapest(i, now, after)
	if cost == infinite {
		b := a.blockAt(now)
		return fmt.Errorf("regalloc: %w: instruction %d of block %d, class %d", ErrPressure, b.lo+now>>1-b.entry-1, b.block, a.class)
	}
	a.evict(i, victim, now, after)
	return nil
}

// needed reports whether interval i begins at an instruction that must have it in a
// register.
func (a *alloc) needed(i, after int32) bool {
	x := &a.ivs[i]
	for u := x.ulo; u < x.uhi && a.uses[u].pos < after; u++ {
		if a.uses[u].flags&useMemory == 0 {
			return true
		}
	}
	return false
}

// freeNow returns a register that is free for the short interval i.
func (a *alloc) freeNow(i int32) int16 {
	best := noReg
	for r := range a.regs() {
		if a.free[r] >= a.ivs[i].to && (best < 0 || a.free[r] < a.free[best]) {
			best = int16(r)
		}
	}
	return best
}

// freeUntil returns the register that is free longest from the start of interval i
// on, with the position where i is best split and how often that point runs.
func (a *alloc) freeUntil(i, after int32) (r int16, pos int32, freq float32) {
	r = noReg
	x := &a.ivs[i]
	for k := range a.regs() {
		if a.free[k] > after && (r < 0 || a.free[k] > a.free[r]) {
			r = int16(k)
		}
	}
	if r < 0 {
		return noReg, 0, 0
	}
	pos = a.free[r] &^ 1
	for l := a.blockAt(pos).loop; l >= 0 && a.loops[l].start > after; l = a.loops[l].parent {
		pos = min(pos, a.loops[l].start)
	}
	if pos <= after || pos <= x.from || pos >= x.to || x.ulo == x.uhi || a.uses[x.ulo].pos >= pos {
		return noReg, 0, 0
	}
	return r, pos, a.freqAt(pos)
}

// cheapest returns the register whose intervals cost least to put into the frame
// for interval i, with that cost and their next use.
func (a *alloc) cheapest(i, now, after int32) (best int16, least float32, next int32) {
	best, least = noReg, infinite
	most := infinite
	for r := range a.regs() {
		sum, near := float32(0), never
		for _, j := range a.active[a.class][r] {
			at := a.meet(j, i, now)
			if at == never {
				continue
			}
			c, n := a.conflict(j, at, now, after)
			sum += c
			near = min(near, n)
			if sum == infinite {
				break
			}
		}
		if d := density(sum, now, near); d < most {
			best, least, next, most = int16(r), sum, near, d
		}
	}
	return best, least, next
}

// density is a cost by the stretch of code for which it frees a register.
func density(cost float32, now, next int32) float32 {
	return cost / float32(max(next-now, 1))
}

// conflict returns what it costs to take the register of interval j, which is needed
// at a position, and where j is used next.
func (a *alloc) conflict(j, at, now, after int32) (float32, int32) {
	x := &a.ivs[j]
	switch {
	case x.value < 0:
		return infinite, 0
	case at == now:
		return a.cost(j, now, after)
	}
	// In a hole: it goes on in another register.
	start := a.rng[x.cur].from
	if start&1 == 0 {
		return a.freqAt(start), start
	}
	return a.carriedFreq(x, start), at
}

// carriedFreq returns how often the start of the innermost loop around a position
// runs that x is passed on to: there it wants to be in the register of before.
func (a *alloc) carriedFreq(x *ival, pos int32) float32 {
	for l := a.blockAt(pos).loop; l >= 0 && x.to >= a.loops[l].end; l = a.loops[l].parent {
		if p := &a.loops[l]; x.from <= p.start && a.rngCovers(x, p.end-1) {
			return p.freq
		}
	}
	return 0
}

func (a *alloc) rngCovers(x *ival, pos int32) bool {
	for k := x.cur; k < x.rhi && a.rng[k].from <= pos; k++ {
		if pos < a.rng[k].to {
			return true
		}
	}
	return false
}

// evict takes register r for interval i from all intervals that interfere.
func (a *alloc) evict(i int32, r int16, now, after int32) {
	list := a.active[a.class][r]
	n := 0
	for _, j := range list {
		at := a.meet(j, i, now)
		switch {
		case at == never:
			list[n] = j
			n++
		case at == now:
			a.spill(j, now, after)
		default:
			a.push(a.split(j, a.rng[a.ivs[j].cur].from))
		}
	}
	a.active[a.class][r] = list[:n]
	a.assign(i, r)
}

// spill ends interval j at a position or before; the rest begins in the frame.
func (a *alloc) spill(j, now, after int32) {
	j = a.sparse(j, now)
	q := a.storePos(j, now)
	if q > a.ivs[j].from {
		j = a.split(j, q)
	} else {
		a.ivs[j].reg = noReg
	}
	a.toFrame(j, after)
}

// sparse prepares the spill of interval j in a loop that uses it again only after its
// next start. Then it would be loaded at the end of the loop; instead it is in the
// frame from the start of the loop to its first use. It returns the part of j that
// remains to spill.
func (a *alloc) sparse(j, now int32) int32 {
	x := &a.ivs[j]
	next := x.to
	if u := a.firstUse(j, now); u < x.uhi {
		next = a.uses[u].pos
	}
	l := a.carrying(x, now, next)
	if l < 0 || x.from >= a.loops[l].start {
		return j
	}
	start := a.loops[l].start
	pos := a.reloadPos(j, a.firstUse(j, start), start+2)
	if pos <= start || pos&1 != 0 || a.rangeAt(j, pos) >= start {
		return j
	}
	r := x.reg
	a.vals[x.value].stored = true
	mid := a.split(j, start)
	rest := a.split(mid, pos)
	a.ivs[mid].reg, a.ivs[rest].reg = inFrame, r
	if u := a.ivs[rest].ulo; a.firstUse(rest, now) == u+1 && a.uses[u].flags&useMemory != 0 {
		a.ivs[rest].reg = inFrame
	}
	return rest
}
