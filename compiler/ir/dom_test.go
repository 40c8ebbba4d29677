package ir_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
)

// flow makes a function of n blocks with these edges.
func flow(n int, next func(i int) []int) *ir.Func {
	f := &ir.Func{Name: "f"}
	for range n {
		f.NewBlock()
	}
	for i, b := range f.Blocks {
		for _, to := range next(i) {
			b.Term.Succs = append(b.Term.Succs, ir.Edge{To: f.Blocks[to]})
		}
	}
	return f
}

// reached returns the blocks that roots reach without passing one of them, by ID.
func reached(roots []*ir.Block, without *ir.Block, next func(*ir.Block) []*ir.Block) map[int]bool {
	seen := map[int]bool{}
	for work := slices.Clone(roots); len(work) > 0; {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		if b != without && !seen[b.ID] {
			seen[b.ID] = true
			work = append(work, next(b)...)
		}
	}
	return seen
}

// checkTree compares a tree with the definition: a dominates b if without a the root does not
// reach b.
func checkTree(t *testing.T, f *ir.Func, tree *ir.DomTree, roots []*ir.Block, next func(*ir.Block) []*ir.Block) {
	t.Helper()
	all := reached(roots, nil, next)
	for _, a := range f.Blocks {
		require.Equal(t, all[a.ID], tree.Reachable(a))
		rest := reached(roots, a, next)
		for _, b := range f.Blocks {
			require.Equal(t, all[a.ID] && all[b.ID] && !rest[b.ID], tree.Dominates(a, b), "%d, %d of %v", a.ID, b.ID, f)
		}
		// The immediate dominator is dominated by all others.
		d := tree.Idom(a)
		for _, c := range f.Blocks {
			if c != a && tree.Dominates(c, a) {
				require.True(t, d != nil && tree.Dominates(c, d), "%d of %d", c.ID, a.ID)
			}
		}
		require.True(t, d == nil || d != a && tree.Dominates(d, a))
	}
}

func TestDominators(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		n := 1 + rng.IntN(14)
		f := flow(n, func(int) (to []int) {
			for range rng.IntN(3) {
				to = append(to, rng.IntN(n))
			}
			return to
		})
		preds := f.Preds()
		var rets []*ir.Block
		for _, b := range f.Blocks {
			if len(b.Term.Succs) == 0 {
				rets = append(rets, b)
			}
		}
		tree := ir.Dominators(f)
		require.Equal(t, f.Blocks[0], tree.Order[0])
		checkTree(t, f, tree, f.Blocks[:1], func(b *ir.Block) (to []*ir.Block) {
			for _, e := range b.Term.Succs {
				to = append(to, e.To)
			}
			return to
		})
		checkTree(t, f, ir.PostDominators(f), rets, func(b *ir.Block) []*ir.Block { return preds[b.ID] })
	}
	require.Empty(t, ir.Dominators(&ir.Func{}).Order)
}

// chains of cases and of joins, as a switch, conditions and nested ifs make them: the work for each
// edge does not grow with the function.
var chains = map[string]func(n int) *ir.Func{
	"cases": func(n int) *ir.Func { // block 2i compares, block 2i+1 is the case, and all cases end in the last
		return flow(2*n+1, func(i int) []int {
			switch {
			case i == 2*n:
				return nil
			case i%2 == 1:
				return []int{2 * n}
			}
			return []int{i + 1, min(i+2, 2*n)}
		})
	},
	"nested": func(n int) *ir.Func { // block i of the first n goes on, or out to block 2n-i
		return flow(2*n+1, func(i int) []int {
			switch {
			case i == 2*n:
				return nil
			case i < n:
				return []int{i + 1, 2*n - i}
			}
			return []int{i + 1}
		})
	},
	"loops": func(n int) *ir.Func { // n loops, each in the one before, whose ends follow each other
		return flow(2*n+1, func(i int) []int {
			switch {
			case i == 2*n:
				return nil
			case i < n:
				return []int{i + 1}
			}
			return []int{2*n - 1 - i, i + 1}
		})
	},
}

func TestDominatorsAreFast(t *testing.T) {
	for name, make := range chains {
		least := func(n int) time.Duration { // of several, as the machine has other work
			f, best := make(n), time.Hour
			for range 5 {
				start := time.Now()
				tree, post := ir.Dominators(f), ir.PostDominators(f)
				best = min(best, time.Since(start))
				require.True(t, tree.Dominates(f.Blocks[0], f.Blocks[2*n]))
				require.True(t, post.Dominates(f.Blocks[2*n], f.Blocks[0]))
			}
			return best
		}
		// A hundred thousand times as long it would take if the work for a block grew with them, too.
		require.Less(t, least(30_000), 20_000*least(100), "%s: 300 times as many blocks", name)
	}
}

func BenchmarkDominators(b *testing.B) {
	for name, make := range chains {
		f := make(10_000)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				ir.Dominators(f)
				ir.PostDominators(f)
			}
		})
	}
}
