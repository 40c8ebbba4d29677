package regalloc

// toFrame puts interval i into the frame until it is wanted in a register.
func (a *alloc) toFrame(i, after int32) {
	a.vals[a.ivs[i].value].stored = true
	a.reload(i, after)
}

// reload queues the part of interval i that is wanted in a register again, not
// before a position. What is before that part is in the frame.
func (a *alloc) reload(i, after int32) {
	u := a.wanted(i, after)
	if u < 0 {
		a.ivs[i].reg = inFrame
		return
	}
	pos := a.reloadPos(i, u, after)
	if pos <= a.ivs[i].from {
		a.push(i)
		return
	}
	j := a.split(i, pos)
	a.ivs[i].reg = inFrame
	a.push(j)
}
