package cfamily_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/cfamily"
	"github.com/gokiln/kiln/compiler/ir"
)

// graph is a control-flow graph in which each block but the last notes that it ran
// and then branches by a number, which changes from block to block.
type graph struct {
	succs [][]edge // none: the kernel ends
}

// edge leads to a block; swap exchanges two variables on the way.
type edge struct {
	to   int
	swap bool
}

// randomGraph draws a reducible graph: forward edges first, then edges back to
// blocks that dominate where they come from, which leaves dominance as it is.
func randomGraph(r *rand.Rand) graph {
	n := 3 + r.IntN(14)
	g := graph{make([][]edge, n)}
	back := map[[2]int]bool{}
	for b := range n - 1 {
		to := func() int { return b + 1 + min(r.IntN(n-1-b), r.IntN(n)) }
		g.succs[b] = []edge{{to(), r.IntN(3) == 0}}
		switch k := r.IntN(20); {
		case k == 0 && b > 0:
			g.succs[b] = nil
		case k < 15:
			g.succs[b] = append(g.succs[b], edge{to(), r.IntN(3) == 0})
		}
		for i := range g.succs[b] {
			back[[2]int{b, i}] = r.IntN(10) < 3
		}
	}
	dom := g.dominators(back)
	for b, succs := range g.succs {
		for i := range succs {
			if back[[2]int{b, i}] && len(dom[b]) > 0 {
				succs[i].to = dom[b][r.IntN(len(dom[b]))]
			}
		}
	}
	return g
}

// dominators returns the blocks that dominate each, none for those that forward
// edges do not reach.
func (g graph) dominators(skip map[[2]int]bool) [][]int {
	dom := make([][]int, len(g.succs))
	dom[0] = []int{0}
	for b := range g.succs {
		for i, e := range g.succs[b] {
			switch {
			case skip[[2]int{b, i}] || dom[b] == nil:
			case dom[e.to] == nil:
				dom[e.to] = append([]int{e.to}, dom[b]...)
			default:
				var both []int
				for _, d := range dom[e.to] {
					if d == e.to || slices.Contains(dom[b], d) {
						both = append(both, d)
					}
				}
				dom[e.to] = both
			}
		}
	}
	return dom
}

// reachable returns the blocks that can run.
func (g graph) reachable() []bool {
	seen := make([]bool, len(g.succs))
	var walk func(b int)
	walk = func(b int) {
		if seen[b] {
			return
		}
		seen[b] = true
		for _, e := range g.succs[b] {
			walk(e.to)
		}
	}
	walk(0)
	return seen
}

// text writes the graph as a kernel: block b notes b and a variable at *out, and
// goes on by a bit of another. The last block is empty.
func (g graph) text(name string) string {
	var s strings.Builder
	fmt.Fprintf(&s, "module %q\n\nkernel @%s(%%out: ptr<global,u32>, %%n: i64, %%seed: u32) args(out slice u32 \"[]uint32\", seed scalar u32 \"uint32\") {\n", name, name)
	fmt.Fprintf(&s, "b0:\n  %%zero = const 0 : i64\n  %%one = const 1 : i64\n  %%mul = const 1664525 : u32\n  %%add = const 1013904223 : u32\n")
	fmt.Fprintf(&s, "  %%bit = const 24 : u32\n  %%eight = const 256 : u32\n  %%odd = const 1 : u32\n  %%none = const 0 : u32\n  jump b1(%%zero, %%seed, %%odd, %%none)\n")
	seen, number, next := g.reachable(), make([]int, len(g.succs)), 1
	for b := range g.succs {
		if seen[b] {
			number[b] = next
			next++
		}
	}
	last := len(g.succs) - 1
	for b, succs := range g.succs {
		if !seen[b] {
			continue
		}
		if b == last {
			fmt.Fprintf(&s, "b%d:\n  ret\n", number[b])
			continue
		}
		fmt.Fprintf(&s, "b%d(%%p%[1]d: i64, %%x%[1]d: u32, %%u%[1]d: u32, %%v%[1]d: u32):\n", number[b])
		k := number[b]
		fmt.Fprintf(&s, "  %%id%[1]d = const %[2]d : u32\n  %%h%[1]d = mul %%u%[1]d, %%eight : u32\n  %%w%[1]d = add %%h%[1]d, %%id%[1]d : u32\n", k, b)
		fmt.Fprintf(&s, "  %%a%[1]d = offset %%out, %%p%[1]d : ptr<global,u32>\n  store %%a%[1]d, %%w%[1]d\n  %%q%[1]d = add %%p%[1]d, %%one : i64\n", k)
		fmt.Fprintf(&s, "  %%m%[1]d = mul %%x%[1]d, %%mul : u32\n  %%y%[1]d = add %%m%[1]d, %%add : u32\n  %%r%[1]d = shr %%y%[1]d, %%bit : u32\n", k)
		fmt.Fprintf(&s, "  %%l%[1]d = and %%r%[1]d, %%odd : u32\n  %%c%[1]d = ne %%l%[1]d, %%none : bool\n  %%z%[1]d = add %%v%[1]d, %%id%[1]d : u32\n", k)
		goal := func(e edge) string {
			switch {
			case e.to == last:
				return fmt.Sprintf("b%d", number[last])
			case e.swap:
				return fmt.Sprintf("b%d(%%q%[2]d, %%y%[2]d, %%z%[2]d, %%u%[2]d)", number[e.to], k)
			}
			return fmt.Sprintf("b%d(%%q%[2]d, %%y%[2]d, %%u%[2]d, %%z%[2]d)", number[e.to], k)
		}
		switch len(succs) {
		case 0:
			s.WriteString("  ret\n")
		case 1:
			fmt.Fprintf(&s, "  jump %s\n", goal(succs[0]))
		default:
			fmt.Fprintf(&s, "  br %%c%d, %s, %s\n", k, goal(succs[0]), goal(succs[1]))
		}
	}
	s.WriteString("}\n")
	return s.String()
}

// run returns what the kernel notes, and whether it ends within some steps.
func (g graph) run(seed uint32, steps int) ([]uint32, bool) {
	var out []uint32
	x, u, v := seed, uint32(1), uint32(0)
	for b := 0; len(out) < steps; {
		if b == len(g.succs)-1 {
			return out, true
		}
		out = append(out, u*256+uint32(b))
		x = x*1664525 + 1013904223
		v += uint32(b)
		var e edge
		switch {
		case len(g.succs[b]) == 0:
			return out, true
		case len(g.succs[b]) == 1 || x>>24&1 != 0:
			e = g.succs[b][0]
		default:
			e = g.succs[b][1]
		}
		if e.swap {
			u, v = v, u
		}
		b = e.to
	}
	return nil, false
}

const (
	graphs = 400
	steps  = 1000
)

// TestRandomGraphs writes random reducible graphs as C, runs them and compares the
// blocks that they run, in order, with those of the graph.
func TestRandomGraphs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var modules []*ir.Module
	var calls, want strings.Builder
	back, texts := 0, []string{}
	for len(modules) < graphs {
		g := randomGraph(r)
		name := fmt.Sprintf("k%d", len(modules))
		ends := 0
		for range 4 {
			seed := r.Uint32()
			trace, ok := g.run(seed, steps)
			if !ok {
				continue
			}
			ends++
			fmt.Fprintf(&calls, "\t%s(out, %d, %du);\n\tshow(%d, %d);\n", name, steps, seed, len(modules), len(trace))
			fmt.Fprintf(&want, "%d:%s\n", len(modules), strings.Trim(fmt.Sprint(trace), "[]"))
		}
		if ends == 0 {
			continue
		}
		for b, list := range g.succs {
			for _, e := range list {
				if e.to <= b {
					back++
				}
			}
		}
		texts = append(texts, g.text(name))
		m, err := ir.Parse(texts[len(modules)])
		require.NoError(t, err, texts[len(modules)])
		require.NoError(t, ir.Verify(m))
		modules = append(modules, m)
	}
	require.Greater(t, back, graphs, "too few loops")
	text, err := host.EmitAll(modules, hostTarget, cfamily.Options{})
	require.NoError(t, err)
	require.NotContains(t, text, "goto")
	text += fmt.Sprintf(`
#include <stdio.h>
static u32 out[%d];
static void show(int k, int n) {
	printf("%%d:", k);
	for (int i = 0; i < n; i++) printf(i ? " %%u" : "%%u", out[i]);
	for (int i = 0; i < %[1]d; i++) {
		if (i >= n && out[i]) printf(" and %%u", out[i]);
		out[i] = 0;
	}
	puts("");
}
int main(void) {
%[2]s}
`, 2*steps, calls.String())
	got := strings.Split(output(t, compile(t, text, "-O0", "-Wno-unused-but-set-variable", "-Wno-sometimes-uninitialized")), "\n")
	for i, line := range strings.Split(want.String(), "\n") {
		k := 0
		_, _ = fmt.Sscanf(line, "%d:", &k)
		require.Equal(t, line, got[i], "blocks of\n%s", texts[k])
	}
}
