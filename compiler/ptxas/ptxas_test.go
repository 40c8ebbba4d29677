package ptxas_test

import (
	"fmt"
	"strings"
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

// TestForms has every form of a negation and of a magnitude, and what is nearly one.
func TestForms(t *testing.T) {
	const sign = "  %c = const 31 : u32\n  %s = shr %x, %c : i32\n"
	for code, want := range map[string]string{
		"%r = neg %x : i32":                                                                              "negation",
		"%z = const 0 : i32\n  %r = sub %z, %x : i32":                                                    "negation",
		"%z = const 1 : i32\n  %r = sub %z, %x : i32":                                                    "",
		"%m = const -1 : i32\n  %r = mul %m, %x : i32":                                                   "negation",
		"%m = const -1 : i32\n  %r = div %x, %m : i32":                                                   "negation",
		"%m = const -1 : i32\n  %r = div %m, %x : i32":                                                   "",
		"%n = not %x : i32\n  %o = const 1 : i32\n  %r = add %n, %o : i32":                               "negation",
		"%m = const -1 : i32\n  %n = xor %x, %m : i32\n  %o = const 1 : i32\n  %r = add %o, %n : i32":    "negation",
		"%m = const -1 : i32\n  %n = xor %m, %x : i32\n  %r = sub %n, %m : i32":                          "negation",
		"%m = const -1 : i32\n  %n = sub %m, %x : i32\n  %o = const 1 : i32\n  %r = add %n, %o : i32":    "negation",
		"%m = const -1 : i32\n  %n = andnot %m, %x : i32\n  %o = const 1 : i32\n  %r = add %n, %o : i32": "negation",
		"%m = const -1 : i32\n  %n = add %x, %m : i32\n  %r = not %n : i32":                              "negation",
		"%o = const 1 : i32\n  %n = sub %x, %o : i32\n  %m = const -1 : i32\n  %r = xor %n, %m : i32":    "negation",
		"%n = not %x : i32\n  %o = const 2 : i32\n  %r = add %n, %o : i32":                               "",
		"%o = const 1 : i32\n  %n = add %x, %o : i32\n  %r = not %n : i32":                               "",
		sign + "  %n = xor %x, %s : i32\n  %r = sub %n, %s : i32":                                        "magnitude",
		sign + "  %n = add %s, %x : i32\n  %r = xor %s, %n : i32":                                        "magnitude",
		sign + "  %n = xor %x, %s : i32\n  %r = sub %s, %n : i32":                                        "",
		"%c = const 30 : u32\n  %s = shr %x, %c : i32\n  %n = xor %x, %s : i32\n  %r = sub %n, %s : i32": "",
	} {
		v := last(t, "  "+strings.TrimSpace(code)+"\n")
		require.Equal(t, want == "negation", ptxas.Negation(v), code)
		require.Equal(t, want == "magnitude", ptxas.Magnitude(v), code)
		require.Equal(t, want != "", ptxas.Disguised(v), code)
	}
}

// TestDisjunctions: a disjunction, and what may become one.
func TestDisjunctions(t *testing.T) {
	for code, want := range map[string]bool{
		"or %a, %b":     true,
		"andnot %a, %b": true,
		"and %a, %n":    true,
		"and %n, %b":    true,
		"and %a, %b":    false,
		"xor %a, %n":    false,
		"not %a":        false,
	} {
		v := last(t, "  %a = lt %x, %y : bool\n  %b = eq %x, %y : bool\n  %n = not %a : bool\n  %v = "+code+" : bool\n  %r = select %v, %x, %y : i32\n")
		require.Equal(t, want, ptxas.Disjunction(v.Args[0]), code)
	}
	require.False(t, ptxas.Disjunction(last(t, "  %r = or %x, %y : i32\n")))
}

// last returns the value %r of code.
func last(t *testing.T, code string) *ir.Value {
	m, err := ir.Parse(fmt.Sprintf("module \"m\"\n\nkernel @k(%%p: ptr<global,i32>, %%len: i64, %%x: i32, %%y: i32) args(p slice i32 \"[]int32\", x scalar i32 \"int32\", y scalar i32 \"int32\") {\nb0:\n%s  store %%p, %%r\n  ret\n}\n", code))
	require.NoError(t, err)
	list := m.Kernel().Blocks[0].Instrs
	return list[len(list)-2]
}
