package pass

import (
	"slices"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// sroa replaces local structs and arrays by their parts where every access has
// a constant path, then turns the scalar objects into values.
func sroa(f *ir.Func) {
	ir.RemoveUnreachable(f)
	s := newSplitter(f)
	if len(s.work) == 0 {
		return
	}
	s.run()
	promote(f, s)
}

// splitter knows who uses each pointer into local memory.
type splitter struct {
	f       *ir.Func
	users   [][]*ir.Value // by ID of the pointer
	escapes []bool        // by ID: used other than as an address
	dead    []bool        // by ID: instruction replaced
	repl    *replacer
	work    []*ir.Value // objects to look at
	scalars []*ir.Value // objects of scalar type that do not escape
	zeros   map[*ir.Value][]*ir.Value
	changed bool
}

func newSplitter(f *ir.Func) *splitter {
	n := f.NumValues()
	s := &splitter{
		f: f, users: make([][]*ir.Value, n), escapes: make([]bool, n), dead: make([]bool, n),
		repl: newReplacer(f), zeros: map[*ir.Value][]*ir.Value{},
	}
	escape := func(vs []*ir.Value) {
		for _, a := range vs {
			s.escapes[a.ID] = true
		}
	}
	for _, b := range f.Blocks {
		for _, v := range b.Instrs {
			if v.Op == ir.OpLocal {
				s.work = append(s.work, v)
			}
			for i, a := range v.Args {
				if !analysis.IsLocalPtr(a) {
					continue
				}
				s.users[a.ID] = append(s.users[a.ID], v)
				if i > 0 || !analysis.IsAccess(v.Op) {
					s.escapes[a.ID] = true
				}
			}
		}
		escape(b.Term.Args)
		for _, e := range b.Term.Succs {
			escape(e.Args)
		}
	}
	return s
}

func (s *splitter) grow(v *ir.Value) {
	for v.ID >= len(s.users) {
		s.users = append(s.users, nil)
		s.escapes = append(s.escapes, false)
		s.dead = append(s.dead, false)
	}
}

func (s *splitter) run() {
	for len(s.work) > 0 {
		o := s.work[len(s.work)-1]
		s.work = s.work[:len(s.work)-1]
		switch t := o.Type.Elem; {
		case s.escapes[o.ID]:
		case t.IsValue():
			s.scalars = append(s.scalars, o)
		case s.splits(o):
			s.split(o)
		}
	}
	if s.changed {
		s.rewrite()
	}
}

// splits reports whether every use of the aggregate o names a constant part.
func (s *splitter) splits(o *ir.Value) bool {
	for _, u := range s.users[o.ID] {
		switch u.Op {
		case ir.OpZero, ir.OpField:
		case ir.OpIndex:
			if !u.Args[1].IsConst() || !s.staysInside(u) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// staysInside reports whether the pointer p to an element reaches no neighbour.
func (s *splitter) staysInside(p *ir.Value) bool {
	return !s.escapes[p.ID] && !slices.ContainsFunc(s.users[p.ID], func(u *ir.Value) bool { return u.Op == ir.OpOffset })
}

// split gives each part of o that is named its own object. An index out of
// range, which a bounds check keeps from being used, gets an object of its own.
func (s *splitter) split(o *ir.Value) {
	parts := map[uint64]*ir.Value{}
	var order []*ir.Value
	for _, u := range s.users[o.ID] {
		if u.Op == ir.OpZero {
			continue
		}
		key := u.Imm
		if u.Op == ir.OpIndex {
			key = u.Args[1].Imm
		}
		part := parts[key]
		if part == nil {
			part = s.f.NewValue(ir.OpLocal, u.Type)
			part.Pos, part.Block = o.Pos, o.Block
			s.grow(part)
			parts[key] = part
			order = append(order, part)
		}
		s.users[part.ID] = append(s.users[part.ID], s.users[u.ID]...)
		s.escapes[part.ID] = s.escapes[part.ID] || s.escapes[u.ID]
		s.repl.set(u, part)
		s.dead[u.ID] = true
	}
	for _, u := range s.users[o.ID] {
		if u.Op == ir.OpZero {
			s.splitZero(u, order)
		}
	}
	s.dead[o.ID] = true
	s.changed = true
	s.zeros[o] = order // where the parts are created
	s.work = append(s.work, order...)
}

func (s *splitter) splitZero(zero *ir.Value, parts []*ir.Value) {
	list := make([]*ir.Value, len(parts))
	for i, p := range parts {
		z := s.f.NewValue(ir.OpZero, ir.Void, p)
		z.Pos, z.Block = zero.Pos, zero.Block
		s.grow(z)
		s.users[p.ID] = append(s.users[p.ID], z)
		list[i] = z
	}
	s.zeros[zero] = list
	s.dead[zero.ID] = true
}

// rewrite puts parts in the places of what was split.
func (s *splitter) rewrite() {
	for _, b := range s.f.Blocks {
		out := make([]*ir.Value, 0, len(b.Instrs))
		for _, v := range b.Instrs {
			out = s.place(out, v)
		}
		b.Instrs = out
	}
	s.repl.apply(s.f)
}

func (s *splitter) place(out []*ir.Value, v *ir.Value) []*ir.Value {
	if !s.dead[v.ID] {
		return append(out, v)
	}
	for _, p := range s.zeros[v] {
		out = s.place(out, p)
	}
	return out
}
