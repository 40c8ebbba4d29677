package analyzer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/analyzer"
	"github.com/gokiln/kiln/compiler/front"
)

// analyze runs the analyzer over packages given as folders below dir.
func analyze(t *testing.T, dir string, folders ...string) map[string]*checker.Action {
	t.Helper()
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadAllSyntax, Dir: dir, Env: append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")}, folders...)
	require.NoError(t, err)
	graph, err := checker.Analyze([]*analysis.Analyzer{analyzer.Analyzer}, pkgs, &checker.Options{SanityCheck: true})
	require.NoError(t, err)
	out := map[string]*checker.Action{}
	for _, act := range graph.Roots {
		require.NoError(t, act.Err)
		out[filepath.Base(act.Package.PkgPath)] = act
	}
	return out
}

// module writes a module that uses this one, and returns its folder.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	_, requires, _ := strings.Cut(string(mod), "\nrequire")
	files["go.mod"] = "module example.com/m\n\ngo 1.26\n\nrequire github.com/gokiln/kiln v0.0.0\n\nreplace github.com/gokiln/kiln => " + root + "\n\nrequire" + requires
	files["go.sum"] = string(sum)
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return dir
}

// lines returns the diagnostics as file:line:col: message.
func lines(act *checker.Action) []string {
	var out []string
	for _, d := range act.Diagnostics {
		p := act.Package.Fset.Position(d.Pos)
		out = append(out, fmt.Sprintf("%s:%d:%d: %s", filepath.Base(p.Filename), p.Line, p.Column, d.Message))
	}
	slices.Sort(out)
	return out
}

func TestValid(t *testing.T) {
	require.NoError(t, analysis.Validate([]*analysis.Analyzer{analyzer.Analyzer}))
}

func TestPackages(t *testing.T) {
	acts := analyze(t, "", "./testdata/kern", "./testdata/lib", "./testdata/unregistered", "../../tests/e2e/testdata/lambda", "fmt")

	assert.Empty(t, acts["fmt"].Diagnostics)
	assert.Empty(t, acts["lib"].Diagnostics, "a library without kernels is judged where it is used")
	assert.Equal(t, []string{
		`kern.go:34:2: K0120: fmt.Println is outside of kernel code; use what package dsl offers, or move the work to the host`,
		`kern.go:42:9: K0301: barrier is not reached by all threads together; move the barrier out of the branch or loop, so that all threads of the block reach it`,
	}, within(lines(acts["kern"]), "kern.go:[34]"))

	require.Len(t, lines(acts["lambda"]), 1, "%q", lines(acts["lambda"]))
	assert.Contains(t, lines(acts["lambda"])[0], "main.go:69:19: K0134: function literal captures variable captured")

	// Divergence: the note points at the branch.
	i := slices.IndexFunc(acts["kern"].Diagnostics, func(d analysis.Diagnostic) bool { return d.Category == "K0301" })
	d := acts["kern"].Diagnostics[i]
	require.Len(t, d.Related, 1)
	assert.Equal(t, 41, acts["kern"].Package.Fset.Position(d.Related[0].Pos).Line)
	assert.Equal(t, "https://github.com/gokiln/kiln/blob/main/docs/diagnostics.md#k0301-barrier-under-divergent-control", d.URL)

	// A mistake in another package is reported in this one, with its position.
	elsewhere := within(lines(acts["kern"]), "deep.go:")
	require.Len(t, elsewhere, 1, "%q", lines(acts["kern"]))
	assert.Regexp(t, `kern.go:8:2: .*testdata/deep/deep.go:20:\d+: K0102: map`, elsewhere[0])

	require.Equal(t, []string{
		"kern.go:2:1: K0003: kernels cannot be compiled: package github.com/gokiln/kiln/compiler/analyzer/testdata/unregistered does not register its source; " +
			"add `//go:embed *.go`, `var source embed.FS` and `var _ = dsl.Source(source)` to the package",
	}, lines(acts["unregistered"]))
}

// TestStale reports launchers that kiln gen would write otherwise, and nothing of those
// that it would not.
func TestStale(t *testing.T) {
	acts := analyze(t, "", "./testdata/stale", "../../tests/gen/shapes", "../../tests/gen/internal/clash", "../../tests/gen/program")
	require.Equal(t, []string{
		"zz_kernels.go:4:1: K0011: the launchers are not those of the kernels: Scale changed; Fill new; Gone gone; " +
			"run `go tool kiln gen` in the package, or go generate if it has the line //go:generate go tool kiln gen",
	}, lines(acts["stale"]))
	for _, name := range []string{"shapes", "clash", "program"} {
		assert.Empty(t, lines(acts[name]))
	}
}

func within(lines []string, pattern string) []string {
	re := regexp.MustCompile(pattern)
	return slices.DeleteFunc(slices.Clone(lines), func(s string) bool { return !re.MatchString(s) })
}

// TestSameAsCheck runs the wrong programs of the front end's tests through the
// analyzer and through the function behind kiln check.
func TestSameAsCheck(t *testing.T) {
	files, err := filepath.Glob("../front/testdata/errors/*.go")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	tree := map[string]string{}
	var folders []string
	want := map[string]*front.Package{}
	for _, file := range files {
		name := "e_" + strings.TrimSuffix(filepath.Base(file), ".go")
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		tree[name+"/kernels.go"], tree[name+"/source.go"] = string(text), registration
		folders = append(folders, "./"+name)
		want[name] = &front.Package{Path: "example.com/m/" + name, Files: []front.File{{Name: "kernels.go", Text: text}}}
	}
	acts := analyze(t, module(t, tree), folders...)
	for name, p := range want {
		t.Run(name, func(t *testing.T) {
			act := acts[name]
			require.NotNil(t, act)
			assert.Equal(t, checked(p, act.Package.IllTyped), lines(act))
		})
	}
}

const registration = `package k

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed kernels.go
var source embed.FS

var _ = dsl.Source(source)
`

// checked is what kiln check finds, in the analyzer's words.
func checked(p *front.Package, illTyped bool) []string {
	list, _ := compiler.Check(p, compiler.Registered)
	var out []string
	for _, d := range list {
		if illTyped && (d.Code == "K0001" || d.Code == "K0002") {
			continue
		}
		line := fmt.Sprintf("%s:%d:%d: %s: %s", filepath.Base(d.Pos.File), d.Pos.Line, d.Pos.Col, d.Code, d.Msg)
		if d.Fix != "" {
			line += "; " + d.Fix
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}

func TestFixes(t *testing.T) {
	acts := analyze(t, "", "./testdata/fix", "./testdata/unregistered")
	assert.Equal(t, []string{"add the parameter", "use dsl.Exp"}, titles(acts["fix"]))
	fixed := apply(t, acts["fix"])
	assert.Contains(t, fixed, "import (\n\t\"embed\"\n\n\t\"github.com")
	assert.Contains(t, fixed, "{ x[0] = dsl.Exp(x[0]) }")
	assert.Contains(t, fixed, "func Scale(t dsl.Thread, x []float64) {}")

	assert.Equal(t, []string{"register the package's source"}, titles(acts["unregistered"]))
	registered := apply(t, acts["unregistered"])
	again := analyze(t, module(t, map[string]string{"unregistered/kern.go": registered}), "./unregistered")
	assert.Empty(t, lines(again["unregistered"]), "%s", registered)
	assert.False(t, again["unregistered"].Package.IllTyped)
}

func titles(act *checker.Action) []string {
	var out []string
	for _, d := range act.Diagnostics {
		for _, f := range d.SuggestedFixes {
			out = append(out, f.Message)
		}
	}
	slices.Sort(out)
	return out
}

// apply returns the only file of a package after all suggested fixes.
func apply(t *testing.T, act *checker.Action) string {
	t.Helper()
	file := act.Package.GoFiles[0]
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var edits []analysis.TextEdit
	for _, d := range act.Diagnostics {
		for _, f := range d.SuggestedFixes {
			edits = append(edits, f.TextEdits...)
		}
	}
	slices.SortStableFunc(edits, func(a, b analysis.TextEdit) int { return int(b.Pos - a.Pos) })
	for _, e := range edits {
		from, to := act.Package.Fset.Position(e.Pos).Offset, act.Package.Fset.Position(e.End).Offset
		text = slices.Replace(text, from, to, e.NewText...)
	}
	return string(text)
}
