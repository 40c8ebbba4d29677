package ptx

import "github.com/gokiln/kiln/compiler/ir"

// forwarded finds block parameters that only ever receive one value, which then
// stands for them without a move. A value that reaches every edge dominates the
// block, and its register still holds it at every use of the parameter: it is
// written anew only on an edge to its own block, from which every way to a use
// leads through the parameter's block again.
func forwarded(order []*ir.Block) map[*ir.Value]*ir.Value {
	same := map[*ir.Value]*ir.Value{}
	resolve := func(v *ir.Value) *ir.Value {
		for same[v] != nil {
			v = same[v]
		}
		return v
	}
	for changed := true; changed; {
		changed = false
		received := map[*ir.Value]*ir.Value{}
		mixed := map[*ir.Value]bool{}
		for _, b := range order {
			for _, edge := range b.Term.Succs {
				for i, p := range edge.To.Params {
					x := resolve(edge.Args[i])
					switch {
					case x == p:
					case received[p] == nil:
						received[p] = x
					case received[p] != x:
						mixed[p] = true
					}
				}
			}
		}
		for _, b := range order {
			for _, p := range b.Params {
				if x := received[p]; same[p] == nil && x != nil && !mixed[p] && resolve(x) != p {
					same[p] = x
					changed = true
				}
			}
		}
	}
	return same
}

// move is one of the moves of an edge.
type move struct {
	to     reg
	from   frag
	opcode string
}

// moves returns what an edge must move. It may write instructions that bring a
// value into a register; they stand before all the moves.
func (e *emitter) moves(edge ir.Edge) []move {
	var out []move
	for i, p := range edge.To.Params {
		if e.params[p] != nil {
			continue
		}
		to := e.vals[p.ID].reg
		m := move{to: to, opcode: "mov." + classNames[e.class[to]].bits}
		if bits, ok := e.constant(edge.Args[i]); ok {
			float := floats.Has(p.Type.Kind)
			if float {
				m.opcode = "mov." + ptxType(p.Type.Kind)
			}
			m.from = immediate(p.Type, bits, float)
		} else {
			m.from = use(e.register(edge.Args[i]))
		}
		if m.from.reg != to {
			out = append(out, m)
		}
	}
	return out
}

// moveAll writes moves so that each reads what its source held before any: one
// whose target no other still reads comes first, and a cycle is opened by saving
// a target in a new register.
func (e *emitter) moveAll(pending []move) {
	pending = append([]move(nil), pending...)
	for len(pending) > 0 {
		i := free(pending)
		if i < 0 {
			i = 0
			old := pending[0].to
			c := e.class[old]
			saved := e.compute(c, "mov."+classNames[c].bits, use(old))
			for j := range pending {
				if pending[j].from.reg == old {
					pending[j].from.reg = saved
				}
			}
		}
		m := pending[i]
		e.add(m.opcode, 1, use(m.to), m.from)
		pending = append(pending[:i], pending[i+1:]...)
	}
}

// free returns the index of a move whose target no other move reads, -1 if there
// is none.
func free(pending []move) int {
	for i, m := range pending {
		read := false
		for j, o := range pending {
			read = read || i != j && o.from.reg == m.to
		}
		if !read {
			return i
		}
	}
	return -1
}

func (e *emitter) terminate(t *ir.Term, next *ir.Block) error {
	switch t.Kind {
	case ir.TermReturn:
		e.add("ret", 0)
	case ir.TermJump:
		e.follow(t.Succs[0], e.moves(t.Succs[0]), next)
	default:
		e.fork(t, next)
	}
	return nil
}

// follow writes the moves of an edge and the jump, unless to is next.
func (e *emitter) follow(edge ir.Edge, moves []move, next *ir.Block) {
	e.moveAll(moves)
	if edge.To != next {
		e.jump(e.label[edge.To.ID])
	}
}

func (e *emitter) jump(label string) {
	in := e.add("bra", 0, text(label))
	in.target = label
}

// branch jumps to label if p is true, or if it is false when negated.
func (e *emitter) branch(p frag, negated bool, label string) {
	at, bra := "@", " bra "
	if negated {
		at = "@!"
	}
	if e.together {
		bra = " bra.uni "
	}
	e.insts = append(e.insts, inst{frags: []frag{text(at), p, text(bra + label)}, effect: true, target: label, pos: e.pos})
}

// fork writes a conditional branch. An edge with moves gets a place of its own
// between the branch and its target.
func (e *emitter) fork(t *ir.Term, next *ir.Block) {
	yes, no := t.Succs[0], t.Succs[1]
	if c, ok := e.constant(t.Args[0]); ok {
		taken := no
		if c != 0 {
			taken = yes
		}
		e.follow(taken, e.moves(taken), next)
		return
	}
	cond := use(e.register(t.Args[0]))
	movesYes, movesNo := e.moves(yes), e.moves(no)
	switch {
	case len(movesYes) == 0 && (len(movesNo) > 0 || yes.To != next):
		e.branch(cond, false, e.label[yes.To.ID])
		e.follow(no, movesNo, next)
	case len(movesNo) == 0:
		e.branch(cond, true, e.label[no.To.ID])
		e.follow(yes, movesYes, next)
	default:
		other := e.newLabel()
		e.branch(cond, true, other)
		e.follow(yes, movesYes, nil)
		e.place(other)
		e.follow(no, movesNo, next)
	}
}
