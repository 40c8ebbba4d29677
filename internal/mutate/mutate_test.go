package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/tooltest"
)

const code = `package p

import "fmt"

func f(x, y int) (int, error) {
	if x < y && !done {
		sync()
		x += 2
	}
	if x == 0 {
		return 0, fmt.Errorf("%d is not %d", x+1, 0)
	}
	done = true
	for i := 0; i < 3; i++ {
		sync()
	}
	return x*y - 0x10, nil
}
`

func TestSites(t *testing.T) {
	list, err := sites("p/p.go", []byte(code))
	require.NoError(t, err)
	var have []string
	for _, m := range list {
		have = append(have, strings.TrimPrefix(m.name(), "p/p.go f "))
		changed := string(m.apply([]byte(code)))
		require.NotEqual(t, code, changed)
		again, err := sites("p/p.go", []byte(changed))
		require.NoError(t, err, "%s gives %s", m.name(), changed)
		require.NotEqual(t, list, again)
	}
	require.Equal(t, []string{
		`negate "x < y && !done"`, `&& -> || "x < y && !done"`, `< -> <= "x < y"`, `drop "sync()"`, `+= -> -= "x += 2"`, `next "2"`,
		`== -> != "x == 0"`, `next "0"`, `next "0" #2`, `drop "done = true"`, `not "true"`, `next "0" #3`, `< -> <= "i < 3"`, `next "3"`,
		`++ -> -- "i++"`, `drop "sync()" #2`, `- -> + "x*y - 0x10"`, `* -> + "x*y"`, `next "0x10"`,
	}, have)
	require.Equal(t, 6, list[2].line)
	require.Contains(t, string(list[0].apply([]byte(code))), "if !(x < y && !done) {")
	require.Contains(t, string(list[len(list)-1].apply([]byte(code))), "x*y - 17, nil")
}

// module writes a module with a function that is tested, one that is not, a kernel's source that
// is embedded, and a loop that a mutant makes endless.
func module(t *testing.T) string {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n",
		"jit/jit.go": `package jit

import _ "embed"

//go:embed source.go
var Source string

func Tested(x int) bool { return x < 3 }

func Untested(x int) bool { return x < 3 }

func Unused() {
	x := 0
	_ = x
}
`,
		"jit/source.go": "package jit\n\nfunc kernel(x int) int { return x + 1 }\n",
		"jit/loop.go":   "package jit\n\nfunc Loop(n int) (s int) {\n\tfor i := uint8(5); i != 0; i-- {\n\t\ts += n\n\t}\n\treturn s\n}\n",
		"jit/jit_test.go": `package jit

import (
	"strings"
	"testing"
)

func Test(t *testing.T) {
	if !Tested(2) || Tested(3) || !strings.Contains(Source, "x + 1") || Loop(2) != 10 {
		t.Fatal("wrong")
	}
}
`,
	} {
		name = filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	return dir
}

// TestTry tries mutants that a test notices, that none does, and that do not compile.
func TestTry(t *testing.T) {
	tooltest.Go(t)
	r := &runner{root: module(t), limit: 1 << 40}
	verdicts := map[string]verdict{
		`jit/jit.go Tested < -> <= "x < 3"`:   killed,
		`jit/jit.go Untested < -> <= "x < 3"`: survived,
		`jit/source.go kernel + -> - "x + 1"`: killed,  // which the test sees as text only
		`jit/jit.go Unused drop "_ = x"`:      invalid, // x is not used then
		`jit/loop.go Loop += -> -= "s += n"`:  killed,
		`jit/loop.go Loop next "5"`:           killed,
	}
	groups, err := collect(r.root, []string{"./jit"})
	require.NoError(t, err)
	tried := 0
	for _, m := range groups[0] {
		want, ok := verdicts[m.name()]
		if !ok {
			continue
		}
		tried++
		have, by, err := r.try(t.Context(), m, []test{{"./jit"}})
		require.NoError(t, err)
		require.Equal(t, want, have, "%s %s", m.name(), by)
	}
	require.Equal(t, len(verdicts), tried, "%v", groups[0])
	src, err := os.ReadFile(filepath.Join(r.root, "jit/jit.go"))
	require.NoError(t, err)
	require.NotContains(t, string(src), "<=", "the tree is not changed")
}

// TestTogether compiles mutants together, of which one is chosen at a time.
func TestTogether(t *testing.T) {
	tooltest.Go(t)
	r := &runner{root: module(t), limit: time.Minute}
	groups, err := collect(r.root, []string{"./jit"})
	require.NoError(t, err)
	list := slices.DeleteFunc(groups[0], func(m mutant) bool { return m.file == "jit/source.go" || m.what == "++ -> --" })
	g := &together{runner: r, limit: time.Minute, dir: t.TempDir(), begun: map[string]*program{}}
	invalid, err := g.build(t.Context(), list, len(list))
	require.NoError(t, err)
	require.Equal(t, 1, invalid, "x is not used")
	require.Len(t, g.chosen, len(list)-1)
	seen := map[string]string{}
	for i, m := range g.chosen {
		v, by, err := g.try(t.Context(), i+1, []test{{"./..."}})
		require.NoError(t, err)
		seen[m.name()] = fmt.Sprint(v, " ", by)
	}
	require.Subset(t, seen, map[string]string{
		`jit/jit.go Tested < -> <= "x < 3"`:   fmt.Sprint(killed, " ./jit Test"),
		`jit/jit.go Untested < -> <= "x < 3"`: fmt.Sprint(survived, " no test calls it"),
		`jit/jit.go Unused next "0"`:          fmt.Sprint(survived, " no test calls it"),
		`jit/loop.go Loop next "5"`:           fmt.Sprint(killed, " ./jit Test"),
		`jit/loop.go Loop += -> -= "s += n"`:  fmt.Sprint(killed, " ./jit Test"),
	})
}

// TestFailure takes the name of what noticed a mutant from what go test prints.
func TestFailure(t *testing.T) {
	for out, want := range map[string]string{
		"ok  \tx\t0.1s\n": "",
		"# x\nx.go:1:1: undefined: y\nFAIL\tx [build failed]\n":                        "",
		"--- FAIL: TestA (0.1s)\n    --- FAIL: TestA/b (0.1s)\n--- FAIL: TestC (0s)\n": "TestA/b",
		"panic: runtime error: index\n\ngoroutine 1":                                   "panic: runtime error: index",
		"    --- FAIL: TestA/b (0.1s)\npanic: x":                                       "TestA/b",
	} {
		require.Equal(t, want, failure([]byte(out)), out)
	}
}

// TestSurvivors checks that each line of survivors.txt names a mutant that there is, and says why.
func TestSurvivors(t *testing.T) {
	groups, err := collect(filepath.Join("..", ".."), nil)
	require.NoError(t, err)
	names := map[string]bool{}
	for i, g := range groups {
		require.NotEmpty(t, g, suites[i].dir)
		for _, m := range g {
			require.False(t, names[m.name()], m.name())
			names[m.name()] = true
		}
	}
	for name, why := range reasons(explained) {
		require.True(t, names[name], "survivors.txt: there is no mutant %s", name)
		require.NotEmpty(t, why)
	}
	lines := 0
	for line := range strings.Lines(explained) {
		if !strings.HasPrefix(line, "#") {
			lines++
		}
	}
	require.Len(t, reasons(explained), lines, "survivors.txt: a line has no tab, or is there twice")
}

func TestDraw(t *testing.T) {
	groups := func() [][]mutant { return [][]mutant{make([]mutant, 50), make([]mutant, 3)} }
	number := func(seed uint64) []int {
		g := groups()
		for i := range g {
			for j := range g[i] {
				g[i][j] = mutant{file: fmt.Sprint(i), line: j}
			}
		}
		var list []int
		for _, m := range draw(g, options{seed: seed}) {
			list = append(list, m.line)
		}
		return list
	}
	require.Len(t, number(1), 53)
	require.Equal(t, number(1), number(1))
	require.NotEqual(t, number(1), number(2))
	_, err := collect("../..", []string{"./nothing"})
	require.ErrorContains(t, err, "suites.go names no tests for it")
}
