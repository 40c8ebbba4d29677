package regalloc

// splitAtBarriers cuts the intervals at the barriers that they live across, and
// queues all parts.
func (a *alloc) splitAtBarriers() {
	n := int32(len(a.ivs))
	for i := range n {
		j := i
		fresh := false // whether j starts behind a barrier
		for _, k := range a.barriers {
			if !a.covers(j, 2*k) {
				continue
			}
			part := a.split(j, 2*k)
			if a.endAtBarrier(j, 2*k) {
				a.place(j, fresh)
			}
			j, fresh = part, true
		}
		a.place(j, fresh)
	}
}

// place queues an interval for allocation, one that begins behind a barrier from where it is wanted
// in a register again.
func (a *alloc) place(i int32, fresh bool) {
	if fresh {
		a.toFrame(i, a.ivs[i].from+2)
		return
	}
	a.push(i)
}

// endAtBarrier puts the end of interval i, which is cut off at a barrier, into the
// frame from before a loop around the barrier that does not use it. It reports
// whether something is left of i.
func (a *alloc) endAtBarrier(i, pos int32) bool {
	q := a.storePos(i, pos)
	if q >= a.ivs[i].to {
		return true
	}
	a.vals[a.ivs[i].value].stored = true
	left := q > a.ivs[i].from
	if left {
		i = a.split(i, q)
	}
	a.ivs[i].reg = inFrame
	return left
}
