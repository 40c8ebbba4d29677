package record

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/input"
)

func TestRequests(t *testing.T) {
	req := input.Request{
		Pkg: "example.com/k.v2", Func: "Fold", Sig: "func(dsl.Thread, []float32, func(float32, float32) float32)",
		Consts: map[string]int64{"w.Mode": 1, "n": -3},
		Funcs:  map[string]input.Func{"f": {Pkg: "example.com/m", File: "m.go", Line: 7, Col: 9, Sig: "func(a, b float32) float32"}},
	}
	spec := Of(req)
	read, err := Parse([]byte(spec.String()))
	require.NoError(t, err)
	got, err := read.Request()
	require.NoError(t, err)
	require.Equal(t, req, got)
}

func TestSets(t *testing.T) {
	add := Spec{Kernel: "k.Add", Sig: "func(dsl.Thread, []float32)", Builds: []string{"small"}, Targets: []string{"ptx:sm_90"}}
	var a Set
	require.True(t, a.Add(Spec{Kernel: "k.Mul"}))
	require.True(t, a.Add(add))
	require.False(t, a.Add(add))
	add.Targets = []string{"ptx:sm_80"}
	require.True(t, a.Add(add))

	name := filepath.Join(t.TempDir(), "kernels.txt")
	require.NoError(t, a.Save(name))
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, header+
		`{"kernel":"k.Add","sig":"func(dsl.Thread, []float32)","builds":["small"],"targets":["ptx:sm_80","ptx:sm_90"]}`+"\n"+
		`{"kernel":"k.Mul"}`+"\n", string(text))

	var b Set
	require.NoError(t, b.Load(name))
	require.Equal(t, a.Specs(), b.Specs())
	require.NoError(t, b.Load(filepath.Join(t.TempDir(), "none")))
	require.False(t, b.Add(add))
}

// What was recorded for one target can be recorded anew.
func TestDrop(t *testing.T) {
	var a Set
	a.Add(Spec{Kernel: "k.Add", Targets: []string{"cpu:x86-64-v3", "cpu:x86-64-v4"}})
	a.Add(Spec{Kernel: "k.Mul", Targets: []string{"cpu:x86-64-v3"}})
	a.Add(Spec{Kernel: "k.Neg"})
	a.Drop("cpu:x86-64-v3")
	require.Equal(t, []Spec{{Kernel: "k.Add", Targets: []string{"cpu:x86-64-v4"}}, {Kernel: "k.Neg"}}, a.Specs())
}

// Of two choices for the same work the later one holds.
func TestChoices(t *testing.T) {
	c := Choice{Tuned: "k/tiles", At: []int{64, 7}, Device: "GPU, 2 units", Target: "ptx:sm_90", Of: []string{"{A:1 B:<>}", "{A:2}"}, Best: "{A:2}"}
	var a Set
	require.True(t, a.AddChoice(c))
	require.False(t, a.AddChoice(c))
	c.Best = "{A:1 B:<>}"
	require.True(t, a.AddChoice(c))
	a.Add(Spec{Kernel: "k.Mul"})
	require.Equal(t, header+`{"kernel":"k.Mul"}`+"\n"+
		`{"tuned":"k/tiles","at":[64,7],"device":"GPU, 2 units","target":"ptx:sm_90","of":["{A:1 B:<>}","{A:2}"],"best":"{A:1 B:<>}"}`+"\n", string(a.Text()))
	name := filepath.Join(t.TempDir(), "kernels.txt")
	require.NoError(t, Update(name, &a))
	other := c
	other.At = nil
	var b Set
	b.AddChoice(other)
	require.NoError(t, Update(name, &b))
	var all Set
	require.NoError(t, all.Load(name))
	require.ElementsMatch(t, []Choice{c, other}, all.Choices())
	require.Len(t, all.Specs(), 1)

	for line, want := range map[string]string{
		`{"tuned":"k/tiles","target":"cpu","of":["{A:1}"],"best":"{A:2}"}`: `the choice of k/tiles is "{A:2}", which is none of ["{A:1}"]`,
		`{"tuned":"k/tiles","of":["{A:1}"],"best":"{A:1}"}`:                "without a target",
		`{"tuned":"","target":"cpu","of":["a"],"best":"a"}`:                "without a name",
		`{"tuned":"k/tiles","kernel":"k.Mul"}`:                             "not a line of a record",
	} {
		require.ErrorContains(t, new(Set).ReadFrom("kernels.txt", strings.NewReader("\n"+line)), "kernels.txt:2: ")
		_, err := ParseChoice([]byte(line))
		require.ErrorContains(t, err, want)
	}
}

// Everybody's additions are there, and a record that has them all is not written again.
func TestUpdates(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "kernels.txt")
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			var mine Set
			for i := range 10 {
				mine.Add(Spec{Kernel: fmt.Sprintf("k.K%d", i), Targets: []string{fmt.Sprintf("ptx:sm_%d", g)}})
				assert.NoError(t, Update(name, &mine))
			}
		})
	}
	wg.Wait()
	var all Set
	require.NoError(t, all.Load(name))
	require.Len(t, all.Specs(), 10)
	for _, s := range all.Specs() {
		require.Len(t, s.Targets, 8)
	}
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	if runtime.GOOS != "windows" { // where the lock stays
		require.Len(t, list, 1)
	}

	before, err := os.Stat(name)
	require.NoError(t, err)
	require.NoError(t, Update(name, &all))
	after, err := os.Stat(name)
	require.NoError(t, err)
	require.True(t, os.SameFile(before, after), "nothing was new")

	// What cannot be read is somebody's, and is not replaced.
	require.NoError(t, os.WriteFile(name, []byte("not a record\n"), 0o600))
	require.ErrorContains(t, Update(name, &all), "kernels.txt:1: not a line of a record")
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "not a record\n", string(text))
	require.ErrorIs(t, Update(filepath.Join(dir, "none", "r"), &all), fs.ErrNotExist)
}

func TestBadRecords(t *testing.T) {
	for text, want := range map[string]string{
		"{":                            "r:1: not a line of a record",
		"\n\n{\"kernel\":\"k\"}":       `r:3: kernel "k": want an import path, a dot and a name`,
		`{"kernel":"a/.K"}`:            "want an import path",
		`{"kernel":"a.b/"}`:            "want an import path",
		`{"kernel":"a.K","what":1}`:    "unknown field",
		`{"kernel":"a.K"}{"kernel":1}`: "something follows",
		strings.Repeat("x", 1<<20+1):   "too long",
	} {
		var r Set
		require.ErrorContains(t, r.ReadFrom("r", strings.NewReader(text)), want)
	}
}
