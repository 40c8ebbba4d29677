package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/jit/record"
)

func TestFamilyOf(t *testing.T) {
	for kernel, want := range map[string]string{
		"example.com/k.Fold": "Fold", "example.com/k.v2.Add[float32]": "Add", "k.Add{Tile:16}": "Add", "example.com/k.Map(f=k.Sqr)": "Map",
	} {
		require.Equal(t, want, familyOf(kernel), kernel)
	}
}

// A parameter counts by the specialisations that it alone makes different.
func TestFamilies(t *testing.T) {
	spec := func(sig string, full, group int64) record.Spec {
		return record.Spec{Kernel: "k.Fold", Sig: sig, Consts: map[string]int64{"3.Full": full, "3.Group": group}}
	}
	list := families([]record.Spec{spec("f32", 0, 8), spec("f32", 1, 8), spec("f32", 0, 16), spec("f16", 1, 32), {Kernel: "k.Fill"}})
	require.Len(t, list, 2)
	require.Equal(t, family{name: "Fold", specs: 4, types: 2, fewer: map[string]int{"3.Full": 1, "3.Group": 1}}, list[0])
	require.Equal(t, "Full 1, Group 1", list[0].parameters())
	require.Equal(t, family{name: "Fill", specs: 1, types: 1, fewer: map[string]int{}}, list[1])
}

// What it counts is what jit compiled.
func TestWriteFamilies(t *testing.T) {
	c := &collection{built: map[string]int{"Fill": 3}, specs: []record.Spec{{Kernel: "k.Fill"}}}
	var out bytes.Buffer
	require.NoError(t, c.writeFamilies(&out))
	require.Contains(t, out.String(), "| Fill ")
	require.Regexp(t, `\| all +\| 3 +\| 1 `, out.String())
}

// A record that is kept takes the place of what the file had for the same targets.
func TestReplace(t *testing.T) {
	name := filepath.Join(t.TempDir(), "kernels.txt")
	spec := func(kernel string, targets ...string) record.Spec {
		return record.Spec{Kernel: kernel, Targets: targets}
	}
	for _, specs := range [][]record.Spec{
		{spec("k.Add", "cpu:x86-64-v3"), spec("k.Old", "cpu:x86-64-v3")},
		{spec("k.Add", "ptx:sm_90")},
		{spec("k.Add", "cpu:x86-64-v3"), spec("k.New", "cpu:x86-64-v3")},
	} {
		var set record.Set
		for _, s := range specs {
			set.Add(s)
		}
		require.NoError(t, replace(name, &set))
	}
	var got record.Set
	require.NoError(t, got.Load(name))
	require.Equal(t, []record.Spec{spec("k.Add", "cpu:x86-64-v3", "ptx:sm_90"), spec("k.New", "cpu:x86-64-v3")}, got.Specs())
}
