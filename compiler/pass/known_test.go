package pass

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
)

// knownModule has a kernel that passes objects of one value each: %3 is loaded from only, %4 is stored
// to by a callee, and %5 twice by the kernel.
const knownModule = `module "known"

func @pick(%0: ptr<local,i64>) (i64) {
b0:
  %1 = load %0 : i64
  %2 = const 7 : i64
  %3 = eq %1, %2 : bool
  br %3, b1, b2
b1:
  %4 = const 10 : i64
  ret %4
b2:
  %5 = const 20 : i64
  %6 = call @never, %5 : i64
  ret %6
}

func @never(%0: i64) (i64) {
b0:
  ret %0
}

func @change(%0: ptr<local,i64>) {
b0:
  %1 = const 8 : i64
  store %0, %1
  ret
}

func @sum(%0: i64, %1: i64, %2: ptr<local,i64>) (i64) {
b0:
  %3 = load %2 : i64
  %4 = add %3, %0 : i64
  %5 = mul %4, %1 : i64
  ret %5
}

kernel @k(%0: ptr<global,i64>, %1: i64) args(out slice i64 "[]int") {
b0:
  %2 = const 7 : i64
  %3 = local : ptr<local,i64>
  %4 = local : ptr<local,i64>
  %5 = local : ptr<local,i64>
  store %3, %2
  store %4, %2
  store %5, %2
  store %5, %2
  call @change, %4
  %6 = call @pick, %3 : i64
  %7 = const 1 : i64
  %8 = const 2 : i64
  %9 = call @sum, %7, %8, %3 : i64
  %10 = call @sum, %8, %8, %5 : i64
  %11 = load %4 : i64
  %12 = add %6, %9 : i64
  %13 = add %10, %11 : i64
  %14 = add %12, %13 : i64
  store %0, %14
  ret
}
`

// Only what is the same in all calls is known, and of objects what nothing stores to later.
func TestKnown(t *testing.T) {
	m := parse(t, knownModule)
	known(m, 0)
	require.NoError(t, ir.Verify(m))
	functions := map[string]string{}
	for _, f := range m.Funcs {
		functions[f.Name] = (&ir.Module{Funcs: []*ir.Func{f}}).Text()
	}
	require.NotContains(t, functions, "never", "only what the kernel reaches stays")
	require.NotContains(t, functions["pick"], "load")
	require.NotContains(t, functions["pick"], "br ")
	require.Contains(t, functions["sum"], "load %2", "of an object that is stored to twice")
	require.Contains(t, functions["sum"], "add %4, %0", "1 and 2")
	require.Contains(t, functions["sum"], "mul %5, %3", "2 in both calls")
	require.Contains(t, functions["k"], "load %4", "a callee stores to it")
	want, got := parse(t, knownModule), parse(t, knownModule)
	known(got, 100)
	for _, x := range []*ir.Module{want, m, got} {
		require.NoError(t, Run(x, Options{Check: ir.Verify}))
	}
	require.Equal(t, want.Text(), m.Text())
	require.Equal(t, want.Text(), got.Text(), "small functions inlined first")
}

// A function that calls itself is left to the inliner, which says so.
func TestKnownRecursion(t *testing.T) {
	m, err := ir.Parse(strings.Replace(knownModule, "  %1 = const 8 : i64\n  store %0, %1\n", "  call @change, %0\n", 1))
	require.NoError(t, err)
	known(m, 0)
	require.ErrorContains(t, inlineModule(m, &Options{}), "recursive call")
}
