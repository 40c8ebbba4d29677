package analysis

import "github.com/gokiln/kiln/compiler/ir"

// LaneTest is a test whether a number that goes up from lane to lane is within a bound that is
// the same for all: vectors whose first and last lanes are go on by one successor of a block.
type LaneTest struct {
	X, N *ir.Value // the number and the bound
	Op   ir.Op     // the comparison of X with N that holds in these vectors
	Succ int       // by which they go on
	OK   bool
}

// TestAt returns the test that vectors pass at the branch at the end of b if X is small in all
// their lanes.
func (a *Lanes) TestAt(b *ir.Block) (t LaneTest) {
	c := b.Term.Args[0]
	if !OrdersWide(c) {
		return t
	}
	x, y, op := c.Args[0], c.Args[1], c.Op
	if a.Of(x).Kind == UniformLanes { // n > i is i < n
		x, y, op = y, x, Mirrored[op]
	}
	if a.Of(x).Kind != AffineLanes || a.Of(y).Kind != UniformLanes {
		return t
	}
	t = LaneTest{X: x, N: y, Op: op, OK: true}
	if op == ir.OpGe || op == ir.OpGt {
		return t.Negated()
	}
	return t
}

// Negated returns the test of the vectors that go to the other successor.
func (t LaneTest) Negated() LaneTest {
	t.Succ, t.Op = 1-t.Succ, Inverse[t.Op]
	return t
}

// OrdersWide reports whether c compares signed numbers of 64 bits by size.
func OrdersWide(c *ir.Value) bool {
	return c.Op >= ir.OpLt && c.Op <= ir.OpGe && Wide(c.Args[0].Type) && c.Args[0].Type.IsSigned()
}

// EndsInWhole returns the test of all lanes at the end of b, nil if there is none.
func EndsInWhole(b *ir.Block) *ir.Value {
	if b.Term.Kind == ir.TermBranch && b.Term.Args[0].Op == ir.OpWhole {
		return b.Term.Args[0]
	}
	return nil
}

// MayWrap reports whether a number that is x in lane 0 and goes up by one a lane may overflow
// before the last lane: a comparison of the last lane does not hold for all lanes then. The range
// of x is that in block b.
func MayWrap(ranges func(*ir.Value, *ir.Block) (lo, hi int64), x *ir.Value, b *ir.Block) bool {
	lo, hi := ranges(x, b)
	return lo < -1<<60 || hi > 1<<60
}

// OnlyFrom reports whether control comes to successor succ of the block at position i from
// there alone.
func (a *Lanes) OnlyFrom(i, succ int) bool {
	to := &a.Blocks[a.Pos[a.Blocks[i].Block.Term.Succs[succ].To.ID]]
	return len(to.In) == 1 && a.Heads(to.At) < 0
}
