package pass

import "github.com/gokiln/kiln/compiler/ir"

// replacer maps values to the values that replace them, by ID.
type replacer struct {
	f   *ir.Func
	to  []*ir.Value
	any bool
}

// newReplacer returns one without replacements; its table is made with the first.
func newReplacer(f *ir.Func) *replacer { return &replacer{f: f} }

func (r *replacer) set(old, by *ir.Value) {
	if old.ID >= len(r.to) {
		r.to = append(r.to, make([]*ir.Value, r.f.NumValues()-len(r.to))...)
	}
	r.to[old.ID] = by
	r.any = true
}

// get follows replacements to their end and shortens the path on the way.
func (r *replacer) get(v *ir.Value) *ir.Value {
	if v.ID >= len(r.to) || r.to[v.ID] == nil {
		return v
	}
	end := r.to[v.ID]
	for end.ID < len(r.to) && r.to[end.ID] != nil {
		end = r.to[end.ID]
	}
	for v.ID < len(r.to) && r.to[v.ID] != nil {
		v, r.to[v.ID] = r.to[v.ID], end
	}
	return end
}

func (r *replacer) list(vs []*ir.Value) {
	if !r.any {
		return
	}
	for i, v := range vs {
		vs[i] = r.get(v)
	}
}

func (r *replacer) term(t *ir.Term) {
	r.list(t.Args)
	for _, e := range t.Succs {
		r.list(e.Args)
	}
}

// apply rewrites every operand of f.
func (r *replacer) apply(f *ir.Func) {
	if !r.any {
		return
	}
	for _, b := range f.Blocks {
		for _, v := range b.Instrs {
			r.list(v.Args)
		}
		r.term(&b.Term)
	}
}

// useCounts returns the number of operands that name each value, by ID.
func useCounts(f *ir.Func) []int32 {
	n := make([]int32, f.NumValues())
	count := func(vs []*ir.Value) {
		for _, v := range vs {
			n[v.ID]++
		}
	}
	for _, b := range f.Blocks {
		for _, v := range b.Instrs {
			count(v.Args)
		}
		count(b.Term.Args)
		for _, e := range b.Term.Succs {
			count(e.Args)
		}
	}
	return n
}
