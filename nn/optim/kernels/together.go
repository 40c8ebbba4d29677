package kernels

import "github.com/gokiln/kiln/dsl"

// Together is how many parameters a launch of [UpdateTogether] has at most.
const Together = 16

// Slices is the memory of [Together] tensors, empty behind the last one.
type Slices[E dsl.Number] struct {
	S0, S1, S2, S3, S4, S5, S6, S7, S8, S9, S10, S11, S12, S13, S14, S15 []E
}

// at is slice i, which is known when the kernel is compiled.
func (s *Slices[E]) at(i int) []E {
	switch i {
	case 0:
		return s.S0
	case 1:
		return s.S1
	case 2:
		return s.S2
	case 3:
		return s.S3
	case 4:
		return s.S4
	case 5:
		return s.S5
	case 6:
		return s.S6
	case 7:
		return s.S7
	case 8:
		return s.S8
	case 9:
		return s.S9
	case 10:
		return s.S10
	case 11:
		return s.S11
	case 12:
		return s.S12
	case 13:
		return s.S13
	case 14:
		return s.S14
	}
	return s.S15
}

// Parts says what each parameter of a launch has.
type Parts struct {
	End [Together]int32 // the block behind its last one
	N   [Together]int32 // its elements
	At  [Together]int32 // where its master copy and states begin
	Row [Together]int32 // where the numbers of its step are
}

// UpdateTogether is [Update] of several parameters: blocks find theirs by the ends of those before.
// Master copies and states of all of them are in one slice each, w and s0 to s2.
//
//kiln:kernel
func UpdateTogether[T, O dsl.Number, C dsl.Real](t dsl.Thread, xs Slices[T], gs Slices[O], w, s0, s1, s2 []C, scale, steps []C, r Rule[C], p Parts, s Span, f func(e Elem[C], r Rule[C]) Elem[C]) {
	block := int32(t.BlockX())
	x, g, from := xs.S0, gs.S0, int32(0)
	n, at, row := p.N[0], p.At[0], p.Row[0]
	for k := 1; k < Together; k++ {
		if block >= p.End[k-1] {
			x, g, from = xs.at(k), gs.at(k), p.End[k-1]
			n, at, row = p.N[k], p.At[k], p.Row[k]
		}
	}
	s.N = int(n)
	update(t, int(from), int(at), x, w, g, s0, s1, s2, scale[0], r.atStep(steps, int(row)), &s, f)
}

// Runs is how many runs of rows a launch of [SetSteps] writes at most.
const Runs = 8

// StepRuns is the numbers of a step for runs of rows, each of which ends where the next begins.
type StepRuns[C dsl.Real] struct {
	End                    [Runs]int32
	LR, Decay, Root, First [Runs]C
}

// SetSteps writes the numbers of a step, in rows from from on to those before n, each by a thread.
// They come with the launch, so that the host waits for nothing.
//
//kiln:kernel
func SetSteps[C dsl.Real](t dsl.Thread, steps []C, from, n int, r StepRuns[C]) {
	row := from + t.Global()
	if row >= n {
		return
	}
	lr, decay, root, first := r.LR[0], r.Decay[0], r.Root[0], r.First[0]
	for k := 1; k < Runs; k++ {
		if row >= int(r.End[k-1]) {
			lr, decay, root, first = r.LR[k], r.Decay[k], r.Root[k], r.First[k]
		}
	}
	steps[row*Columns+ToLR], steps[row*Columns+ToDecay] = lr, decay
	steps[row*Columns+ToRoot], steps[row*Columns+ToFirst] = root, first
}
