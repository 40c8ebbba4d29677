package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A program carries machine code only where a processor of its own can run it.
func TestConstraint(t *testing.T) {
	require.Equal(t, "amd64", constraint("", []string{"cpu:x86-64-v3", "cpu:x86-64-v4"}))
	require.Empty(t, constraint("", []string{"cpu:x86-64-v3", "cpu"}))
	require.Equal(t, "linux || windows", constraint("linux || windows", []string{"ptx:sm_80"}))
}
