package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/target"
)

// A program carries machine code only where a processor of its own can run it.
func TestConstraint(t *testing.T) {
	require.Equal(t, "amd64", constraint("", []string{"cpu:x86-64-v3", "cpu:x86-64-v4"}))
	require.Empty(t, constraint("", []string{"cpu:x86-64-v3", "cpu"}))
	require.Equal(t, "linux || windows", constraint("linux || windows", []string{"ptx:sm_80"}))
}

// Code of every kind of target has a part of an embedded bundle, but LLVM IR, which no device loads.
func TestEveryKindIsEmbedded(t *testing.T) {
	for _, tgt := range target.All() {
		kind, _, _ := strings.Cut(tgt.String(), ":")
		parts := 0
		for _, v := range vendors {
			if slices.Contains(v.kinds, kind) {
				parts++
			}
		}
		if kind == target.LLVM {
			require.Zero(t, parts, kind)
			continue
		}
		require.Equal(t, 1, parts, "parts of an embedded bundle for code of kind %s, see vendors in embed.go", kind)
	}
}
