package irconf

import (
	"fmt"
	"math"
	"strings"

	"github.com/gokiln/kiln/compiler/ir"
)

// clampedCases are about indices that are clamped at the ends of a slice, which compilers
// may take for consecutive ones where they are. Sums wrap in the middle of some.
func clampedCases() []Case {
	const n = 200
	var out []Case
	for _, d := range []int64{0, 1, -1, -5, 17, n - 16, n, -n, 3 * n, math.MaxInt64, math.MaxInt64 - 100, math.MinInt64, math.MinInt64 + 50} {
		out = append(out, heldBetween(n, d, "min", "max"), heldBetween(n, d, "max", "min"))
	}
	// What is clamped from below only, in sums that pass the largest integer.
	for _, d := range []int64{math.MaxInt64 - 100, math.MaxInt64 - 96, math.MaxInt64 - n + 1} {
		out = append(out, heldAbove(n, d))
	}
	return out
}

// heldBetween reads the elements to both sides of element i+d, each the nearest that
// there is, which two operations find in the order given.
func heldBetween(n int, d int64, first, second string) Case {
	name := fmt.Sprintf("indices plus %d clamped to a slice by %s and %s", d, first, second)
	types := []*ir.Type{ir.I64, ir.I64, ir.I32}
	bound := map[string]string{"min": "%last", "max": "%zero"}
	text := header(name, types) + strings.NewReplacer("PTR", "ptr<global,i32>", "FIRST", first, "SECOND", second,
		"BOUND1", bound[first], "BOUND2", bound[second]).Replace(`
  %zero = const 0 : i64
  %one = const 1 : i64
  %k = const 1000 : i64
  %d = load %p1 : i64
  %last = sub %hn2, %one : i64
  %x = add %i, %d : i64
  %l = sub %x, %one : i64
  %l1 = FIRST %l, BOUND1 : i64
  %l2 = SECOND %l1, BOUND2 : i64
  bounds %l2, %hn2
  %lp = offset %p2, %l2 : PTR
  %lv = load %lp : i32
  %r = add %x, %one : i64
  %r1 = FIRST BOUND1, %r : i64
  %r2 = SECOND %r1, BOUND2 : i64
  bounds %r2, %hn2
  %rp = offset %p2, %r2 : PTR
  %rv = load %rp : i32
  %a = convert %lv : i64
  %e = convert %rv : i64
  %ak = mul %a, %k : i64
  %s = add %ak, %e : i64
`) + put("%s", ir.I64) + footer
	c := Case{Name: name, Text: text, Types: types}
	columns := make([][]uint64, 3)
	clamped := func(x int64) uint64 { return 7*uint64(max(0, min(x, int64(n)-1))) + 3 }
	for i := range int64(n) {
		columns[0] = append(columns[0], 1000*clamped(i+d-1)+clamped(i+d+1))
		columns[1] = append(columns[1], uint64(d))
		columns[2] = append(columns[2], uint64(7*i+3))
	}
	return c.fill(columns, n)
}

// heldAbove reads element max(i+d, c)-c for a c near the largest integer.
func heldAbove(n int, d int64) Case {
	const c = math.MaxInt64 - 120
	name := fmt.Sprintf("indices plus %d clamped to be above another", d)
	types := []*ir.Type{ir.I64, ir.I64, ir.I32}
	text := header(name, types) + fmt.Sprintf(`
  %%c = const %d : i64
  %%d = load %%p1 : i64
  %%x = add %%i, %%d : i64
  %%y = max %%x, %%c : i64
  %%z = sub %%y, %%c : i64
  %%q = offset %%p2, %%z : ptr<global,i32>
  %%w = load %%q : i32
  %%v = convert %%w : i64
`, int64(c)) + put("%v", ir.I64) + footer
	k := Case{Name: name, Text: text, Types: types}
	columns := make([][]uint64, 3)
	for i := range int64(n) {
		columns[0] = append(columns[0], 7*uint64(max(i+d, c)-c)+3)
		columns[1] = append(columns[1], uint64(d))
		columns[2] = append(columns[2], uint64(7*i+3))
	}
	return k.fill(columns, n)
}
