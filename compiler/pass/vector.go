package pass

import (
	"slices"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// Vector is the table of the passes for code in which a warp is a vector register, as that of
// the CPU is. They run behind [Passes], with the lanes of a vector as the size of a warp, and make
// operations that no other target has. Those that are not required are for code in which the lanes
// of a vector are threads with consecutive x.
var Vector = []Pass{
	{
		Name: "lcssa", Required: true, Run: vector(func(f *ir.Func, _ int) error { closeLoops(f); return nil }),
		Doc: "Gives every value that is used behind its loop a parameter there, so that lanes which leave one by one each keep their own. First, for all code: the copies that the others make need no parameters then.",
	},
	{
		Name: "runs", Run: vector(widenRuns),
		Doc: "Compares four bytes an iteration in loops that count equal ones. After lcssa, which shows that nothing else leaves them; before peel, which copies loops.",
	},
	{
		Name: "halves", Run: vector(joinHalves),
		Doc: "Loads two neighbouring halves of a word together. Before peel, which copies code.",
	},
	{
		Name: "peel", Run: vector(peel),
		Doc: "Copies loops, and what is behind tests of indices, for vectors all of whose lanes pass. After lcssa and runs; before all that makes copies within these copies.",
	},
	{
		Name: "rows", Run: vector(splitRows),
		Doc: "Copies what is behind the division of a number by the length of a row, for vectors in one row. After peel, in whose copies such a division has all its lanes; before peelinner, to which indices along a row only then go up from lane to lane.",
	},
	{
		Name: "peelinner", Run: vector(peelInner),
		Doc: "Copies what is behind tests within the copies, where lanes are still together, as peel does. After peel and rows, which make the copies.",
	},
	{
		Name: "clip", Run: vector(unclip),
		Doc: "Copies accesses at clamped indices, for vectors in which nothing is clamped. Last: it cuts blocks, and leaves those alone whose copies for whole vectors the others have made.",
	},
}

// VectorConstraints lists what the order of [Vector] must respect.
var VectorConstraints = []Constraint{
	{"lcssa", "runs", "a loop whose values are used behind it is not widened"},
	{"lcssa", "peel", "a loop and its copy leave with values of their own"},
	{"runs", "peel", "a loop is recognised by all of its ways in, which copies change"},
	{"halves", "peel", "in copies the parts of a word may have blocks of their own"},
	{"peel", "rows", "in its copies a division has all its lanes"},
	{"peel", "peelinner", "it looks at the copies"},
	{"rows", "peelinner", "a remainder goes up from lane to lane in its copies"},
	{"peelinner", "clip", "blocks with a copy for whole vectors are left alone"},
}

// RunVector applies the required passes of [Vector], which all code needs, to a module behind
// those of [Run]. There are opt.WarpSize lanes in a vector.
func RunVector(m *ir.Module, opt Options) error { return apply(vectorPasses(true), m, &opt) }

// RunRows applies the other passes of [Vector], behind [RunVector], for code in which the lanes of
// a vector are threads with consecutive x.
func RunRows(m *ir.Module, opt Options) error { return apply(vectorPasses(false), m, &opt) }

func vectorPasses(required bool) (list []Pass) {
	for _, p := range Vector {
		if p.Required == required {
			list = append(list, p)
		}
	}
	return list
}

// vector has a pass of functions, which wants to know the lanes of a vector, run over a module.
func vector(run func(f *ir.Func, lanes int) error) func(*ir.Module, *Options) error {
	return func(m *ir.Module, opt *Options) error {
		for _, f := range m.Funcs {
			if err := run(f, opt.WarpSize); err != nil {
				return err
			}
		}
		return nil
	}
}

// bound is a comparison that has to hold in all lanes of a vector: of x, which goes up from lane
// to lane, with n, the same in all.
type bound struct {
	op    ir.Op
	x, n  *ir.Value
	wraps bool // x of the last lane may be beyond the largest number, and does not stand for all then
}

// decide ends a block with a branch on whether bounds hold in all lanes of the vector, which have
// to be on unless off is set.
func decide(f *ir.Func, b *ir.Block, bounds []bound, off bool, yes, no ir.Edge) {
	at := b.Term.Pos
	test := f.NewValue(ir.OpWhole, ir.Bool)
	test.Pos = at
	if off {
		test.Imm = ir.OffLanes
	}
	for _, t := range bounds {
		c := b.Emit(f, t.op, ir.Bool, t.x, t.n)
		c.Pos = at
		if !t.wraps {
			c.Imm = ir.FarX
		}
		test.Args = append(test.Args, c)
	}
	b.Append(test)
	b.Term = ir.Term{Kind: ir.TermBranch, Args: []*ir.Value{test}, Succs: []ir.Edge{yes, no}, Pos: at}
}

// vectorSize returns how many operations b has. A test of all lanes, with what it compares, is one
// with the branch.
func vectorSize(instrs []*ir.Value) int {
	n := len(instrs) + 1
	for _, v := range instrs {
		if v.Op == ir.OpWhole {
			n -= len(v.Args)
		}
	}
	return n
}

// mayBeCopied reports whether v may be there twice.
func mayBeCopied(v *ir.Value) bool { return v.Op != ir.OpLocal && v.Op != ir.OpBarrier }

// usedOutside reports whether other blocks use what is made in these, other than by
// parameters.
func usedOutside(f *ir.Func, list []*ir.Block) bool {
	made := func(v *ir.Value) bool { return v.Op != ir.OpConst && slices.Contains(list, v.Block) }
	for _, b := range f.Blocks {
		if slices.Contains(list, b) {
			continue
		}
		if slices.ContainsFunc(b.Term.Args, made) ||
			slices.ContainsFunc(b.Term.Succs, func(e ir.Edge) bool { return slices.ContainsFunc(e.Args, made) }) ||
			slices.ContainsFunc(b.Instrs, func(v *ir.Value) bool { return slices.ContainsFunc(v.Args, made) }) {
			return true
		}
	}
	return false
}

// lanesOf analyses f, in which the lanes of a vector are threads with consecutive x.
func lanesOf(f *ir.Func, lanes int) (*analysis.Lanes, error) {
	g, err := analysis.NewLayout(f)
	if err != nil {
		return nil, err
	}
	return analysis.LanesOf(g, false, lanes), nil
}
