package kernels

import "github.com/gokiln/kiln/dsl"

// Paths says what CTC is of: logarithms of probabilities of (Times, Batch, Classes), and targets of
// (Batch, Labels). The states of a target are its labels with blanks around and between them.
type Paths struct{ Times, Batch, Classes, Labels, Blank int }

// states is how many there are at most.
func (p *Paths) states() int { return 2*p.Labels + 1 }

// at is where the logarithm of a class is at a time.
func (p *Paths) at(time, item, class int) int {
	return (time*p.Batch+item)*p.Classes + class
}

// of is where a state is at a time in tables of (Batch, 1 + Times·states): the first is the loss.
func (p *Paths) of(time, item, state int) int {
	return item*p.row() + 1 + time*p.states() + state
}

// row is how many numbers a table has for an item.
func (p *Paths) row() int { return 1 + p.Times*p.states() }

// class is that of a state. Targets that are no class have been reported, or will be.
func (p *Paths) class(targets []int64, item, state int) int {
	if state%2 == 0 {
		return p.Blank
	}
	return max(0, min(int(targets[item*p.Labels+state/2]), p.Classes-1))
}

// check ends a thread with an error that has a target which is no class, or is the blank. The
// threads of an item share its targets, of which there are so many.
func (p *Paths) check(t dsl.Thread, targets []int64, item, labels int) {
	for i := t.ThreadX(); i < labels; i += t.BlockDimX() {
		id := int(targets[item*p.Labels+i])
		dsl.Assert(t, id >= 0 && id < p.Classes && id != p.Blank, "ctc: target %d at position %d is out of range", id, item*p.Labels+i)
	}
}

// skips reports whether a state may come two behind another, which leaves out a blank: that of
// another label.
func (p *Paths) skips(targets []int64, item, state int) bool {
	return state%2 == 1 && state > 1 && p.class(targets, item, state) != p.class(targets, item, state-2)
}

// logAdd is log(exp(a) + exp(b)).
func logAdd[C dsl.Real](a, b C) C {
	if a < b {
		a, b = b, a
	}
	if b == negInf[C]() {
		return a
	}
	return a + dsl.Log1p(dsl.Exp(b-a))
}

// CTCForward stores the forward variables of each item, and first the loss (Graves et al.,
// "Connectionist temporal classification", 2006, section 4.1, in logarithms). A block has an item,
// and its threads the states.
//
//kiln:kernel
func CTCForward[C dsl.Real](t dsl.Thread, out, logp []C, targets, times, labels []int64, p Paths) {
	item := t.BlockX()
	end, states := int(times[item]), 2*int(labels[item])+1
	for time := range p.Times {
		for s := t.ThreadX(); s < p.states(); s += t.BlockDimX() {
			v := negInf[C]()
			if time < end && s < states {
				switch {
				case time > 0:
					v = arrive(out, targets, &p, time-1, item, s)
				case s < 2:
					v = 0
				}
				v += logp[p.at(time, item, p.class(targets, item, s))]
			}
			out[p.of(time, item, s)] = v
		}
		t.Sync()
	}
	if t.ThreadX() == 0 {
		out[item*p.row()] = -total(out, &p, item, end, states)
	}
	p.check(t, targets, item, states/2) // behind the last barrier
}

// arrive is the sum over the states at the time before that one can come from.
func arrive[C dsl.Real](alpha []C, targets []int64, p *Paths, time, item, s int) C {
	v := alpha[p.of(time, item, s)]
	if s > 0 {
		v = logAdd(v, alpha[p.of(time, item, s-1)])
	}
	if p.skips(targets, item, s) {
		v = logAdd(v, alpha[p.of(time, item, s-2)])
	}
	return v
}

// total is the logarithm of the probability of all paths.
func total[C dsl.Real](alpha []C, p *Paths, item, end, states int) C {
	if end == 0 {
		if states == 1 {
			return 0
		}
		return negInf[C]()
	}
	v := alpha[p.of(end-1, item, states-1)]
	if states > 1 {
		v = logAdd(v, alpha[p.of(end-1, item, states-2)])
	}
	return v
}

// CTCBackward stores the backward variables, which have the probability of their own time, too.
//
//kiln:kernel
func CTCBackward[C dsl.Real](t dsl.Thread, out, logp []C, targets, times, labels []int64, p Paths) {
	item := t.BlockX()
	end, states := int(times[item]), 2*int(labels[item])+1
	for back := range p.Times {
		time := p.Times - 1 - back
		for s := t.ThreadX(); s < p.states(); s += t.BlockDimX() {
			v := negInf[C]()
			if time < end && s < states {
				switch {
				case time < end-1:
					v = leave(out, targets, &p, time+1, item, s, states)
				case s >= states-2:
					v = 0
				}
				v += logp[p.at(time, item, p.class(targets, item, s))]
			}
			out[p.of(time, item, s)] = v
		}
		t.Sync()
	}
}

// leave is the sum over the states at the time behind that one can go to.
func leave[C dsl.Real](beta []C, targets []int64, p *Paths, time, item, s, states int) C {
	v := beta[p.of(time, item, s)]
	if s+1 < states {
		v = logAdd(v, beta[p.of(time, item, s+1)])
	}
	if s+2 < states && p.skips(targets, item, s+2) {
		v = logAdd(v, beta[p.of(time, item, s+2)])
	}
	return v
}

// CTCSlopes stores the gradient of the logarithms of probabilities for a gradient g of the losses:
// minus the probability of being in a state of the class. A thread has an item at a time, and adds
// its states up in their order.
//
//kiln:kernel
func CTCSlopes[C dsl.Real](t dsl.Thread, out, logp, alpha, beta, g []C, targets, times, labels []int64, p Paths) {
	i := t.Global()
	if i >= p.Times*p.Batch {
		return
	}
	time, item := i/p.Batch, i%p.Batch
	for c := range p.Classes {
		out[p.at(time, item, c)] = 0
	}
	scale := g[item*p.row()]
	if scale == 0 || time >= int(times[item]) {
		return
	}
	all := -alpha[item*p.row()]
	for s := range 2*int(labels[item]) + 1 {
		a, b := alpha[p.of(time, item, s)], beta[p.of(time, item, s)]
		if (a == negInf[C]() || b == negInf[C]()) && all != negInf[C]() {
			continue
		}
		at := p.at(time, item, p.class(targets, item, s))
		out[at] -= scale * dsl.Exp(a+b-logp[at]-all)
	}
}
