package pass

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/matrix"
	"github.com/gokiln/kiln/compiler/target"
)

var update = flag.Bool("update", false, "rewrite testdata/*.ir")

// parse parses and verifies text; a header is added where it is missing.
func parse(t testing.TB, text string) *ir.Module {
	t.Helper()
	if !strings.HasPrefix(strings.TrimSpace(text), "module") {
		text = "module \"t\"\n" + text
	}
	m, err := ir.Parse(strings.TrimLeft(text, "\n"))
	require.NoError(t, err)
	require.NoError(t, ir.Verify(m))
	return m
}

// TestCases compares passes with testdata/*.ir. A file holds cases:
//
//	== name: pass, pass
//	module before
//	--
//	module after
//
// A + behind a pass is for checked builds, a ! for release ones, a ~ for small ones,
// a & for targets with asynchronous copies.
// The flag -update rewrites the parts after.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*.ir")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		var out strings.Builder
		cases := strings.Split(string(data), "== ")
		out.WriteString(cases[0])
		for _, c := range cases[1:] {
			head, body, _ := strings.Cut(c, "\n")
			name, passes, _ := strings.Cut(head, ": ")
			before, after, _ := strings.Cut(body, "\n--\n")
			t.Run(strings.TrimSuffix(filepath.Base(file), ".ir")+"/"+name, func(t *testing.T) {
				m := parse(t, before)
				for p := range strings.SplitSeq(passes, ", ") {
					runNamed(t, m, p)
				}
				got := strings.TrimPrefix(m.String(), "module \"t\"\n\n")
				out.WriteString("== " + head + "\n" + before + "\n--\n" + got + "\n")
				if !*update {
					if diff := cmp.Diff(strings.TrimSpace(after), strings.TrimSpace(got)); diff != "" {
						t.Errorf("(-want +got)\n%s", diff)
					}
				}
			})
		}
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(strings.TrimRight(out.String(), "\n")+"\n"), 0o644))
		}
	}
}

// runNamed runs one pass by name and verifies the result.
func runNamed(t testing.TB, m *ir.Module, name string) {
	t.Helper()
	switch name { // those that are not in the table
	case "log":
		LowerLog(m, true)
		require.NoError(t, ir.Verify(m))
		return
	case "grid", "grid!":
		LowerGrid(m, name == "grid!")
		require.NoError(t, ir.Verify(m))
		return
	}
	name, async := strings.CutSuffix(name, "&")
	name, small := strings.CutSuffix(name, "~")
	name, release := strings.CutSuffix(name, "!")
	name, checked := strings.CutSuffix(name, "+")
	p, lanes := Named(name), 32
	require.NotNil(t, p, "pass %q", name)
	if inVector(name) {
		lanes = vectorLanes
	}
	require.NoError(t, p.Run(m, &Options{Release: release || small, Checked: checked, WarpSize: lanes, Narrow: true, SlowDiv: true, Small: small, Async: async, Converge: true, CASLoops: true, Matrix: units}))
	require.NoError(t, ir.Verify(m), "after %s:\n%s", name, m)
}

// units are those of a GPU that has one for 16-bit types.
func units(k ir.MatrixKind) *matrix.Unit {
	t, _ := target.Parse("ptx:sm_80")
	if k == ir.MatrixF64 {
		return nil
	}
	return matrix.For(t, k)
}

func inVector(name string) bool {
	return slices.ContainsFunc(Vector, func(p Pass) bool { return p.Name == name })
}

// Every pass has a case of its own in TestCases.
func TestCasesHaveEveryPass(t *testing.T) {
	files, err := filepath.Glob("testdata/*.ir")
	require.NoError(t, err)
	tested := map[string]bool{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		for line := range strings.Lines(string(data)) {
			if head, ok := strings.CutPrefix(line, "== "); ok {
				_, list, _ := strings.Cut(strings.TrimSpace(head), ": ")
				for p := range strings.SplitSeq(list, ", ") {
					tested[strings.TrimRight(p, "+!~&")] = true
				}
			}
		}
	}
	for _, name := range Names() {
		require.True(t, tested[name], "testdata has no case for pass %s", name)
	}
}

func TestTable(t *testing.T) {
	checkTable(t, Passes, Constraints)
	checkTable(t, Vector, VectorConstraints)
	seen := map[string]bool{}
	for _, name := range Names() {
		require.False(t, seen[name], "%s is in both tables", name)
		seen[name] = true
	}
}

func checkTable(t *testing.T, table []Pass, order []Constraint) {
	names := map[string]bool{}
	for _, p := range table {
		names[p.Name] = true
		require.NotEmpty(t, p.Name)
		require.NotEmpty(t, p.Doc, p.Name)
		require.NotNil(t, p.Run, p.Name)
	}
	for _, c := range order {
		require.Contains(t, names, c.Before)
		require.Contains(t, names, c.After)
		require.NotEmpty(t, c.Why)
		first := slices.IndexFunc(table, func(p Pass) bool { return p.Name == c.Before })
		last := -1
		for i, p := range table {
			if p.Name == c.After {
				last = i
			}
		}
		require.Less(t, first, last, "%s must stand before %s: %s", c.Before, c.After, c.Why)
	}
	for n := range names {
		require.True(t, slices.ContainsFunc(order, func(c Constraint) bool { return c.Before == n || c.After == n }),
			"no constraint places %s", n)
	}
}

func TestRunOptions(t *testing.T) {
	const text = `
kernel @k(%0: ptr<global,f32>, %1: i64) args(x slice f32 "[]float32") {
b0:
  bounds %1, %1
  ret
}`
	m := parse(t, text)
	require.ErrorContains(t, Run(m, Options{Disable: []string{"nosuch"}}), `no pass is named "nosuch"`)
	require.ErrorContains(t, Run(m, Options{Disable: []string{"inline"}}), "cannot be disabled")

	var ran []string
	err := Run(m, Options{
		Disable: []string{"fold", "sroa"}, Check: ir.Verify,
		After: func(p string, _ *ir.Module) { ran = append(ran, p) },
	})
	require.NoError(t, err)
	require.Equal(t, []string{"inline", "target", "size", "copies", "casloop", "release", "contract", "unroll", "unroll", "strength", "diagnose", "licm", "partial", "converge", "narrow", "reciprocal", "cse", "ifconv", "licm", "bounds", "shortdiv", "dce"}, ran)
	require.Contains(t, m.String(), "bounds")
	require.NoError(t, Run(m, Options{Release: true}))
	require.NotContains(t, m.String(), "bounds")

	bad := func(*ir.Module) error { return os.ErrInvalid }
	require.ErrorIs(t, Run(m, Options{Check: bad}), os.ErrInvalid)
}

// A branch whose sides go to one block, with other values, is a choice.
func TestBranchWithoutBlocks(t *testing.T) {
	m := parse(t, `
kernel @k(%0: ptr<global,f32>, %1: i64, %2: f32) args(x slice f32 "[]float32", y scalar f32 "float32") {
b0:
  %3 = const 0.5 : f32
  %4 = lt %2, %3 : bool
  br %4, b1(%2), b1(%3)
b1(%5: f32):
  store %0, %5
  ret
}`)
	require.NoError(t, Run(m, Options{Check: ir.Verify}))
	require.Contains(t, m.String(), "select")
	require.NotContains(t, m.String(), "br ")
}

func TestRecursion(t *testing.T) {
	m := parse(t, `
kernel @k() args() {
b0:
  call @f
  ret
}

func @f() {
b0:
  call @g
  ret
}

func @g() {
b0:
  call @f
  ret
}`)
	require.ErrorContains(t, Run(m, Options{}), "recursive call [@k @f @g @f]")
}
