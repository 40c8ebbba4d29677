package kernels

import "github.com/gokiln/kiln/dsl"

// Elem is what belongs to one element of a parameter: its value, its gradient, and up to three
// states of the optimiser.
type Elem[C dsl.Real] struct{ X, G, S0, S1, S2 C }

// Rule is the numbers of an update that all elements share. The first four are those of a step,
// which kernels read from memory: see [Rule.atStep].
type Rule[C dsl.Real] struct {
	LR    C // the learning rate; of the Adam family divided by the bias correction of the mean
	Decay C // the weight decay; where it is decoupled, the factor 1 - learning rate · decay
	Root  C // the square root of the bias correction of the second moment
	First C // 1 in the first step, where momentum begins as the gradient, and else 0

	Beta1, Weight1 C // the decay rate of the first moment, and 1 less that
	Beta2, Weight2 C // those of the second moment
	Eps            C

	Decoupled dsl.ConstBool // the decay scales the value, else it is added to the gradient
	Momentum  dsl.ConstBool
	Nesterov  dsl.ConstBool // the step looks ahead along the momentum
	AMSGrad   dsl.ConstBool // divides by the largest second moment so far
	Centered  dsl.ConstBool // the mean's square is subtracted from the second moment
}

// The columns of the numbers of steps, which have a row for each parameter.
const (
	ToLR = iota
	ToDecay
	ToRoot
	ToFirst
	Columns
)

// atStep is the rule with the numbers of the step in a row of steps.
func (r Rule[C]) atStep(steps []C, row int) Rule[C] {
	r.LR, r.Decay = steps[row*Columns+ToLR], steps[row*Columns+ToDecay]
	r.Root, r.First = steps[row*Columns+ToRoot], steps[row*Columns+ToFirst]
	return r
}

// Span says how a launch goes over the elements of contiguous operands.
type Span struct {
	Vec    dsl.ConstInt  // 0, or elements are taken several at once, so many neighbours (1, 4)
	States dsl.ConstInt  // which states there are, a bit for each
	Master dsl.ConstBool // values are computed from and stored to master copies as well
	N      int
}

// Many is how many elements a thread loads before it stores one.
const Many = 4

// Stores of an update, in the order in which they are made: neighbours of one operand are stored
// together, as one vector where there is such a store.
const (
	toValue = iota
	toMaster
	toS0
	toS1
	toS2
	stores
)

// each has the elements of the thread loaded, computed and stored: one, or [Many] at once where there
// are as many, so that as many loads are in flight.
// The elements are those of a parameter, whose first block is the one of index from.
func each[L any](t dsl.Thread, s *Span, from int, load func(i int) L, f func(L) L, store func(to, i int, v L)) {
	block := t.BlockX() - from
	if s.Vec == 0 {
		if i := block*t.BlockDimX() + t.ThreadX(); i < s.N {
			v := f(load(i))
			for to := range stores {
				store(to, i, v)
			}
		}
		return
	}
	part := t.BlockDimX() * Many
	first := block * part
	if first+part > s.N {
		for i := first + t.ThreadX(); i < min(first+part, s.N); i += t.BlockDimX() {
			v := f(load(i))
			for to := range stores {
				store(to, i, v)
			}
		}
		return
	}
	vec := int(s.Vec)
	first += t.ThreadX() * vec
	turn := t.BlockDimX() * vec
	var in [Many]L
	for k := range Many {
		in[k] = load(first + k/vec*turn + k%vec)
	}
	for k := range Many {
		in[k] = f(in[k])
	}
	for to := range stores {
		for k := range Many {
			store(to, first+k/vec*turn+k%vec, in[k])
		}
	}
}

// Update changes a parameter x and its states by f. The gradient is multiplied by scale[0] first,
// and the numbers of the step are in a row of steps. Master copies are in w, which is not used
// otherwise; nor are states that the update has not.
//
//kiln:kernel
func Update[T, O dsl.Number, C dsl.Real](t dsl.Thread, x []T, w []C, g []O, s0, s1, s2 []C, scale, steps []C, row int, r Rule[C], s Span, f func(e Elem[C], r Rule[C]) Elem[C]) {
	update(t, 0, 0, x, w, g, s0, s1, s2, scale[0], r.atStep(steps, row), &s, f)
}

// update is the update of a parameter whose first block is from, and whose master copy and states
// begin at element at.
func update[T, O dsl.Number, C dsl.Real](t dsl.Thread, from, at int, x []T, w []C, g []O, s0, s1, s2 []C, by C, r Rule[C], s *Span, f func(e Elem[C], r Rule[C]) Elem[C]) {
	each(t, s, from,
		func(i int) Elem[C] {
			e := Elem[C]{G: dsl.Convert[C](g[i]) * by}
			if s.Master {
				e.X = w[at+i]
			} else {
				e.X = dsl.Convert[C](x[i])
			}
			if s.States&1 != 0 {
				e.S0 = s0[at+i]
			}
			if s.States&2 != 0 {
				e.S1 = s1[at+i]
			}
			if s.States&4 != 0 {
				e.S2 = s2[at+i]
			}
			return e
		},
		func(e Elem[C]) Elem[C] { return f(e, r) },
		func(to, i int, e Elem[C]) {
			switch {
			case to == toValue:
				x[i] = dsl.Convert[T](e.X)
			case to == toMaster && bool(s.Master):
				w[at+i] = e.X
			case to == toS0 && s.States&1 != 0:
				s0[at+i] = e.S0
			case to == toS1 && s.States&2 != 0:
				s1[at+i] = e.S1
			case to == toS2 && s.States&4 != 0:
				s2[at+i] = e.S2
			}
		})
}
