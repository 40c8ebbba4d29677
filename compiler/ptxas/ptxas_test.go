package ptxas_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/ptxas"
)

func TestConditions(t *testing.T) {
	for _, c := range []struct {
		code              string // leads to %r
		negated, computed bool
	}{
		{"  %r = min %x, %y : i32\n", false, false},
		{"  %n = neg %x : i32\n  %r = min %n, %y : i32\n", true, true},
		{"  %z = const 0 : i32\n  %n = sub %z, %x : i32\n  %r = max %y, %n : i32\n", true, true},
		{"  %m = const -1 : i32\n  %n = mul %x, %m : i32\n  %r = min %n, %y : i32\n", true, true},
		{"  %m = const -1 : i32\n  %n = div %x, %m : i32\n  %r = min %n, %y : i32\n", true, true},
		{"  %w = convert %x : i16\n  %n = neg %w : i16\n  %b = convert %n : i32\n  %r = max %b, %y : i32\n", true, true},
		{"  %n = not %x : i32\n  %r = min %n, %y : i32\n", false, true},
		{"  %n = sub %x, %y : i32\n  %r = min %n, %y : i32\n", false, true},
		{"  %n = and %x, %y : i32\n  %r = min %n, %y : i32\n", false, false},
	} {
		v := last(t, c.code)
		require.Equal(t, c.negated, ptxas.Negated(v), c.code)
		require.Equal(t, c.computed, ptxas.Computed(v), c.code)
		require.False(t, ptxas.Extremum(v), c.code)
	}
	for code, want := range map[string]bool{
		"  %n = neg %x : i32\n  %l = lt %n, %y : bool\n  %r = select %l, %n, %y : i32\n": true,
		"  %n = neg %x : i32\n  %l = eq %n, %y : bool\n  %r = select %l, %n, %y : i32\n": false,
		"  %l = lt %x, %y : bool\n  %r = select %l, %x, %y : i32\n":                      false,
	} {
		require.Equal(t, want, ptxas.Extremum(last(t, code)), code)
	}
}

// last returns the value %r of code.
func last(t *testing.T, code string) *ir.Value {
	m, err := ir.Parse(fmt.Sprintf("module \"m\"\n\nkernel @k(%%p: ptr<global,i32>, %%len: i64, %%x: i32, %%y: i32) args(p slice i32 \"[]int32\", x scalar i32 \"int32\", y scalar i32 \"int32\") {\nb0:\n%s  store %%p, %%r\n  ret\n}\n", code))
	require.NoError(t, err)
	list := m.Kernel().Blocks[0].Instrs
	return list[len(list)-2]
}
